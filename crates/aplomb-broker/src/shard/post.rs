//! What leaves a shard in a turn: gathered, and handed over when the turn is over. What is for the
//! shard itself comes back at once.

use std::collections::{BTreeMap, VecDeque};

use super::{Output, ShardMessage};
use crate::calls::{Answer, Asker, OpId, PartitionKey, Slot};
use crate::operation::{Calls, PartitionCall};
use crate::ports::ShardId;

/// What is for the shard itself.
#[derive(Debug)]
pub(super) enum Local {
    Message(ShardMessage),
    Answer(OpId, Slot, Answer),
    Woken(OpId, Slot),
}

/// The post of a shard.
#[derive(Debug)]
pub(super) struct Post {
    me: ShardId,
    local: VecDeque<Local>,
    out: Vec<Output>,
    /// Calls by their operation: the order of operations is that of their requests.
    calls: BTreeMap<(ShardId, OpId), Calls>,
    answers: BTreeMap<OpId, Vec<(Slot, Answer)>>,
    /// What coordinators ask partitions of other shards.
    asks: BTreeMap<ShardId, Vec<(Asker, PartitionKey, PartitionCall)>>,
    /// Answers to coordinators of other shards.
    told: BTreeMap<ShardId, Vec<(Asker, Answer)>>,
    /// What goes behind all this.
    last: Vec<Output>,
}

impl Post {
    pub(super) fn new(me: ShardId) -> Self {
        let (local, out) = (VecDeque::new(), Vec::new());
        Self {
            me,
            local,
            out,
            calls: BTreeMap::new(),
            answers: BTreeMap::new(),
            asks: BTreeMap::new(),
            told: BTreeMap::new(),
            last: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, output: Output) {
        self.out.push(output);
    }

    /// Says something to a shard, this one included.
    pub(super) fn send(&mut self, to: ShardId, message: ShardMessage) {
        if to == self.me {
            self.local.push_back(Local::Message(message));
        } else {
            self.out.push(Output::Send { to, message });
        }
    }

    /// Says something to another shard when all else in this turn is said.
    pub(super) fn send_last(&mut self, to: ShardId, message: ShardMessage) {
        assert_ne!(to, self.me, "what is for the shard itself has no order");
        self.last.push(Output::Send { to, message });
    }

    /// Asks a partition of another shard.
    pub(super) fn call(&mut self, to: ShardId, op: OpId, slot: Slot, key: PartitionKey, call: PartitionCall) {
        assert_ne!(to, self.me, "what is asked here is asked at once");
        self.calls.entry((to, op)).or_default().push((slot, key, call));
    }

    /// Asks a partition of another shard for a coordinator of this one.
    pub(super) fn ask(&mut self, to: ShardId, asker: Asker, key: PartitionKey, call: PartitionCall) {
        assert_ne!(to, self.me, "what is asked here is asked at once");
        self.asks.entry(to).or_default().push((asker, key, call));
    }

    /// Answers a coordinator of another shard.
    pub(super) fn tell(&mut self, to: ShardId, asker: Asker, answer: Answer) {
        assert_ne!(to, self.me, "who asked here is told at once");
        self.told.entry(to).or_default().push((asker, answer));
    }

    /// Answers an operation, wherever it is.
    pub(super) fn answer(&mut self, op: OpId, slot: Slot, answer: Answer) {
        if op.shard == self.me {
            self.local.push_back(Local::Answer(op, slot, answer));
        } else {
            self.answers.entry(op).or_default().push((slot, answer));
        }
    }

    /// Wakes a part of an operation, wherever it is.
    pub(super) fn wake(&mut self, op: OpId, slot: Slot) {
        if op.shard == self.me {
            self.local.push_back(Local::Woken(op, slot));
        } else {
            self.out.push(Output::Send { to: op.shard, message: ShardMessage::Woken { op, slot } });
        }
    }

    /// The next that is for the shard itself.
    pub(super) fn take_local(&mut self) -> Option<Local> {
        self.local.pop_front()
    }

    /// Hands over what is for others.
    pub(super) fn hand_over(&mut self, out: &mut Vec<Output>) {
        assert!(self.local.is_empty(), "what is for the shard itself is carried out within the turn");
        out.append(&mut self.out);
        while let Some(((to, op), calls)) = self.calls.pop_first() {
            out.push(Output::Send { to, message: ShardMessage::Calls { op, calls } });
        }
        while let Some((op, answers)) = self.answers.pop_first() {
            out.push(Output::Send { to: op.shard, message: ShardMessage::Answers { op, answers } });
        }
        while let Some((to, asks)) = self.asks.pop_first() {
            out.push(Output::Send { to, message: ShardMessage::Asks(asks) });
        }
        while let Some((to, told)) = self.told.pop_first() {
            out.push(Output::Send { to, message: ShardMessage::Told(told) });
        }
        out.append(&mut self.last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_last_goes_behind_the_calls_of_the_turn() {
        let mut post = Post::new(ShardId(1));
        post.send_last(ShardId(2), ShardMessage::Drained);
        let op = OpId { shard: ShardId(1), number: 7 };
        post.call(ShardId(2), op, 0, PartitionKey::METADATA, PartitionCall::cancel());
        let mut out = Vec::new();
        post.hand_over(&mut out);
        let said: Vec<_> = out
            .into_iter()
            .map(|output| match output {
                Output::Send { message, .. } => message,
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(matches!(said[..], [ShardMessage::Calls { .. }, ShardMessage::Drained]), "{said:?}");
    }
}
