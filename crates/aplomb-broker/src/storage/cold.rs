//! Reads of old records and offsets, between a partition and its disk.
//!
//! A read that is under way is not begun twice: a client that polls again while the disk is slow
//! joins it. What arrives is kept for a moment, in case the client that asked had given up and asks
//! again. A read whose bytes would find no memory waits, here too, and is begun anew when there may
//! be some.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use aplomb_disk_api::{DiskCommand, DiskError, DiskIndex, Done};
use aplomb_log::cold::{ColdRead, ColdRecords, ColdStep, TimeLookup, TimeStep};
use aplomb_log::layout::{FileSuffix, SegmentFile};
use aplomb_log::{Loan, Log, Reader, TimeFound};
use aplomb_model::{ErrorCode, Instant, Offset};

use crate::calls::{Answer, Asker, FindOffset, PartitionKey, ReadCall, ReadRecords, ReadRefusal};
use crate::partition::{ColdKind, ColdWish, Effects, Partition, Partitions};
use crate::ports::WaitedFor;

/// Bytes of records that are kept for clients that had given up, beside what is lent.
const KEPT_BYTES: usize = 8 << 20;

/// A lookup by time is begun anew so often while records go from memory to the files, and then
/// answered as it is.
const LOOKUPS: u32 = 20;

/// Reads that are under way at the same time, those by which memory for readers may be exceeded.
const AT_ONCE: usize = 64;

/// How soon reads that wait for memory are tried again.
const RETRY: Duration = Duration::from_millis(2);

/// A read waits so long beyond its client's patience; then the client has long been answered.
const FORGET_AFTER: Duration = Duration::from_secs(1);

/// Which records a read is about.
type ReadKey = (PartitionKey, i64, bool);

#[derive(Debug)]
struct ColdOp {
    key: PartitionKey,
    disk: DiskIndex,
    residence: u32,
    /// How often the log had replaced segments when the read was planned.
    layout: u32,
    work: Work,
    waiters: Vec<Asker>,
}

#[derive(Debug)]
enum Work {
    /// `segment`: where it begins, and where it ended.
    Read {
        read: Box<ColdRead>,
        segment: (Offset, Offset),
        call: ReadCall,
        loan: Loan,
    },
    Time {
        lookup: Box<TimeLookup>,
        find: FindOffset,
        tail_start: Offset,
        times: u32,
    },
}

/// Records that arrived and that nobody may have been waiting for any more.
#[derive(Debug)]
struct Kept {
    of: ReadKey,
    segment: Offset,
    found: ColdRecords,
}

/// A read that waits for memory.
#[derive(Debug)]
struct Waiting {
    key: PartitionKey,
    asker: Asker,
    call: ReadCall,
}

/// The reads of one shard.
#[derive(Debug, Default)]
pub(crate) struct ColdReads {
    ops: HashMap<u64, ColdOp>,
    under_way: HashMap<ReadKey, u64>,
    kept: VecDeque<Kept>,
    kept_bytes: usize,
    /// First come, first served, for each disk.
    waiting: BTreeMap<DiskIndex, VecDeque<Waiting>>,
    retry_due: Option<Instant>,
    next: u64,
}

/// A command for a disk, and the read that it is a step of.
pub(crate) type Step = (DiskIndex, DiskCommand, u64);

impl ColdReads {
    /// Begins a read, joins one, or answers from what arrived just now.
    pub(crate) fn begin(
        &mut self,
        wish: ColdWish,
        partition: &mut Partition,
        now: Instant,
        fx: &mut Effects,
    ) -> Option<Step> {
        let ColdWish { key, asker, what } = wish;
        let work = match what {
            ColdKind::Wait { call } => {
                fx.answer(asker, Answer::ReadLater(partition.no_records_yet(&call)));
                fx.waits(asker, WaitedFor::Memory(partition.disk()));
                self.wait(partition.disk(), Waiting { key, asker, call }, now);
                return None;
            }
            ColdKind::Read { plan, call } => {
                let of = (key, call.from, call.committed_only);
                if let Some(kept) = self.take_kept(of) {
                    let memory = partition.log().tail().share().reading();
                    if let Some(loan) = memory.take(kept.found.records.len()) {
                        let records = kept.answer(loan, partition, &call);
                        fx.answer(asker, Answer::Read(Ok(records)));
                        return None;
                    }
                    self.keep(kept);
                }
                let later = Answer::ReadLater(partition.no_records_yet(&call));
                fx.answer(asker, later);
                fx.waits(asker, WaitedFor::Disk(partition.disk()));
                if let Some(joined) = self.under_way.get(&of).and_then(|number| self.ops.get_mut(number)) {
                    joined.waiters.push(asker);
                    return None;
                }
                let segment = (plan.base, plan.end);
                let read = Box::new(ColdRead::new(*plan));
                let Some(loan) = self.borrow(read.bytes(), partition, call.reader) else {
                    fx.waits(asker, WaitedFor::Memory(partition.disk()));
                    self.wait(partition.disk(), Waiting { key, asker, call }, now);
                    return None;
                };
                self.under_way.insert(of, self.next);
                Work::Read { read, segment, call, loan }
            }
            ColdKind::Time { lookup, find } => {
                fx.waits(asker, WaitedFor::Disk(partition.disk()));
                Work::Time { lookup, find, tail_start: partition.log().tail().start_offset(), times: 0 }
            }
        };
        let number = self.next;
        self.next += 1;
        let command = work.command();
        let (disk, residence) = (partition.disk(), partition.residence());
        let layout = partition.log().replacements();
        self.ops.insert(number, ColdOp { key, disk, residence, layout, work, waiters: vec![asker] });
        Some((disk, command, number))
    }

    /// The disk has answered a step.
    pub(crate) fn on_completion(
        &mut self,
        number: u64,
        result: Result<Done, DiskError>,
        partitions: &mut Partitions,
        now: Instant,
        fx: &mut Effects,
    ) -> Option<Step> {
        let mut op = self.ops.remove(&number)?;
        let Some(partition) = partitions.get_mut(op.key) else {
            self.end(op, ErrorCode::UnknownTopicOrPartition, fx);
            return None;
        };
        if op.residence != partition.residence() {
            // It has moved: the old files are gone, or lack what only memory had.
            self.forget(&op);
            for waiter in op.waiters {
                match &op.work {
                    Work::Read { call, .. } => partition.read_anew(waiter, *call, fx),
                    Work::Time { find, .. } => partition.find_offset(waiter, *find, fx),
                }
            }
            return None;
        }
        if let Err(DiskError::NotFound { .. }) = &result
            && let Some(base) = swapped(&op.work.command())
        {
            // Compaction has given the file its own name: what is in it is what was planned for.
            partition.on_swapped(base);
            self.forget(&op);
            for waiter in op.waiters {
                match &op.work {
                    Work::Read { call, .. } => partition.read_anew(waiter, *call, fx),
                    Work::Time { find, .. } => partition.find_offset(waiter, *find, fx),
                }
            }
            return None;
        }
        if let Err(DiskError::Shortage { .. }) = result {
            // The disk has waited for a while. As if memory were short, reads are begun anew until
            // the client's patience is over.
            self.forget(&op);
            for asker in op.waiters {
                match &op.work {
                    Work::Read { call, .. } => {
                        self.wait(op.disk, Waiting { key: op.key, asker, call: *call }, now);
                    }
                    Work::Time { find, .. } => partition.find_offset(asker, *find, fx),
                }
            }
            return None;
        }
        let bytes = match result {
            Ok(Done::Read(bytes)) => Some(bytes),
            Err(DiskError::NotFound { .. }) if !is_missed(&op.work.command(), partition.log()) => None,
            Ok(_) | Err(_) => {
                self.end(op, ErrorCode::KafkaStorageError, fx);
                return None;
            }
        };
        let again = match &mut op.work {
            Work::Read { read, segment, call, loan } => {
                let step = match bytes {
                    Some(bytes) => read.on_read(&bytes),
                    None => read.on_missing(),
                };
                match step {
                    ColdStep::Again => {
                        loan.resize(read.bytes());
                        true
                    }
                    ColdStep::Found(found) => {
                        let of = (op.key, call.from, call.committed_only);
                        let kept = Kept { of, segment: segment.0, found };
                        let records = kept.answer(loan.take(), partition, call);
                        for waiter in &op.waiters {
                            fx.answer(*waiter, Answer::Read(Ok(records.clone())));
                        }
                        self.keep(kept);
                        false
                    }
                    ColdStep::Nothing => {
                        let (segment, call) = (*segment, *call);
                        self.under_way.remove(&(op.key, call.from, call.committed_only));
                        for waiter in op.waiters {
                            partition.read_on(segment, waiter, call, fx);
                        }
                        return None;
                    }
                    // The log start has moved up, and the segment went with it.
                    ColdStep::Deleted => {
                        self.end_below(op, partition.log().start(), fx);
                        return None;
                    }
                    ColdStep::Damaged { position } => {
                        fx.damaged.push((op.key, segment.0, position));
                        self.end(op, ErrorCode::CorruptMessage, fx);
                        return None;
                    }
                }
            }
            Work::Time { lookup, find, tail_start, times } => {
                let step = match bytes {
                    Some(bytes) => lookup.on_read(&bytes),
                    None => lookup.on_missing(),
                };
                let found = match step {
                    TimeStep::Again => None,
                    TimeStep::Found(answer) => Some(Some(answer).into()),
                    // Records that memory had given up to the files meanwhile were looked for in
                    // neither.
                    TimeStep::NotHere
                        if partition.log().tail().start_offset() > *tail_start && *times < LOOKUPS =>
                    {
                        (*tail_start, *times) = (partition.log().tail().start_offset(), *times + 1);
                        match partition.find_again(find) {
                            TimeFound::Hot(answer) => Some(answer.into()),
                            TimeFound::Cold(again) => {
                                *lookup = again;
                                None
                            }
                        }
                    }
                    TimeStep::NotHere => Some(partition.find_in_memory(find)),
                };
                if let Some(found) = found {
                    for waiter in &op.waiters {
                        fx.answer(*waiter, Answer::Offset(Ok(found)));
                    }
                }
                found.is_none()
            }
        };
        if again {
            let step = (op.disk, op.work.command(), number);
            self.ops.insert(number, op);
            return Some(step);
        }
        self.forget(&op);
        None
    }

    /// Whether reads of a partition are under way that were planned before its log had replaced
    /// segments so often.
    pub(crate) fn reads_before(&self, key: PartitionKey, layout: u32) -> bool {
        self.ops.values().any(|op| op.key == key && op.layout != layout)
    }

    /// A partition's records were compacted: those from before are not given any more.
    pub(crate) fn forget_kept(&mut self, key: PartitionKey) {
        self.kept.retain(|kept| kept.of.0 != key);
        self.kept_bytes = self.kept.iter().map(|kept| kept.found.records.len()).sum();
    }

    /// When [`Self::take_waiting`] has something to give.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.retry_due
    }

    /// Reads that waited for memory, to be begun anew.
    pub(crate) fn take_waiting(&mut self, now: Instant) -> Vec<(PartitionKey, Asker, ReadCall)> {
        if self.retry_due.take_if(|due| *due <= now).is_none() {
            return Vec::new();
        }
        let waiting = std::mem::take(&mut self.waiting).into_values().flatten();
        let waiting = waiting.filter(|waiting| now < waiting.call.deadline + FORGET_AFTER);
        waiting.map(|Waiting { key, asker, call }| (key, asker, call)).collect()
    }

    fn wait(&mut self, disk: DiskIndex, waiting: Waiting, now: Instant) {
        self.waiting.entry(disk).or_default().push_back(waiting);
        self.retry_due.get_or_insert(now + RETRY);
    }

    fn borrow(&self, bytes: usize, partition: &Partition, reader: Reader) -> Option<Loan> {
        let memory = partition.log().tail().share().reading();
        if reader == Reader::Own {
            return Some(memory.take_anyway(bytes));
        }
        // Nobody overtakes those who wait.
        if self.under_way.len() >= AT_ONCE || self.waiting.contains_key(&partition.disk()) {
            return None;
        }
        memory.take(bytes)
    }

    fn end(&mut self, op: ColdOp, error: ErrorCode, fx: &mut Effects) {
        self.forget(&op);
        for waiter in op.waiters {
            let answer = match &op.work {
                Work::Read { .. } => Answer::Read(Err(ReadRefusal::Error { error, log_start: None })),
                Work::Time { .. } => Answer::Offset(Err(error)),
            };
            fx.answer(waiter, answer);
        }
    }

    /// What was to be read was deleted: the log starts here now.
    fn end_below(&mut self, op: ColdOp, log_start: Offset, fx: &mut Effects) {
        self.forget(&op);
        let (error, log_start) = (ErrorCode::OffsetOutOfRange, Some(log_start));
        for waiter in op.waiters {
            fx.answer(waiter, Answer::Read(Err(ReadRefusal::Error { error, log_start })));
        }
    }

    fn forget(&mut self, op: &ColdOp) {
        if let Work::Read { call, .. } = &op.work {
            self.under_way.remove(&(op.key, call.from, call.committed_only));
        }
    }

    fn keep(&mut self, kept: Kept) {
        self.kept_bytes += kept.found.records.len();
        self.kept.push_back(kept);
        while self.kept_bytes > KEPT_BYTES {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.kept_bytes -= oldest.found.records.len();
        }
    }

    fn take_kept(&mut self, of: ReadKey) -> Option<Kept> {
        let place = self.kept.iter().position(|kept| kept.of == of)?;
        let kept = self.kept.remove(place)?;
        self.kept_bytes -= kept.found.records.len();
        Some(kept)
    }
}

impl Kept {
    /// The answer to whom the records are lent.
    fn answer(&self, loan: Loan, partition: &mut Partition, call: &ReadCall) -> ReadRecords {
        let records = loan.hold(self.found.records.clone());
        partition.on_cold_records(self.segment, &ColdRecords { records, ..self.found }, call)
    }
}

/// Whether a file that was not found is that of a segment of which the log's disk has something: it
/// was deleted by others, and what it held is not to be passed over.
fn is_missed(command: &DiskCommand, log: &Log) -> bool {
    let DiskCommand::Read { file, .. } = command else { return false };
    let name = file.as_str().rsplit_once('/').map_or(file.as_str(), |(_, name)| name);
    match SegmentFile::parse(name) {
        Some((SegmentFile::Log, base, None)) => {
            log.segments().base_holding(base) == Some(base) && base < log.tail().durable_end()
        }
        _ => false,
    }
}

/// The segment that a read was to find under its `.swap` name.
fn swapped(command: &DiskCommand) -> Option<Offset> {
    let DiskCommand::Read { file, .. } = command else { return None };
    let (_, name) = file.as_str().rsplit_once('/')?;
    match SegmentFile::parse(name) {
        Some((_, base, Some(FileSuffix::Swap))) => Some(base),
        _ => None,
    }
}

impl Work {
    fn command(&self) -> DiskCommand {
        match self {
            Self::Read { read, .. } => read.command(),
            Self::Time { lookup, .. } => lookup.command(),
        }
    }
}
