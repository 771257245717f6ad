//! What the tail has behind a place that nothing reaches: files were deleted or cut, and the tail
//! had given up the beginning of what was in them.
//!
//! What is lost is lost, and what the tail still has was acknowledged too: it begins a segment of
//! its own, and consumers find a gap, as compaction leaves them. Loading a log takes a gap between
//! segments for what a power cut does to unsynced files, and cuts there, unless it lies below the
//! recovery point. So all of it is made durable, and the recovery point is raised.

use std::collections::BTreeMap;

use aplomb_disk_api::{DiskError, EntryKind, FileName, PatientDisk, SmallFile};
use aplomb_model::Offset;

use super::forget::{ForgetError, LARGEST};
use crate::checkpoint::{encode_offsets, parse_offsets};
use crate::layout::top_level::RECOVERY_POINT_CHECKPOINT;
use crate::layout::{PartitionDir, SegmentFile};

/// Those that are made anew when they are missing.
pub(super) const INDEXES: [SegmentFile; 2] = [SegmentFile::OffsetIndex, SegmentFile::TimeIndex];

/// Raises the recovery points of partitions, by the names of their directories, over gaps that end
/// below these offsets.
pub(super) fn believe_behind(disk: &dyn PatientDisk, holes: &[(String, Offset)]) -> Result<(), ForgetError> {
    let file = FileName::new(RECOVERY_POINT_CHECKPOINT);
    let mut points = match disk.read(&file, 0, LARGEST) {
        Ok(bytes) => {
            parse_offsets(&bytes).map_err(|error| ForgetError::Checkpoint { file: file.clone(), error })?
        }
        Err(DiskError::NotFound { .. }) => BTreeMap::new(),
        Err(error) => return Err(error.into()),
    };
    for (name, end) in holes {
        let partition = PartitionDir::parse(name).expect("it was made as such a name").partition;
        let point = points.entry(partition).or_insert(Offset::ZERO);
        settle(disk, name, *point)?;
        *point = (*point).max(*end);
    }
    let content = encode_offsets(points.iter().map(|(partition, offset)| (partition, *offset)));
    Ok(disk.publish(&[SmallFile { name: file, content: content.into() }])?)
}

/// What lies above a recovery point is read and indexed anew. What is to lie below it from now on
/// has to be durable; and its indexes go, which are made anew when they are missing.
fn settle(disk: &dyn PatientDisk, name: &str, point: Offset) -> Result<(), DiskError> {
    let entries = disk.list(Some(&FileName::new(name)))?;
    let files = entries.iter().filter(|entry| matches!(entry.kind, EntryKind::File { .. }));
    let mut bases: Vec<Offset> = files
        .filter_map(|entry| match SegmentFile::parse(&entry.name) {
            Some((SegmentFile::Log, base, None)) => Some(base),
            _ => None,
        })
        .collect();
    bases.sort_unstable();
    let first = bases.partition_point(|base| *base < point).saturating_sub(1);
    for base in &bases[first..] {
        for kind in INDEXES {
            disk.remove(&kind.within(name, *base))?;
        }
    }
    let logs: Vec<FileName> =
        bases[first..].iter().map(|base| SegmentFile::Log.within(name, *base)).collect();
    disk.sync(&logs)
}
