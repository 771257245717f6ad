//! The producers of a log that is loaded: from the newest usable snapshot, and the batches behind
//! it.

use std::collections::BTreeSet;
use std::time::Duration;

use aplomb_model::Offset;

use super::loader::{LoadError, Loader};
use super::scan::{ScannedBatch, scan_segment};
use super::start::Believe;
use crate::index::ResumeFrom;
use crate::layout::SegmentFile;
use crate::producers::{CompletedTransaction, ProducerState, marker_of, parse_snapshot, snapshot_to_load};

impl Loader<'_> {
    /// The producers to begin with: those of the newest usable snapshot that is not above `bound`.
    /// It may be below the log start, which need not be where a segment begins, as long as all that
    /// is behind it is there to be read.
    pub(super) fn producers(
        &mut self,
        bound: Offset,
        resume_offset: Offset,
    ) -> Result<(ProducerState, Option<Offset>), LoadError> {
        let mut candidates: BTreeSet<Offset> = self.found.snapshots.clone();
        let first = *self.found.segments.keys().next().expect("there is one");
        let lowest = first.min(self.request.log_start);
        while let Some(at) = snapshot_to_load(candidates.iter().copied(), lowest, bound) {
            let file = self.file(SegmentFile::Snapshot, at);
            let bytes = self.disk.read(&file, 0, 1 << 30)?;
            match parse_snapshot(&bytes) {
                Ok(entries) => {
                    let expiry = Duration::from_millis(self.request.config.producer_expiration_ms);
                    return Ok((ProducerState::restore(at, entries, self.request.now, expiry), Some(at)));
                }
                Err(error) => {
                    self.report.remarks.push(format!("{file}: {error}: removed"));
                    self.disk.remove(&file)?;
                    candidates.remove(&at);
                    self.found.snapshots.remove(&at);
                }
            }
        }
        // With snapshots above the bound only, or after a crash with none, producers are to be
        // found again from the start of the log: a log that has moved here may have a recovery
        // point before it has its first snapshot.
        let start = if self.found.snapshots.is_empty() && self.request.clean { resume_offset } else { first };
        Ok((ProducerState::starting_at(start), None))
    }

    /// Feeds the producers what lies between their snapshot and the point from which batches are
    /// read anyway.
    pub(super) fn replay_before(
        &mut self,
        producers: &mut ProducerState,
        first_read: Offset,
        resume: &ResumeFrom,
    ) -> Result<(), LoadError> {
        let resume_offset = resume.last_offset.map_or(first_read, |entry| entry.offset);
        let position = resume.last_offset.map_or(0, |entry| entry.position.into());
        let from = producers.end();
        if from >= resume_offset {
            return Ok(());
        }
        let before: Vec<(Offset, u64)> = self
            .found
            .segments
            .range(..=first_read)
            .map(|(base, found)| (*base, if *base == first_read { position } else { found.log }))
            .collect();
        let first = before.partition_point(|(base, _)| *base <= from).saturating_sub(1);
        for (base, end) in before.into_iter().skip(first) {
            let start =
                self.resume(base, Believe::Below(from))?.last_offset.map_or(0, |entry| entry.position.into());
            if start >= end {
                continue;
            }
            let file = self.file(SegmentFile::Log, base);
            let scanned = scan_segment(self.disk, &file, start..end, false, |batch| {
                feed(producers, batch);
                true
            })?;
            self.report.bytes_read += scanned.bytes_read;
        }
        Ok(())
    }
}

/// Shows a batch to the producers, unless their snapshot has seen it.
pub(super) fn feed(producers: &mut ProducerState, batch: &ScannedBatch<'_>) -> Option<CompletedTransaction> {
    let header = &batch.view.header;
    if header.last_offset() < producers.end() {
        return None;
    }
    let marker = if header.is_control() { marker_of(header, &batch.view.record_bytes()) } else { None };
    producers.replay(header, marker)
}
