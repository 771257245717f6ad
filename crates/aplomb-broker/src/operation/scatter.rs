//! Requests that ask the same of many partitions, once: a response that is filled in as they
//! answer.

use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::Message;

use super::{Ask, Calls, Operation, Progress, Replied, ReplyContext, WaitsAt};
use crate::calls::{Answer, PartitionKey, Slot};
use crate::ports::WaitedFor;
use crate::reply::ReplyTo;
use crate::security::Audit;

/// Where in a response the answer of a partition goes: topic, partition.
pub(crate) type Cell = (usize, usize);

/// Puts a partition's answer in its place in the response of a version.
pub(crate) type Fill<R, Q> = fn(&mut R, Cell, Result<<Q as Ask>::Answer, ErrorCode>, version: i16);

/// Puts a complete response into another shape. Decisions are noted in the audit log.
pub(crate) type Shape<R> = Box<dyn FnOnce(&mut R, &Audit) + Send>;

/// A request that waits for its partitions. What has not answered when the time is up stays as the
/// response had it at first.
pub(crate) struct Scatter<R, Q: Ask> {
    to: ReplyTo,
    response: R,
    /// Of each slot: where its answer goes, and the partition while it has not answered.
    parts: Vec<(Cell, Option<PartitionKey>)>,
    outstanding: usize,
    waits_for: WaitedFor,
    /// Others of its group are waited for.
    is_for_others: bool,
    fill: Fill<R, Q>,
    /// What is done with the response when it is complete.
    shape: Option<Shape<R>>,
}

impl<R, Q: Ask> std::fmt::Debug for Scatter<R, Q> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}, {} of {} parts outstanding", self.to, self.outstanding, self.parts.len())
    }
}

impl<R: Message, Q: Ask> Scatter<R, Q> {
    pub(crate) fn new(to: ReplyTo, response: R, fill: Fill<R, Q>) -> Self {
        Self {
            to,
            response,
            parts: Vec::new(),
            outstanding: 0,
            waits_for: WaitedFor::Shard,
            is_for_others: false,
            fill,
            shape: None,
        }
    }

    /// Asks a partition; the answer goes to `cell`.
    pub(crate) fn ask(&mut self, cell: Cell, key: PartitionKey, question: Q, calls: &mut Calls) {
        let slot = Slot::try_from(self.parts.len()).expect("a frame has fewer partitions than that");
        self.parts.push((cell, Some(key)));
        self.outstanding += 1;
        (self.waits_for, self.is_for_others) = (question.waits_for(), question.is_for_others());
        calls.push((slot, key, question.call()));
    }

    /// Fills in what is known without asking.
    pub(crate) fn fill(&mut self, cell: Cell, error: ErrorCode) {
        (self.fill)(&mut self.response, cell, Err(error), self.to.version);
    }

    /// Has the response, when it is complete, put into another shape.
    pub(crate) fn shape(&mut self, shape: impl FnOnce(&mut R, &Audit) + Send + 'static) {
        self.shape = Some(Box::new(shape));
    }

    /// The response as it is so far.
    pub(crate) fn response(&mut self) -> &mut R {
        &mut self.response
    }
}

impl<R: Message + Send + 'static, Q: Ask + 'static> Operation for Scatter<R, Q> {
    fn on_answer(&mut self, slot: Slot, answer: Answer) {
        let (cell, waits_at) = &mut self.parts[slot as usize];
        assert!(waits_at.take().is_some(), "a partition answers once");
        (self.fill)(&mut self.response, *cell, Q::take(answer), self.to.version);
        self.outstanding -= 1;
    }

    fn on_deadline(&mut self) {
        self.outstanding = 0;
    }

    fn progress(&mut self, _: Instant, _: &mut Calls) -> Progress {
        if self.outstanding == 0 { Progress::Reply } else { Progress::Wait }
    }

    fn waits_at(&self, waits: &mut dyn FnMut(Slot, WaitsAt)) {
        for (slot, (_, waits_at)) in (0..).zip(&self.parts) {
            if let Some(key) = waits_at {
                waits(slot, WaitsAt::Partition(*key));
            }
        }
    }

    fn waits_for(&self) -> WaitedFor {
        self.waits_for
    }

    fn is_idle(&self) -> bool {
        self.is_for_others
    }

    fn partitions(&self) -> usize {
        self.parts.len()
    }

    fn reply(mut self: Box<Self>, context: &mut ReplyContext<'_>) -> Replied {
        if let Some(shape) = self.shape {
            shape(&mut self.response, context.audit);
        }
        self.to.with(&self.response)
    }
}
