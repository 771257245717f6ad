//! Snapshots of the metadata: what keeps the metadata log from growing for ever (`metadata.log.max.record.bytes.between.snapshots`,
//! `metadata.log.max.snapshot.interval.ms`). Once a snapshot is on the disk, whole segments below it go.

use aplomb_disk_api::{DiskCommand, FileName, Lane, SmallFile};
use aplomb_log::layout::top_level::CLUSTER_METADATA_DIR;
use aplomb_model::{Instant, LeaderEpoch, Offset};
use aplomb_protocol::messages::VotersRecord;

use super::Shard;
use super::disk::Purpose;
use crate::message::PartitionKey;
use crate::metadata::{snapshot_bytes, snapshot_name};
use crate::ports::{Event, Now, Output, Severity};

/// When the next snapshot is due, and which ones there are.
#[derive(Debug)]
pub(super) struct Snapshots {
    voters: VotersRecord,
    /// Where the metadata log was, in bytes ever written by this process, when the last one was made.
    bytes_at_last: Option<u64>,
    last: Option<Instant>,
    under_way: Option<(Offset, LeaderEpoch)>,
    /// Those that are there, to be deleted when the next one is.
    earlier: Vec<(Offset, LeaderEpoch)>,
}

impl Snapshots {
    pub(super) fn new(voters: VotersRecord, earlier: Vec<(Offset, LeaderEpoch)>) -> Self {
        Self { voters, bytes_at_last: None, last: None, under_way: None, earlier }
    }

    /// Who votes.
    pub(super) fn voters(&self) -> &VotersRecord {
        &self.voters
    }
}

impl Shard {
    /// Makes a snapshot if one is due.
    pub(super) fn consider_snapshot(&mut self, now: Now, out: &mut Vec<Output>) {
        let Some(metadata) = self.partitions.get(&PartitionKey::METADATA) else { return };
        let Some(room) = &mut self.controller else { return };
        let snapshots = &mut room.snapshots;
        let bytes = metadata.log.size();
        let before = *snapshots.bytes_at_last.get_or_insert(0);
        let last = *snapshots.last.get_or_insert(now.instant);
        let settings = &self.config.metadata;
        let large = bytes.saturating_sub(before) >= settings.snapshot_bytes.0;
        let old = settings.snapshot_interval.is_some_and(|interval| now.instant.since(last) >= interval);
        if snapshots.under_way.is_some() || !(large || old) {
            return;
        }
        let at = self.image.provenance;
        let content = match snapshot_bytes(&self.image, Some(&snapshots.voters), now.wall, now.wall) {
            Ok(content) => content,
            Err(error) => {
                let text = format!("metadata snapshot cannot be written: {error}");
                out.push(Output::Event(Event { severity: Severity::Error, room: "broker/controller", text }));
                return;
            }
        };
        snapshots.under_way = Some((at.end, at.epoch));
        snapshots.last = Some(now.instant);
        let file = SmallFile { name: file(at.end, at.epoch), content };
        let command = DiskCommand::Publish { files: vec![file], lane: Lane::Housekeeping };
        let disk = &mut self.disks[usize::from(metadata.disk.0)];
        disk.port.submit(command, Purpose::Snapshot, now.instant);
    }

    /// A snapshot is on the disk: what it stands for need not be in the log any more.
    pub(super) fn on_snapshot(&mut self, written: bool, now: Now) {
        let Some(metadata) = self.partitions.get_mut(&PartitionKey::METADATA) else { return };
        let Some(room) = &mut self.controller else { return };
        let Some((end, epoch)) = room.snapshots.under_way.take().filter(|_| written) else { return };
        metadata.log.raise_start(end);
        let mut obsolete = std::mem::replace(&mut room.snapshots.earlier, vec![(end, epoch)]);
        obsolete.retain(|earlier| *earlier != (end, epoch));
        let files: Vec<FileName> = obsolete.into_iter().map(|(end, epoch)| file(end, epoch)).collect();
        if !files.is_empty() {
            let command = DiskCommand::DeleteFiles { files };
            self.disks[usize::from(metadata.disk.0)].port.submit(command, Purpose::Chore, now.instant);
        }
        room.snapshots.bytes_at_last = Some(metadata.log.size());
        self.upkeep.look_at(PartitionKey::METADATA);
    }
}

fn file(end: Offset, epoch: LeaderEpoch) -> FileName {
    FileName::new(format!("{CLUSTER_METADATA_DIR}/{}", snapshot_name(end, epoch)))
}
