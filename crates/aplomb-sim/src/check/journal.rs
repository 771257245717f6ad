//! What was sent, acknowledged and read, partition by partition.
//!
//! A batch is known by the bytes of its records, which name it. It has a place once a client was
//! told of it: its producer by an acknowledgement, or a reader. From then on it stays there as it
//! is, until a power cut takes it. A power cut may take what was not durable, from the end of the
//! log only, and what it took does not come back. A kill takes nothing, unless the tail's file is
//! gone: then it may take as much, and leave gaps where the tail has gone on in another file.

mod lookups;

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{Hash as _, Hasher as _};
use std::time::Duration;

use aplomb_model::batch::{BatchHeader, HEADER_SIZE, TimestampType};
use aplomb_model::{Instant, LeaderEpoch};
use bytes::Bytes;

use super::calm::Calm;
use super::{Checked, PartitionId};

/// The number of a batch that was sent.
pub(crate) type BatchId = usize;

/// Where the fields of a batch begin that a broker does not change when it stamps the append's
/// time.
const LAST_OFFSET_DELTA: usize = 23;
const MAX_TIMESTAMP: usize = 35;
const PRODUCER_ID: usize = 43;
const LEADER_EPOCH: std::ops::Range<usize> = 12..16;

/// What its producer knows of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Nothing: it may be in the log or not.
    Doubt,
    Acknowledged,
    /// It was acknowledged, and a power cut took it.
    Lost,
    /// It was refused for good.
    Refused,
}

#[derive(Debug)]
struct Sent {
    partition: PartitionId,
    bytes: Bytes,
    status: Status,
    place: Option<i64>,
    sent: Instant,
    /// When a client was first told of it.
    told: Instant,
    /// The topic acknowledges after the sync.
    synced: bool,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    batch: BatchId,
    last: i64,
    /// The epoch of the leader that wrote it, once it was read.
    epoch: Option<LeaderEpoch>,
}

/// What is known of one partition.
#[derive(Debug, Default)]
struct PartitionLog {
    known: BTreeMap<i64, Known>,
    /// The log starts here, or later.
    start: i64,
    /// When it was first known to start where; `None` if that is not forgotten any more.
    starts: Vec<(Option<Instant>, i64)>,
    /// It may have been asked to start here.
    may_start: i64,
    /// After a power cut, until the log has been read: what lies below is still there.
    surely_until: Option<i64>,
    /// A power cut has taken records.
    has_lost: bool,
    /// Records may be missing between others.
    may_have_gaps: bool,
}

/// What a client knew when it asked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before {
    /// The log started here, or later.
    pub(crate) start: i64,
    /// It had all records below.
    pub(crate) end: i64,
}

/// How soon a broker makes things durable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contract {
    /// Records are durable after this time of calm.
    pub(crate) records: Duration,
    /// Log starts are remembered after this time of calm.
    pub(crate) starts: Duration,
}

/// All partitions.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    batches: Vec<Sent>,
    by_records: HashMap<u64, BatchId>,
    logs: BTreeMap<PartitionId, PartitionLog>,
    /// Places of acknowledged batches, and when each was sent, that
    /// [`World`](crate::world::World) has not looked at yet.
    pub(crate) fresh: Vec<(PartitionId, i64, Instant)>,
    pub(crate) acknowledged: u64,
    pub(crate) read: u64,
    pub(crate) lost: u64,
}

impl Journal {
    /// The number of the next batch; its records have to contain it.
    pub(crate) fn next_batch(&self) -> BatchId {
        self.batches.len()
    }

    /// A batch goes to a partition.
    pub(crate) fn send(
        &mut self,
        partition: PartitionId,
        bytes: Bytes,
        synced: bool,
        now: Instant,
    ) -> BatchId {
        let id = self.batches.len();
        let twin = self.by_records.insert(hash(&bytes[HEADER_SIZE..]), id);
        assert!(twin.is_none(), "batch {id} looks like another");
        let (status, place) = (Status::Doubt, None);
        self.batches.push(Sent { partition, bytes, status, place, sent: now, told: now, synced });
        id
    }

    /// A batch was acknowledged. `at_once`: it was sent once, so that it was appended since.
    pub(crate) fn acknowledged(&mut self, id: BatchId, base: i64, at_once: bool, now: Instant) -> Checked {
        let status = self.batches[id].status;
        if !matches!(status, Status::Doubt | Status::Acknowledged) {
            return Err(format!("batch {id} is acknowledged, and was {status:?}"));
        }
        self.batches[id].status = Status::Acknowledged;
        self.acknowledged += 1;
        if at_once {
            let Sent { partition, sent, .. } = self.batches[id];
            self.fresh.push((partition, base, sent));
        }
        self.place(id, base, None, now)
    }

    /// A batch was refused for good.
    pub(crate) fn refused(&mut self, id: BatchId) -> Checked {
        let sent = &mut self.batches[id];
        if sent.place.is_some() || sent.status == Status::Acknowledged {
            return Err(format!("batch {id} is refused, and was at {:?} before", sent.place));
        }
        sent.status = Status::Refused;
        Ok(())
    }

    /// A reader got a batch: `header`, and all of its bytes. It asked when the log was known to
    /// start at `start`.
    pub(crate) fn read(
        &mut self,
        partition: PartitionId,
        header: &BatchHeader,
        bytes: &[u8],
        start: i64,
        now: Instant,
    ) -> Result<BatchId, String> {
        let base = header.base_offset().to_wire();
        let at = || format!("{partition:?} at {base}");
        let id = self.by_records.get(&hash(&bytes[HEADER_SIZE..])).copied();
        let id = id.ok_or_else(|| format!("{} has a batch that nobody sent: {header:?}", at()))?;
        let sent = &self.batches[id];
        if sent.partition != partition {
            return Err(format!("{} has batch {id}, which was sent to {:?}", at(), sent.partition));
        }
        if matches!(sent.status, Status::Lost | Status::Refused) {
            return Err(format!("{} has batch {id}, which was {:?}", at(), sent.status));
        }
        if !is_as_sent(&sent.bytes, header, bytes) {
            return Err(format!("{} has batch {id}, changed: {header:?}", at()));
        }
        let epoch = header.leader_epoch();
        if epoch.is_none() {
            return Err(format!("{} has batch {id} without a leader epoch", at()));
        }
        if header.last_offset().to_wire() < start {
            return Err(format!("{} has batch {id}, and the log starts at {start}", at()));
        }
        self.read += 1;
        self.place(id, base, epoch, now)?;
        Ok(id)
    }

    fn place(&mut self, id: BatchId, base: i64, epoch: Option<LeaderEpoch>, now: Instant) -> Checked {
        let sent = &mut self.batches[id];
        let log = self.logs.entry(sent.partition).or_default();
        let at = || format!("{:?}: batch {id} at {base}", sent.partition);
        // A power cut may have taken a batch that was seen and not acknowledged, and the retry
        // of it comes elsewhere if the log now starts behind.
        let unsure = |last: i64| log.surely_until.is_some_and(|until| last >= until);
        let moved = sent.status == Status::Doubt
            && sent.place.is_some_and(|place| {
                place != base && log.known.get(&place).is_some_and(|known| unsure(known.last))
            });
        if moved && let Some(place) = sent.place.take() {
            log.known.remove(&place);
        }
        if let Some(place) = sent.place {
            if place != base {
                return Err(format!("{} was at {place} before", at()));
            }
            if let Some(known) = log.known.get_mut(&base) {
                if known.epoch.is_some_and(|before| epoch.is_some_and(|epoch| epoch != before)) {
                    return Err(format!("{} was of epoch {:?}, and is of {epoch:?}", at(), known.epoch));
                }
                known.epoch = known.epoch.or(epoch);
            }
            return Ok(());
        }
        let count = BatchHeader::parse(&sent.bytes).expect("it was built as one").count();
        let last = base + i64::from(count) - 1;
        let before = log.known.range(..=last).next_back();
        if let Some((other, known)) = before.filter(|(_, known)| known.last >= base) {
            return Err(format!("{} takes the place of batch {} at {other}", at(), known.batch));
        }
        (sent.place, sent.told) = (Some(base), now);
        log.known.insert(base, Known { batch: id, last, epoch });
        Ok(())
    }

    /// What a client knows that sends a request now.
    pub(crate) fn before(&self, partition: PartitionId) -> Before {
        let Some(log) = self.logs.get(&partition) else { return Before::default() };
        let end = log.known.last_key_value().map_or(0, |(_, known)| known.last + 1);
        Before { start: log.start, end: end.max(log.start) }
    }

    /// A client asks for the log to start at `before`.
    pub(crate) fn ask_to_start(&mut self, partition: PartitionId, before: i64) {
        let log = self.logs.entry(partition).or_default();
        log.may_start = log.may_start.max(before);
    }

    /// A partition said where its log starts and ends, to a client that asked when `before` was
    /// known. `expires`: retention deletes old records.
    pub(crate) fn bounds(
        &mut self,
        partition: PartitionId,
        before: Before,
        (start, end): (i64, i64),
        expires: bool,
        now: Instant,
    ) -> Checked {
        let log = self.logs.entry(partition).or_default();
        let known_end = log.known.last_key_value().map_or(0, |(_, known)| known.last + 1);
        if start < before.start {
            return Err(format!("{partition:?} starts at {start}, and started at {} before", before.start));
        }
        if let Some(until) = log.surely_until
            && log.may_have_gaps
            && until <= log.start
        {
            // Its beginning may have been in memory alone.
            log.may_start = log.may_start.max(start);
        }
        if start > log.may_start && !expires {
            return Err(format!(
                "{partition:?} starts at {start}; nobody asked for more than {}",
                log.may_start
            ));
        }
        if log.surely_until.is_none() && end < before.end {
            return Err(format!("{partition:?} ends at {end}, and ended at {} before", before.end));
        }
        if log.surely_until.is_none() && start > known_end.max(log.may_start).max(end) {
            return Err(format!("{partition:?} starts at {start}, behind its end at {end}"));
        }
        if start > log.start {
            log.start = start;
            log.starts.push((Some(now), start));
        }
        Ok(())
    }

    /// The process ends. `clean`: it was told to and did so in time.
    pub(crate) fn process_ended(&mut self, contract: Contract, calm: &Calm, clean: bool, now: Instant) {
        for log in self.logs.values_mut() {
            let safe = |at: Instant| clean || calm.lasted(contract.starts, at, now);
            log.starts.retain(|(at, _)| at.is_none_or(safe));
            log.start = log.starts.last().map_or(0, |(_, start)| *start);
            log.starts = vec![(None, log.start)];
        }
    }

    /// The power goes: what is not durable may be gone.
    pub(crate) fn power_cut(&mut self, contract: Contract, calm: &Calm, now: Instant) {
        let in_doubt = self.batches.iter().filter(|sent| sent.status == Status::Doubt);
        let in_doubt: BTreeSet<PartitionId> = in_doubt.map(|sent| sent.partition).collect();
        // Also of logs of which no client was told anything yet.
        for partition in &in_doubt {
            self.logs.entry(*partition).or_default();
        }
        for (partition, log) in &mut self.logs {
            let durable = |known: &&Known| {
                let sent = &self.batches[known.batch];
                let promised = sent.synced && sent.status == Status::Acknowledged;
                promised || calm.lasted(contract.records, sent.told, now)
            };
            let until = log.known.values().rev().find(durable).map_or(0, |known| known.last + 1);
            // An end that a client was told may have counted batches that no client was told of.
            log.has_lost |= in_doubt.contains(partition);
            // Until the log is read again, what an earlier cut has left is not known.
            log.surely_until = Some(log.surely_until.map_or(until, |earlier| earlier.min(until)));
        }
    }

    /// The process is killed, and what was in its memory alone is gone, or part of it.
    pub(crate) fn memory_lost(&mut self, contract: Contract, calm: &Calm, now: Instant) {
        self.power_cut(contract, calm, now);
        self.leave_gaps(|_| true);
    }

    /// From now on records may be missing between others in these partitions.
    pub(crate) fn leave_gaps(&mut self, concerns: impl Fn(PartitionId) -> bool) {
        let concerned = self.logs.iter_mut().filter(|(partition, _)| concerns(**partition));
        concerned.for_each(|(_, log)| log.may_have_gaps = true);
    }

    /// Whether records may be missing between others.
    pub(crate) fn may_have_gaps(&self, partition: PartitionId) -> bool {
        self.logs.get(&partition).is_some_and(|log| log.may_have_gaps)
    }

    /// Whether records are gone that were there: a power cut took them.
    pub(crate) fn has_lost(&self, partition: PartitionId) -> bool {
        self.logs.get(&partition).is_some_and(|log| log.has_lost)
    }

    /// Whether records below `position` may be gone: a client asked for that, or they are old.
    pub(crate) fn may_start_behind(&self, partition: PartitionId, position: i64) -> bool {
        self.logs.get(&partition).is_some_and(|log| log.may_start > position)
    }

    /// Whether clients have asked for records to be deleted.
    pub(crate) fn may_have_deleted(&self, partition: PartitionId) -> bool {
        self.logs.get(&partition).is_some_and(|log| log.may_start > 0)
    }

    /// Whether a power cut may have taken records, and the log was not read since.
    pub(crate) fn is_unsure(&self, partition: PartitionId) -> bool {
        self.logs.get(&partition).is_some_and(|log| log.surely_until.is_some())
    }

    /// Whether that is so of any partition.
    pub(crate) fn is_any_unsure(&self) -> bool {
        self.logs.values().any(|log| log.surely_until.is_some())
    }

    /// A partition was read from `start` to `end`, from the moment `begun` on; it had `batches`.
    pub(crate) fn audited(
        &mut self,
        partition: PartitionId,
        (start, end): (i64, i64),
        batches: &BTreeMap<i64, BatchId>,
        begun: Instant,
    ) -> Checked {
        if !self.may_have_gaps(partition) {
            self.check_sequences(partition, batches)?;
        }
        let Some(log) = self.logs.get_mut(&partition) else { return Ok(()) };
        let surely_until = log.surely_until.take();
        for (base, known) in &log.known {
            let sent = &mut self.batches[known.batch];
            let (id, status) = (known.batch, sent.status);
            let unsure = surely_until.is_some_and(|surely| known.last >= surely);
            if known.last < start {
                if unsure && status == Status::Doubt {
                    sent.place = None;
                }
                continue;
            }
            let found = batches.get(base);
            let is_in_a_gap = unsure && log.may_have_gaps && found.is_none();
            if known.last < end && !is_in_a_gap {
                if found != Some(&id) {
                    return Err(format!(
                        "{partition:?} has {found:?} at {base}, where batch {id} ({status:?}) was"
                    ));
                }
            } else if unsure {
                sent.place = None;
                log.has_lost = true;
                if status == Status::Acknowledged {
                    sent.status = Status::Lost;
                    self.lost += 1;
                }
            } else if sent.told <= begun {
                return Err(format!(
                    "{partition:?} ends at {end}: batch {id} at {base} ({status:?}), told at {:?}, is missing",
                    sent.told
                ));
            }
        }
        let batches = &self.batches;
        log.known.retain(|_, known| known.last >= start && batches[known.batch].place.is_some());
        Ok(())
    }

    /// Each producer's batches are there in order, and none between them is missing.
    fn check_sequences(&self, partition: PartitionId, batches: &BTreeMap<i64, BatchId>) -> Checked {
        let mut next = BTreeMap::new();
        for (base, id) in batches {
            let header = BatchHeader::parse(&self.batches[*id].bytes).expect("it was built as one");
            let (Some(stamp), Some(last)) = (header.producer(), header.last_sequence()) else { continue };
            let expected = next.insert(stamp.id.to_wire(), last + 1);
            if expected.is_some_and(|expected| expected != stamp.base_sequence) {
                return Err(format!(
                    "{partition:?}: batch {id} at {base} of {stamp:?} comes where sequence {expected:?} was due"
                ));
            }
        }
        Ok(())
    }

    /// A topic is gone.
    pub(crate) fn forget(&mut self, topic: aplomb_model::Uuid) {
        self.logs.retain(|partition, _| partition.topic != topic);
    }
}

/// Whether a batch that was read is what was sent, apart from what a broker stamps.
fn is_as_sent(sent: &[u8], header: &BatchHeader, read: &[u8]) -> bool {
    if sent.len() != read.len() {
        return false;
    }
    match header.timestamp_type() {
        TimestampType::CreateTime => sent[LEADER_EPOCH.end..] == read[LEADER_EPOCH.end..],
        TimestampType::LogAppendTime => {
            sent[LAST_OFFSET_DELTA..MAX_TIMESTAMP] == read[LAST_OFFSET_DELTA..MAX_TIMESTAMP]
                && sent[PRODUCER_ID..] == read[PRODUCER_ID..]
        }
    }
}

fn hash(records: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    records.hash(&mut hasher);
    hasher.finish()
}
