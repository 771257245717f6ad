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
use super::scan::scan_segment;
use crate::checkpoint::{encode_offsets, parse_offsets};
use crate::epochs::LeaderEpochs;
use crate::layout::top_level::RECOVERY_POINT_CHECKPOINT;
use crate::layout::{LEADER_EPOCH_CHECKPOINT, PartitionDir, SegmentFile};

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

/// What lies above a recovery point is read, cut to whole batches and indexed anew, and its leader
/// epochs are noted. What is to lie below it from now on has to be durable, and is not read again:
/// a process that was killed in the middle of a write may have left half a batch at the end of any
/// of these segments. Their indexes go, which are made anew when they are missing.
fn settle(disk: &dyn PatientDisk, name: &str, point: Offset) -> Result<(), ForgetError> {
    let entries = disk.list(Some(&FileName::new(name)))?;
    let mut segments: Vec<(Offset, u64)> = entries
        .iter()
        .filter_map(|entry| match (entry.kind, SegmentFile::parse(&entry.name)) {
            (EntryKind::File { len, .. }, Some((SegmentFile::Log, base, None))) => Some((base, len)),
            _ => None,
        })
        .collect();
    segments.sort_unstable();
    let first = segments.partition_point(|(base, _)| *base < point).saturating_sub(1);
    let above = &segments[first..];
    let Some((begin, _)) = above.first() else { return Ok(()) };
    let checkpoint = FileName::new(format!("{name}/{LEADER_EPOCH_CHECKPOINT}"));
    let mut epochs = match disk.read(&checkpoint, 0, LARGEST) {
        Ok(bytes) if bytes.is_empty() => LeaderEpochs::default(),
        Ok(bytes) => LeaderEpochs::parse(&bytes)
            .map_err(|error| ForgetError::Checkpoint { file: checkpoint.clone(), error })?,
        Err(DiskError::NotFound { .. }) => LeaderEpochs::default(),
        Err(error) => return Err(error.into()),
    };
    epochs.truncate_from_end(*begin);
    let mut logs = Vec::new();
    for (base, len) in above {
        for kind in INDEXES {
            disk.remove(&kind.within(name, *base))?;
        }
        let log = SegmentFile::Log.within(name, *base);
        let scanned = scan_segment(disk, &log, 0..*len, true, |batch| {
            if let Some(epoch) = batch.view.header.leader_epoch() {
                epochs.assign(epoch, batch.view.header.base_offset());
            }
            true
        })?;
        if scanned.end == 0 {
            for kind in SegmentFile::OF_SEGMENT {
                disk.remove(&kind.within(name, *base))?;
            }
            continue;
        }
        if scanned.end < *len {
            disk.truncate(&log, scanned.end)?;
        }
        logs.push(log);
    }
    disk.sync(&logs)?;
    Ok(disk.publish(&[SmallFile { name: checkpoint, content: epochs.encode().into() }])?)
}

#[cfg(test)]
mod tests {
    use aplomb_disk_api::DiskIndex;
    use aplomb_disk_api::sim::{SimDisk, SimOptions};
    use aplomb_model::batch::BatchBuilder;
    use aplomb_model::{LeaderEpoch, Timestamp};
    use bytes::Bytes;

    use super::*;

    fn batch(at: u64, epoch: u32) -> Vec<u8> {
        let mut builder = BatchBuilder::new(Offset::new(at)).leader_epoch(LeaderEpoch::new(epoch));
        builder.append(Timestamp(7), None, Some(b"a record"), &[]);
        builder.build().to_vec()
    }

    /// A process was killed while it rolled from one segment to the next, and all that it had of
    /// the next two is gone.
    #[test]
    fn segments_before_a_gap_end_with_whole_batches_and_their_epochs_are_known() {
        let disk = SimDisk::new(DiskIndex(0), SimOptions::default());
        let write = |name: &str, bytes: &[u8]| {
            disk.publish(&[SmallFile { name: FileName::new(name), content: Bytes::copy_from_slice(bytes) }])
                .expect("the disk is well");
        };
        let (first, torn, behind) = (batch(0, 1), batch(1, 2), batch(9, 3));
        write("orders-0/00000000000000000000.log", &[&first[..], &batch(1, 2)[..20]].concat());
        write("orders-0/00000000000000000001.log", &torn[..torn.len() - 1]);
        write("orders-0/00000000000000000001.index", b"of what is gone");
        write("orders-0/00000000000000000009.log", &behind);
        write("orders-0/leader-epoch-checkpoint", b"0\n1\n0 0\n");
        believe_behind(&disk, &[("orders-0".to_owned(), Offset::new(10))]).expect("the disk is well");

        let read = |name: &str| disk.durable(name).map(|bytes| bytes.to_vec());
        assert_eq!(read("orders-0/00000000000000000000.log"), Some(first));
        assert_eq!(read("orders-0/00000000000000000001.log"), None, "there is no whole batch in it");
        assert_eq!(read("orders-0/00000000000000000001.index"), None);
        assert_eq!(read("orders-0/00000000000000000009.log"), Some(behind));
        let text = |name: &str| String::from_utf8(read(name).expect("it was written")).expect("text");
        assert_eq!(text("orders-0/leader-epoch-checkpoint"), "0\n2\n1 0\n3 9\n");
        assert_eq!(text("recovery-point-offset-checkpoint"), "0\n1\norders 0 10\n");
    }
}
