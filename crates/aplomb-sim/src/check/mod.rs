//! What must be true, whatever goes wrong.
//!
//! - [`journal`]: what was sent to each partition, acknowledged and read; what of that may be lost
//!   when.
//! - [`cluster`]: topics and their settings, as their administrators were told.
//! - [`groups`]: who owns which partitions, and what is committed.
//! - [`bank`]: transfers in transactions, as their tellers and a reader see them.
//! - [`promptness`]: when each request has to be answered.
//! - [`calm`]: since when nothing has kept the disks from their work.
//!
//! Clients tell what they do and see; the first contradiction ends the run.

pub(crate) mod bank;
pub(crate) mod calm;
pub(crate) mod cluster;
pub(crate) mod groups;
pub(crate) mod journal;
pub(crate) mod promptness;

use std::time::Duration;

use aplomb_model::{Instant, Uuid};

use bank::Bank;
use calm::Calm;
use cluster::Cluster;
use groups::Groups;
use journal::{Before, Contract, Journal};

/// A partition, by its topic's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PartitionId {
    pub(crate) topic: Uuid,
    pub(crate) index: i32,
}

/// The result of a check; the error is what is wrong.
pub(crate) type Checked = Result<(), String>;

/// Everything that is known and expected.
pub(crate) struct Oracle {
    pub(crate) journal: Journal,
    pub(crate) cluster: Cluster,
    pub(crate) groups: Groups,
    pub(crate) bank: Bank,
    pub(crate) calm: Calm,
    /// Counts processes, from 1.
    pub(crate) process: u64,
    /// When processes ended, and whether they were told to.
    pub(crate) ends: Vec<(Instant, bool)>,
    /// A broker remembers each batch of a producer for at least so long.
    pub(crate) memory: Duration,
    /// Producers may be turned away, because as many batches wait for a disk as may.
    pub(crate) turns_away: bool,
    /// Whether this process has lost a disk.
    pub(crate) disk_lost: bool,
    /// Since when this process has loaded all its partitions; `None` while clients come before.
    pub(crate) loaded: Option<Instant>,
    violation: Option<String>,
}

/// The longest that an answer is on its way to its client.
const ANSWERS_TAKE: Duration = Duration::from_secs(1);

impl Oracle {
    pub(crate) fn new(memory: Duration, turns_away: bool, now: Instant) -> Self {
        Self {
            journal: Journal::default(),
            cluster: Cluster::default(),
            groups: Groups::default(),
            bank: Bank::default(),
            calm: Calm::new(now),
            process: 0,
            ends: Vec::new(),
            memory,
            turns_away,
            disk_lost: false,
            loaded: Some(now),
            violation: None,
        }
    }

    /// Whether the broker may have forgotten that it appended a batch first sent at `sent`: its
    /// process has ended since, and kept only the last batch of each producer, as a start does with
    /// what it reads back; or the batch itself was deleted meanwhile.
    pub(crate) fn is_forgotten(&self, partition: PartitionId, sent: Instant) -> bool {
        let may_be_deleted = self.expires(partition) || self.journal.may_have_deleted(partition);
        let forgets = |end: Instant, clean| may_be_deleted || clean || end.since(sent) >= self.memory;
        let mut since = self.ends.iter().filter(|(end, _)| *end >= sent);
        since.clone().nth(1).is_some() || since.any(|(end, clean)| forgets(*end, *clean))
    }

    /// Whether nothing may be there between what can be read of a partition and its end, until more
    /// is written: the power took the last records before that, and where cleaning leaves gaps the
    /// end stays where it was.
    pub(crate) fn may_end_in_a_gap(&self, partition: PartitionId) -> bool {
        self.journal.has_lost(partition) && self.cluster.may_compact(partition.topic)
    }

    /// Whether a partition may answer that it is not loaded yet; an answer may have been on its way
    /// for a while.
    pub(crate) fn may_be_loading(&self, now: Instant) -> bool {
        self.loaded.is_none_or(|at| now.since(at) < ANSWERS_TAKE)
    }

    /// The power goes: what is not durable may be gone.
    pub(crate) fn power_cut(&mut self, contract: Contract, now: Instant) {
        self.journal.power_cut(contract, &self.calm, now);
        // Where cleaning leaves gaps, one that the power has left is not told from them.
        let cluster = &self.cluster;
        self.journal.leave_gaps(|partition| cluster.may_compact(partition.topic));
        self.groups.memory_lost(contract.records, &self.calm, now);
    }

    /// The process is killed, and what was in its memory alone is gone, or part of it.
    pub(crate) fn memory_lost(&mut self, contract: Contract, now: Instant) {
        self.journal.memory_lost(contract, &self.calm, now);
        self.groups.memory_lost(contract.records, &self.calm, now);
    }

    /// The process ends. `clean`: it was told to and did so in time.
    pub(crate) fn process_ended(&mut self, contract: Contract, clean: bool, now: Instant) {
        self.journal.process_ended(contract, &self.calm, clean, now);
        self.groups.process_ended(now);
    }

    /// Something is wrong; what was found first counts.
    pub(crate) fn violated(&mut self, what: impl Into<String>) {
        self.violation.get_or_insert(what.into());
    }

    /// Takes the result of a check.
    pub(crate) fn expect(&mut self, checked: Checked) {
        if let Err(what) = checked {
            self.violated(what);
        }
    }

    /// A partition said where its log starts and ends, to a client that asked when `before` was
    /// known.
    pub(crate) fn bounds(
        &mut self,
        partition: PartitionId,
        before: Before,
        bounds: (i64, i64),
        now: Instant,
    ) -> Checked {
        let expires = self.expires(partition);
        self.journal.bounds(partition, before, bounds, expires, now)
    }

    /// Whether records below `position` may be gone: they are old, or a client asked for that.
    pub(crate) fn may_start_behind(&self, partition: PartitionId, position: i64) -> bool {
        self.expires(partition) || self.journal.may_start_behind(partition, position)
    }

    fn expires(&self, partition: PartitionId) -> bool {
        let facts = self.cluster.living().find(|(_, facts)| facts.id == partition.topic);
        // Of a topic that is being deleted nothing is expected any more.
        facts.is_none_or(|(_, facts)| facts.configs.keys().any(|key| key.starts_with("retention.")))
    }

    pub(crate) fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }
}
