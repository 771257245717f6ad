//! Partitions that a shard owns, and their coordinators: whom a call is for, and what coordinators
//! want of the partitions that are their logs.

use aplomb_model::ErrorCode;

use super::message::{Output, ShardMessage};
use super::post::Post;
use crate::calls::{Answer, AppendCall, Asker, CoordinatorAsk, MarkerCall, PartitionKey};
use crate::coordinators::{CoordinatorEffect, Coordinators};
use crate::head::HeadMessage;
use crate::operation::{PartitionCall, Place};
use crate::partition::{Effects, Partitions};
use crate::ports::Now;
use crate::replicas::Replicas;
use crate::storage::Storage;
use crate::view::{HEAD, View};

/// The rooms of a shard that calls concern.
pub(super) struct Owned<'a> {
    pub(super) view: &'a View,
    pub(super) replicas: &'a mut Replicas,
    pub(super) partitions: &'a mut Partitions,
    pub(super) coordinators: &'a mut Coordinators,
    pub(super) storage: &'a mut Storage,
    pub(super) fx: &'a mut Effects,
    pub(super) now: Now,
}

impl Owned<'_> {
    /// Asks a partition, or its coordinator.
    pub(super) fn call(&mut self, asker: Asker, key: PartitionKey, call: PartitionCall) {
        let call = match call.for_coordinator() {
            Ok(ask) => return self.ask(asker, key, *ask),
            Err(call) => call,
        };
        if call.is_cancel() {
            self.coordinators.cancel(asker);
        }
        if let Some(marker) = call.as_marker()
            && self.mark(asker, key, marker)
        {
            return;
        }
        let Self { view, replicas, partitions, storage, fx, now, .. } = self;
        match partitions.get_mut(key) {
            Some(partition) => call.carry_out(asker, &mut Place { partition, storage, fx }, *now),
            None => {
                replicas.want(key, call.producer());
                if let Some(answer) = call.refuse(replicas.why_absent(key, view, storage.disks())) {
                    fx.answer(asker, answer);
                }
            }
        }
    }

    fn ask(&mut self, asker: Asker, key: PartitionKey, ask: CoordinatorAsk) {
        let refusal = ask.refusal();
        if let CoordinatorAsk::InTransaction(producer, _) = &ask
            && let Some(partition) = self.partitions.get(key)
            && let Err(error) = partition.check_in_transaction(producer)
        {
            return self.fx.answer(asker, refusal(error));
        }
        if !self.coordinators.ask(asker, key, ask, self.view, self.now) {
            self.replicas.want(key, None);
            let error = if self.replicas.is_loading(key) {
                ErrorCode::CoordinatorLoadInProgress
            } else {
                ErrorCode::NotCoordinator
            };
            self.fx.answer(asker, refusal(error));
        }
    }

    /// Has the end of a transaction written by the coordinator whose log the partition is. Gives
    /// whether there is one.
    fn mark(&mut self, asker: Asker, key: PartitionKey, call: MarkerCall) -> bool {
        let Some(partition) = self.partitions.get(key).filter(|_| self.coordinators.has_groups(key)) else {
            return false;
        };
        match partition.check_marker(&call) {
            Ok(()) => self.coordinators.mark(asker, key, call.marker, self.view, self.now),
            Err(error) => self.fx.answer(asker, Answer::Marked(Err(error))),
        }
        true
    }

    /// Leaders of partitions are others: so are coordinators.
    pub(super) fn move_coordinators(
        &mut self,
        resigned: &mut Vec<PartitionKey>,
        elected: &mut Vec<PartitionKey>,
    ) {
        for key in resigned.drain(..) {
            self.coordinators.resign(key);
        }
        for key in elected.drain(..) {
            // It may have been deleted since it was elected.
            if let Some(partition) = self.partitions.get(key) {
                let (epoch, start) = (partition.leader_epoch(), partition.log().start());
                self.coordinators.elect(key, epoch, start, self.view, self.now);
            }
        }
    }

    /// Asks a partition for a coordinator, on whatever shard it is.
    fn call_anywhere(&mut self, asker: Asker, key: PartitionKey, call: PartitionCall, post: &mut Post) {
        if self.view.owns(key) {
            self.call(asker, key, call);
        } else {
            post.ask(key.owner(self.view.shards()), asker, key, call);
        }
    }

    /// Carries out what coordinators want.
    pub(super) fn carry_out_coordinators(&mut self, post: &mut Post) {
        while let Some(effect) = self.coordinators.next_effect() {
            match effect {
                CoordinatorEffect::Append(asker, key, own) => {
                    self.call(asker, key, PartitionCall::append(AppendCall::Own(own)));
                }
                CoordinatorEffect::Cancel(asker, key) => self.call(asker, key, PartitionCall::cancel()),
                CoordinatorEffect::Read(asker, key, call) => {
                    self.call(asker, key, PartitionCall::read(call));
                }
                CoordinatorEffect::Answer(Asker::Client(op, slot), answer) => post.answer(op, slot, answer),
                CoordinatorEffect::Answer(asker, answer) => self.fx.answer(asker, answer),
                CoordinatorEffect::Mark(asker, key, marker) => {
                    self.call_anywhere(asker, key, PartitionCall::marker(marker), post);
                }
                CoordinatorEffect::Unmark(asker, key) => {
                    self.call_anywhere(asker, key, PartitionCall::cancel(), post);
                }
                CoordinatorEffect::ProducerId(asker) => {
                    post.send(HEAD, ShardMessage::Head(HeadMessage::ProducerId(asker)));
                }
                CoordinatorEffect::Event(event) => post.push(Output::Event(event)),
            }
        }
    }
}
