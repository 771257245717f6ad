//! What a partition's directory holds, and the tidying up of what a crash left half done
//! (log-format: suffixes).

use std::collections::{BTreeMap, BTreeSet};

use aplomb_disk_api::{DiskError, Entry, EntryKind, FileName, PatientDisk};
use aplomb_model::{Offset, Timestamp};

use super::scan::scan_segment;
use crate::layout::{FileSuffix, LEADER_EPOCH_CHECKPOINT, SegmentFile, with_suffix};

/// The files of one segment. Lengths are bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundSegment {
    pub(super) log: u64,
    pub(super) modified: Timestamp,
    pub(super) index: Option<u64>,
    pub(super) time_index: Option<u64>,
    pub(super) txn_index: Option<u64>,
}

/// The files of one partition.
#[derive(Debug, Default)]
pub(super) struct FoundFiles {
    pub(super) segments: BTreeMap<Offset, FoundSegment>,
    pub(super) snapshots: BTreeSet<Offset>,
    /// Bytes of the leader epoch checkpoint, if there is one.
    pub(super) epochs: Option<u64>,
}

impl FoundFiles {
    /// Looks, tidies up, and looks again if that changed anything.
    pub(super) fn look(disk: &dyn PatientDisk, directory: &str) -> Result<Self, DiskError> {
        let name = FileName::new(directory);
        let entries = disk.list(Some(&name))?;
        if tidy(disk, directory, &entries)? {
            return Ok(Self::of(&disk.list(Some(&name))?));
        }
        Ok(Self::of(&entries))
    }

    fn of(entries: &[Entry]) -> Self {
        let mut found = Self::default();
        let mut indexes: BTreeMap<(Offset, SegmentFile), u64> = BTreeMap::new();
        for entry in entries {
            let EntryKind::File { len, modified_ms } = entry.kind else { continue };
            match SegmentFile::parse(&entry.name) {
                Some((SegmentFile::Log, base, None)) => {
                    let segment = FoundSegment {
                        log: len,
                        modified: Timestamp(modified_ms),
                        index: None,
                        time_index: None,
                        txn_index: None,
                    };
                    found.segments.insert(base, segment);
                }
                Some((SegmentFile::Snapshot, at, None)) => {
                    found.snapshots.insert(at);
                }
                Some((kind, base, None)) => {
                    indexes.insert((base, kind), len);
                }
                Some((_, _, Some(_))) | None => {}
            }
            if entry.name == LEADER_EPOCH_CHECKPOINT {
                found.epochs = Some(len);
            }
        }
        for ((base, kind), len) in indexes {
            let Some(segment) = found.segments.get_mut(&base) else { continue };
            match kind {
                SegmentFile::OffsetIndex => segment.index = Some(len),
                SegmentFile::TimeIndex => segment.time_index = Some(len),
                SegmentFile::TxnIndex => segment.txn_index = Some(len),
                SegmentFile::Log | SegmentFile::Snapshot => {}
            }
        }
        found
    }
}

/// Deletes `.deleted` files, finishes compactions that got as far as `.swap`, and removes indexes
/// without a log. True if anything was changed.
fn tidy(disk: &dyn PatientDisk, directory: &str, entries: &[Entry]) -> Result<bool, DiskError> {
    let file = |name: &str| FileName::new(format!("{directory}/{name}"));
    let parsed =
        || entries.iter().filter_map(|e| SegmentFile::parse(&e.name).map(|(kind, at, s)| (e, kind, at, s)));
    let mut changed = false;
    let first_cleaned =
        parsed().filter(|(.., s)| *s == Some(FileSuffix::Cleaned)).map(|(_, _, at, _)| at).min();
    for (entry, _, at, suffix) in parsed() {
        let unfinished = match suffix {
            Some(FileSuffix::Deleted | FileSuffix::Cleaned) => true,
            Some(FileSuffix::Swap) => first_cleaned.is_some_and(|first| at >= first),
            None => false,
        };
        if unfinished {
            disk.remove(&file(&entry.name))?;
            changed = true;
        }
    }
    changed |= finish_swaps(disk, directory, entries, first_cleaned)?;
    for (entry, kind, at, suffix) in parsed() {
        let is_index =
            matches!(kind, SegmentFile::OffsetIndex | SegmentFile::TimeIndex | SegmentFile::TxnIndex);
        let log = SegmentFile::Log.name(at);
        let swapped = with_suffix(&log, FileSuffix::Swap);
        if is_index && suffix.is_none() && !entries.iter().any(|e| e.name == log || e.name == swapped) {
            disk.remove(&file(&entry.name))?;
            changed = true;
        }
    }
    for entry in entries.iter().filter(|entry| entry.name.ends_with(".tmp")) {
        disk.remove(&file(&entry.name))?; // a small file that was not published
    }
    Ok(changed)
}

fn finish_swaps(
    disk: &dyn PatientDisk,
    directory: &str,
    entries: &[Entry],
    first_cleaned: Option<Offset>,
) -> Result<bool, DiskError> {
    let file = |name: &str| FileName::new(format!("{directory}/{name}"));
    let swaps: Vec<(&Entry, SegmentFile, Offset)> = entries
        .iter()
        .filter_map(|entry| match SegmentFile::parse(&entry.name) {
            Some((kind, at, Some(FileSuffix::Swap))) if first_cleaned.is_none_or(|first| at < first) => {
                Some((entry, kind, at))
            }
            _ => None,
        })
        .collect();
    let Some(from) = swaps.iter().map(|(.., at)| *at).min() else { return Ok(false) };
    let mut to = from;
    for (entry, kind, _) in &swaps {
        if let (SegmentFile::Log, EntryKind::File { len, .. }) = (kind, entry.kind) {
            scan_segment(disk, &file(&entry.name), 0..len, false, |batch| {
                to = to.max(batch.view.header.last_offset().next());
                true
            })?;
        }
    }
    for entry in entries {
        let replaced = match SegmentFile::parse(&entry.name) {
            Some((SegmentFile::Snapshot, ..)) | None => false,
            Some((_, at, suffix)) => suffix.is_none() && from <= at && at < to,
        };
        if replaced {
            disk.remove(&file(&entry.name))?;
        }
    }
    for (entry, kind, at) in swaps {
        disk.rename(&file(&entry.name), &file(&kind.name(at)))?;
    }
    Ok(true)
}
