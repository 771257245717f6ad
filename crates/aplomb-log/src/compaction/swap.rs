//! The names by which a new segment takes the place of others (`UnifiedLog.replaceSegments`).
//!
//! 1. `.cleaned`: being written. A crash drops it.
//! 2. `.swap`: whole and durable. From the last of these renames on it is the log; a crash removes
//!    what it covers and gives it its plain names.
//! 3. The old files are `.deleted`, which has to be durable before
//! 4. the new ones have plain names, the `.log` first: were an old segment to come back beside
//!    them, nothing would tell that it is not the log.

use aplomb_disk_api::{DiskError, FileName, PatientDisk};
use aplomb_model::Offset;

use crate::layout::{FileSuffix, SegmentFile, with_suffix};

/// A file of the new segment while it is written.
pub(super) fn cleaned(directory: &str, kind: SegmentFile, base: Offset) -> FileName {
    suffixed(directory, kind, base, FileSuffix::Cleaned)
}

fn suffixed(directory: &str, kind: SegmentFile, base: Offset, suffix: FileSuffix) -> FileName {
    FileName::new(with_suffix(kind.within(directory, base).as_str(), suffix))
}

/// The new segment is whole and synced: it is the log from here on.
pub(super) fn commit(disk: &dyn PatientDisk, directory: &str, base: Offset) -> Result<(), DiskError> {
    let renames: Vec<_> = existing(disk, directory, &[base], Some(FileSuffix::Cleaned))?
        .into_iter()
        .map(|(kind, base, from)| (from, suffixed(directory, kind, base, FileSuffix::Swap)))
        .collect();
    disk.rename_all(&renames)
}

/// Nothing is read by the old segments' names any more: takes their files away and gives the new
/// segment's files theirs. Returns the files that are to be deleted. After an error it may be tried
/// again, and goes on where it was.
///
/// # Errors
/// [`DiskError`]
pub fn finish_swap(
    disk: &dyn PatientDisk,
    directory: &str,
    sources: &[Offset],
    base: Offset,
) -> Result<Vec<FileName>, DiskError> {
    let new: Vec<_> = existing(disk, directory, &[base], Some(FileSuffix::Swap))?
        .into_iter()
        .map(|(kind, base, from)| (kind, from, kind.within(directory, base)))
        .collect();
    // Its `.log` is renamed first, and when the old ones are away: from then on the plain name is
    // the new one's.
    if new.iter().any(|(kind, ..)| *kind == SegmentFile::Log) {
        let old: Vec<_> = existing(disk, directory, sources, None)?
            .into_iter()
            .map(|(kind, base, from)| (from, suffixed(directory, kind, base, FileSuffix::Deleted)))
            .collect();
        disk.rename_all(&old)?;
    }
    let renames: Vec<_> = new.into_iter().map(|(_, from, to)| (from, to)).collect();
    disk.rename_all(&renames)?;
    let deleted = existing(disk, directory, sources, Some(FileSuffix::Deleted))?;
    Ok(deleted.into_iter().map(|(.., name)| name).collect())
}

/// The files that a pass may have written of the segment at `base` when it fails: they go in this
/// order. Its `.log.swap` is there if the renames were made and could not be synced, and goes last:
/// a crash before that makes it the log, whole as it is.
#[must_use]
pub fn cleaned_files(directory: &str, base: Offset) -> Vec<FileName> {
    let cleaned = SegmentFile::OF_SEGMENT.map(|kind| cleaned(directory, kind, base));
    cleaned.into_iter().chain(swaps(directory, base)).collect()
}

/// A pass that has failed may have left `.swap` files that are not the log: were segments of their
/// range replaced by others, a crash would bring them back beside these.
pub(super) fn remove_stale(disk: &dyn PatientDisk, directory: &str, base: Offset) -> Result<(), DiskError> {
    swaps(directory, base).try_for_each(|name| disk.remove(&name))
}

/// The `.swap` names of a segment, the `.log` last.
fn swaps(directory: &str, base: Offset) -> impl Iterator<Item = FileName> {
    let kinds = SegmentFile::OF_SEGMENT.into_iter().rev();
    kinds.map(move |kind| suffixed(directory, kind, base, FileSuffix::Swap))
}

/// The files of these segments that are there, each segment's `.log` first.
fn existing(
    disk: &dyn PatientDisk,
    directory: &str,
    bases: &[Offset],
    suffix: Option<FileSuffix>,
) -> Result<Vec<(SegmentFile, Offset, FileName)>, DiskError> {
    let mut found: Vec<_> = disk
        .list(Some(&FileName::new(directory)))?
        .into_iter()
        .filter_map(|entry| match SegmentFile::parse(&entry.name) {
            Some((kind, base, its))
                if its == suffix && SegmentFile::OF_SEGMENT.contains(&kind) && bases.contains(&base) =>
            {
                Some((kind, base, FileName::new(format!("{directory}/{}", entry.name))))
            }
            _ => None,
        })
        .collect();
    found.sort_unstable_by_key(|(kind, base, _)| (*base, *kind));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use aplomb_disk_api::DiskIndex;
    use aplomb_disk_api::sim::{SimDisk, SimOptions};

    use super::*;

    #[test]
    fn a_swap_that_is_tried_again_takes_nothing_of_the_new_segment_away() {
        let disk = SimDisk::new(DiskIndex(0), SimOptions::default());
        let (zero, ten) = (Offset::ZERO, Offset::new(10));
        let directory = aplomb_disk_api::SmallFile {
            name: FileName::new("t-0/partition.metadata"),
            content: bytes::Bytes::new(),
        };
        disk.publish(&[directory]).expect("the disk is well");
        for kind in [SegmentFile::Log, SegmentFile::OffsetIndex] {
            for base in [zero, ten] {
                disk.write(&kind.within("t-0", base), 0, b"old").expect("the disk is well");
            }
            disk.write(&cleaned("t-0", kind, zero), 0, b"new").expect("the disk is well");
        }
        commit(&disk, "t-0", zero).expect("the disk is well");
        for _ in 0..3 {
            let deleted = finish_swap(&disk, "t-0", &[zero, ten], zero).expect("the disk is well");
            assert_eq!(deleted.len(), 4);
            let image = disk.image();
            for kind in [SegmentFile::Log, SegmentFile::OffsetIndex] {
                assert_eq!(image[kind.within("t-0", zero).as_str()].as_ref(), b"new");
                assert!(!image.contains_key(kind.within("t-0", ten).as_str()));
            }
        }
    }
}
