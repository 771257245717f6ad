//! A partition's log. Start reading here.
//!
//! A [`Log`] is a pure state machine: it takes batches and the time, holds their bytes in the memory [`tail`](crate::tail), and owes its
//! disk commands ([`crate::flush`]). An append completes in memory; a fetch says what it costs: memory now, a disk later, or
//! nothing yet.
//!
//! What always holds: `start <= high watermark <= end`; what is durable lies below `end`; the tail has every byte that is not durable; segments, indexes,
//! producers and epochs describe exactly the offsets below `end`.
//!
//! Next: [`crate::fetch`] for reads, [`crate::flush`] for what goes to the disk, [`crate::retention`] for what is deleted,
//! [`crate::recovery`] for how a log is found again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use aplomb_disk_api::{FileName, SmallFile};
use aplomb_model::batch::{AppendBytes, BatchHeader, EndTxnMarker, HEADER_SIZE, RecordIter};
use aplomb_model::{ByteCount, ErrorCode, LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicId};

use crate::config::LogConfig;
use crate::epochs::LeaderEpochs;
use crate::fetch::Cursors;
use crate::flush::FlushState;
use crate::index::{BatchPosition, SegmentIndexes};
use crate::producers::{Admission, AppendOrigin, ProducerBatch, ProducerState, SequenceError};
use crate::segment::SegmentFile;
use crate::segments::{ActiveSegment, Segments};
use crate::tail::{LogEnd, LogTail, TailBatch, TailFull, TailShare};

/// What a log is made of; see the module's words.
#[derive(Debug)]
pub struct Log {
    pub(crate) config: LogConfig,
    pub(crate) segments: Segments,
    pub(crate) tail: LogTail,
    pub(crate) producers: ProducerState,
    pub(crate) epochs: LeaderEpochs,
    pub(crate) start: Offset,
    /// Records from here on are not to be seen by consumers yet.
    pub(crate) high_watermark: Offset,
    pub(crate) cursors: Cursors,
    pub(crate) flush: FlushState,
}

/// The parts of a log, as recovery found them or as a new partition has them.
#[derive(Debug)]
pub struct LogParts {
    /// The settings.
    pub config: LogConfig,
    /// The segments.
    pub segments: Segments,
    /// An empty tail that ends where the last segment does.
    pub tail: LogTail,
    /// The producers, up to the log end.
    pub producers: ProducerState,
    /// The leader epochs.
    pub epochs: LeaderEpochs,
    /// The log start offset.
    pub start: Offset,
    /// Everything below is durable, with its indexes and producer state.
    pub recovery_point: Offset,
    /// What the disk still has to be asked for.
    pub flush: FlushState,
}

/// A batch that was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The offset of its first record.
    pub base: Offset,
    /// The offset of its last record.
    pub last: Offset,
    /// Whether it had been appended before, so that nothing was done now.
    pub duplicate: bool,
}

/// Why a batch was not admitted. Nothing was changed, but that a full segment may have been closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The producer's sequence is broken.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// The disk is behind by the whole of its share of memory.
    #[error("the memory tail is full: {waiting} wait for the disk")]
    TailFull {
        /// What waits for the disk.
        waiting: ByteCount,
    },
    /// No tail will ever hold it, or no segment.
    #[error("batch of {size} is larger than {limit}, the most that {what} can hold")]
    TooLarge {
        /// The batch.
        size: ByteCount,
        /// The limit.
        limit: ByteCount,
        /// What has the limit.
        what: &'static str,
    },
    /// A transaction that nobody coordinates.
    #[error("transactional batches need a transaction coordinator, which this broker does not have")]
    Transactional,
}

impl From<&AppendError> for ErrorCode {
    fn from(error: &AppendError) -> Self {
        match error {
            AppendError::Sequence(error) => error.into(),
            AppendError::TailFull { .. } => Self::RequestTimedOut, // the client retries here
            AppendError::TooLarge { what: TAIL, .. } => Self::MessageTooLarge,
            AppendError::TooLarge { .. } => Self::RecordListTooLarge,
            AppendError::Transactional => Self::InvalidTxnState,
        }
    }
}

const TAIL: &str = "the memory tail";

impl Log {
    /// Puts a log together.
    ///
    /// # Panics
    /// If the parts contradict each other.
    #[must_use]
    pub fn new(parts: LogParts) -> Self {
        let LogParts { config, segments, tail, mut producers, epochs, start, recovery_point, mut flush } =
            parts;
        let end = tail.end();
        assert_eq!(end.segment_base, segments.active().base, "the tail goes on where the files end");
        assert_eq!(end.at, segments.active().size, "the tail goes on where the files end");
        assert!(start <= end.offset, "a log does not start behind its end");
        flush.begin_at(recovery_point.min(end.offset));
        // Markers that were read again are below the high watermark, and the transactions that they end are decided.
        producers.on_high_watermark(end.offset);
        Self {
            config,
            segments,
            tail,
            producers,
            epochs,
            start,
            high_watermark: end.offset,
            cursors: Cursors::default(),
            flush,
        }
    }

    /// The log of a new partition. `metadata` is written before anything else.
    #[must_use]
    pub fn empty(
        directory: &str,
        topic: TopicId,
        partition: PartitionIndex,
        config: LogConfig,
        share: Arc<TailShare>,
        metadata: SmallFile,
        now: Timestamp,
    ) -> Self {
        let base = Offset::ZERO;
        let active = ActiveSegment::empty(base, SegmentIndexes::new(base, config.indexes), now);
        let end = LogEnd { segment_base: base, at: 0, offset: base };
        Self::new(LogParts {
            segments: Segments::new(directory, VecDeque::new(), active),
            tail: LogTail::new(share, topic, partition, end),
            producers: ProducerState::starting_at(base),
            epochs: LeaderEpochs::default(),
            start: base,
            recovery_point: base,
            flush: FlushState::of_new_partition(metadata),
            config,
        })
    }

    /// The offset of the next record.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.tail.end().offset
    }

    /// The first offset that may be read.
    #[must_use]
    pub fn start(&self) -> Offset {
        self.start
    }

    /// The high watermark: consumers may see what lies below. A log begins with it at its end, as
    /// in a cluster of one, and only [`Self::advance_high_watermark`] raises it.
    #[must_use]
    pub fn high_watermark(&self) -> Offset {
        self.high_watermark
    }

    /// The in-sync replicas have everything below `to`: consumers may see it. The partition's leader
    /// says so; an append does not.
    ///
    /// # Panics
    /// If `to` lies below the high watermark or the log start offset, or above the log end offset.
    pub fn advance_high_watermark(&mut self, to: Offset) {
        let (now, start, end) = (self.high_watermark, self.start, self.end());
        assert!(now <= to, "the high watermark never goes backwards: {now} <= {to}");
        assert!(start <= to, "the high watermark is not below the log start offset: {start} <= {to}");
        assert!(to <= end, "the high watermark is not above the log end offset: {to} <= {end}");
        self.high_watermark = to;
        self.producers.on_high_watermark(to);
    }

    /// The end of what consumers of decided transactions may see.
    #[must_use]
    pub fn last_stable_offset(&self) -> Offset {
        let unstable = self.producers.first_unstable_offset();
        unstable.map_or(self.high_watermark, |first| first.max(self.start).min(self.high_watermark))
    }

    /// Everything below survives a power cut.
    #[must_use]
    pub fn durable_end(&self) -> Offset {
        self.tail.durable_end()
    }

    /// After an unclean stop, reading begins here.
    #[must_use]
    pub fn recovery_point(&self) -> Offset {
        self.flush.recovery_point()
    }

    /// Whether a round of syncs has said that the log's directory and a segment are on the disk.
    #[must_use]
    pub fn has_files(&self) -> bool {
        self.flush.has_files()
    }

    /// Bytes in all segments.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.segments.size()
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &LogConfig {
        &self.config
    }

    /// Takes new settings; they hold from the next append on.
    pub fn configure(&mut self, config: LogConfig) {
        self.config = config;
    }

    /// The segments.
    #[must_use]
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The memory that holds the end of the log.
    #[must_use]
    pub fn tail(&self) -> &LogTail {
        &self.tail
    }

    /// Releases up to `chunks` chunks of memory that the disk has, oldest first. Returns how many.
    pub fn evict(&mut self, chunks: usize) -> usize {
        self.tail.evict(chunks)
    }

    /// Releases all memory, also of what is not durable: for a log that is deleted, or that is
    /// durable to its end and takes no more appends.
    pub fn release_memory(&mut self) {
        self.tail.clear(self.tail.end());
    }

    /// The disk is lost, and what it said of late may not be true ([`LogTail::doubt`]).
    pub fn doubt(&mut self) {
        self.tail.doubt();
    }

    /// What is known of producers.
    #[must_use]
    pub fn producers(&self) -> &ProducerState {
        &self.producers
    }

    /// The epoch of the last leader that is known.
    #[must_use]
    pub fn latest_epoch(&self) -> Option<LeaderEpoch> {
        self.epochs.latest().map(|latest| latest.epoch)
    }

    /// Forgets producers that were not heard of for too long.
    pub fn expire_producers(&mut self, now: Timestamp) {
        self.producers.expire(now, Duration::from_millis(self.config.producer_expiration_ms));
    }

    /// Which epochs wrote what.
    #[must_use]
    pub fn epochs(&self) -> &LeaderEpochs {
        &self.epochs
    }

    /// A leader begins to write in `epoch`.
    pub fn begin_epoch(&mut self, epoch: LeaderEpoch) {
        if self.epochs.assign(epoch, self.end()) {
            self.flush.on_epochs_changed();
        }
    }

    /// Admits a produced batch to the memory tail, and leaves the disk its share of the work.
    ///
    /// # Errors
    /// [`AppendError`]. A full tail is the only way in which a slow disk is felt here.
    pub fn append(
        &mut self,
        batch: AppendBytes,
        epoch: LeaderEpoch,
        now: Timestamp,
    ) -> Result<Appended, AppendError> {
        let AppendBytes { mut header, records } = batch;
        if header.is_transactional() {
            return Err(AppendError::Transactional);
        }
        let producer = ProducerBatch::of(&header);
        if let Some(batch) = &producer
            && let Admission::Duplicate { base_offset, last_offset, .. } =
                self.producers.check(batch, AppendOrigin::Client)?
        {
            return Ok(Appended { base: base_offset, last: last_offset, duplicate: true });
        }
        header.stamp_base_offset(self.end());
        header.stamp_leader_epoch(epoch);
        self.append_stamped(&header, &records, now)
    }

    /// Admits a batch that this broker made, control batches included, at the log's end.
    ///
    /// # Errors
    /// As for [`Self::append`], sequences apart.
    pub fn append_own(
        &mut self,
        mut header: BatchHeader,
        records: &[u8],
        epoch: LeaderEpoch,
        now: Timestamp,
    ) -> Result<Appended, AppendError> {
        header.stamp_base_offset(self.end());
        header.stamp_leader_epoch(epoch);
        self.append_stamped(&header, records, now)
    }

    fn append_stamped(
        &mut self,
        header: &BatchHeader,
        records: &[u8],
        now: Timestamp,
    ) -> Result<Appended, AppendError> {
        let size = header.size() as u64;
        self.check_size(size)?;
        if self.must_roll(header, now) {
            self.roll(now);
        }
        let at = self.segments.active().size;
        let facts = TailBatch::of(header);
        self.tail
            .push(at, &[&header.as_bytes()[..HEADER_SIZE], records], facts)
            .map_err(|TailFull { waiting }| AppendError::TailFull { waiting })?;
        if let Some(epoch) = header.leader_epoch() {
            self.begin_epoch_at(epoch, header.base_offset());
        }
        let active = self.segments.active_mut();
        active.first_timestamp.get_or_insert(header.max_timestamp());
        active.size += size;
        active.indexes.on_append(BatchPosition {
            last_offset: header.last_offset(),
            max_timestamp: header.max_timestamp(),
            position: u32::try_from(at).expect("a segment has less than 4 GiB"),
            size: facts.size,
        });
        if let Some(completed) = self.producers.replay(header, marker_of(header, records)) {
            active.aborted.extend(completed.aborted());
        }
        self.flush.on_append();
        Ok(Appended { base: header.base_offset(), last: header.last_offset(), duplicate: false })
    }

    fn check_size(&self, size: u64) -> Result<(), AppendError> {
        let tail = self.tail.share().largest_batch();
        let segment = ByteCount(self.config.segment_bytes.into());
        for (limit, what) in [(tail, TAIL), (segment, "a segment")] {
            if size > limit.0 {
                return Err(AppendError::TooLarge { size: ByteCount(size), limit, what });
            }
        }
        Ok(())
    }

    fn begin_epoch_at(&mut self, epoch: LeaderEpoch, at: Offset) {
        if self.epochs.assign(epoch, at) {
            self.flush.on_epochs_changed();
        }
    }

    /// Whether the active segment is to be closed before this batch (`LogSegment.shouldRoll`).
    fn must_roll(&self, header: &BatchHeader, now: Timestamp) -> bool {
        let active = self.segments.active();
        if active.size == 0 {
            return active.indexes.must_roll(header.last_offset());
        }
        let is_full = active.size + header.size() as u64 > u64::from(self.config.segment_bytes);
        is_full || self.is_old(header.max_timestamp(), now) || active.indexes.must_roll(header.last_offset())
    }

    /// By the records' own time, where they have one; otherwise by the clock since the segment was made.
    fn is_old(&self, newest: Timestamp, now: Timestamp) -> bool {
        let active = self.segments.active();
        let age = match active.first_timestamp {
            Some(first) if first.0 >= 0 => newest.millis_since(first),
            _ => now.millis_since(active.created),
        };
        age > self.config.segment_age_ms
    }

    /// Closes the active segment and begins the next at the log's end. A decision in memory: producers wait for the new segment, and
    /// what the old one still needs of the disk is asked for later (the lab's incident `roll` is what waiting here costs).
    pub(crate) fn roll(&mut self, now: Timestamp) {
        let base = self.end();
        if base == self.segments.active().base {
            // An empty segment cannot be followed by another of the same name. Its index limits are the only reason to get
            // here, and they are those of the next one as well.
            return;
        }
        self.segments.active_mut().indexes.on_close();
        self.flush.on_roll(&mut self.segments, &mut self.producers);
        let indexes = SegmentIndexes::new(base, self.config.indexes);
        self.segments.roll(ActiveSegment::empty(base, indexes, now), now);
        self.tail.roll(base);
    }

    /// A file of the segment that begins at `base`.
    pub(crate) fn file(&self, file: SegmentFile, base: Offset) -> FileName {
        self.segments.file(file, base)
    }
}

/// The transaction marker in a control batch, if it is one.
pub(crate) fn marker_of(header: &BatchHeader, records: &[u8]) -> Option<EndTxnMarker> {
    if !header.is_control() || !header.is_transactional() {
        return None;
    }
    let record = RecordIter::new(records, header.count()).next()?.ok()?;
    EndTxnMarker::from_record(record.key?, record.value?)
}
