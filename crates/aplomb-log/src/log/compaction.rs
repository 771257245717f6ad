//! A log's side of its compaction: whether there is something to do, what a pass is told, and the
//! segments that it gives.
//!
//! What always holds: only closed segments are compacted that a recovery would not read, below the
//! last stable offset; what the tail knows of them is forgotten before a pass begins.

use std::collections::VecDeque;

use aplomb_model::{Offset, Timestamp};

use super::Log;
use crate::compaction::{ActiveProducers, CompactionPlan, CompactionRules, Replacement, SourceSegment};
use crate::config::CompactionConfig;
use crate::segments::Segment;

/// What a pass over a log would find (`LogToClean`). Sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dirtiness {
    /// The first offset that no pass has read.
    pub first_dirty: Offset,
    /// The first offset that no pass may read yet.
    pub first_uncleanable: Offset,
    /// The part that passes have read.
    pub clean: u64,
    /// The part that one may read now.
    pub dirty: u64,
    /// A record has waited for longer than `max.compaction.lag.ms`.
    pub is_late: bool,
    /// The segments below `first_uncleanable` are settled on the disk: a pass may begin.
    pub is_settled: bool,
}

impl Dirtiness {
    /// The dirty part of all that a pass would read, of 1.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        let all = self.clean + self.dirty;
        if all == 0 { 0.0 } else { self.dirty as f64 / all as f64 }
    }
}

/// What has to be read before [`Log::dirtiness`] can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownTime {
    /// The last entry of the time index of the closed segment at this base.
    Greatest(Offset),
    /// The header of the first batch of the closed segment at this base.
    First(Offset),
}

impl Log {
    /// The first offset that no pass has read: what the checkpoint says, if it lies in the log.
    #[must_use]
    pub fn first_dirty(&self) -> Offset {
        match self.cleaned {
            Some(cleaned) if self.start <= cleaned && cleaned <= self.end() => cleaned,
            Some(_) | None => self.start,
        }
    }

    /// What the cleaner's checkpoint says of the log.
    #[must_use]
    pub fn cleaned(&self) -> Option<Offset> {
        self.cleaned
    }

    /// Counts the times that segments were replaced: a plan from before reads other files.
    #[must_use]
    pub fn replacements(&self) -> u32 {
        self.replacements
    }

    /// What a pass would find at `now` (`LogCleanerManager.cleanableOffsets`).
    ///
    /// # Errors
    /// [`UnknownTime`]: a lag cannot be told before that is read.
    pub fn dirtiness(&self, now: Timestamp) -> Result<Dirtiness, UnknownTime> {
        let CompactionConfig { min_lag_ms, max_lag_ms, .. } = self.config.compaction;
        let first_dirty = self.first_dirty();
        let closed = self.segments.closed();
        let first = self.segments.closed_holding(first_dirty).unwrap_or(closed.len());
        let mut end = closed.len();
        // A record that a power cut makes uncommitted again must not have cost another its place.
        let stable = self.last_stable_offset().min(self.durable_stable);
        while end > 0 && self.segments.end_of_closed(end - 1) > stable {
            end -= 1;
        }
        if min_lag_ms > 0 {
            let oldest = now.0.saturating_sub_unsigned(min_lag_ms);
            let may_be_compacted = first.min(end)..end;
            for (place, segment) in may_be_compacted.clone().zip(closed.range(may_be_compacted)) {
                if self.greatest_of(segment)? > oldest {
                    end = place;
                    break;
                }
            }
        }
        let is_late = match max_lag_ms {
            Some(lag) if first < end => {
                self.first_time(first, end)?.is_some_and(|time| now.millis_since(Timestamp(time)) > lag)
            }
            Some(_) | None => false,
        };
        let bytes = |places: std::ops::Range<usize>| closed.range(places).map(|segment| segment.size).sum();
        let clean_to = closed.partition_point(|segment| segment.base < first_dirty);
        let first_uncleanable = closed.get(end).map_or(self.segments.active().base, |segment| segment.base);
        Ok(Dirtiness {
            first_dirty,
            first_uncleanable,
            clean: bytes(0..clean_to),
            dirty: bytes(first.min(end)..end),
            is_late,
            is_settled: self.is_settled_below(first_uncleanable),
        })
    }

    /// How long the time index of the closed segment at `base` is; 0 without one.
    #[must_use]
    pub fn time_index_len(&self, base: Offset) -> u64 {
        let segment = self.segments.closed().iter().find(|segment| segment.base == base);
        segment.map_or(0, |segment| segment.time_index_len)
    }

    /// Takes the header of a closed segment's first batch, as the disk has it; `None`: it has none.
    pub fn on_first_time(&mut self, base: Offset, first: Option<Timestamp>) {
        let segment = self.segments.closed_mut().iter_mut().find(|segment| segment.base == base);
        if let Some(segment) = segment {
            segment.first_timestamp.get_or_insert(first.unwrap_or(Timestamp::NONE));
        }
    }

    /// A pass over the segments below `upto` begins at `now`. `None`, and nothing is changed, if
    /// the log is not what [`Self::dirtiness`] said: records were deleted since.
    pub fn begin_compaction(
        &mut self,
        upto: Offset,
        producers: ActiveProducers,
        rules: CompactionRules,
        now: Timestamp,
    ) -> Option<CompactionPlan> {
        let count = self.segments.closed().partition_point(|segment| segment.base < upto);
        let is_end = count > 0 && self.segments.end_of_closed(count - 1) == upto;
        if !is_end || self.first_dirty() >= upto || !self.is_settled_below(upto) {
            return None;
        }
        self.tail.forget_segments_below(upto);
        let closed = self.segments.closed();
        let source = |(place, segment): (usize, &Segment)| SourceSegment {
            base: segment.base,
            end: self.segments.end_of_closed(place),
            size: segment.size,
            index_len: segment.index_len,
            time_index_len: segment.time_index_len,
            modified: segment.modified,
        };
        let sources: Vec<_> = closed.iter().take(count).enumerate().map(source).collect();
        let lists = closed.iter().map(|segment| &segment.aborted[..]);
        let aborted: Vec<_> =
            lists.chain([self.segments.active().aborted.entries()]).flatten().copied().collect();
        Some(CompactionPlan {
            directory: self.segments.directory().to_owned(),
            sources,
            first_dirty: self.first_dirty(),
            aborted,
            producers,
            high_watermark: self.high_watermark,
            rules,
            now,
        })
    }

    /// Takes the segment of a group. What is read from here on is read from it.
    ///
    /// # Panics
    /// If the log has not got the segments that it replaces.
    pub fn replace_segments(&mut self, replacement: Replacement) {
        let Replacement { sources, segment } = replacement;
        let (base, snapshots) = (segment.base, &sources[1..]);
        self.owed.on_vanished(snapshots);
        let end = self.segments.closed().iter().position(|closed| Some(&closed.base) == sources.last());
        let end = self.segments.end_of_closed(end.expect("what is replaced is in the log"));
        self.segments.replace(&sources, segment);
        self.readers.forget(base, end);
        self.replacements += 1;
    }

    /// The files of the segment at `base` have their own names.
    pub fn on_swapped(&mut self, base: Offset) {
        if let Some(segment) = self.segments.closed_mut().iter_mut().find(|segment| segment.base == base) {
            segment.in_swap = false;
        }
    }

    /// A pass is over: below `end` the log is clean.
    pub fn on_compacted(&mut self, end: Offset) {
        self.cleaned = Some(end);
    }

    /// Whether a recovery reads nothing below `offset`, and nothing is owed to the disk there.
    fn is_settled_below(&self, offset: Offset) -> bool {
        let settled = self.owed.recovery_point().min(self.tail.durable_end());
        let closed: &VecDeque<Segment> = self.segments.closed();
        let below = closed.partition_point(|segment| segment.base < offset);
        offset <= settled && closed.range(..below).all(|segment| !self.owed.owes(segment.base))
    }

    /// The greatest timestamp of a segment, or when it was written last, in milliseconds.
    fn greatest_of(&self, segment: &Segment) -> Result<i64, UnknownTime> {
        match segment.greatest {
            Some(greatest) if greatest.0 >= 0 => Ok(greatest.0),
            None if segment.time_index_len > 0 => Err(UnknownTime::Greatest(segment.base)),
            Some(_) | None => Ok(segment.modified.0),
        }
    }

    /// The earliest time at which one of these segments begins; `None` if none of them says.
    fn first_time(&self, from: usize, to: usize) -> Result<Option<i64>, UnknownTime> {
        let mut earliest = None;
        for segment in self.segments.closed().range(from..to).filter(|segment| segment.size > 0) {
            let first = segment.first_timestamp.ok_or(UnknownTime::First(segment.base))?;
            if first.0 > 0 {
                earliest = Some(earliest.map_or(first.0, |earlier: i64| earlier.min(first.0)));
            }
        }
        Ok(earliest)
    }
}
