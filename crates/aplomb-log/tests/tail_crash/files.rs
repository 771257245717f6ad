//! The files of a partition, and what a disk was told to do with them.

use std::collections::BTreeMap;

use aplomb_log::tail::OldPartition;
use aplomb_model::Offset;
use aplomb_model::batch::{Batches, Stop};
use bytes::Bytes;

/// A batch and where the log put it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placed {
    pub(crate) segment_base: Offset,
    pub(crate) at: u64,
    pub(crate) last: Offset,
    pub(crate) bytes: Bytes,
}

/// What a disk was told.
pub(crate) enum DiskOp {
    /// `end` is reported when it is done, unless a truncation has made that void.
    Write {
        segment_base: Offset,
        at: u64,
        bytes: Vec<u8>,
        end: Option<Offset>,
    },
    Truncate {
        segment_base: Offset,
        at: u64,
    },
}

/// The `.log` files of a partition, by base offset. They survive the process.
pub(crate) type Files = BTreeMap<Offset, Vec<u8>>;

pub(crate) fn write(files: &mut Files, segment_base: Offset, at: u64, bytes: &[u8]) {
    let file = files.entry(segment_base).or_default();
    let end = at as usize + bytes.len();
    assert!(file.len() as u64 >= at, "the disk was given the bytes before these");
    if file.len() < end {
        file.resize(end, 0);
    }
    file[at as usize..end].copy_from_slice(bytes);
}

pub(crate) fn truncate(files: &mut Files, segment_base: Offset, at: u64) {
    files.retain(|base, _| *base <= segment_base);
    if let Some(file) = files.get_mut(&segment_base) {
        file.truncate(at as usize);
    }
}

/// The batches that the files have, all of them whole.
pub(crate) fn parse(files: &Files) -> Vec<Placed> {
    let mut log = Vec::new();
    for (segment_base, file) in files {
        let mut walk = Batches::new(file).checked();
        for batch in walk.by_ref() {
            log.push(Placed {
                segment_base: *segment_base,
                at: batch.position,
                last: batch.header.last_offset(),
                bytes: Bytes::copy_from_slice(&batch.bytes()),
            });
        }
        assert_eq!(walk.end().expect("walked").why, Stop::Complete, "segment {segment_base}");
    }
    log
}

/// Lays what a tail has over the files, as start-up does.
pub(crate) fn lay_over(files: &mut Files, old: &OldPartition<'_>, skip_durable: bool) {
    for run in &old.runs {
        let bytes = run.slices.concat();
        assert_eq!(bytes.len() as u64, run.len);
        let skip = if skip_durable { run.durable } else { 0 };
        write(files, run.segment_base, run.at + skip, &bytes[skip as usize..]);
    }
    let Some(first) = old.segments.first() else { return };
    files.retain(|base, file| {
        let end = old.segments.iter().find(|segment| segment.segment_base == *base);
        if let Some(end) = end {
            file.truncate(end.at as usize);
        }
        *base < first.segment_base || end.is_some()
    });
}
