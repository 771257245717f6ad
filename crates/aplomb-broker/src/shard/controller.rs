//! The controller's room, on shard 0: decisions become records in the metadata log, and when these are durable and applied by every
//! shard, the responses go out.
//!
//! Data requests never wait for any of this. The metadata log is a partition like any other, with acknowledgements that wait for the
//! disk.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use aplomb_log::AppendError;
use aplomb_model::batch::{BatchHeader, HEADER_SIZE};
use aplomb_model::{BrokerId, ErrorCode, LeaderEpoch, Offset, PartitionIndex, TopicPartition};
use aplomb_protocol::messages as m;
use aplomb_protocol::request::decode_request;
use aplomb_protocol::{ApiKey, DecodeError, Message, MetadataRecord, Reader};

use super::Shard;
use super::disk::ShardDisk;
use super::moves::Moves;
use super::operations::reply;
use super::snapshots::Snapshots;
use crate::api::describe_quorum::{self, Quorum};
use crate::api::scatter::ReplyTo;
use crate::api::{
    Planned, alter_configs, alter_partition_reassignments, create_partitions, create_topics, delete_topics,
    incremental_alter_configs, init_producer_id, update_features,
};
use crate::config::BrokerConfig;
use crate::controller::{Controller, MAX_RECORDS, ProducerIdBlock};
use crate::message::{PartitionKey, ShardMessage};
use crate::metadata::{Entry, Replay, encode_batch, encode_control_batch};
use crate::ports::{Event, Now, Output, Reply, RequestId, Severity, ShardId};

/// What the controller goes on from.
pub struct ControllerSeed {
    /// The image that the metadata log gives, with what this process has put into it.
    pub controller: Controller,
    /// The epoch of this process's leadership.
    pub epoch: LeaderEpoch,
    /// Producer ids to give out, in the log already, so that a producer can begin while the disk does not answer.
    pub ids: ProducerIdBlock,
    /// The only voter, for snapshots.
    pub voters: m::VotersRecord,
    /// The snapshots that are on the disk: all before this offset, written in this epoch.
    pub snapshots: Vec<(Offset, LeaderEpoch)>,
    /// Random bytes, for ids.
    pub random: Box<dyn FnMut() -> [u8; 16] + Send>,
}

/// So many ids are left when the next block is asked for.
const IDS_AHEAD: u32 = 500;

/// A batch of a decision that is on its way into the log. What belongs to the last of a decision's batches is with that one.
struct Decision {
    /// The offset after its last record.
    end: Offset,
    entries: Vec<Entry>,
    /// What is sent when it is applied.
    reply: Option<(RequestId, Reply)>,
    /// Producer ids that may be given out then.
    ids: Option<ProducerIdBlock>,
}

/// What goes into the log as one batch.
enum Batch {
    Control(Vec<Entry>),
    Records(Vec<MetadataRecord>),
}

impl Batch {
    fn into_entries(self) -> Vec<Entry> {
        match self {
            Self::Control(entries) => entries,
            Self::Records(records) => records.into_iter().map(Entry::Record).collect(),
        }
    }
}

/// An image that not all shards have yet.
struct Publication {
    generation: u64,
    missing: BTreeSet<ShardId>,
    replies: Vec<(RequestId, Reply)>,
}

/// The controller, and what it waits for.
pub(super) struct ControllerRoom {
    controller: Controller,
    epoch: LeaderEpoch,
    pub(super) snapshots: Snapshots,
    random: Box<dyn FnMut() -> [u8; 16] + Send>,
    /// Applies what is durable.
    replay: Replay,
    decisions: VecDeque<Decision>,
    publications: VecDeque<Publication>,
    generation: u64,
    ids: ProducerIdBlock,
    /// The block after that, once it is in the log.
    next_ids: Option<ProducerIdBlock>,
    ids_asked: bool,
    /// Producers that wait for a block of ids.
    waiting_for_ids: Vec<(RequestId, ReplyTo, m::InitProducerIdRequest)>,
}

impl ControllerRoom {
    pub(super) fn new(seed: ControllerSeed) -> Self {
        Self {
            replay: Replay::from_image(seed.controller.image().clone()),
            controller: seed.controller,
            epoch: seed.epoch,
            snapshots: Snapshots::new(seed.voters, seed.snapshots),
            random: seed.random,
            decisions: VecDeque::new(),
            publications: VecDeque::new(),
            generation: 0,
            ids: seed.ids,
            next_ids: None,
            ids_asked: false,
            waiting_for_ids: Vec::new(),
        }
    }

    /// Whether nothing is on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.decisions.is_empty() && self.publications.is_empty()
    }
}

impl Shard {
    /// Answers a request that is for the controller.
    pub(super) fn decide(
        &mut self,
        id: RequestId,
        to: ReplyTo,
        body: &mut Reader,
        now: Now,
        out: &mut Vec<Output>,
    ) -> Result<(), DecodeError> {
        let config = self.config.clone();
        let room = self.controller.as_mut().expect("the controller's requests come to its shard");
        let ControllerRoom { controller, random, snapshots, replay, epoch, .. } = &mut **room;
        match to.api {
            ApiKey::CreateTopics => {
                let asked: m::CreateTopicsRequest = decode_request(body, to.version)?;
                let mut planned = create_topics::plan(&asked, controller, &config, random);
                planned.records.extend(as_preferred(
                    controller,
                    &self.moves,
                    &self.disks,
                    config.node_id,
                    &planned.records,
                ));
                self.carry_through(id, to, planned, now, out);
            }
            ApiKey::DeleteTopics => {
                let asked: m::DeleteTopicsRequest = decode_request(body, to.version)?;
                let planned = delete_topics::plan(&asked, to.version, controller, &config);
                self.carry_through(id, to, planned, now, out);
            }
            ApiKey::CreatePartitions => {
                let asked: m::CreatePartitionsRequest = decode_request(body, to.version)?;
                let mut planned = create_partitions::plan(&asked, controller);
                planned.records.extend(as_preferred(
                    controller,
                    &self.moves,
                    &self.disks,
                    config.node_id,
                    &planned.records,
                ));
                self.carry_through(id, to, planned, now, out);
            }
            ApiKey::AlterConfigs => {
                let asked: m::AlterConfigsRequest = decode_request(body, to.version)?;
                let mut planned = alter_configs::plan(&asked, controller, &config);
                planned.records.extend(cordon(controller, &config, &self.disks));
                self.carry_through(id, to, planned, now, out);
            }
            ApiKey::AlterPartitionReassignments => {
                let asked: m::AlterPartitionReassignmentsRequest = decode_request(body, to.version)?;
                let response = alter_partition_reassignments::handle(&asked, controller);
                reply(id, to.with(&response), out);
            }
            ApiKey::UpdateFeatures => {
                let asked: m::UpdateFeaturesRequest = decode_request(body, to.version)?;
                let voters = snapshots.voters();
                let before = controller.image().features.kraft_version();
                let planned = update_features::plan(&asked, to.version, controller, voters);
                let level = controller.image().features.kraft_version();
                let control = match level == before {
                    true => Vec::new(),
                    false => vec![Entry::KraftVersion(level), Entry::Voters(voters.clone())],
                };
                self.carry_through_with(control, id, to, planned, now, out);
            }
            ApiKey::IncrementalAlterConfigs => {
                let asked: m::IncrementalAlterConfigsRequest = decode_request(body, to.version)?;
                let mut planned = incremental_alter_configs::plan(&asked, controller, &config);
                planned.records.extend(cordon(controller, &config, &self.disks));
                self.carry_through(id, to, planned, now, out);
            }
            ApiKey::DescribeQuorum => {
                let asked: m::DescribeQuorumRequest = decode_request(body, to.version)?;
                let log = self.partitions.get(&PartitionKey::METADATA).map(|metadata| &metadata.log);
                let quorum = log.map(|log| Quorum {
                    leader: config.node_id,
                    epoch: *epoch,
                    committed: log.durable_end(),
                    end: log.end(),
                    voters: snapshots.voters(),
                    dynamic_voters: replay.image().features.kraft_version() > 0,
                });
                let response = describe_quorum::handle(&asked, to.version, quorum.as_ref(), now.wall);
                reply(id, to.with(&response), out);
            }
            ApiKey::InitProducerId => {
                let asked: m::InitProducerIdRequest = decode_request(body, to.version)?;
                self.init_producer_id(id, to, asked, now, out);
            }
            other => unreachable!("{other:?} is not the controller's"),
        }
        Ok(())
    }

    /// Topics that came to be because somebody asked for them.
    pub(super) fn auto_create(&mut self, topics: &[String], now: Now, out: &mut Vec<Output>) {
        let config = self.config.clone();
        let Some(room) = &mut self.controller else { return };
        let asked = create_topics::with_defaults(topics);
        let mut planned = create_topics::plan(&asked, &mut room.controller, &config, &mut room.random);
        let (controller, disks) = (&mut room.controller, &self.disks);
        planned.records.extend(as_preferred(
            controller,
            &self.moves,
            disks,
            config.node_id,
            &planned.records,
        ));
        self.write(Vec::new(), planned.records, None, None, now, out);
    }

    /// Replicas are in these log directories: the metadata is to say so.
    pub(super) fn assign(
        &mut self,
        found: &[(PartitionKey, aplomb_model::DirectoryId)],
        now: Now,
        out: &mut Vec<Output>,
    ) {
        let node = self.config.node_id;
        let Some(room) = &mut self.controller else { return };
        let found: Vec<_> = found.iter().map(|(key, id)| (key.topic, key.partition, *id)).collect();
        let records = room.controller.assign_directories(node, &found);
        self.write(Vec::new(), records, None, None, now, out);
    }

    /// Has topics created, here or where the controller is.
    pub(super) fn ask_for_topics(&mut self, topics: Vec<String>, now: Now, out: &mut Vec<Output>) {
        if self.controller.is_some() {
            self.auto_create(&topics, now, out);
        } else {
            out.push(Output::Send { to: ShardId(0), message: ShardMessage::AutoCreate(topics) });
        }
    }

    fn carry_through<R: Message>(
        &mut self,
        id: RequestId,
        to: ReplyTo,
        planned: Planned<R>,
        now: Now,
        out: &mut Vec<Output>,
    ) {
        self.carry_through_with(Vec::new(), id, to, planned, now, out);
    }

    /// Writes a plan, `control` records before the others, and sends the response when all of it is known to everybody.
    fn carry_through_with<R: Message>(
        &mut self,
        control: Vec<Entry>,
        id: RequestId,
        to: ReplyTo,
        planned: Planned<R>,
        now: Now,
        out: &mut Vec<Output>,
    ) {
        match to.with(&planned.response) {
            Ok(response) if control.is_empty() && planned.records.is_empty() => reply(id, Ok(response), out),
            Ok(response) => self.write(control, planned.records, Some((id, response)), None, now, out),
            Err(error) => reply(id, Err(error), out),
        }
    }

    fn init_producer_id(
        &mut self,
        id: RequestId,
        to: ReplyTo,
        asked: m::InitProducerIdRequest,
        now: Now,
        out: &mut Vec<Output>,
    ) {
        let room = self.controller.as_mut().expect("the controller's requests come to its shard");
        let context = crate::api::Context { image: &self.image, config: &self.config, listener: "" };
        if room.ids.left() == 0
            && let Some(next) = room.next_ids.take()
        {
            room.ids = next;
        }
        match init_producer_id::handle(&asked, &context, &mut room.ids) {
            init_producer_id::Answer::Ready(response) => reply(id, to.with(&response), out),
            init_producer_id::Answer::NeedsBlock => room.waiting_for_ids.push((id, to, asked)),
        }
        if room.ids.left() < IDS_AHEAD && room.next_ids.is_none() && !room.ids_asked {
            room.ids_asked = true;
            let mut draft = room.controller.draft();
            let block = draft.allocate_producer_ids(self.config.node_id);
            let records = room.controller.take(draft);
            self.write(Vec::new(), records, None, Some(block), now, out);
        }
    }

    /// Appends a decision to the metadata log: control records in a batch of their own, then the others.
    fn write(
        &mut self,
        control: Vec<Entry>,
        records: Vec<MetadataRecord>,
        mut reply: Option<(RequestId, Reply)>,
        mut ids: Option<ProducerIdBlock>,
        now: Now,
        out: &mut Vec<Output>,
    ) {
        let room = self.controller.as_mut().expect("only the controller decides");
        let Some(partition) = self.partitions.get_mut(&PartitionKey::METADATA) else { return };
        let (epoch, wall) = (room.epoch, now.wall);
        let version = room.controller.image().features.metadata_version();
        let records = records.chunks(MAX_RECORDS).map(|chunk| Batch::Records(chunk.to_vec()));
        let control = (!control.is_empty()).then_some(Batch::Control(control));
        let mut batches = control.into_iter().chain(records).peekable();
        while let Some(batch) = batches.next() {
            let base = partition.log.end();
            let encoded = match &batch {
                Batch::Control(entries) => encode_control_batch(entries, base, epoch, wall),
                Batch::Records(records) => encode_batch(records, version, base, epoch, wall),
            };
            let appended = encoded.map_err(|error| error.to_string()).and_then(|bytes| {
                let header = BatchHeader::parse(&bytes).expect("a batch of ours is one");
                let appended = partition.log.append_own(header, &bytes[HEADER_SIZE..], epoch, wall);
                appended.map_err(|error: AppendError| error.to_string())
            });
            if let Err(error) = appended {
                // The controller is now ahead of the log and must not decide anything more on that ground.
                out.push(Output::Event(Event {
                    severity: Severity::Error,
                    room: "broker/controller",
                    text: format!("metadata cannot be written: {error}"),
                }));
                self.abandon_controller(reply, out);
                return;
            }
            // The only voter is the leader.
            partition.log.advance_high_watermark(partition.log.end());
            let is_last = batches.peek().is_none();
            room.decisions.push_back(Decision {
                end: partition.log.end(),
                entries: batch.into_entries(),
                reply: reply.take_if(|_| is_last),
                ids: ids.take_if(|_| is_last),
            });
            partition.mark_dirty(&mut self.fx);
        }
        self.fx.hurried.push(PartitionKey::METADATA);
    }

    /// The last decision: this broker goes.
    pub(super) fn leave_cluster(&mut self, now: Now, out: &mut Vec<Output>) {
        let Some(room) = &mut self.controller else { return };
        let records = room.controller.fence(self.config.node_id);
        self.write(Vec::new(), records, None, None, now, out);
        self.carry_out_effects(now, out);
        for disk in &mut self.disks {
            disk.poll(&mut self.partitions, now.instant);
        }
    }

    /// Goes back to what is in the log: decisions that could not be written never were.
    fn abandon_controller(&mut self, reply: Option<(RequestId, Reply)>, out: &mut Vec<Output>) {
        let room = self.controller.as_mut().expect("only the controller decides");
        let mut image = room.replay.clone();
        for decision in &room.decisions {
            let applied = image.apply_batch(&decision.entries, decision.end, room.epoch);
            applied.expect("what was decided applies");
        }
        room.controller = Controller::new(image.into_image());
        if let Some((id, _)) = reply {
            let reason = crate::ports::CloseReason::Malformed(ErrorCode::KafkaStorageError.to_string());
            out.push(Output::Reply { id, reply: Reply::Close { reason } });
        }
    }

    /// Everything in the metadata log below `end` is durable: it may be seen.
    pub(super) fn on_metadata_durable(&mut self, end: Offset, now: Now, out: &mut Vec<Output>) {
        // The others may be gone when this one leaves, and it alone still asks who is registered.
        let others = if self.is_leaving() { 0 } else { self.shards };
        let Some(room) = &mut self.controller else { return };
        let mut replies = Vec::new();
        let mut is_new = false;
        while let Some(decision) = room.decisions.pop_front_if(|decision| decision.end <= end) {
            let applied = room.replay.apply_batch(&decision.entries, decision.end, room.epoch);
            applied.expect("what the controller has decided applies to the image that it decided on");
            replies.extend(decision.reply);
            if let Some(ids) = decision.ids {
                room.next_ids = Some(ids);
                room.ids_asked = false;
            }
            is_new = true;
        }
        if !is_new {
            return;
        }
        room.generation += 1;
        let (image, delta) = (Arc::new(room.replay.image().clone()), Arc::new(room.replay.take_delta()));
        let generation = room.generation;
        let missing: BTreeSet<ShardId> = (1..others).map(ShardId).collect();
        for to in &missing {
            let (image, delta) = (image.clone(), delta.clone());
            out.push(Output::Send { to: *to, message: ShardMessage::Image { image, delta, generation } });
        }
        room.publications.push_back(Publication { generation, missing, replies });
        self.apply_image(image, &delta, now, out);
        self.publish(out);
        self.serve_ids(now, out);
        self.consider_snapshot(now, out);
    }

    /// A shard has applied an image, and with it all before.
    pub(super) fn on_shard_applied(&mut self, from: ShardId, generation: u64, out: &mut Vec<Output>) {
        let Some(room) = &mut self.controller else { return };
        for publication in room.publications.iter_mut().filter(|p| p.generation <= generation) {
            publication.missing.remove(&from);
        }
        self.publish(out);
    }

    /// Sends the replies to decisions that all shards know.
    fn publish(&mut self, out: &mut Vec<Output>) {
        let Some(room) = &mut self.controller else { return };
        while let Some(publication) = room.publications.pop_front_if(|p| p.missing.is_empty()) {
            out.extend(publication.replies.into_iter().map(|(id, reply)| Output::Reply { id, reply }));
        }
    }

    fn serve_ids(&mut self, now: Now, out: &mut Vec<Output>) {
        let Some(room) = &mut self.controller else { return };
        if room.next_ids.is_none() {
            return;
        }
        for (id, to, asked) in std::mem::take(&mut room.waiting_for_ids) {
            self.init_producer_id(id, to, asked, now, out);
        }
    }
}

/// New partitions for which somebody has asked for a log directory before they were there.
fn as_preferred(
    controller: &mut Controller,
    moves: &Moves,
    disks: &[ShardDisk],
    node: BrokerId,
    records: &[MetadataRecord],
) -> Vec<MetadataRecord> {
    let preferred = records.iter().filter_map(|record| {
        let MetadataRecord::Partition(new) = record else { return None };
        let topic = controller.image().topics.by_id(new.topic_id)?;
        let disk = moves.preference(&TopicPartition::new(topic.name.clone(), new.partition_id))?;
        let disk = disks.get(usize::from(disk.0)).filter(|disk| disk.lost.is_none())?;
        Some((new.topic_id, PartitionIndex(new.partition_id), disk.directory))
    });
    let preferred: Vec<_> = preferred.collect();
    controller.assign_directories(node, &preferred)
}

/// Which log directories get no new partitions is in the registration, too: that is where they are handed out by.
fn cordon(controller: &mut Controller, config: &BrokerConfig, disks: &[ShardDisk]) -> Vec<MetadataRecord> {
    let Ok(changed) = config.in_force(&controller.image().layers(config)) else { return Vec::new() };
    let is_cordoned = |disk: &&ShardDisk| changed.storage.cordoned_log_dirs.contains(&disk.path);
    let directories = disks.iter().filter(is_cordoned).map(|disk| disk.directory).collect();
    controller.cordon(config.node_id, directories)
}
