//! The metadata log's writer, on shard 0: what the controller decides becomes records in the
//! metadata log, and holds when these are durable and every shard has applied them.
//!
//! Data requests never wait for any of this. The metadata log is a partition like any other, whose
//! appends are promised to be durable; it waits for memory in line, as producers do.
//!
//! What always holds: the controller's image is the replayed one with the decisions that are under
//! way; a decision is answered once.

mod decisions;
mod producer_ids;
mod snapshots;
mod token_sweep;
mod wakes;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use aplomb_disk_api::{DiskCommand, DiskIndex};
use aplomb_model::{
    DirectoryId, ErrorCode, Instant, LeaderEpoch, Offset, PartitionIndex, ProducerId, Timestamp,
    TopicPartition,
};
use aplomb_protocol::messages::VotersRecord;
use aplomb_protocol::{EncodeError, MetadataRecord};
use bytes::Bytes;

use self::decisions::Decisions;
use self::producer_ids::ProducerIds;
use self::snapshots::Snapshots;
use self::token_sweep::TokenSweep;
use crate::calls::{Answer, AppendRefusal, Appended, Asker, PartitionKey};
use crate::config::BrokerConfig;
use crate::controller::{Controller, MAX_RECORDS, ProducerIdBlock, Random};
use crate::metadata::{Delta, Entry, MetadataImage, Replay, encode_batch, encode_control_batch};
use crate::ports::{Event, Now, Severity, ShardId};
use crate::security::TokenKey;
use crate::storage::{Disks, Purpose};
use crate::store_checks::StoreChecks;
use crate::view::View;

/// So many names are remembered of partitions that are to be made in a certain directory.
const PREFERENCES: usize = 10_000;
/// So many bytes of decisions may wait for the metadata log's disk. What comes then is refused.
const BACKLOG: usize = 32 << 20;

/// What the controller goes on from.
pub(crate) struct ControllerSeed {
    /// The image that the metadata log gives, with what this process has put into it.
    pub(crate) controller: Controller,
    /// The epoch of this process's leadership.
    pub(crate) epoch: LeaderEpoch,
    /// Producer ids to give out, in the log already, so that a producer can begin while the disk
    /// does not answer.
    pub(crate) ids: ProducerIdBlock,
    /// The only voter, for snapshots.
    pub(crate) voters: VotersRecord,
    /// The snapshots that are on the disk: all before this offset, written in this epoch.
    pub(crate) snapshots: Vec<(Offset, LeaderEpoch)>,
    /// Random bytes, for ids.
    pub(crate) random: Box<dyn FnMut() -> [u8; 16] + Send>,
    /// Where stores are looked at that a client wants listeners to have.
    pub(crate) stores: Arc<StoreChecks>,
}

/// What is said to the controller from any shard.
#[derive(Debug)]
pub enum HeadMessage {
    /// Topics that a client asked the metadata of, and that are to be created for that.
    CreateTopics(Vec<String>),
    /// Replicas are in these log directories: the metadata is to say so.
    Assign(Vec<(PartitionKey, DirectoryId)>),
    /// A partition that is not there yet is to be made in this log directory.
    Prefer {
        /// Its name.
        name: TopicPartition,
        /// The log directory.
        disk: DiskIndex,
    },
    /// A log directory failed.
    DirectoryLost(DirectoryId),
    /// A coordinator needs a producer id.
    ProducerId(Asker),
}

/// What the head wants done.
#[derive(Debug)]
pub(crate) enum HeadEffect {
    /// Append a batch to the metadata log, durably. The answer names the number.
    Append { number: u64, batch: Bytes },
    /// Have all shards, this one included, apply an image.
    Publish { image: Arc<MetadataImage>, delta: Arc<Delta>, generation: u64 },
    /// Answer whoever asked.
    Answer(Asker, Answer),
    /// Have the metadata log's disk do something.
    Submit(DiskCommand, Purpose),
    /// A line for the log.
    Event(Event),
}

/// What goes into the log as one batch. What belongs to a decision of several is with its last.
#[derive(Debug)]
struct Batch {
    entries: Vec<Entry>,
    bytes: usize,
    /// Who is answered when it holds.
    asker: Option<Asker>,
    /// Producer ids that may be given out then.
    ids: Option<ProducerIdBlock>,
}

/// An image that not all shards have applied yet.
#[derive(Debug)]
struct Publication {
    generation: u64,
    missing: BTreeSet<ShardId>,
    askers: Vec<Asker>,
}

/// The controller, and what it waits for.
pub(crate) struct Head {
    controller: Controller,
    epoch: LeaderEpoch,
    snapshots: Snapshots,
    random: Box<dyn FnMut() -> [u8; 16] + Send>,
    /// Applies what is durable.
    replay: Replay,
    decisions: Decisions<Batch>,
    backlog: usize,
    /// Those whose decisions are durable, and in no publication yet.
    durable: Option<Vec<Asker>>,
    publications: VecDeque<Publication>,
    generation: u64,
    ids: ProducerIds,
    /// Where partitions are to be made that are not there yet.
    preferred: BTreeMap<TopicPartition, DiskIndex>,
    token_sweep: Option<TokenSweep>,
    stores: Arc<StoreChecks>,
    /// Tokens are being made ready to be found, with this.
    indexing: Option<TokenKey>,
    /// The last decision is made: the other shards may be gone, and are not waited for.
    is_leaving: bool,
    effects: Vec<HeadEffect>,
}

impl Head {
    /// `end`: the log end offset of the metadata log.
    pub(crate) fn new(seed: ControllerSeed, end: Offset, config: &BrokerConfig, now: Instant) -> Self {
        Self {
            replay: Replay::from_image(seed.controller.image().clone()),
            controller: seed.controller,
            epoch: seed.epoch,
            snapshots: Snapshots::new(seed.voters, seed.snapshots),
            random: seed.random,
            stores: seed.stores,
            indexing: None,
            decisions: Decisions::new(end),
            backlog: 0,
            durable: None,
            publications: VecDeque::new(),
            generation: 0,
            ids: ProducerIds::new(seed.ids),
            preferred: BTreeMap::new(),
            token_sweep: TokenSweep::new(&config.tokens, now),
            is_leaving: false,
            effects: Vec::new(),
        }
    }

    /// The epoch in which this process leads the metadata log.
    pub(crate) fn epoch(&self) -> LeaderEpoch {
        self.epoch
    }

    /// Who votes.
    pub(crate) fn voters(&self) -> &VotersRecord {
        self.snapshots.voters()
    }

    /// The image with all that is durable.
    pub(crate) fn durable_image(&self) -> &MetadataImage {
        self.replay.image()
    }

    pub(crate) fn stores(&self) -> &Arc<StoreChecks> {
        &self.stores
    }

    pub(crate) fn controller(&self) -> &Controller {
        &self.controller
    }

    /// Whether nothing is on its way.
    pub(crate) fn is_idle(&self) -> bool {
        self.decisions.is_empty() && self.publications.is_empty()
    }

    /// Whether the head wants nothing of others.
    pub(crate) fn is_quiet(&self) -> bool {
        self.effects.is_empty() && self.durable.is_none()
    }

    /// Takes what others are to do.
    pub(crate) fn take_effects(&mut self) -> Vec<HeadEffect> {
        std::mem::take(&mut self.effects)
    }

    /// Makes a plan. Records that it gives have to be written.
    pub(crate) fn plan<T>(&mut self, plan: impl FnOnce(&mut Controller, Random<'_>) -> T) -> T {
        plan(&mut self.controller, &mut self.random)
    }

    /// Writes a decision into the metadata log: control records in a batch of their own, then the
    /// others. `asker` is answered when it holds.
    pub(crate) fn write(
        &mut self,
        control: Vec<Entry>,
        records: Vec<MetadataRecord>,
        asker: Option<Asker>,
        now: Now,
    ) {
        self.write_all(control, records, asker, None, now.wall);
    }

    fn write_all(
        &mut self,
        control: Vec<Entry>,
        records: Vec<MetadataRecord>,
        mut asker: Option<Asker>,
        mut ids: Option<ProducerIdBlock>,
        wall: Timestamp,
    ) {
        let encoded = self.encode(control, records, wall);
        let batches = match encoded {
            Ok(batches) => batches,
            Err(error) => {
                let text = format!("metadata cannot be written: {error}");
                return self.give_up(text, asker, ids, ErrorCode::UnknownServerError);
            }
        };
        let total: usize = batches.iter().map(|(_, bytes)| bytes.len()).sum();
        if self.backlog + total > BACKLOG {
            let waiting = self.decisions.len();
            let text = format!("{waiting} decisions wait for the metadata log's disk: no more are taken");
            return self.give_up(text, asker, ids, ErrorCode::RequestTimedOut); // clients try again
        }
        self.backlog += total;
        let last = batches.len().saturating_sub(1);
        for (n, (entries, batch)) in batches.into_iter().enumerate() {
            let (asker, ids) = (asker.take_if(|_| n == last), ids.take_if(|_| n == last));
            let count = entries.len() as u64;
            let number = self.decisions.push(count, Batch { entries, bytes: batch.len(), asker, ids });
            self.effects.push(HeadEffect::Append { number, batch });
        }
        assert!(asker.is_none() && ids.is_none(), "a decision that is waited for has records");
    }

    /// The batches of a decision, with what is in them.
    fn encode(
        &self,
        control: Vec<Entry>,
        records: Vec<MetadataRecord>,
        wall: Timestamp,
    ) -> Result<Vec<(Vec<Entry>, Bytes)>, EncodeError> {
        let version = self.controller.image().features.metadata_version();
        let mut base = self.decisions.end();
        let mut batches = Vec::new();
        if !control.is_empty() {
            let batch = encode_control_batch(&control, base, self.epoch, wall)?;
            base = Offset::new(base.get() + control.len() as u64);
            batches.push((control, batch));
        }
        for chunk in records.chunks(MAX_RECORDS) {
            let batch = encode_batch(chunk, version, base, self.epoch, wall)?;
            base = Offset::new(base.get() + chunk.len() as u64);
            batches.push((chunk.iter().cloned().map(Entry::Record).collect(), batch));
        }
        Ok(batches)
    }

    /// A decision is not written. The controller must not decide on its ground.
    fn give_up(
        &mut self,
        text: String,
        asker: Option<Asker>,
        ids: Option<ProducerIdBlock>,
        error: ErrorCode,
    ) {
        self.go_back();
        self.effects.push(event(Severity::Error, text));
        self.refuse(Batch { entries: Vec::new(), bytes: 0, asker, ids }, error);
    }

    /// The metadata log has a batch for good, or does not take it.
    pub(crate) fn on_answer(&mut self, number: u64, answer: Result<Appended, AppendRefusal>) {
        match answer {
            Ok(appended) => {
                // Given up before: another that it was decided on was refused.
                let Some(kept) = self.decisions.on_kept(number, appended.base) else { return };
                let Batch { entries, bytes, asker, ids } = kept.decision;
                self.backlog -= bytes;
                let applied = self.replay.apply_batch(&entries, kept.end, self.epoch);
                applied.expect("what the controller has decided applies to the image that it decided on");
                if self.decisions.is_empty() {
                    self.controller.share(self.replay.image());
                }
                self.durable.get_or_insert_default().extend(asker);
                if let Some(block) = ids {
                    let given = self.ids.on_block(block).into_iter();
                    self.effects.extend(given.map(|(to, id)| HeadEffect::Answer(to, Answer::Ids(Ok(id)))));
                }
            }
            Err(refusal) => {
                let refused = self.decisions.on_refused(number);
                if refused.is_empty() {
                    return; // given up before
                }
                let why = refusal.message.unwrap_or_else(|| refusal.error.to_string());
                let text = format!("metadata cannot be written: {why}");
                self.effects.push(event(Severity::Error, text));
                for batch in refused {
                    self.backlog -= batch.bytes;
                    self.refuse(batch, refusal.error);
                }
                self.go_back();
            }
        }
    }

    fn refuse(&mut self, batch: Batch, error: ErrorCode) {
        let decided = batch.asker.map(|to| HeadEffect::Answer(to, Answer::Decided(Err(error))));
        self.effects.extend(decided);
        if batch.ids.is_some() {
            let refused = self.ids.on_refused().into_iter();
            self.effects.extend(refused.map(|(to, error)| HeadEffect::Answer(to, Answer::Ids(Err(error)))));
        }
    }

    /// Goes back to what is in the log or on its way there: what is not never was.
    fn go_back(&mut self) {
        let mut image = self.replay.clone();
        for pending in self.decisions.iter() {
            let applied = image.apply_batch(&pending.decision.entries, pending.end, self.epoch);
            applied.expect("what was decided applies");
        }
        self.controller = Controller::new(image.into_image());
    }

    /// What is durable is published, once for all that one sync has brought.
    pub(crate) fn publish(&mut self, view: &View) {
        let Some(askers) = self.durable.take() else { return };
        self.generation += 1;
        let (image, delta) = (Arc::new(self.replay.image().clone()), Arc::new(self.replay.take_delta()));
        let mut missing = BTreeSet::from([view.me()]);
        if !self.is_leaving {
            missing.extend(view.others());
        }
        for (topic, changed) in &delta.topics {
            let Some(topic) = image.topics.by_id(*topic) else { continue };
            for index in changed.partitions.keys() {
                self.preferred.remove(&TopicPartition::new(topic.name.clone(), index.0));
            }
        }
        let generation = self.generation;
        self.publications.push_back(Publication { generation, missing, askers });
        self.effects.push(HeadEffect::Publish { image, delta, generation });
    }

    /// A shard has applied an image, and with it all before.
    pub(crate) fn on_applied(&mut self, from: ShardId, generation: u64) {
        for publication in self.publications.iter_mut().filter(|p| p.generation <= generation) {
            publication.missing.remove(&from);
        }
        while let Some(publication) = self.publications.pop_front_if(|p| p.missing.is_empty()) {
            let answer = |asker| HeadEffect::Answer(asker, Answer::Decided(Ok(())));
            self.effects.extend(publication.askers.into_iter().map(answer));
        }
    }

    /// Who waits for a producer id waits no longer.
    pub(crate) fn cancel(&mut self, asker: Asker) {
        self.ids.cancel(asker);
    }

    /// The next producer id. `None`: `asker` is answered when there is one.
    pub(crate) fn producer_id(&mut self, asker: Asker, view: &View, now: Now) -> Option<ProducerId> {
        let id = self.ids.take();
        if id.is_none() {
            self.ids.wait(asker);
        }
        if self.ids.ask() {
            let mut draft = self.controller.draft();
            let block = draft.allocate_producer_ids(view.node());
            let records = self.controller.take(draft);
            self.write_all(Vec::new(), records, None, Some(block), now.wall);
        }
        id
    }

    /// Another shard speaks, or this one.
    pub(crate) fn on_message(&mut self, message: HeadMessage, view: &View, disks: &Disks, now: Now) {
        if self.is_leaving {
            return; // the log is being closed: what is decided now would be half written at the end
        }
        match message {
            HeadMessage::CreateTopics(names) => {
                let mut records = self.plan(|controller, random| {
                    crate::controller::create_with_defaults(&names, controller, view.config(), random)
                });
                records.extend(self.place_as_preferred(&records, view, disks));
                self.write(Vec::new(), records, None, now);
            }
            HeadMessage::Assign(found) => {
                let found: Vec<_> = found.iter().map(|(key, id)| (key.topic, key.partition, *id)).collect();
                let records = self.controller.assign_directories(view.node(), &found);
                self.write(Vec::new(), records, None, now);
            }
            HeadMessage::Prefer { name, disk } => {
                if self.preferred.len() < PREFERENCES || self.preferred.contains_key(&name) {
                    self.preferred.insert(name, disk);
                }
            }
            HeadMessage::ProducerId(asker) => {
                if let Some(id) = self.producer_id(asker, view, now) {
                    self.effects.push(HeadEffect::Answer(asker, Answer::Ids(Ok(id))));
                }
            }
            HeadMessage::DirectoryLost(directory) => {
                let records = self.controller.lose_directory(view.node(), directory);
                self.write(Vec::new(), records, None, now);
            }
        }
    }

    /// The last decision: this broker goes.
    pub(crate) fn leave(&mut self, view: &View, now: Now) {
        self.is_leaving = true;
        let records = self.controller.fence(view.node());
        self.write(Vec::new(), records, None, now);
    }

    /// New partitions for which somebody has asked for a log directory before they were there.
    pub(crate) fn place_as_preferred(
        &mut self,
        records: &[MetadataRecord],
        view: &View,
        disks: &Disks,
    ) -> Vec<MetadataRecord> {
        let preferred = records.iter().filter_map(|record| {
            let MetadataRecord::Partition(new) = record else { return None };
            let topic = self.controller.image().topics.by_id(new.topic_id)?;
            let name = TopicPartition::new(topic.name.clone(), new.partition_id);
            let disk = disks.get(*self.preferred.get(&name)?);
            let directory = (!disk.is_lost()).then(|| disk.directory())?;
            Some((new.topic_id, PartitionIndex(new.partition_id), directory))
        });
        let preferred: Vec<_> = preferred.collect();
        self.controller.assign_directories(view.node(), &preferred)
    }

    /// Which log directories get no new partitions is in the registration, too: that is where they
    /// are handed out by.
    pub(crate) fn cordon(&mut self, view: &View, disks: &Disks) -> Vec<MetadataRecord> {
        let config = view.config();
        // Settings that are not in force change nothing here.
        let Ok(changed) = config.in_force(&self.controller.image().layers(config)) else {
            return Vec::new();
        };
        let is_cordoned = |path: &str| changed.storage.cordoned_log_dirs.iter().any(|dir| dir == path);
        let cordoned = disks.iter().filter(|disk| is_cordoned(disk.path()));
        let directories = cordoned.map(crate::storage::ShardDisk::directory).collect();
        self.controller.cordon(view.node(), directories)
    }
}

fn event(severity: Severity, text: String) -> HeadEffect {
    HeadEffect::Event(Event { severity, room: "broker/controller", text })
}
