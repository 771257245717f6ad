//! Snapshots of the metadata: what keeps the metadata log from growing for ever
//! (`metadata.log.max.record.bytes.between.snapshots`, `metadata.log.max.snapshot.interval.ms`).
//! Once a snapshot is on the disk, whole segments below it go.

use aplomb_disk_api::{DiskCommand, FileName, Lane, SmallFile};
use aplomb_log::layout::top_level::CLUSTER_METADATA_DIR;
use aplomb_model::{Instant, LeaderEpoch, Offset};
use aplomb_protocol::EncodeError;
use aplomb_protocol::messages::VotersRecord;

use crate::metadata::{snapshot_bytes, snapshot_name};
use crate::ports::Now;
use crate::view::View;

/// When the next snapshot is due, and which ones there are.
///
/// What always holds: one at most is being written.
#[derive(Debug)]
pub(super) struct Snapshots {
    voters: VotersRecord,
    /// Bytes in the metadata log when the last one was made.
    bytes_at_last: u64,
    last: Option<Instant>,
    under_way: Option<(Offset, LeaderEpoch)>,
    /// Those that are there, to be deleted when the next one is.
    earlier: Vec<(Offset, LeaderEpoch)>,
}

impl Snapshots {
    pub(super) fn new(voters: VotersRecord, earlier: Vec<(Offset, LeaderEpoch)>) -> Self {
        Self { voters, bytes_at_last: 0, last: None, under_way: None, earlier }
    }

    /// Who votes.
    pub(super) fn voters(&self) -> &VotersRecord {
        &self.voters
    }

    /// The command that publishes a snapshot of the view's image, if one is due. `bytes`: what is
    /// in the metadata log.
    ///
    /// # Errors
    /// When a record cannot be written in the finalized version.
    pub(super) fn make_if_due(
        &mut self,
        view: &View,
        bytes: u64,
        now: Now,
    ) -> Result<Option<DiskCommand>, EncodeError> {
        let last = *self.last.get_or_insert(now.instant);
        let settings = &view.config().metadata;
        let large = bytes.saturating_sub(self.bytes_at_last) >= settings.snapshot_bytes.0;
        let old = settings.snapshot_interval.is_some_and(|interval| now.instant.since(last) >= interval);
        if self.under_way.is_some() || !(large || old) {
            return Ok(None);
        }
        let (image, at) = (view.image(), view.image().provenance);
        let content = snapshot_bytes(image, Some(&self.voters), now.wall, now.wall)?;
        self.under_way = Some((at.end, at.epoch));
        self.last = Some(now.instant);
        let files = vec![SmallFile { name: file(at.end, at.epoch), content }];
        Ok(Some(DiskCommand::Publish { files, lane: Lane::Housekeeping }))
    }

    /// The one that was under way is on the disk, or never will be. Gives the offset below which
    /// records are not needed any more.
    pub(super) fn on_ended(&mut self, written: bool) -> Option<Offset> {
        let made = self.under_way.take().expect("one was under way");
        if !written {
            return None;
        }
        self.earlier.push(made);
        Some(made.0)
    }

    /// The command that deletes all but the last, if there are others. `bytes`: what is in the
    /// metadata log now.
    pub(super) fn take_obsolete(&mut self, bytes: u64) -> Option<DiskCommand> {
        self.bytes_at_last = bytes;
        let last = self.earlier.pop()?;
        let mut obsolete = std::mem::replace(&mut self.earlier, vec![last]);
        obsolete.retain(|earlier| *earlier != last);
        let files: Vec<FileName> = obsolete.into_iter().map(|(end, epoch)| file(end, epoch)).collect();
        (!files.is_empty()).then_some(DiskCommand::DeleteFiles { files })
    }
}

fn file(end: Offset, epoch: LeaderEpoch) -> FileName {
    FileName::new(format!("{CLUSTER_METADATA_DIR}/{}", snapshot_name(end, epoch)))
}
