//! When each request has to be answered, on the virtual clock.
//!
//! What is answered from memory is answered at once, whatever the disks do, as long as their shares
//! of the tail have room. What may wait for a disk is answered when its time is up. Nothing is
//! answered twice.

use std::collections::BTreeMap;
use std::time::Duration;

use aplomb_broker::ports::{ConnectionId, RequestId};
use aplomb_model::Instant;

use super::{Checked, PartitionId};

const MS: Duration = Duration::from_millis(1);
/// What messages between shards, and turns of their loops, may take.
const PROMPT: Duration = Duration::from_millis(40);
/// How long a fetch that finds nothing in memory may wait for the disk, whatever its client says.
const COLD: Duration = Duration::from_millis(500);
/// The least time that a batch waits for memory.
const SHORTEST: Duration = Duration::from_secs(1);
/// How long a coordinator may take whose log has no room.
const GROUP: Duration = Duration::from_secs(10);
/// How long the controller may take while all disks are well.
const DECISION: Duration = Duration::from_millis(1500);

/// What kind of answer a request expects.
#[derive(Clone, Debug)]
pub(crate) enum Expect {
    /// Batches for these partitions.
    Produce {
        timeout: Duration,
        parts: Vec<PartitionId>,
        /// The topic acknowledges after the sync.
        synced: bool,
    },
    /// Records from these places on.
    Fetch { wait: Duration, places: Vec<(PartitionId, i64)> },
    /// An answer that may need a disk.
    Within(Duration),
    /// An answer that every shard has in memory.
    Memory,
    /// A coordinator's answer, which may have to be appended to a log of the broker's own.
    Group,
    /// A decision, which has to be durable.
    Decision,
}

#[derive(Debug)]
struct Waiting {
    expect: Expect,
    arrived: Instant,
    due: Instant,
    /// Records came that a waiting reader wants.
    wanted: Option<(Instant, Vec<usize>)>,
    /// When a share that a waiting batch needs was last short of room. It is remembered here: the
    /// partition may have moved to another disk since.
    tight: Instant,
}

/// Requests that are not answered.
#[derive(Debug, Default)]
pub(crate) struct Promptness {
    waiting: BTreeMap<RequestId, Waiting>,
    /// When each disk's share of the tail was last short of room.
    tight: Vec<Instant>,
    /// When some share last had no room for logs of the broker's own.
    full: Instant,
    /// The slowest answer to a batch that had room.
    pub(crate) slowest: Duration,
}

impl Promptness {
    pub(crate) fn new(disks: usize, now: Instant) -> Self {
        Self { waiting: BTreeMap::new(), tight: vec![now; disks], full: now, slowest: Duration::ZERO }
    }

    /// A share is short of room.
    pub(crate) fn is_tight(&mut self, disk: usize, now: Instant) {
        self.tight[disk] = now;
    }

    /// A share has no room even for logs of the broker's own.
    pub(crate) fn is_full(&mut self, now: Instant) {
        self.full = now;
    }

    /// A request arrives at its shard.
    pub(crate) fn arrives(&mut self, id: RequestId, expect: Expect, now: Instant) {
        let due = match &expect {
            Expect::Produce { timeout, .. } => now + (*timeout).max(SHORTEST) + PROMPT,
            Expect::Fetch { wait, .. } => now + (*wait).max(COLD) + PROMPT,
            Expect::Within(time) => now + *time + PROMPT,
            Expect::Memory => now + PROMPT,
            Expect::Group => now + GROUP + PROMPT,
            // Judged by how long the disks have been well.
            Expect::Decision => now + MS * 3_600_000,
        };
        self.waiting.insert(id, Waiting { expect, arrived: now, due, wanted: None, tight: now });
    }

    /// Records that were sent at that time are at `place`, which a waiting reader may want. One
    /// that has waited since before they were sent has to be woken by them. Another one may have
    /// found them on the disk alone: the answer to their producer can have stood for long behind
    /// one that waited for a sync. `disks`: those of the partition, if they are known.
    pub(crate) fn appended(
        &mut self,
        place: (PartitionId, i64),
        sent: Instant,
        disks: &[usize],
        now: Instant,
    ) {
        for waiting in self.waiting.values_mut().filter(|waiting| waiting.arrived <= sent) {
            let Expect::Fetch { places, .. } = &waiting.expect else { continue };
            if !disks.is_empty() && places.contains(&place) {
                waiting.wanted.get_or_insert_with(|| (now, disks.to_vec()));
            }
        }
    }

    /// A request is answered.
    pub(crate) fn answered(&mut self, id: RequestId, now: Instant) -> Checked {
        match self.waiting.remove(&id) {
            Some(waiting) => {
                if matches!(waiting.expect, Expect::Produce { synced: false, .. }) {
                    self.slowest = self.slowest.max(now.since(waiting.arrived));
                }
                Ok(())
            }
            None => Err(format!("{id:?} is answered, and nobody waits for that")),
        }
    }

    /// A connection is gone, and all requests that waited there.
    pub(crate) fn closed(&mut self, connection: ConnectionId) {
        self.waiting.retain(|id, _| id.connection != connection);
    }

    /// The process is gone, and all requests that waited there.
    pub(crate) fn ended(&mut self) {
        self.waiting.clear();
    }

    /// Looks for a request that waits too long. `disks_of`: where a partition is, and where it
    /// moves to or comes from. `healthy`: since when nothing has kept the disks from their work.
    /// `lost`: which of them are lost.
    pub(crate) fn check(
        &mut self,
        now: Instant,
        disks_of: &mut dyn FnMut(PartitionId) -> Vec<usize>,
        healthy: Option<Instant>,
        lost: &[bool],
    ) -> Checked {
        for (id, waiting) in &mut self.waiting {
            let Waiting { expect, arrived, due, wanted, tight } = waiting;
            let late = |what: &str| {
                let waited = now.since(*arrived);
                Err(format!("{id:?} {expect:?} is not answered after {waited:?}: {what}"))
            };
            if now > *due {
                return late("its time is up");
            }
            match &*expect {
                Expect::Produce { parts, synced: false, .. } => {
                    let places: Vec<Vec<usize>> = parts.iter().map(|part| disks_of(*part)).collect();
                    if places.iter().any(Vec::is_empty) {
                        continue; // a partition that is too new to be anywhere
                    }
                    let disks = places.iter().flatten();
                    let room = disks.map(|disk| self.tight[*disk]).max().unwrap_or(now);
                    *tight = room.max(*tight);
                    if now > *tight + PROMPT {
                        return late("the tail has room for it");
                    }
                }
                Expect::Produce { synced: true, .. } => {
                    if let Some(healthy) = healthy.filter(|_| !lost.contains(&true)) {
                        let room = self.tight.iter().copied().max().unwrap_or(now);
                        if now > (*arrived).max(healthy).max(room) + DECISION {
                            return late("the disks are well");
                        }
                    }
                }
                Expect::Fetch { .. } => {
                    if let Some((since, disks)) = &*wanted
                        && !disks.iter().any(|disk| lost[*disk])
                        && now > *since + PROMPT
                    {
                        return late("there are records for it in memory");
                    }
                }
                Expect::Group => {
                    if now > (*arrived).max(self.full) + PROMPT {
                        return late("the tail has room for it");
                    }
                }
                Expect::Decision => {
                    if let Some(healthy) = healthy.filter(|_| !lost[0])
                        && now > (*arrived).max(healthy) + DECISION
                    {
                        return late("the disks are well");
                    }
                }
                Expect::Within(_) | Expect::Memory => {}
            }
        }
        Ok(())
    }
}
