//! The end: requests are answered, logs are closed, and the last word on each disk is that all of
//! it was closed cleanly.
//!
//! First the shards drain. Requests of one shard wait at partitions of the others and, where they
//! are long or for the controller, on shard 0. So each shard says when all that its connections
//! asked for is answered, behind its last call, and none goes on before all have said so. Shard 0
//! says it last, when nothing is decided any more: until then it takes what the others pass on.
//! From there on no partition is asked anything, and no append waits at one that is closed.
//!
//! Then shard 0 writes into the metadata log that this broker is fenced, as a controlled shutdown
//! of Apache Kafka's ends: the next process, be it Apache Kafka's, need not wait until the session
//! of a broker that looks alive has expired.
//!
//! Each shard closes its own partitions: a last round of writes and syncs, with a last time entry
//! in each index and a last producer snapshot, and a second checkpoint so that the recovery point
//! is the end. Shard 0 waits for the others and writes the checkpoint files, then the clean
//! shutdown markers. A disk that does not answer is not waited for for ever: the server has a
//! deadline, and what is then missing is the marker, so that the next start reads what lies above
//! the recovery point. A request that waits for such a disk ends at its own deadline.
//!
//! What always holds: a shard drains once and closes once, and asks nothing of others once it has
//! drained; when it goes on from there, nothing waits on it.

use std::collections::BTreeSet;

use aplomb_disk_api::DiskIndex;

use super::message::ShardMessage;
use super::patient::Patient;
use super::post::Post;
use crate::calls::PartitionKey;
use crate::desk::Desk;
use crate::head::Head;
use crate::partition::{Effects, Partitions};
use crate::ports::{Now, ShardId};
use crate::replicas::Replicas;
use crate::storage::Storage;
use crate::view::{HEAD, View};

/// How far the end has come.
#[derive(Debug)]
pub(super) struct Stop {
    stage: StopStage,
    /// Other shards that have drained.
    drained: BTreeSet<ShardId>,
    /// What this shard says of every disk.
    own: Vec<bool>,
    /// Shards that have closed their partitions, with what each says of every disk.
    closed: Vec<(ShardId, Vec<bool>)>,
    /// Disks whose marker is not written yet.
    markers: usize,
    /// Disks with logs that were not loaded yet when the end began.
    unloaded: Vec<DiskIndex>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopStage {
    /// The broker serves.
    Serving,
    /// Waiting for requests, the controller, and deletions: new partitions may wait for the names
    /// of deleted ones. Shard 0 waits for the others, too.
    Draining,
    /// Nothing is left to be answered here; partitions are still asked by shards that drain.
    Drained,
    /// The metadata log is told that this broker goes.
    Leaving,
    /// The last checkpoint is under way.
    Closing,
    /// Everything here is closed, and the shard that keeps the checkpoint files is told of it. It
    /// has to hear that before it hears that this was all.
    Telling,
    /// Shard 0 waits for the others.
    Closed,
    /// The markers are being written.
    Marking,
    /// Nothing is left to do.
    Done,
}

impl Stop {
    pub(super) fn new() -> Self {
        Self {
            stage: StopStage::Serving,
            drained: BTreeSet::new(),
            own: Vec::new(),
            closed: Vec::new(),
            markers: 0,
            unloaded: Vec::new(),
        }
    }

    /// Another shard has drained. May come before this shard is told to stop.
    pub(super) fn on_drained(&mut self, from: ShardId) {
        assert!(self.drained.insert(from), "a shard drains once");
    }

    /// Another shard speaks.
    pub(super) fn check(&self, from: ShardId, message: &ShardMessage) {
        let asks =
            matches!(message, ShardMessage::Request(_) | ShardMessage::Calls { .. } | ShardMessage::Asks(_));
        assert!(!(asks && self.drained.contains(&from)), "a shard that has drained asks nothing of others");
    }

    /// A shard has closed its partitions. May come before this shard is told to stop.
    pub(super) fn on_closed(&mut self, from: ShardId, clean: Vec<bool>) {
        assert!(self.closed.iter().all(|(shard, _)| *shard != from), "a shard closes once");
        self.closed.push((from, clean));
    }

    /// A disk's marker is written, or never will be.
    pub(super) fn on_marker(&mut self) {
        assert!(self.markers > 0, "a marker ends once");
        self.markers -= 1;
    }

    /// Of each of so many disks, whether all shards have closed it cleanly.
    fn clean(&self, disks: usize) -> Vec<bool> {
        (0..disks).map(|disk| self.closed.iter().all(|(_, clean)| clean[disk])).collect()
    }
}

/// The rooms that have to come to an end.
pub(super) struct Rooms<'a> {
    pub(super) view: &'a View,
    pub(super) desk: &'a mut Desk,
    pub(super) patient: &'a Patient,
    pub(super) head: Option<&'a mut Head>,
    pub(super) replicas: &'a mut Replicas,
    pub(super) partitions: &'a mut Partitions,
    pub(super) storage: &'a mut Storage,
    pub(super) fx: &'a mut Effects,
    pub(super) post: &'a mut Post,
    pub(super) now: Now,
}

impl Stop {
    /// Clients ask no more. What they have asked is answered, and everything closed.
    pub(super) fn begin(&mut self, rooms: Rooms<'_>) {
        if self.stage == StopStage::Serving {
            self.stage = StopStage::Draining;
            rooms.storage.begin_stop();
            self.unloaded = rooms.replicas.give_up_loads();
            if let Some(head) = rooms.head {
                head.stores().close();
            }
            rooms.desk.hurry(rooms.storage, rooms.now);
        }
    }

    /// Whether all is closed, here and, for shard 0, everywhere.
    pub(super) fn is_done(&self) -> bool {
        self.stage == StopStage::Done
    }

    /// Goes one stage on, if that can be.
    pub(super) fn go_on(&mut self, rooms: Rooms<'_>) -> bool {
        let Rooms { view, desk, patient, mut head, replicas, partitions, storage, fx, post, now } = rooms;
        let is_decided = head.as_ref().is_none_or(|head| head.is_idle());
        let is_first = view.me() == HEAD;
        let is_through = desk.is_idle() && patient.is_empty() && is_decided && replicas.is_quiet();
        let have_all_drained = view.others().all(|shard| self.drained.contains(&shard));
        self.stage = match self.stage {
            StopStage::Draining if is_through && (have_all_drained || !is_first) => {
                for other in view.others() {
                    post.send_last(other, ShardMessage::Drained);
                }
                StopStage::Drained
            }
            // Meanwhile a topic may have been deleted, for what another shard has passed on.
            StopStage::Drained if have_all_drained && patient.is_empty() && replicas.is_quiet() => {
                assert!(desk.is_idle() && is_decided, "a shard that has drained is asked for nothing more");
                if let Some(head) = &mut head {
                    head.leave(view, now);
                }
                StopStage::Leaving
            }
            // The last decision is durable, or never will be.
            StopStage::Leaving if is_decided || is_metadata_lost(partitions, storage) => {
                storage.close(partitions, now, fx);
                StopStage::Closing
            }
            StopStage::Closing if storage.is_idle() => {
                self.own = storage.finish(partitions, &self.unloaded);
                StopStage::Telling
            }
            StopStage::Telling => {
                assert!(storage.is_quiet(), "all that is to be told is on its way");
                post.send(HEAD, ShardMessage::Closed { clean: std::mem::take(&mut self.own) });
                StopStage::Closed
            }
            StopStage::Closed if !is_first => StopStage::Done,
            StopStage::Closed if self.closed.len() == usize::from(view.shards()) => {
                let epoch = view.image().brokers.get(view.node()).map_or(-1, |broker| broker.epoch);
                let clean = self.clean(storage.disks().len());
                self.markers = storage.write_markers(&clean, epoch, now);
                StopStage::Marking
            }
            StopStage::Marking if self.markers == 0 => StopStage::Done,
            StopStage::Serving
            | StopStage::Draining
            | StopStage::Drained
            | StopStage::Leaving
            | StopStage::Closing
            | StopStage::Closed
            | StopStage::Marking
            | StopStage::Done => return false,
        };
        true
    }
}

fn is_metadata_lost(partitions: &Partitions, storage: &Storage) -> bool {
    let metadata = partitions.get(PartitionKey::METADATA);
    metadata.is_none_or(|partition| storage.disks().is_lost(partition.disk()))
}
