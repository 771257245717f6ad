//! The totals are the sum of what coordinators have, through loads, refusals and ends.

use aplomb_coordinator::group::{
    Caller, ClassicSettings, GroupAsk, GroupEvent, GroupSettings, GroupState, OffsetSettings, Overrides,
    Topic, World,
};
use aplomb_coordinator::runtime::{Effect, Now, Ticket, WriteSettings};
use aplomb_model::batch::Compression;
use aplomb_model::{ErrorCode, LeaderEpoch, Offset, Timestamp, TopicId};
use aplomb_protocol::messages as m;
use bytes::Bytes;
use m::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

struct NoTopics(GroupSettings);

impl World for NoTopics {
    fn settings(&self) -> &GroupSettings {
        &self.0
    }
    fn has_room(&self) -> bool {
        true
    }
    fn overrides(&self, _: &str) -> Overrides {
        Overrides::default()
    }
    fn topic(&self, _: &str) -> Option<Topic> {
        None
    }
    fn topic_by_id(&self, _: TopicId) -> Option<Topic> {
        None
    }
    fn racks(&self, _: TopicId, _: i32) -> Vec<String> {
        Vec::new()
    }
    fn names_after(&self, _: Option<&str>, _: usize) -> Vec<Arc<str>> {
        Vec::new()
    }
    fn version(&self) -> i64 {
        0
    }
}

fn world() -> NoTopics {
    NoTopics(GroupSettings {
        classic: ClassicSettings {
            session_timeouts: SECOND..=SECOND,
            initial_rebalance_delay: SECOND,
            max_size: 10,
        },
        consumer: None,
        offsets: OffsetSettings { retention: 100 * SECOND, check_interval: 10 * SECOND, metadata_max: 100 },
    })
}

/// One coordinator with its log.
struct Lab {
    runtime: Runtime<Groups>,
    observed: Observed,
    log: Vec<Bytes>,
    written: Vec<(u64, Bytes)>,
    tickets: u64,
}

impl Lab {
    /// It has read this log in a second.
    fn load(observation: &mut Observation, log: Vec<Bytes>) -> Self {
        let (groups, observed) = observation.begin(Instant::START);
        let settings = WriteSettings {
            linger: None,
            patience: SECOND,
            batch_bytes: 1 << 20,
            pending_bytes: 1 << 20,
            compression: Compression::default(),
        };
        let runtime = Runtime::new(groups, LeaderEpoch::new(1), settings);
        let mut lab = Self { runtime, observed, log, written: Vec::new(), tickets: 0 };
        lab.update(observation);
        let slices: Vec<&[u8]> = lab.log.iter().map(|batch| &batch[..]).collect();
        let end = lab.runtime.load(&slices).expect("readable").unwrap_or(Offset::ZERO);
        let before = observation.totals.counts;
        lab.update(observation);
        assert_eq!(observation.totals.counts, before, "those that are loaded are not counted yet");
        lab.tell(observation, |runtime, now, world, random| runtime.on_loaded(end, now, world, random));
        lab
    }

    fn update(&mut self, observation: &mut Observation) {
        observation.update(&mut self.observed, &mut self.runtime, Instant::START + SECOND);
        while Observation::is_behind(&self.observed, &self.runtime) {
            observation.catch_up(&mut self.observed, &self.runtime);
        }
    }

    fn tell(
        &mut self,
        observation: &mut Observation,
        what: impl FnOnce(&mut Runtime<Groups>, Now, &(dyn World + 'static), &mut dyn FnMut() -> [u8; 16]),
    ) {
        let now = Now { instant: Instant::START + SECOND, wall: Timestamp(1_000_000) };
        what(&mut self.runtime, now, &world(), &mut || [7; 16]);
        self.runtime.end_turn();
        for effect in self.runtime.take_effects() {
            if let Effect::Append { number, batch } = effect {
                self.written.push((number, batch));
            }
        }
        self.update(observation);
    }

    /// A client commits for partition 0 of a topic; the log is not asked yet.
    fn commit(&mut self, observation: &mut Observation, group: &str, offset: i64) {
        let partition = OffsetCommitRequestPartition {
            committed_offset: offset,
            committed_leader_epoch: -1,
            ..Default::default()
        };
        let topic = OffsetCommitRequestTopic {
            name: "t".to_owned(),
            partitions: vec![partition],
            ..Default::default()
        };
        let request = m::OffsetCommitRequest {
            group_id: group.to_owned(),
            generation_id_or_member_epoch: -1,
            retention_time_ms: -1,
            topics: vec![topic],
            ..Default::default()
        };
        let caller = Caller::new(8, "c", "/h");
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let ask = GroupAsk::Commit(caller, request);
        self.tell(observation, |runtime, now, world, random| runtime.on_ask(ticket, ask, now, world, random));
    }

    /// The log keeps all that was written, or none of it.
    fn answer(&mut self, observation: &mut Observation, error: Option<ErrorCode>) {
        for (number, batch) in std::mem::take(&mut self.written) {
            let base =
                aplomb_model::batch::Batches::new(&batch).next().expect("a batch").header.base_offset();
            if error.is_none() {
                self.log.push(batch);
            }
            let answer = error.map_or(Ok(base), Err);
            self.tell(observation, |runtime, now, world, random| {
                runtime.on_answer(number, answer, now, world, random);
            });
        }
    }
}

fn observation() -> Observation {
    Observation::new(Arc::new(ShownBound::new(10)))
}

#[test]
fn totals_are_what_coordinators_have_and_events_stay_when_they_go() {
    let mut all = observation();
    let mut one = Lab::load(&mut all, Vec::new());
    let mut other = Lab::load(&mut all, Vec::new());
    assert_eq!((all.totals.coordinators.active, all.totals.loads.count), (2, 2));
    assert_eq!((all.totals.loads.total, all.longest_load), (2 * SECOND, SECOND));
    one.commit(&mut all, "a", 1);
    one.commit(&mut all, "b", 1);
    one.answer(&mut all, None);
    other.commit(&mut all, "c", 1);
    assert_eq!((all.totals.counts.of(GroupState::ClassicEmpty), all.totals.offsets), (3, 3));
    other.answer(&mut all, Some(ErrorCode::NotEnoughReplicas));
    assert_eq!(all.totals.offsets, 2, "what the log refuses never was");
    let bytes = |lab: &Lab| lab.runtime.machine().bytes();
    assert_eq!(all.bytes(), bytes(&one) + bytes(&other));

    let figures = ShardFigures::new(0, Arc::default());
    all.show(&figures);
    assert_eq!(figures.groups(GroupState::ClassicEmpty), all.totals.counts.all() as u64);
    assert_eq!((figures.committed_offsets(), figures.coordinators()), (2, [0, 2, 0]));
    assert_eq!((figures.take_longest_load(), figures.loads().count), (SECOND, 2));
    let new = figures.take_new_groups();
    assert_eq!(new.offsets.iter().filter(|offset| !offset.is_gone()).count(), 2);

    one.runtime.resign();
    all.resign(one.observed);
    assert!(new.groups.iter().all(|group| group.is_gone() || &**group.id() == "c"));
    assert_eq!((all.totals.offsets, all.totals.coordinators.active), (0, 1));
    assert_eq!(all.totals.events.of(GroupEvent::OffsetCommitted), 3, "a number that only grows");
    let mut again = Lab::load(&mut all, one.log);
    assert_eq!(all.totals.offsets, 2, "another coordinator reads its log");
    assert_eq!(all.totals.events.of(GroupEvent::OffsetCommitted), 3, "and nothing is committed by that");
    all.show(&figures);
    assert_eq!(figures.take_new_groups().offsets.len(), 2);

    again.runtime.fail();
    again.update(&mut all);
    assert_eq!((all.totals.offsets, all.totals.coordinators.failed), (0, 1));
    all.resign(again.observed);
    all.resign(other.observed);
    let gone = GroupTotals { events: all.totals.events, loads: all.totals.loads, ..Default::default() };
    assert_eq!(all.totals, gone);
}

#[test]
fn where_none_is_shown_groups_are_counted_all_the_same() {
    let mut all = Observation::new(Arc::new(ShownBound::new(0)));
    let mut lab = Lab::load(&mut all, Vec::new());
    lab.commit(&mut all, "a", 1);
    assert_eq!((all.totals.counts.all(), all.totals.groups_left_out, all.totals.offsets_left_out), (1, 1, 1));
    let figures = ShardFigures::new(0, Arc::default());
    all.show(&figures);
    assert!(figures.take_new_groups().groups.is_empty());
}
