//! A partition's log. Start reading here.
//!
//! A [`Log`] is a pure state machine: it takes batches and the time, holds their bytes in the
//! memory [`tail`](crate::tail), and owes its disk commands. An append completes in memory; a fetch
//! says what it costs: memory now, a disk later, or nothing yet.
//!
//! What always holds: log start offset <= high watermark <= log end offset; what is durable lies
//! below the end; the tail has every byte that is not durable; segments, indexes, producers and
//! leader epochs describe exactly the offsets below the end. The fields are seen in this folder
//! only.
//!
//! Here: what a log is and its three offsets. One file each for what is done to it: `append`,
//! `read`, `rounds` (what goes to the disk, kept in `owed`), `rest` (what a clean stop notes),
//! `retention` (deleting), `compaction`, `future` (the way to another disk). [`crate::recovery`]
//! finds a log again.

mod append;
mod compaction;
pub mod future;
mod owed;
mod read;
mod rest;
mod retention;
mod rounds;

pub use append::{AppendError, Appended};
pub use compaction::{Dirtiness, UnknownTime};
pub use owed::{Owed, RecoveryDebt};
pub use read::{Fetched, TimeFound};
pub use retention::Retention;
pub use rounds::{CheckpointPart, SyncPart};

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use aplomb_disk_api::SmallFile;
use aplomb_model::{LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicId};

use crate::cold::ReaderPositions;
use crate::config::LogConfig;
use crate::epochs::LeaderEpochs;
use crate::index::SegmentIndexes;
use crate::producers::ProducerState;
use crate::segments::{ActiveSegment, Segments};
use crate::tail::{LogEnd, LogTail, TailShare};

/// The log of one partition.
#[derive(Debug)]
pub struct Log {
    /// One for all partitions of a topic, of which there may be many.
    config: Arc<LogConfig>,
    segments: Segments,
    tail: LogTail,
    producers: ProducerState,
    epochs: LeaderEpochs,
    start: Offset,
    /// Consumers do not see records from here on.
    high_watermark: Offset,
    readers: ReaderPositions,
    /// The last stable offset when the round of syncs that is under way began, and when the last
    /// one that is over began: below, what became of transactions is durable.
    stable_at_sync: Offset,
    durable_stable: Offset,
    /// What the cleaner's checkpoint says.
    cleaned: Option<Offset>,
    /// Counts the times that segments were replaced.
    replacements: u32,
    owed: Owed,
}

/// The parts of a log, as recovery found them or as a new partition has them.
#[derive(Debug)]
pub struct LogParts {
    /// What the topic's settings mean to a log.
    pub config: Arc<LogConfig>,
    /// All segments, up to the log end offset.
    pub segments: Segments,
    /// An empty tail that ends where the last segment does.
    pub tail: LogTail,
    /// The producers, up to the log end.
    pub producers: ProducerState,
    /// Which leader wrote what, up to the log end offset.
    pub epochs: LeaderEpochs,
    /// The log start offset.
    pub start: Offset,
    /// The high watermark, to be bounded by the log; `None`: the log end offset, as in a cluster of
    /// one.
    pub high_watermark: Option<Offset>,
    /// Everything below is durable, with its indexes and producer state.
    pub recovery_point: Offset,
    /// What the cleaner's checkpoint says: below, compaction has been.
    pub cleaned: Option<Offset>,
    /// What the disk still has to be asked for.
    pub owed: Owed,
}

impl Log {
    /// Puts a log together.
    ///
    /// # Panics
    /// If the parts contradict each other.
    #[must_use]
    pub fn new(parts: LogParts) -> Self {
        let LogParts { config, segments, mut tail, mut producers, epochs, start, mut owed, .. } = parts;
        let end = tail.end();
        assert_eq!(end.segment_base, segments.active().base, "the tail goes on where the files end");
        assert_eq!(end.at, segments.active().size, "the tail goes on where the files end");
        assert!(start <= end.offset, "a log does not start behind its end");
        owed.begin_at(parts.recovery_point.min(end.offset));
        tail.set_internal(config.is_internal);
        let high_watermark = parts.high_watermark.unwrap_or(end.offset).clamp(start, end.offset);
        // Transactions are decided whose markers were read again and lie below the high watermark.
        producers.on_high_watermark(high_watermark);
        let is_durable = owed.is_found_durable();
        let mut log = Self {
            config,
            segments,
            tail,
            producers,
            epochs,
            start,
            high_watermark,
            readers: ReaderPositions::default(),
            stable_at_sync: start,
            durable_stable: start,
            cleaned: parts.cleaned,
            replacements: 0,
            owed,
        };
        if is_durable {
            log.durable_stable = log.last_stable_offset();
        }
        log
    }

    /// The log of a new partition. `metadata` is written before anything else.
    #[must_use]
    pub fn empty(
        directory: &str,
        topic: TopicId,
        partition: PartitionIndex,
        config: impl Into<Arc<LogConfig>>,
        share: Arc<TailShare>,
        metadata: SmallFile,
        now: Timestamp,
    ) -> Self {
        let (base, config) = (Offset::ZERO, config.into());
        let active = ActiveSegment::empty(base, SegmentIndexes::new(base, config.indexes), now);
        let end = LogEnd { segment_base: base, at: 0, offset: base };
        Self::new(LogParts {
            segments: Segments::new(directory, VecDeque::new(), active),
            tail: LogTail::new(share, topic, partition, end),
            producers: ProducerState::starting_at(base),
            epochs: LeaderEpochs::default(),
            start: base,
            high_watermark: None,
            recovery_point: base,
            cleaned: None,
            owed: Owed::by_new_partition(metadata),
            config,
        })
    }

    /// The log end offset (LEO): the next record gets it.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.tail.end().offset
    }

    /// The log start offset: the first that may be read.
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

    /// The in-sync replicas have everything below `to`: consumers may see it. The partition's
    /// leader says so; an append does not.
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

    /// The last stable offset (LSO): READ_COMMITTED consumers see what lies below.
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

    /// The recovery point: after an unclean stop, the log is read from here on.
    #[must_use]
    pub fn recovery_point(&self) -> Offset {
        self.owed.recovery_point()
    }

    /// Whether the log's directory and a segment outlive a power cut.
    #[must_use]
    pub fn has_files(&self) -> bool {
        self.owed.has_files()
    }

    /// Bytes in all segments.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.segments.size()
    }

    /// The topic's settings as they are now.
    #[must_use]
    pub fn config(&self) -> &LogConfig {
        &self.config
    }

    /// Takes new settings, which hold from the next append on.
    pub fn configure(&mut self, config: impl Into<Arc<LogConfig>>) {
        let config = config.into();
        self.tail.set_internal(config.is_internal);
        self.config = config;
    }

    /// All segments, as far as memory knows them.
    #[must_use]
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The memory that holds the end of the log.
    #[must_use]
    pub fn tail(&self) -> &LogTail {
        &self.tail
    }

    /// Takes the log apart: its settings and its tail are left, the files are what they are.
    pub(crate) fn into_tail(self) -> (Arc<LogConfig>, LogTail) {
        (self.config, self.tail)
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

    /// The idempotent and transactional producers of the log.
    #[must_use]
    pub fn producers(&self) -> &ProducerState {
        &self.producers
    }

    /// The latest leader epoch.
    #[must_use]
    pub fn latest_epoch(&self) -> Option<LeaderEpoch> {
        self.epochs.latest().map(|latest| latest.epoch)
    }

    /// Forgets producers that have been idle for `producer.id.expiration.ms`.
    pub fn expire_producers(&mut self, now: Timestamp) {
        self.producers.expire(now, Duration::from_millis(self.config.producer_expiration_ms));
    }

    /// Which leader epoch wrote which offsets.
    #[must_use]
    pub fn epochs(&self) -> &LeaderEpochs {
        &self.epochs
    }

    /// A leader begins to write in `epoch`.
    pub fn begin_epoch(&mut self, epoch: LeaderEpoch) {
        if self.epochs.assign(epoch, self.end()) {
            self.owed.on_epoch_begun();
        }
    }

    fn assign_epoch(&mut self, epoch: LeaderEpoch, start: Offset) {
        if self.epochs.assign(epoch, start) {
            self.owed.on_epochs_changed();
        }
    }
}
