//! Taking the lead of a cluster of one: the first batches of this process's epoch go into the
//! metadata log, and are durable, before anything is built on them.

use aplomb_disk_api::{DiskCommand, DiskError, FileName, PatientDisk, SmallFile};
use aplomb_log::Log;
use aplomb_log::layout::top_level::{CLUSTER_METADATA_DIR, QUORUM_STATE};
use aplomb_log::state_files::{QuorumState, QuorumStateFormat};
use aplomb_model::batch::{BatchHeader, HEADER_SIZE};
use aplomb_model::{BrokerId, LeaderEpoch, Offset, Timestamp};
use aplomb_protocol::MetadataRecord;
use bytes::Bytes;

use super::error::StartError;
use super::metadata::MetadataFound;
use super::survey::Directory;
use crate::config::BrokerConfig;
use crate::controller::{Controller, MAX_RECORDS, Node, ProducerIdBlock};
use crate::metadata::{Replay, encode_batch, encode_control_batch};

/// The lead, taken.
pub(super) struct Lead {
    pub(super) controller: Controller,
    pub(super) epoch: LeaderEpoch,
    pub(super) ids: ProducerIdBlock,
}

/// Writes to the metadata log what a leader says first. `unclean`: records that were promised may
/// be lost, so that every partition gets a new leader epoch.
pub(super) fn take_lead(
    directory: &Directory,
    log: &mut Log,
    found: MetadataFound,
    node: &Node,
    config: &BrokerConfig,
    unclean: bool,
    now: Timestamp,
) -> Result<Lead, StartError> {
    let dynamic_voters = config.metadata.dynamic_voters;
    let epoch = found.epoch.max(log.latest_epoch()).map_or(LeaderEpoch::new(1), LeaderEpoch::next);
    let in_transaction = found.replay.in_transaction();
    let mut writer = Writer { directory, log, epoch, replay: found.replay, now };
    let mut controller = Controller::new(writer.replay.image().clone());
    controller.check_features().map_err(|error| StartError::Metadata(error.to_string()))?;
    writer.remember(found.quorum, node.id, dynamic_voters)?;

    let activation = controller.activate(node, writer.log.end(), in_transaction, dynamic_voters);
    let control = encode_control_batch(&activation.control, writer.log.end(), epoch, now);
    writer.append(control.map_err(|error| StartError::Metadata(error.to_string()))?)?;
    let end = writer.log.end();
    writer.apply(&activation.control, end)?;
    writer.records(activation.records)?;
    writer.records(controller.say_min_in_sync(config))?;
    let at = writer.log.end();
    writer.records(controller.register(node, at))?;
    if unclean {
        writer.records(controller.take_leadership(node.id))?;
    }
    let mut draft = controller.draft();
    let ids = draft.allocate_producer_ids(node.id);
    writer.records(controller.take(draft))?;
    Ok(Lead { controller: Controller::new(writer.replay.into_image()), epoch, ids })
}

struct Writer<'a> {
    directory: &'a Directory,
    log: &'a mut Log,
    epoch: LeaderEpoch,
    replay: Replay,
    now: Timestamp,
}

impl Writer<'_> {
    /// The epoch is on the disk before it is used: a voter does not lead twice in one.
    fn remember(
        &self,
        before: Option<QuorumState>,
        node: BrokerId,
        dynamic_voters: bool,
    ) -> Result<(), StartError> {
        // The log may have come to say who votes since the file was written.
        let is_first = self.log.end() == Offset::ZERO;
        let is_dynamic = self.replay.image().features.kraft_version() > 0 || (is_first && dynamic_voters);
        let format = match before {
            _ if is_dynamic => QuorumStateFormat::Dynamic,
            Some(state) => state.format,
            None => {
                QuorumStateFormat::Static { cluster_id: String::new(), applied_offset: 0, voters: vec![node] }
            }
        };
        let state = QuorumState { leader: Some(node), epoch: self.epoch, vote: None, format };
        let name = FileName::new(format!("{CLUSTER_METADATA_DIR}/{QUORUM_STATE}"));
        let file = SmallFile { name, content: state.encode().into() };
        self.directory.disk.publish(&[file]).map_err(|error| self.failed(error))
    }

    fn records(&mut self, records: Vec<MetadataRecord>) -> Result<(), StartError> {
        for batch in records.chunks(MAX_RECORDS) {
            let version = self.replay.image().features.metadata_version();
            let bytes = encode_batch(batch, version, self.log.end(), self.epoch, self.now)
                .map_err(|error| StartError::Metadata(error.to_string()))?;
            self.append(bytes)?;
            let entries: Vec<_> = batch.iter().cloned().map(crate::metadata::Entry::Record).collect();
            let end = self.log.end();
            self.apply(&entries, end)?;
        }
        Ok(())
    }

    fn apply(&mut self, entries: &[crate::metadata::Entry], end: Offset) -> Result<(), StartError> {
        self.replay
            .apply_batch(entries, end, self.epoch)
            .map_err(|error| StartError::Metadata(error.to_string()))
    }

    fn append(&mut self, batch: Bytes) -> Result<(), StartError> {
        let header = BatchHeader::parse(&batch).expect("a batch of ours is one");
        let appended = self.log.append_own(header, &batch[HEADER_SIZE..], self.epoch, self.now);
        appended.map_err(|error| StartError::Metadata(error.to_string()))?;
        self.log.advance_high_watermark(self.log.end());
        // One batch after the other, so that the start of a broker with very many partitions fits a
        // small tail.
        self.flush()
    }

    fn flush(&mut self) -> Result<(), StartError> {
        flush_now(self.log, &*self.directory.disk).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: DiskError) -> StartError {
        StartError::Disk { path: self.directory.path.clone(), error }
    }
}

/// Makes everything in a log durable, waiting for the disk.
fn flush_now(log: &mut Log, disk: &dyn PatientDisk) -> Result<(), DiskError> {
    let mut commands = Vec::new();
    log.take_writes(&mut commands);
    for command in commands {
        match command {
            DiskCommand::Publish { files, .. } => disk.publish(&files)?,
            DiskCommand::Write { file, at, data } => disk.write(&file, at, &data.concat())?,
            other => unreachable!("a log writes and publishes, and does not ask for {other:?}"),
        }
    }
    let part = log.begin_sync();
    disk.sync(&part.files)?;
    log.on_synced(part.covers);
    Ok(())
}
