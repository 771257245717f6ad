//! Where reading begins: after which entry of which index, and from which producer snapshot on.

use aplomb_disk_api::{DiskError, FileName, PatientDisk};
use aplomb_model::Offset;

use super::found::FoundSegment;
use crate::index::{IndexTail, OffsetIndex, OffsetPosition, ResumeFrom, TimeIndex};
use crate::layout::SegmentFile;

/// Which index entries of a segment are believed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Believe {
    /// All: the directory was closed cleanly.
    All,
    /// Those below an offset: up to there everything was made durable.
    Below(Offset),
}

/// Finds the last entries of a segment's indexes that can be trusted. What cannot be read counts as
/// missing.
pub(super) fn resume_from(
    disk: &dyn PatientDisk,
    file: &impl Fn(SegmentFile) -> FileName,
    base: Offset,
    segment: &FoundSegment,
    believe: Believe,
) -> Result<ResumeFrom, DiskError> {
    let offsets = match (believe, segment.index) {
        (Believe::All, Some(len)) => last_offset_entry(disk, &file(SegmentFile::OffsetIndex), base, len)?,
        (Believe::Below(end), Some(len)) => {
            offset_entries_below(disk, &file(SegmentFile::OffsetIndex), base, len, end)?
        }
        (_, None) => None,
    };
    let Some((offset_len, last)) = offsets.filter(|(_, last)| u64::from(last.position) < segment.log) else {
        return Ok(ResumeFrom::default());
    };
    let resume = ResumeFrom { offset_len, last_offset: Some(last), ..ResumeFrom::default() };
    let times = match segment.time_index {
        Some(len) => time_entries_upto(disk, &file(SegmentFile::TimeIndex), base, len, last.offset, believe)?,
        None => None,
    };
    // Without its times, an index would lose timestamps that lie before the point to resume at:
    // begin anew.
    Ok(match times {
        Some((time_len, last_time)) => ResumeFrom { time_len, last_time, ..resume },
        None => ResumeFrom::default(),
    })
}

fn last_offset_entry(
    disk: &dyn PatientDisk,
    file: &FileName,
    base: Offset,
    len: u64,
) -> Result<Option<(u64, OffsetPosition)>, DiskError> {
    let entry = OffsetIndex::ENTRY_LEN as u64;
    let len = len - len % entry;
    if len == 0 {
        return Ok(None);
    }
    let bytes = disk.read(file, len - entry, OffsetIndex::ENTRY_LEN)?;
    let last =
        OffsetIndex::new(&bytes, base, IndexTail::Trimmed).and_then(|index| index.last()).ok().flatten();
    match last {
        // The first entry of an index never is at position 0 of the file, zeros are reserved space.
        Some(last) if last.position > 0 => Ok(Some((len, last))),
        _ => offset_entries_below(disk, file, base, len, Offset::new(i64::MAX as u64)),
    }
}

fn offset_entries_below(
    disk: &dyn PatientDisk,
    file: &FileName,
    base: Offset,
    len: u64,
    end: Offset,
) -> Result<Option<(u64, OffsetPosition)>, DiskError> {
    if len < OffsetIndex::ENTRY_LEN as u64 {
        return Ok(None);
    }
    let bytes = disk.read(file, 0, usize::try_from(len).unwrap_or(usize::MAX))?;
    let whole = bytes.len() - bytes.len() % OffsetIndex::ENTRY_LEN;
    let believed = OffsetIndex::new(&bytes[..whole], base, IndexTail::MaybePreallocated).and_then(|index| {
        let kept = usize::try_from(index.len_below(end)?).expect("not above a length in memory");
        let kept = OffsetIndex::new(&bytes[..kept], base, IndexTail::Trimmed)?;
        kept.check()?;
        Ok(kept.last()?.map(|last| ((kept.len() * OffsetIndex::ENTRY_LEN) as u64, last)))
    });
    Ok(believed.ok().flatten())
}

/// The time entries that go with offset entries up to `last`; `Some` of none where there is none.
fn time_entries_upto(
    disk: &dyn PatientDisk,
    file: &FileName,
    base: Offset,
    len: u64,
    last: Offset,
    believe: Believe,
) -> Result<Option<(u64, Option<crate::index::TimestampOffset>)>, DiskError> {
    let entry = TimeIndex::ENTRY_LEN as u64;
    let len = len - len % entry;
    if let (Believe::All, true) = (believe, len > 0) {
        let bytes = disk.read(file, len - entry, TimeIndex::ENTRY_LEN)?;
        let end = TimeIndex::new(&bytes, base, IndexTail::Trimmed).and_then(|index| index.last());
        // A clean close adds an entry for batches behind the last offset entry. It is true, so it
        // stays.
        if let Ok(Some(found)) = end
            && found.timestamp.0 > 0
        {
            return Ok(Some((len, Some(found))));
        }
    }
    let bytes = disk.read(file, 0, usize::try_from(len).unwrap_or(usize::MAX))?;
    let whole = bytes.len() - bytes.len() % TimeIndex::ENTRY_LEN;
    let believed = TimeIndex::new(&bytes[..whole], base, IndexTail::MaybePreallocated).and_then(|index| {
        let kept = usize::try_from(index.len_below(last.next())?).expect("not above a length in memory");
        let kept = TimeIndex::new(&bytes[..kept], base, IndexTail::Trimmed)?;
        kept.check()?;
        Ok(((kept.len() * TimeIndex::ENTRY_LEN) as u64, kept.last()?))
    });
    Ok(believed.ok())
}
