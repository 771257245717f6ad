//! A request that the controller has decided, until the decision is durable and every shard has
//! applied it.

use std::fmt;

use aplomb_model::{ErrorCode, Instant};

use super::{Calls, Operation, Progress, Replied, ReplyContext};
use crate::calls::{Answer, Slot};
use crate::ports::{Reply, WaitedFor};

/// Makes the reply to a request that is refused as a whole.
type Refuse = Box<dyn FnOnce(ErrorCode) -> Replied + Send>;

/// A request that waits for its decision.
pub(crate) struct DecisionOp {
    /// What is replied when the decision holds.
    reply: Reply,
    refuse: Refuse,
    /// How it ended.
    ended: Option<Result<(), ErrorCode>>,
}

impl fmt::Debug for DecisionOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "decision, ended: {:?}", self.ended)
    }
}

impl DecisionOp {
    pub(crate) fn new(reply: Reply, refuse: impl FnOnce(ErrorCode) -> Replied + Send + 'static) -> Self {
        Self { reply, refuse: Box::new(refuse), ended: None }
    }
}

impl Operation for DecisionOp {
    fn on_answer(&mut self, _: Slot, answer: Answer) {
        let Answer::Decided(ended) = answer else { panic!("a decision holds or does not, not {answer:?}") };
        assert!(self.ended.replace(ended).is_none(), "a decision ends once");
    }

    /// What was decided will hold all the same, as in Apache Kafka: the client may ask again.
    fn on_deadline(&mut self) {
        self.ended.get_or_insert(Err(ErrorCode::RequestTimedOut));
    }

    fn progress(&mut self, _: Instant, _: &mut Calls) -> Progress {
        if self.ended.is_some() { Progress::Reply } else { Progress::Wait }
    }

    fn waits_for(&self) -> WaitedFor {
        WaitedFor::Controller
    }

    fn reply(self: Box<Self>, _: &mut ReplyContext<'_>) -> Replied {
        match self.ended {
            Some(Err(error)) => (self.refuse)(error),
            Some(Ok(())) => Ok(self.reply),
            None => unreachable!("it is replied to when it has ended"),
        }
    }
}
