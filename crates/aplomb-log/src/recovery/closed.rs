//! A log that is put together from what a clean stop noted of it, and not from its files.
//!
//! Two calls of the disk a log tell whether its directory and its last segment are what they were;
//! to find the same in the files takes some twenty. What was noted is all that a start after a
//! clean stop looks for ([`crate::closed`]); in a build with assertions it is looked for as well,
//! and compared. Next: [`crate::state_files::ClosedLogs`] for the file with the notes.

#[cfg(debug_assertions)]
mod compare;

use std::time::Duration;

use aplomb_disk_api::{DiskError, FileName, FileStamp, PatientDisk};
use aplomb_model::Timestamp;

use super::found::FoundFiles;
use super::load::LoadedLog;
use super::loader::{LoadError, LoadReport, LoadRequest, Loader};
use crate::closed::ClosedLog;
use crate::index::{AbortedIndexBuilder, SegmentIndexes};
use crate::layout::SegmentFile;
use crate::log::Log;
use crate::producers::ProducerState;
use crate::segments::ActiveSegment;
use crate::state_files::ClosedLogNote;

/// Puts a log together from what a clean stop noted of it. `None` if that is another log, or its
/// files are not what they were: they have to be looked into.
///
/// # Errors
/// [`LoadError`]: the log directory is not usable.
pub fn load_closed(
    disk: &dyn PatientDisk,
    request: &LoadRequest,
    note: &ClosedLogNote,
) -> Result<Option<LoadedLog>, LoadError> {
    let Some(closed) = ClosedLog::parse(&note.said) else { return Ok(None) };
    let is_ours = request.clean
        && closed.topic == request.topic
        && closed.active.size == note.active.len
        // What was written to the checkpoint file since would have to be deleted.
        && request.log_start <= closed.end;
    let log = SegmentFile::Log.within(&request.directory, closed.active.base);
    if !is_ours
        || !is_as_noted(disk, &FileName::new(request.directory.as_str()), note.directory)?
        || !is_as_noted(disk, &log, note.active)?
    {
        return Ok(None);
    }
    let log = open(disk, request, closed, Timestamp(note.active.modified_ms))?;
    #[cfg(debug_assertions)]
    compare::compare(disk, request, &log)?;
    Ok(Some(LoadedLog { log, report: LoadReport { noted: true, ..LoadReport::default() } }))
}

/// The log; its last segment was written at `modified`.
fn open(
    disk: &dyn PatientDisk,
    request: &LoadRequest,
    closed: ClosedLog,
    modified: Timestamp,
) -> Result<Log, LoadError> {
    let mut report = LoadReport::default();
    let mut loader = Loader::new(disk, request, FoundFiles::default(), &mut report)?;
    let ClosedLog { end, epochs, closed, active, loose_snapshots, producers, .. } = closed;
    (loader.epochs, loader.closed) = (epochs, closed);
    let expiry = Duration::from_millis(request.config.producer_expiration_ms);
    let producers = ProducerState::restore(end, producers, request.now, expiry);
    let active = ActiveSegment {
        base: active.base,
        size: active.size,
        indexes: SegmentIndexes::reopen(active.base, request.config.indexes, active.indexes),
        first_timestamp: active.first_timestamp,
        created: modified,
        aborted: AbortedIndexBuilder::resume(active.aborted),
    };
    let made = Some(active.base);
    Ok(loader.assemble(active, made, loose_snapshots, producers, end))
}

fn is_as_noted(disk: &dyn PatientDisk, name: &FileName, noted: FileStamp) -> Result<bool, DiskError> {
    match disk.stamp(name) {
        Ok(found) => Ok(found == noted),
        Err(DiskError::NotFound { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use aplomb_disk_api::DiskIndex;
    use aplomb_disk_api::sim::{SimDisk, SimOptions};
    use aplomb_model::{Offset, PartitionIndex, Uuid};
    use proptest::prelude::*;

    use super::*;
    use crate::LogConfig;
    use crate::closed::tests::{empty, full};
    use crate::tail::{ArenaMemory, open_shares};

    fn request() -> LoadRequest {
        let shares = open_shares(ArenaMemory::heap(1 << 20), 4096, &[Uuid::ONE], 1, None);
        LoadRequest {
            directory: "orders-0".to_owned(),
            topic: Uuid::TWO,
            partition: PartitionIndex(0),
            config: LogConfig::kafka_defaults().into(),
            clean: true,
            recovery_point: Offset::ZERO,
            log_start: Offset::ZERO,
            cleaned: None,
            high_watermark: None,
            share: shares.expect("it fits").remove(0),
            now: Timestamp(1_000),
        }
    }

    /// What was read can be written again, and opened.
    fn check(bytes: &[u8]) -> Option<Log> {
        let found = ClosedLog::parse(bytes)?;
        assert_eq!(format!("{:?}", ClosedLog::parse(&found.encode())), format!("{:?}", Some(&found)));
        let disk = SimDisk::new(DiskIndex(0), SimOptions::default());
        Some(open(&disk, &request(), found, Timestamp(1_000)).expect("no file is needed"))
    }

    #[test]
    fn all_that_is_said_of_a_log_is_in_it_again() {
        for closed in [full(), empty()] {
            let bytes = closed.encode();
            let log = check(&bytes).expect("it was just written");
            assert_eq!(log.at_rest().expect("all is on the disk").encode(), bytes);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_start_panic(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let mut bytes = full().encode();
            for (at, to) in changes {
                let at = at.index(bytes.len());
                bytes[at] = to;
            }
            let _ = check(&bytes);
        }
    }
}
