//! Groups, as their clients were told: who owns which partitions, and what is committed.
//!
//! - [`register`]: what is committed for one partition, and what a read may say of it.
//! - [`owners`]: who owns what, and when a group is stable.

mod owners;
mod register;

use std::collections::BTreeMap;
use std::time::Duration;

use aplomb_model::{Instant, Uuid};

use self::owners::Owners;
use self::register::Register;
use super::calm::Calm;
use super::cluster::Cluster;
use super::{Checked, PartitionId};

pub(crate) use owners::{Hold, Joining};

/// The topic that coordinators keep their groups in.
pub(crate) const OFFSETS_TOPIC: &str = "__consumer_offsets";
/// The topic for offsets is created, and its coordinators are loaded, within this time.
const BEGINNING: Duration = Duration::from_secs(3);
/// A long log takes longer, where there is memory to read it batch by batch.
const LOADING: Duration = Duration::from_secs(15);

/// A commit that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) number: u64,
}

impl Commit {
    /// The offset that it commits: no other commits the same.
    pub(crate) fn offset(self) -> i64 {
        self.number as i64
    }
}

/// What is known of all groups, from the answers to their clients.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// The topic for offsets, once it was seen.
    pub(crate) offsets_topic: Option<(Uuid, i32)>,
    /// Who owns what.
    pub(crate) owners: Owners,
    registers: BTreeMap<(String, PartitionId), Register>,
    next: u64,
    /// When a client first asked for a coordinator of this process.
    begun: Option<Instant>,
    /// The process was told to stop.
    is_stopping: bool,
    /// Since when nothing goes wrong any more, and members are to come to rest.
    pub(crate) resting: Option<Instant>,
    /// When all that is committed was last looked at.
    pub(crate) looked_at: Option<Instant>,
}

impl Groups {
    /// A process begins, whose coordinators have their logs to read.
    pub(crate) fn process_begins(&mut self) {
        (self.begun, self.is_stopping) = (None, false);
    }

    /// The process is told to stop: it sends its clients elsewhere.
    pub(crate) fn process_stops(&mut self) {
        self.is_stopping = true;
    }

    /// A client asks for a coordinator.
    pub(crate) fn asked_for_coordinator(&mut self, now: Instant) {
        self.begun.get_or_insert(now);
    }

    /// Whether coordinators may not be there yet, or not any more.
    pub(crate) fn may_be_absent(&self, now: Instant) -> bool {
        self.is_stopping || self.begun.is_none_or(|at| now.since(at) < BEGINNING)
    }

    /// Whether coordinators may still read their logs.
    pub(crate) fn may_be_loading(&self, now: Instant) -> bool {
        self.begun.is_none_or(|at| now.since(at) < LOADING)
    }

    /// A client is about to commit an offset that no other commits.
    pub(crate) fn ask_to_commit(&mut self, group: &str, partition: PartitionId, now: Instant) -> Commit {
        self.next += 1;
        let commit = Commit { number: self.next };
        self.register(group, partition).ask(commit.number, Some(commit.offset()), now);
        commit
    }

    /// A client is about to have what is committed forgotten.
    pub(crate) fn ask_to_forget(&mut self, group: &str, partition: PartitionId, now: Instant) -> Commit {
        self.next += 1;
        let commit = Commit { number: self.next };
        self.register(group, partition).ask(commit.number, None, now);
        commit
    }

    /// What was asked for was done.
    pub(crate) fn done(&mut self, group: &str, partition: PartitionId, commit: Commit, now: Instant) {
        self.register(group, partition).done(commit.number, now);
    }

    /// What was asked for was refused, and never comes to be.
    pub(crate) fn refused(&mut self, group: &str, partition: PartitionId, commit: Commit) {
        self.register(group, partition).refused(commit.number);
    }

    /// A coordinator that was asked at `asked` says what is committed.
    pub(crate) fn read(
        &mut self,
        group: &str,
        partition: PartitionId,
        offset: Option<i64>,
        (asked, now): (Instant, Instant),
    ) -> Checked {
        let read = self.register(group, partition).read(offset, asked, now);
        read.map_err(|why| format!("{group} has committed {offset:?} for {partition:?}: {why}"))
    }

    /// Nothing goes wrong any more, and members are to come to rest.
    pub(crate) fn begin_rest(&mut self, now: Instant) {
        self.resting = Some(now);
    }

    /// Whether groups are stable, and what is committed was read since they were to be. The error
    /// is what is not so.
    pub(crate) fn check_rest(&self, cluster: &Cluster, now: Instant) -> Checked {
        if self.looked_at.is_none_or(|at| self.resting.is_none_or(|since| at < since)) {
            return Err("what is committed cannot be read".to_owned());
        }
        self.owners.check_stable(cluster, now)
    }

    fn register(&mut self, group: &str, partition: PartitionId) -> &mut Register {
        self.registers.entry((group.to_owned(), partition)).or_insert_with(Register::new)
    }

    /// The process is gone: what it was asked for and had not done by now is never done.
    pub(crate) fn process_ended(&mut self, now: Instant) {
        self.registers.values_mut().for_each(|register| register.process_ended(now));
    }

    /// What was not durable may be gone. `within`: how soon it is, while the disks are well.
    pub(crate) fn memory_lost(&mut self, within: Duration, calm: &Calm, now: Instant) {
        let is_durable = |since: Instant| calm.lasted(within, since, now);
        self.registers.values_mut().for_each(|register| register.memory_lost(&is_durable, now));
        self.owners.memory_lost();
    }
}
