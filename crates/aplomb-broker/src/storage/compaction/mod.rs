//! Compaction of a shard's partitions (`LogCleaner`, `LogCleanerManager`): which log is next, and
//! its pass from the first read to the last rename.
//!
//! A pass is carried out on its disk's own threads, a few megabytes a job. What it makes comes back
//! group by group, and the log takes it in one turn. Then the old files are still there: readers
//! of them go on, and only when the last of these reads is over are they renamed. No client ever
//! waits for a pass.
//!
//! What always holds: a shard has one pass under way at most, all shards together no more than
//! `log.cleaner.threads`; a partition that is compacted is neither moved nor trimmed, and the
//! directory of one that is deleted keeps its name until its job is over.

mod candidates;
mod job;

use std::sync::Arc;
use std::time::Duration;

use aplomb_disk_api::{DiskError, DiskIndex, Done};
use aplomb_log::compaction::{
    ActiveProducers, CompactionRules, Pass, PassFailed, PassResult, PassStep, Replacement,
};
use aplomb_model::{Instant, Offset, ProducerId, Timestamp};

use self::candidates::Candidates;
use self::job::{DiscardJob, PassJob, PassOutcome, SwapJob, SwapOutcome};
use super::background::Background;
use super::checkpoints::CheckpointEntry;
use super::cold::ColdReads;
use super::future::FutureReplicas;
use super::purpose::Purpose;
use super::retention::Retention;
use super::{Ground, StorageEffect, StorageMessage};
use crate::calls::PartitionKey;
use crate::config::CleanerConfig;
use crate::figures::CompactionFigures;
use crate::ports::{Event, Severity};

/// What a job reads and writes, about: then others of the disk's jobs have their turn.
const JOB_BYTES: u64 = 8 << 20;

/// Producers whose last batches are noted in a turn.
const PRODUCERS_A_TURN: usize = 4096;

/// The most that a batch may become when it is decompressed: it is held as a whole.
const DECOMPRESSED: usize = 256 << 20;

/// The least that is read and written at once.
const LEAST_WINDOW: u64 = 64 << 10;

/// How soon something is tried again that found no place, or a disk short of something.
const RETRY: Duration = Duration::from_secs(1);

/// The other rooms of storage that matter here.
pub(super) struct OtherRooms<'a> {
    pub(super) cold: &'a mut ColdReads,
    pub(super) moves: &'a FutureReplicas,
    pub(super) retention: &'a mut Retention,
    /// The broker stops: what is under way stays as it is.
    pub(super) stops: bool,
}

/// The compaction of a shard's partitions.
pub(super) struct Compactions {
    background: Arc<Background>,
    figures: Arc<CompactionFigures>,
    candidates: Candidates,
    pass: Option<UnderWay>,
    /// The number of the next pass.
    next: u64,
}

/// A pass of one partition.
struct UnderWay {
    number: u64,
    key: PartitionKey,
    disk: DiskIndex,
    residence: u32,
    begun: Instant,
    /// The bytes that were there before.
    bytes: u64,
    stage: PassStage,
    /// The partition is deleted, and its directory is to be renamed when no job is under way.
    deletion_waits: bool,
}

enum PassStage {
    /// The producers behind this one are still to be noted.
    Gather { upto: Offset, after: Option<ProducerId>, producers: ActiveProducers },
    /// A job of the pass is under way.
    Works,
    /// The next job begins then.
    Rests { pass: Box<Pass>, until: Instant },
    /// The log has a group's segment, and reads of the old ones may be under way; or the disk was
    /// short of something, and is asked again then.
    Drains { pass: Box<Pass>, group: Group, until: Option<Instant> },
    /// The group's files get their names.
    Swaps { pass: Box<Pass>, group: Group },
    /// The pass is not wanted any more, and what it was writing goes.
    Discards,
}

impl PassStage {
    /// Whether a job is under way.
    fn has_job(&self) -> bool {
        matches!(self, Self::Works | Self::Swaps { .. } | Self::Discards)
    }
}

/// Segments that have been replaced in the log, and have their files still.
#[derive(Clone, Debug)]
struct Group {
    sources: Vec<Offset>,
    base: Offset,
    /// How often the log had replaced segments when this was done.
    layout: u32,
}

impl Compactions {
    pub(super) fn new(background: Arc<Background>, figures: Arc<CompactionFigures>, now: Instant) -> Self {
        Self { background, candidates: Candidates::new(figures.clone(), now), figures, pass: None, next: 0 }
    }

    /// The partition may have something to compact.
    pub(super) fn watch(&mut self, key: PartitionKey) {
        self.candidates.watch(key);
    }

    /// The partition that is being compacted.
    pub(super) fn under_way(&self) -> Option<PartitionKey> {
        self.pass.as_ref().map(|pass| pass.key)
    }

    /// The directory of a deleted partition is to be renamed. Whether that has to wait for a job,
    /// until [`Self::on_job`] says so.
    pub(super) fn holds_back(&mut self, key: PartitionKey) -> bool {
        let works = |pass: &&mut UnderWay| pass.key == key && pass.stage.has_job();
        match self.pass.as_mut().filter(works) {
            Some(pass) => {
                pass.deletion_waits = true;
                true
            }
            None => false,
        }
    }

    pub(super) fn wake_at(&self, stops: bool) -> Option<Instant> {
        if stops {
            return None;
        }
        match self.pass.as_ref().map(|pass| &pass.stage) {
            None => self.candidates.wake_at(),
            Some(PassStage::Gather { .. }) => Some(Instant::START),
            Some(PassStage::Works | PassStage::Swaps { .. } | PassStage::Discards) => None,
            Some(PassStage::Rests { until, .. }) => Some(*until),
            // With the last of the reads comes a turn.
            Some(PassStage::Drains { until, .. }) => *until,
        }
    }

    /// Looks for the next log, or takes the pass as far as it gets.
    pub(super) fn poll(&mut self, beside: &mut OtherRooms<'_>, ground: &mut Ground<'_>) {
        if beside.stops {
            return;
        }
        let Some(mut pass) = self.pass.take() else {
            if let Some(next) = self.candidates.look(beside.moves, ground)
                && !beside.moves.has(next.key)
            {
                self.begin(next.key, next.upto, ground);
            }
            return;
        };
        if pass.stage.has_job() {
            self.pass = Some(pass);
            return;
        }
        let now = ground.now.instant;
        if !is_wanted(&pass, ground) {
            return self.give_up(pass, beside, ground);
        }
        pass.stage = match pass.stage {
            PassStage::Gather { upto, after, producers } => {
                match gather(pass.key, upto, after, producers, ground) {
                    Some(stage) => stage,
                    None => {
                        pass.stage = PassStage::Discards;
                        return self.give_up(pass, beside, ground);
                    }
                }
            }
            PassStage::Drains { pass: work, group, .. }
                if beside.cold.reads_before(pass.key, group.layout) =>
            {
                PassStage::Drains { pass: work, group, until: None }
            }
            PassStage::Drains { pass: work, group, until } if until.is_none_or(|until| until <= now) => {
                let directory = work.directory().to_owned();
                let job = SwapJob { directory, sources: group.sources.clone(), base: group.base };
                let purpose = Purpose::Compaction { number: pass.number };
                ground.disks.get_mut(pass.disk).submit_job(Box::new(job), purpose, now);
                PassStage::Swaps { pass: work, group }
            }
            PassStage::Rests { pass: work, until } if until <= now => {
                let job = PassJob::new(work, JOB_BYTES);
                let purpose = Purpose::Compaction { number: pass.number };
                ground.disks.get_mut(pass.disk).submit_job(Box::new(job), purpose, now);
                PassStage::Works
            }
            other => other,
        };
        self.pass = Some(pass);
    }

    /// A job has ended. Gives the partition whose deletion has waited for that.
    pub(super) fn on_job(
        &mut self,
        number: u64,
        result: Result<Done, DiskError>,
        beside: &mut OtherRooms<'_>,
        ground: &mut Ground<'_>,
    ) -> Option<PartitionKey> {
        // A pass that was given up has no jobs under way, but for those of a lost disk.
        let mut pass = self.pass.take_if(|pass| pass.number == number)?;
        let deleted = pass.deletion_waits.then_some(pass.key);
        let outcome = match result {
            Ok(Done::Job(outcome)) => Some(outcome),
            Ok(_) | Err(_) => None,
        };
        let now = ground.now.instant;
        match std::mem::replace(&mut pass.stage, PassStage::Works) {
            PassStage::Works => {
                let ended = outcome.and_then(|outcome| outcome.take::<PassOutcome>());
                match ended {
                    Some(PassOutcome { pass: work, end, moved }) => {
                        let until = self.spend(moved, ground);
                        self.on_step(pass, work, end, until, beside, ground);
                    }
                    // The disk is lost, or stops.
                    None => self.end(&pass, beside, ground),
                }
            }
            PassStage::Swaps { pass: work, group } => {
                let ended = outcome.and_then(|outcome| outcome.take::<SwapOutcome>());
                let partition = ground.partitions.get_on(pass.key, pass.residence);
                match (ended, partition) {
                    (Some(SwapOutcome(Ok(files))), Some(partition)) => {
                        partition.on_swapped(group.base);
                        let at = now + partition.settings().file_delete_delay;
                        for name in files {
                            ground.deletions.delete_at(at, pass.disk, name, false);
                        }
                        pass.stage = PassStage::Rests { pass: work, until: now };
                        self.pass = Some(pass);
                    }
                    // The disk is short of something.
                    (Some(SwapOutcome(Err(_))), Some(_)) => {
                        pass.stage = PassStage::Drains { pass: work, group, until: Some(now + RETRY) };
                        self.pass = Some(pass);
                    }
                    // It is deleted, or the disk is lost: the next start finishes what is begun.
                    (None, _) | (_, None) => self.end(&pass, beside, ground),
                }
            }
            PassStage::Discards => self.end(&pass, beside, ground),
            PassStage::Gather { .. } | PassStage::Rests { .. } | PassStage::Drains { .. } => {
                unreachable!("without a job under way none ends")
            }
        }
        deleted
    }

    fn on_step(
        &mut self,
        mut pass: UnderWay,
        work: Box<Pass>,
        end: Result<PassStep, PassFailed>,
        until: Instant,
        beside: &mut OtherRooms<'_>,
        ground: &mut Ground<'_>,
    ) {
        match end {
            Ok(PassStep::Again(_)) => {
                pass.stage = PassStage::Rests { pass: work, until };
                self.pass = Some(pass);
            }
            Ok(PassStep::Group(replacement, _)) => {
                let Some(partition) = ground.partitions.get_on(pass.key, pass.residence) else {
                    return self.end(&pass, beside, ground); // it is deleted
                };
                let Replacement { sources, segment } = &replacement;
                let (sources, base) = (sources.clone(), segment.base);
                partition.replace_segments(replacement);
                beside.cold.forget_kept(pass.key);
                let layout = partition.log().replacements();
                pass.stage =
                    PassStage::Drains { pass: work, group: Group { sources, base, layout }, until: None };
                self.pass = Some(pass);
            }
            Ok(PassStep::Done(result)) => {
                if let Some(partition) = ground.partitions.get_on(pass.key, pass.residence) {
                    partition.on_compacted(result.clean_end);
                    let changes = vec![(pass.key, Some(CheckpointEntry::of(partition)))];
                    self.figures.on_pass(&result.stats, ground.now.instant.since(pass.begun));
                    let text = done(partition.name(), &pass, &result, ground.now.instant);
                    ground.tell_checkpoints(StorageMessage::Record { disk: pass.disk, changes });
                    tell(Severity::Info, text, ground);
                    self.candidates.hurry();
                }
                self.end(&pass, beside, ground);
            }
            Err(failed) => {
                if let PassFailed::Unreadable { .. } = failed
                    && let Some(partition) = ground.partitions.get_on(pass.key, pass.residence)
                {
                    let text = format!(
                        "{} is not compacted until the next start: {failed}; nothing of it was changed",
                        partition.name()
                    );
                    tell(Severity::Warn, text, ground);
                    self.candidates.give_up(pass.key);
                }
                self.end(&pass, beside, ground);
            }
        }
    }

    /// When the next job may begin, after one that has moved so many bytes.
    fn spend(&self, moved: u64, ground: &Ground<'_>) -> Instant {
        let now = ground.now.instant;
        let Some(rate) = ground.view.config().storage.cleaner.rate else { return now };
        self.background.cleaner().spend(moved, rate, now);
        self.background.cleaner().check(now).err().unwrap_or(now)
    }

    fn begin(&mut self, key: PartitionKey, upto: Offset, ground: &mut Ground<'_>) {
        // It may have gone since it was looked at.
        let Some(partition) = ground.partitions.get(key) else { return };
        let most = ground.view.config().storage.cleaner.threads;
        if !self.background.begin_pass(most) {
            return self.candidates.rest(ground.now.instant + RETRY);
        }
        let number = self.next;
        self.next += 1;
        self.pass = Some(UnderWay {
            number,
            key,
            disk: partition.disk(),
            residence: partition.residence(),
            begun: ground.now.instant,
            bytes: partition.log().size(),
            stage: PassStage::Gather { upto, after: None, producers: ActiveProducers::default() },
            deletion_waits: false,
        });
    }

    /// A pass is not wanted any more. What it was writing goes, unless its partition has gone.
    fn give_up(&mut self, mut pass: UnderWay, beside: &mut OtherRooms<'_>, ground: &mut Ground<'_>) {
        let is_here = ground.partitions.get_on(pass.key, pass.residence).is_some();
        match std::mem::replace(&mut pass.stage, PassStage::Discards) {
            PassStage::Rests { pass: work, .. } if is_here && !ground.disks.is_lost(pass.disk) => {
                let purpose = Purpose::Compaction { number: pass.number };
                let job = Box::new(DiscardJob(work));
                ground.disks.get_mut(pass.disk).submit_job(job, purpose, ground.now.instant);
                self.pass = Some(pass);
            }
            _ => self.end(&pass, beside, ground),
        }
    }

    fn end(&mut self, pass: &UnderWay, beside: &mut OtherRooms<'_>, ground: &Ground<'_>) {
        self.background.end_pass();
        if ground.partitions.get(pass.key).is_some() {
            beside.retention.look_at(pass.disk, pass.key);
        } else {
            self.candidates.forget(pass.key);
        }
    }
}

/// Whether the partition is still to be compacted, and can be. What a log has taken is seen
/// through.
fn is_wanted(pass: &UnderWay, ground: &mut Ground<'_>) -> bool {
    let is_begun = matches!(pass.stage, PassStage::Drains { .. });
    let partition = ground.partitions.get_on(pass.key, pass.residence);
    partition
        .is_some_and(|partition| !partition.is_offline() && (is_begun || partition.log().config().compacts))
}

/// Notes the last batches of some producers; with the last of them the pass begins. `None`: there
/// is nothing to compact any more.
fn gather(
    key: PartitionKey,
    upto: Offset,
    after: Option<ProducerId>,
    mut producers: ActiveProducers,
    ground: &mut Ground<'_>,
) -> Option<PassStage> {
    let now = ground.now;
    let rules_of = |partition: &crate::partition::Partition| {
        rules(&ground.view.config().storage.cleaner, partition.log().config())
    };
    let partition = ground.partitions.get_mut(key).expect("a pass that is wanted has a partition");
    let last =
        partition.log().producers().producers_after(after).take(PRODUCERS_A_TURN).map(|(id, entry)| {
            producers.add(id, entry, upto);
            id
        });
    if let Some(after) = last.last() {
        return Some(PassStage::Gather { upto, after: Some(after), producers });
    }
    let rules = rules_of(partition);
    let plan = partition.begin_compaction(upto, producers, rules, now.wall)?;
    Some(PassStage::Rests { pass: Box::new(Pass::new(plan)), until: now.instant })
}

fn rules(cleaner: &CleanerConfig, log: &aplomb_log::LogConfig) -> CompactionRules {
    // As in Apache Kafka, each pass has its part of the memory of all.
    let part = |bytes: u64| bytes / u64::from(cleaner.threads.max(1));
    CompactionRules {
        delete_retention_ms: log.compaction.delete_retention_ms,
        segment_bytes: log.segment_bytes,
        indexes: log.indexes,
        map_bytes: usize::try_from(part(cleaner.map_bytes.0)).unwrap_or(usize::MAX),
        map_load: cleaner.map_load,
        window: usize::try_from(part(cleaner.buffer_bytes.0).clamp(LEAST_WINDOW, JOB_BYTES)).expect("small"),
        decompressed: DECOMPRESSED,
    }
}

fn done(name: &aplomb_model::TopicPartition, pass: &UnderWay, result: &PassResult, now: Instant) -> String {
    let stats = &result.stats;
    format!(
        "{name} is compacted below {}: {} of {} bytes and {} of {} records stay, of {} bytes in all; \
         {} ms",
        result.clean_end,
        stats.kept,
        stats.read,
        stats.kept_records,
        stats.records,
        pass.bytes,
        now.since(pass.begun).as_millis()
    )
}

fn tell(severity: Severity, text: String, ground: &mut Ground<'_>) {
    ground.effects.push(StorageEffect::Event(Event { severity, room: "broker/compaction", text }));
}

/// The time of the first batch of a segment, from the bytes that the disk has read; `None` where
/// there is none.
pub(super) fn first_time(bytes: &[u8]) -> Option<Timestamp> {
    aplomb_model::batch::BatchHeader::parse(bytes).ok().map(|header| header.max_timestamp())
}
