//! What operations ask of partitions, on the shard that owns them.

use std::any::Any;
use std::fmt::Debug;

use aplomb_coordinator::group::{GroupAsk, GroupReply};
use aplomb_coordinator::txn::{TxnAsk, TxnReply};
use aplomb_model::ErrorCode;
use aplomb_model::batch::ProducerStamp;

use crate::calls::{
    Answer, AppendCall, AppendRefusal, Asker, CoordinatorAsk, FindOffset, FoundOffset, MarkerCall,
    PartitionKey, ReadCall, ReadRefusal, Slot, Watch,
};
use crate::partition::{Effects, Partition};
use crate::ports::{Now, WaitedFor};
use crate::storage::Storage;

/// The calls that an operation makes.
pub(crate) type Calls = Vec<(Slot, PartitionKey, PartitionCall)>;

/// What is asked of a partition.
#[derive(Debug)]
pub struct PartitionCall(What);

#[derive(Debug)]
enum What {
    Append(AppendCall),
    Read(ReadCall),
    Find(FindOffset),
    Watch(Watch),
    Cancel,
    Question(Box<dyn Erased>),
    Coordinate(Box<CoordinatorAsk>),
}

/// Where a question is asked.
pub(crate) struct Place<'a> {
    pub(crate) partition: &'a mut Partition,
    pub(crate) storage: &'a mut Storage,
    pub(crate) fx: &'a mut Effects,
}

/// A question of an API's own, answered at once from what the partition knows.
pub(crate) trait Question: Debug + Send + 'static {
    /// The answer.
    type Answer: Debug + Send + 'static;

    /// Asks it.
    ///
    /// # Errors
    /// The code for the partition's part of the response.
    fn ask(self, place: &mut Place<'_>) -> Result<Self::Answer, ErrorCode>;
}

/// A question without its type.
trait Erased: Debug + Send {
    fn ask(self: Box<Self>, place: &mut Place<'_>) -> Box<dyn Any + Send>;
    fn refuse(self: Box<Self>, error: ErrorCode) -> Box<dyn Any + Send>;
}

impl<Q: Question> Erased for Q {
    fn ask(self: Box<Self>, place: &mut Place<'_>) -> Box<dyn Any + Send> {
        Box::new((*self).ask(place))
    }

    fn refuse(self: Box<Self>, error: ErrorCode) -> Box<dyn Any + Send> {
        Box::new(Err::<Q::Answer, ErrorCode>(error))
    }
}

/// Something that one partition is asked and that is answered once.
pub(crate) trait Ask: Debug {
    /// The answer.
    type Answer;

    fn call(self) -> PartitionCall;

    /// What who asks it waits for.
    fn waits_for(&self) -> WaitedFor {
        WaitedFor::Shard
    }

    /// Whether the answer is to wait for others of a group.
    fn is_for_others(&self) -> bool {
        false
    }

    /// The answer to this, as it comes back.
    fn take(answer: Answer) -> Result<Self::Answer, ErrorCode>;
}

impl<Q: Question> Ask for Q {
    type Answer = Q::Answer;

    fn call(self) -> PartitionCall {
        PartitionCall(What::Question(Box::new(self)))
    }

    fn take(answer: Answer) -> Result<Q::Answer, ErrorCode> {
        let Answer::Told(told) = answer else { panic!("a question is answered, not {answer:?}") };
        *told.downcast().expect("a question is answered by what it asks for")
    }
}

impl PartitionCall {
    pub(crate) fn append(call: AppendCall) -> Self {
        Self(What::Append(call))
    }

    pub(crate) fn read(call: ReadCall) -> Self {
        Self(What::Read(call))
    }

    pub(crate) fn find(find: FindOffset) -> Self {
        Self(What::Find(find))
    }

    pub(crate) fn watch(watch: Watch) -> Self {
        Self(What::Watch(watch))
    }

    /// The asker waits no longer.
    pub(crate) fn cancel() -> Self {
        Self(What::Cancel)
    }

    /// The end of a transaction.
    pub(crate) fn marker(marker: MarkerCall) -> Self {
        Self(What::Append(AppendCall::Marker(marker)))
    }

    /// Something for the partition's coordinator.
    pub(crate) fn coordinate(ask: CoordinatorAsk) -> Self {
        Self(What::Coordinate(Box::new(ask)))
    }

    /// The end of a transaction, if it is one.
    pub(crate) fn as_marker(&self) -> Option<MarkerCall> {
        match self.0 {
            What::Append(AppendCall::Marker(marker)) => Some(marker),
            _ => None,
        }
    }

    /// What the partition's coordinator is asked, if it is for that.
    pub(crate) fn for_coordinator(self) -> Result<Box<CoordinatorAsk>, Self> {
        match self.0 {
            What::Coordinate(ask) => Ok(ask),
            other => Err(Self(other)),
        }
    }

    /// Whether the asker waits no longer.
    pub(crate) fn is_cancel(&self) -> bool {
        matches!(self.0, What::Cancel)
    }

    /// Does what is asked, or sees to it that it will be done.
    pub(crate) fn carry_out(self, asker: Asker, place: &mut Place<'_>, now: Now) {
        let Place { partition, fx, .. } = place;
        match self.0 {
            What::Append(call) => partition.append(asker, call, now, fx),
            What::Read(call) => partition.read(asker, call, fx),
            What::Find(find) => partition.find_offset(asker, find, fx),
            What::Watch(watch) => partition.watch(asker, watch, fx),
            What::Cancel => partition.cancel(asker),
            What::Coordinate(_) => unreachable!("a partition is no coordinator"),
            What::Question(question) => {
                let told = question.ask(place);
                place.fx.answer(asker, Answer::Told(told));
            }
        }
    }

    /// What it costs to carry it out, in looks at a partition.
    pub(crate) fn cost(&self) -> usize {
        match self.0 {
            What::Read(_) | What::Find(_) | What::Watch(_) | What::Cancel | What::Question(_) => 1,
            // A batch is made, appended and set out for the disk; a coordinator appends, too.
            What::Append(_) | What::Coordinate(_) => 8,
        }
    }

    /// Who produced the batch that is to be appended, if that is what is asked.
    pub(crate) fn producer(&self) -> Option<ProducerStamp> {
        let What::Append(AppendCall::Produced(produced)) = &self.0 else { return None };
        produced.producer()
    }

    /// The answer of a shard that has no such partition. Those who watch or cancel need none.
    pub(crate) fn refuse(self, error: ErrorCode) -> Option<Answer> {
        Some(match self.0 {
            What::Append(_) => Answer::Append(Err(AppendRefusal::new(error))),
            What::Read(_) => Answer::Read(Err(ReadRefusal::Error { error, log_start: None })),
            What::Find(_) => Answer::Offset(Err(error)),
            What::Watch(_) | What::Cancel => return None,
            What::Question(question) => Answer::Told(question.refuse(error)),
            What::Coordinate(ask) => ask.refusal()(error),
        })
    }
}

impl Ask for GroupAsk {
    type Answer = GroupReply;

    fn call(self) -> PartitionCall {
        PartitionCall::coordinate(CoordinatorAsk::Group(self))
    }

    fn waits_for(&self) -> WaitedFor {
        WaitedFor::Coordinator
    }

    fn is_for_others(&self) -> bool {
        matches!(self, Self::Join(..) | Self::Sync(..))
    }

    fn take(answer: Answer) -> Result<GroupReply, ErrorCode> {
        let Answer::Coordinated(reply) = answer else { panic!("a coordinator replies, not {answer:?}") };
        reply.map(|reply| *reply)
    }
}

impl Ask for TxnAsk {
    type Answer = TxnReply;

    fn call(self) -> PartitionCall {
        PartitionCall::coordinate(CoordinatorAsk::Txn(self))
    }

    fn waits_for(&self) -> WaitedFor {
        WaitedFor::Coordinator
    }

    fn take(answer: Answer) -> Result<TxnReply, ErrorCode> {
        let Answer::Transacted(reply) = answer else { panic!("a coordinator replies, not {answer:?}") };
        reply.map(|reply| *reply)
    }
}

impl Ask for MarkerCall {
    type Answer = ();

    fn call(self) -> PartitionCall {
        PartitionCall::marker(self)
    }

    fn take(answer: Answer) -> Result<(), ErrorCode> {
        answer.into_marked()
    }
}

impl CoordinatorAsk {
    /// How it is answered where there is no such coordinator.
    pub(crate) fn refusal(&self) -> fn(ErrorCode) -> Answer {
        match self {
            Self::Group(_) | Self::InTransaction(..) => |error| Answer::Coordinated(Err(error)),
            Self::Txn(_) => |error| Answer::Transacted(Err(error)),
        }
    }
}

impl Ask for FindOffset {
    type Answer = FoundOffset;

    fn call(self) -> PartitionCall {
        PartitionCall::find(self)
    }

    fn take(answer: Answer) -> Result<FoundOffset, ErrorCode> {
        let Answer::Offset(found) = answer else { panic!("a lookup finds an offset, not {answer:?}") };
        found
    }
}
