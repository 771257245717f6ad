//! Walking the batches of a segment file in large reads.

use std::ops::Range;

use aplomb_disk_api::{DiskError, FileName, PatientDisk};
use aplomb_model::batch::{BatchView, Batches, Stop};

/// How much is read at once.
const WINDOW: u64 = 1 << 20;

/// Where a walk ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scanned {
    /// The position behind the last whole batch that was visited and accepted.
    pub(super) end: u64,
    /// Why the walk did not reach the end of its range.
    pub(super) stopped: Option<Stop>,
    /// Bytes that were read for it.
    pub(super) bytes_read: u64,
}

/// A batch and its place in the file.
pub(super) struct ScannedBatch<'a> {
    pub(super) view: BatchView<'a>,
    pub(super) position: u64,
}

/// Visits the batches in a range of a file, with or without computing their checksums. The visitor
/// ends the walk before a batch by answering false; that counts as damage only to the caller.
pub(super) fn scan_segment(
    disk: &dyn PatientDisk,
    file: &FileName,
    range: Range<u64>,
    checked: bool,
    mut visit: impl FnMut(&ScannedBatch<'_>) -> bool,
) -> Result<Scanned, DiskError> {
    let mut at = range.start;
    let mut window = WINDOW;
    let mut bytes_read = 0;
    while at < range.end {
        let wanted = window.min(range.end - at);
        let bytes = disk.read(file, at, usize::try_from(wanted).expect("a window fits memory"))?;
        bytes_read += bytes.len() as u64;
        let mut batches = Batches::new(&bytes);
        if checked {
            batches = batches.checked();
        }
        let mut consumed = 0;
        for view in batches.by_ref() {
            let batch = ScannedBatch { position: at + view.position, view };
            if !visit(&batch) {
                return Ok(Scanned { end: batch.position, stopped: None, bytes_read });
            }
            consumed = batch.position - at + batch.view.header.size() as u64;
        }
        let why = batches.end().expect("an exhausted walk knows its end").why;
        at += consumed;
        match why {
            Stop::Complete => window = WINDOW,
            // The window ends within a batch, not the file: go on from that batch, with room for
            // all of it.
            Stop::Cut { needed, .. } if at + needed <= range.end && wanted == bytes.len() as u64 => {
                window = WINDOW.max(needed);
            }
            stop => return Ok(Scanned { end: at, stopped: Some(stop), bytes_read }),
        }
        if (bytes.len() as u64) < wanted {
            break; // the file became shorter than it was listed
        }
    }
    Ok(Scanned { end: at, stopped: None, bytes_read })
}
