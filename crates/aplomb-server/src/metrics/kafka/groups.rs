//! Groups: how many there are in each state and what has happened to them
//! (`group-coordinator-metrics`, `GroupMetadataManager`), and how far they have come, by the names
//! of what people run an exporter for (`kafka_exporter`).
//!
//! What always holds: a group and a partition have one sample of a name, whatever shards say.

use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::figures::{GroupEvent, GroupFigures, GroupState, LoadTimes, OffsetFigures, ShardFigures};
use aplomb_model::Instant;

use super::super::page::{Kind, Labels, Page};
use super::super::recent::Recent;
use super::loads::RecentLoads;
use super::topics::Topics;

/// Over which time rates and times are told: half of Apache Kafka's window, and one to two of it.
const WINDOW: Duration = Duration::from_secs(30);

/// What is counted: names of the number and of its rate.
const EVENTS: [(GroupEvent, [&str; 2], &str); GroupEvent::ALL.len()] = [
    (
        GroupEvent::OffsetCommitted,
        [
            "kafka_server_group_coordinator_metrics_offset_commit_count",
            "kafka_server_group_coordinator_metrics_offset_commit_rate",
        ],
        "Offsets committed.",
    ),
    (
        GroupEvent::OffsetExpired,
        [
            "kafka_server_group_coordinator_metrics_offset_expiration_count",
            "kafka_server_group_coordinator_metrics_offset_expiration_rate",
        ],
        "Offsets that have expired.",
    ),
    (
        GroupEvent::OffsetDeleted,
        [
            "kafka_server_group_coordinator_metrics_offset_deletion_count",
            "kafka_server_group_coordinator_metrics_offset_deletion_rate",
        ],
        "Offsets that an operator has deleted.",
    ),
    (
        GroupEvent::ClassicRebalance,
        [
            "kafka_server_group_coordinator_metrics_group_completed_rebalance_count",
            "kafka_server_group_coordinator_metrics_group_completed_rebalance_rate",
        ],
        "Rebalances of classic groups that came to their end.",
    ),
    (
        GroupEvent::ConsumerRebalance,
        [
            "kafka_server_group_coordinator_metrics_consumer_group_rebalance_count",
            "kafka_server_group_coordinator_metrics_consumer_group_rebalance_rate",
        ],
        "Rebalances of consumer groups: epochs that they got, other than by members that have gone.",
    ),
];

/// What rates are made of.
#[derive(Clone, Copy, Debug, Default)]
struct GroupsMoment {
    events: [u64; GroupEvent::ALL.len()],
}

/// Groups and offsets that are shown, as far as the page knows.
#[derive(Debug)]
pub(super) struct Groups {
    groups: Vec<Arc<GroupFigures>>,
    offsets: Vec<Arc<OffsetFigures>>,
    recent: Recent<GroupsMoment>,
    loads: RecentLoads,
}

/// A group's topic: what it has committed, and how far it is behind.
#[derive(Debug)]
struct OfTopic {
    labels: Labels,
    committed: i64,
    lag: u64,
}

impl GroupsMoment {
    fn of(shards: &[Arc<ShardFigures>]) -> Self {
        let mut moment = Self::default();
        for shard in shards {
            for event in GroupEvent::ALL {
                moment.events[event as usize] += shard.group_events(event);
            }
        }
        moment
    }
}

impl Groups {
    pub(super) fn new(now: Instant) -> Self {
        let recent = Recent::new(WINDOW, now, GroupsMoment::default());
        Self { groups: Vec::new(), offsets: Vec::new(), recent, loads: RecentLoads::new(now) }
    }

    pub(super) fn put_on(
        &mut self,
        page: &mut Page,
        shards: &[Arc<ShardFigures>],
        topics: &Topics,
        now: Instant,
    ) {
        self.refresh(shards);
        put_counts(page, shards);
        self.put_events(page, shards, now);
        put_left_out(page, shards);
        self.put_members(page);
        self.put_offsets(page, topics);
    }

    /// Those that are shown, by their ids.
    pub(super) fn all(&self) -> &[Arc<GroupFigures>] {
        &self.groups
    }

    /// Offsets that are shown, by group, topic and partition.
    pub(super) fn offsets(&self) -> &[Arc<OffsetFigures>] {
        &self.offsets
    }

    /// Takes in what has come, and lets go of what is gone.
    pub(super) fn refresh(&mut self, shards: &[Arc<ShardFigures>]) {
        let known = (self.groups.len(), self.offsets.len());
        for shard in shards {
            let new = shard.take_new_groups();
            self.groups.extend(new.groups);
            self.offsets.extend(new.offsets);
        }
        let grown = (self.groups.len() > known.0, self.offsets.len() > known.1);
        self.groups.retain(|group| !group.is_gone());
        self.offsets.retain(|offset| !offset.is_gone());
        // A log that was written elsewhere may have the same group in two of its partitions.
        if grown.0 {
            self.groups.sort_by(|one, other| one.id().cmp(other.id()));
            self.groups.dedup_by(|one, other| one.id() == other.id());
        }
        if grown.1 {
            self.offsets.sort_by(|one, other| place(one).cmp(&place(other)));
            self.offsets.dedup_by(|one, other| place(one) == place(other));
        }
    }

    fn put_events(&mut self, page: &mut Page, shards: &[Arc<ShardFigures>], now: Instant) {
        let moment = GroupsMoment::of(shards);
        let (ago, before) = self.recent.before(now, &moment);
        for (event, [count, rate], help) in EVENTS {
            let happened = moment.events[event as usize];
            page.counter(count, help, &[], happened);
            page.gauge(rate, help, &[], rate_of(happened - before.events[event as usize], ago));
        }
        let mut loads = LoadTimes::default();
        for of in shards.iter().map(|shard| shard.loads()) {
            loads.count += of.count;
            loads.total += of.total;
        }
        let names = [
            (
                "kafka_server_group_coordinator_metrics_partition_load_time_avg",
                "Milliseconds that partitions of __consumer_offsets took to load lately, on average.",
            ),
            (
                "kafka_server_group_coordinator_metrics_partition_load_time_max",
                "Milliseconds that a partition of __consumer_offsets took to load lately, at most.",
            ),
        ];
        let longest = shards.iter().map(|shard| shard.take_longest_load());
        self.loads.put_on(page, names, loads, longest, now);
    }

    fn put_members(&self, page: &mut Page) {
        let help = "Members of a group.";
        let mut samples = page.samples("kafka_consumergroup_members", Kind::Gauge, help);
        for group in &self.groups {
            samples.put(&Labels::new(&[("consumergroup", group.id())]), group.members());
        }
    }

    fn put_offsets(&self, page: &mut Page, topics: &Topics) {
        let (mut committed, mut lags) = (Vec::new(), Vec::new());
        let mut sums: Vec<OfTopic> = Vec::new();
        let mut last = None;
        for offset in &self.offsets {
            let (group, topic) = (&**offset.group().id(), &**offset.topic());
            if last.replace((group, topic)) != Some((group, topic)) {
                let labels = Labels::new(&[("consumergroup", group), ("topic", topic)]);
                sums.push(OfTopic { labels, committed: 0, lag: 0 });
            }
            let sum = sums.last_mut().expect("it is there now");
            let number = offset.partition().to_string();
            let labels = [("consumergroup", group), ("topic", topic), ("partition", &number)];
            let (labels, at) = (Labels::new(&labels), offset.committed());
            sum.committed = sum.committed.saturating_add(at);
            // Not of a topic that was deleted, or of a partition on a lost log directory.
            if let Some(end) = topics.end_of(topic, offset.partition()) {
                let lag = end.saturating_sub(u64::try_from(at).unwrap_or(0));
                sum.lag += lag;
                lags.push((labels.clone(), lag));
            }
            committed.push((labels, at));
        }
        let help = "The offset that a group has committed.";
        let mut samples = page.samples("kafka_consumergroup_current_offset", Kind::Gauge, help);
        committed.iter().for_each(|(labels, at)| samples.put(labels, at));
        let help = "How far a group is behind the end of the log.";
        let mut samples = page.samples("kafka_consumergroup_lag", Kind::Gauge, help);
        lags.iter().for_each(|(labels, lag)| samples.put(labels, lag));
        let help = "The offsets that a group has committed in a topic, together.";
        let mut samples = page.samples("kafka_consumergroup_current_offset_sum", Kind::Gauge, help);
        sums.iter().for_each(|sum| samples.put(&sum.labels, sum.committed));
        let help = "How far a group is behind in a topic.";
        let mut samples = page.samples("kafka_consumergroup_lag_sum", Kind::Gauge, help);
        sums.iter().for_each(|sum| samples.put(&sum.labels, sum.lag));
    }
}

fn place(offset: &OffsetFigures) -> (&str, &str, i32) {
    (offset.group().id(), offset.topic(), offset.partition())
}

fn rate_of(happened: u64, ago: Duration) -> f64 {
    if ago.is_zero() { 0.0 } else { happened as f64 / ago.as_secs_f64() }
}

fn put_counts(page: &mut Page, shards: &[Arc<ShardFigures>]) {
    let of = |state| shards.iter().map(|shard| shard.groups(state)).sum::<u64>();
    let all = |is_classic| {
        let states = GroupState::ALL.into_iter().filter(|state| state.is_classic() == is_classic);
        states.map(of).sum::<u64>()
    };
    let (classic, consumer) = (all(true), all(false));
    let offsets: u64 = shards.iter().map(|shard| shard.committed_offsets()).sum();

    let help = "Groups by the protocol that they speak.";
    for (protocol, count) in [("classic", classic), ("consumer", consumer)] {
        let name = "kafka_server_group_coordinator_metrics_group_count";
        page.gauge(name, help, &[("protocol", protocol)], count as f64);
    }
    for state in GroupState::ALL {
        let (name, help) = if state.is_classic() {
            ("kafka_server_group_coordinator_metrics_classic_group_count", "Classic groups by state.")
        } else {
            ("kafka_server_group_coordinator_metrics_consumer_group_count", "Consumer groups by state.")
        };
        page.gauge(name, help, &[("state", state.name())], of(state) as f64);
    }
    for (name, help) in [
        ("kafka_server_group_coordinator_metrics_classic_group_count", "Classic groups by state."),
        ("kafka_server_group_coordinator_metrics_consumer_group_count", "Consumer groups by state."),
    ] {
        page.gauge(name, help, &[("state", "Dead")], 0.0);
    }
    let help = "Partitions of __consumer_offsets, by how far their coordinators are.";
    for (place, state) in ["loading", "active", "failed"].into_iter().enumerate() {
        let count: u64 = shards.iter().map(|shard| shard.coordinators()[place]).sum();
        let name = "kafka_server_group_coordinator_metrics_num_partitions";
        page.gauge(name, help, &[("state", state)], count as f64);
    }
    let name = "kafka_server_group_coordinator_metrics_offset_count";
    page.gauge(name, "Committed offsets.", &[], offsets as f64);

    for (name, help, count) in [
        ("kafka_coordinator_group_groupmetadatamanager_numoffsets", "Committed offsets.", offsets),
        ("kafka_coordinator_group_groupmetadatamanager_numgroups", "Classic groups.", classic),
        (
            "kafka_coordinator_group_groupmetadatamanager_numgroupspreparingrebalance",
            "Classic groups whose members are to join again.",
            of(GroupState::ClassicPreparing),
        ),
        (
            "kafka_coordinator_group_groupmetadatamanager_numgroupscompletingrebalance",
            "Classic groups whose members wait for what they are assigned.",
            of(GroupState::ClassicCompleting),
        ),
        (
            "kafka_coordinator_group_groupmetadatamanager_numgroupsstable",
            "Classic groups whose members know what they have.",
            of(GroupState::ClassicStable),
        ),
        (
            "kafka_coordinator_group_groupmetadatamanager_numgroupsempty",
            "Classic groups without members.",
            of(GroupState::ClassicEmpty),
        ),
        (
            "kafka_coordinator_group_groupmetadatamanager_numgroupsdead",
            "Classic groups that are about to be forgotten: that takes no time.",
            0,
        ),
    ] {
        page.gauge(name, help, &[], count as f64);
    }
}

fn put_left_out(page: &mut Page, shards: &[Arc<ShardFigures>]) {
    let left_out = |what: usize| shards.iter().map(|shard| shard.groups_left_out()[what]).sum::<u64>();
    let help = "Groups without numbers of their own, because there are more than aplomb.metrics.groups.max.";
    page.gauge("aplomb_metrics_groups_left_out", help, &[], left_out(0) as f64);
    let help = "Committed offsets without numbers of their own, because there are too many.";
    page.gauge("aplomb_metrics_group_offsets_left_out", help, &[], left_out(1) as f64);
    let bytes: u64 = shards.iter().map(|shard| shard.group_bytes()).sum();
    let help = "Memory of groups, their members and committed offsets.";
    page.gauge("aplomb_groups_bytes", help, &[], bytes as f64);
}
