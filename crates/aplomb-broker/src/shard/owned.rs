//! Partitions that a shard owns, and their coordinators: whom a call is for, and what coordinators
//! want of the partitions that are their logs.

use aplomb_coordinator::group::GroupAsk;
use aplomb_model::ErrorCode;

use super::message::Output;
use super::post::Post;
use crate::calls::{Answer, AppendCall, Asker, PartitionKey};
use crate::coordinators::{CoordinatorEffect, Coordinators};
use crate::operation::{PartitionCall, Place};
use crate::partition::{Effects, Partitions};
use crate::ports::Now;
use crate::replicas::Replicas;
use crate::storage::Storage;
use crate::view::View;

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

    fn ask(&mut self, asker: Asker, key: PartitionKey, ask: GroupAsk) {
        if !self.coordinators.ask(asker, key, ask, self.view, self.now) {
            self.replicas.want(key, None);
            let error = if self.replicas.is_loading(key) {
                ErrorCode::CoordinatorLoadInProgress
            } else {
                ErrorCode::NotCoordinator
            };
            self.fx.answer(asker, Answer::Coordinated(Err(error)));
        }
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

    /// Carries out what coordinators want.
    pub(super) fn carry_out_coordinators(&mut self, post: &mut Post) {
        for effect in self.coordinators.take_effects() {
            match effect {
                CoordinatorEffect::Append(asker, key, own) => {
                    self.call(asker, key, PartitionCall::append(AppendCall::Own(own)));
                }
                CoordinatorEffect::Cancel(asker, key) => self.call(asker, key, PartitionCall::cancel()),
                CoordinatorEffect::Read(asker, key, call) => {
                    self.call(asker, key, PartitionCall::read(call));
                }
                CoordinatorEffect::Answer(Asker::Client(op, slot), answer) => post.answer(op, slot, answer),
                CoordinatorEffect::Answer(asker, _) => unreachable!("{asker:?} asks no coordinator"),
                CoordinatorEffect::Event(event) => post.push(Output::Event(event)),
            }
        }
    }
}
