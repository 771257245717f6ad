//! Reading the metadata log: the newest snapshot, then the batches behind it, to the end. The only voter may apply all of it.

use aplomb_disk_api::{EntryKind, FileName};
use aplomb_log::meta::QuorumState;
use aplomb_log::segment::SegmentFile;
use aplomb_log::segment::top_level::{CLUSTER_METADATA_DIR, QUORUM_STATE};
use aplomb_model::batch::Batches;
use aplomb_model::{LeaderEpoch, Offset};

use super::StartError;
use super::survey::{Directory, read};
use crate::metadata::{MetadataImage, Replay, decode_batch, parse_snapshot_name, snapshot_name};

/// What the metadata log says.
pub struct MetadataFound {
    /// The image, and whether a transaction is open at its end.
    pub replay: Replay,
    /// The latest epoch that was ever led in.
    pub epoch: Option<LeaderEpoch>,
    /// What the voter remembered.
    pub quorum: Option<QuorumState>,
    /// The snapshots that are there.
    pub snapshots: Vec<(Offset, LeaderEpoch)>,
}

impl MetadataFound {
    /// Reads the log in `directory`; a new cluster's is empty.
    ///
    /// # Errors
    /// When the disk fails, or the log says what cannot be understood.
    pub fn read(directory: &Directory, cluster_id: &str) -> Result<Self, StartError> {
        let mut found = Self {
            replay: Replay::from_image(MetadataImage::empty(cluster_id)),
            epoch: None,
            quorum: None,
            snapshots: Vec::new(),
        };
        let name = FileName::new(CLUSTER_METADATA_DIR);
        let entries = match directory.disk.list(Some(&name)) {
            Ok(entries) => entries,
            Err(aplomb_disk_api::DiskError::NotFound { .. }) => return Ok(found),
            Err(error) => return Err(StartError::Disk { path: directory.path.clone(), error }),
        };
        let quorum = FileName::new(format!("{CLUSTER_METADATA_DIR}/{QUORUM_STATE}"));
        if let Some(bytes) = read(directory, &quorum)? {
            let state = QuorumState::parse(&bytes).map_err(|error| StartError::File {
                path: directory.path.clone(),
                file: quorum,
                reason: error.to_string(),
            })?;
            found.epoch = Some(state.epoch);
            found.quorum = Some(state);
        }
        found.snapshots = entries.iter().filter_map(|entry| parse_snapshot_name(&entry.name)).collect();
        let mut from = Offset::ZERO;
        if let Some((end, epoch)) = found.snapshots.iter().copied().max() {
            found.apply(directory, &snapshot_name(end, epoch), Offset::ZERO)?;
            found.end_at(end, epoch);
            from = end;
        }
        let mut segments: Vec<(Offset, &str)> = entries
            .iter()
            .filter(|entry| matches!(entry.kind, EntryKind::File { .. }))
            .filter_map(|entry| match SegmentFile::parse(&entry.name) {
                Some((SegmentFile::Log, base, None)) => Some((base, entry.name.as_str())),
                _ => None,
            })
            .collect();
        segments.sort_unstable();
        for (_, name) in segments {
            found.apply(directory, name, from)?;
        }
        Ok(found)
    }

    fn end_at(&mut self, end: Offset, epoch: LeaderEpoch) {
        let applied = self.replay.apply_batch(&[], end, epoch);
        applied.expect("nothing always fits");
        self.epoch = self.epoch.max(Some(epoch));
    }

    /// Applies the batches of a file from an offset on, up to the first that is not whole: loading the log will cut it there.
    fn apply(&mut self, directory: &Directory, name: &str, from: Offset) -> Result<(), StartError> {
        let file = FileName::new(format!("{CLUSTER_METADATA_DIR}/{name}"));
        let bytes = read(directory, &file)?.unwrap_or_default();
        let unusable = |reason: String| StartError::Metadata(format!("{}/{file}: {reason}", directory.path));
        for batch in Batches::new(&bytes).checked() {
            let end = batch.header.last_offset().next();
            if end <= from {
                continue;
            }
            let entries = decode_batch(&batch).map_err(|error| unusable(error.to_string()))?;
            let epoch = batch.header.leader_epoch().unwrap_or_default();
            self.replay.apply_batch(&entries, end, epoch).map_err(|error| {
                unusable(format!("batch at offset {}: {error}", batch.header.base_offset()))
            })?;
            self.epoch = self.epoch.max(Some(epoch));
        }
        Ok(())
    }
}
