//! A controller at work, and under any sequence of requests ([`any_requests`]).

mod any_requests;
mod delegation_tokens;

use aplomb_model::batch::Batches;
use aplomb_model::{BrokerId, ErrorCode, LeaderEpoch, Offset, PartitionIndex, Timestamp, Uuid};
use aplomb_protocol::MetadataRecord;

use super::*;
use crate::config::{BrokerConfig, Properties};
use crate::metadata::{
    Endpoint, MetadataImage, Replay, Resource, decode_batch, encode_batch, encode_control_batch,
    snapshot_bytes,
};
use crate::quotas::Permits;

const NODE: BrokerId = BrokerId(1);

pub(super) fn node() -> Node {
    Node {
        id: NODE,
        incarnation: Uuid::from_u128(0xabc),
        endpoints: vec![Endpoint {
            name: "PLAINTEXT".to_owned(),
            host: "localhost".to_owned(),
            port: 9092,
            security_protocol: 0,
        }],
        controller_endpoints: vec![],
        rack: None,
        directories: vec![Uuid::from_u128(1001), Uuid::from_u128(1000)],
        cordoned_directories: vec![],
        metadata_directory: Uuid::from_u128(1000),
    }
}

fn config(pairs: &[(&str, &str)]) -> BrokerConfig {
    let properties: Properties =
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    BrokerConfig::from_properties(&properties).expect("valid").0
}

/// Random bytes that are not, but differ.
fn counter() -> impl FnMut() -> [u8; 16] {
    let mut count = 0_u128;
    move || {
        count += 1;
        (count << 64 | 7).to_be_bytes()
    }
}

/// A controller and the log that it has written.
struct Lab {
    controller: Controller,
    log: Vec<u8>,
    end: Offset,
    config: BrokerConfig,
    random: Box<dyn FnMut() -> [u8; 16]>,
}

impl Lab {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(settings: &[(&str, &str)]) -> Self {
        let mut lab = Self {
            controller: Controller::new(MetadataImage::empty("cluster")),
            log: Vec::new(),
            end: Offset::ZERO,
            config: config(settings),
            random: Box::new(counter()),
        };
        let activation = lab.controller.activate(&node(), Offset::ZERO, false, false);
        let control =
            encode_control_batch(&activation.control, Offset::ZERO, LeaderEpoch::new(1), Timestamp(1))
                .expect("encodes");
        lab.log.extend_from_slice(&control);
        lab.end = lab.end.plus(activation.control.len() as u64);
        lab.write(&activation.records);
        let said = lab.controller.say_min_in_sync(&lab.config);
        lab.write(&said);
        let registration = lab.controller.register(&node(), lab.end);
        lab.write(&registration);
        lab
    }

    fn write(&mut self, records: &[MetadataRecord]) {
        let version = self.controller.image().features.metadata_version();
        for records in records.chunks(MAX_RECORDS) {
            let batch =
                encode_batch(records, version, self.end, LeaderEpoch::new(1), Timestamp(1)).expect("encodes");
            self.log.extend_from_slice(&batch);
            self.end = self.end.plus(records.len() as u64);
        }
    }

    fn decide<T>(
        &mut self,
        decide: impl FnOnce(&mut Draft, &BrokerConfig, Random<'_>) -> Result<T, AdminError>,
    ) -> Result<T, AdminError> {
        let mut draft = self.controller.draft();
        let result = decide(&mut draft, &self.config, &mut *self.random);
        if result.is_ok() {
            let records = self.controller.take(draft);
            self.write(&records);
        } else {
            assert_eq!(draft.records(), [], "a refusal leaves the draft as it was");
        }
        result
    }

    fn create(
        &mut self,
        name: &str,
        partitions: i32,
        configs: &[(&str, &str)],
    ) -> Result<CreatedTopic, AdminError> {
        let topic = topic(name, Placement::Counts { partitions, replicas: -1 }, configs);
        self.decide(|draft, config, random| {
            draft.create_topic(&topic, config, random, &mut Permits::unlimited())
        })
    }

    /// What a reader of the log sees.
    fn replayed(&self) -> MetadataImage {
        replay(&self.log)
    }
}

fn replay(bytes: &[u8]) -> MetadataImage {
    let mut replay = Replay::from_image(MetadataImage::empty("cluster"));
    for batch in Batches::new(bytes).checked() {
        let entries = decode_batch(&batch).expect("readable");
        let epoch = batch.header.leader_epoch().expect("a leader wrote it");
        replay.apply_batch(&entries, batch.header.last_offset().next(), epoch).expect("fits");
    }
    replay.into_image()
}

fn topic(name: &str, placement: Placement, configs: &[(&str, &str)]) -> NewTopic {
    let configs =
        configs.iter().map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned()))).collect();
    NewTopic { name: name.to_owned(), placement, configs }
}

fn change(name: &str, operation: ConfigOperation, value: &str) -> ConfigChange {
    ConfigChange { name: name.to_owned(), operation, value: Some(value.to_owned()) }
}

/// The log and the controller agree, but for how far they have read.
fn assert_log_says_the_same(lab: &Lab) {
    let mut replayed = lab.replayed();
    replayed.provenance = lab.controller.image().provenance;
    assert_eq!(&replayed, lab.controller.image());
}

#[test]
fn a_new_cluster_has_its_broker_and_its_features() {
    let lab = Lab::new();
    let image = lab.replayed();
    let broker = image.brokers.get(NODE).expect("registered");
    assert!(image.is_live(NODE));
    // LeaderChange is 0, three features and a setting follow: the broker's epoch is the offset of
    // its record.
    assert_eq!(broker.epoch, 5);
    assert_eq!(image.features.metadata_version().0, 33);
    assert_eq!(image.features.kraft_version(), 0);
    assert_log_says_the_same(&lab);
}

#[test]
fn a_topic_is_spread_over_directories() {
    let mut lab = Lab::new();
    let created = lab.create("t", 5, &[("retention.ms", "1000")]).expect("created");
    assert_eq!((created.partitions, created.replicas), (5, 1));
    let image = lab.replayed();
    let topic = image.topics.by_name("t").expect("there");
    let in_first = topic.partitions.values().filter(|p| p.directories == [Uuid::from_u128(1000)]).count();
    assert_eq!(in_first, 3);
    assert!(topic.partitions.values().all(|p| p.leader == Some(NODE) && p.leader_epoch == LeaderEpoch::ZERO));
    assert_eq!(image.topic_overrides("t")["retention.ms"], "1000");
    assert_log_says_the_same(&lab);
}

#[test]
fn topics_that_cannot_be_are_refused_with_kafkas_code() {
    let mut lab = Lab::new();
    lab.create("a.b", 1, &[]).expect("created");
    let mut refusal = |name: &str, placement: Placement, configs: &[(&str, &str)]| {
        let topic = topic(name, placement, configs);
        let error = lab.decide(|draft, config, random| {
            draft.create_topic(&topic, config, random, &mut Permits::unlimited())
        });
        ErrorCode::from(&error.expect_err("refused"))
    };
    let counts = |partitions, replicas| Placement::Counts { partitions, replicas };
    assert_eq!(refusal("a.b", counts(1, 1), &[]), ErrorCode::TopicAlreadyExists);
    assert_eq!(refusal("a_b", counts(1, 1), &[]), ErrorCode::InvalidTopicException);
    assert_eq!(refusal("a b", counts(1, 1), &[]), ErrorCode::InvalidTopicException);
    assert_eq!(refusal("t", counts(0, 1), &[]), ErrorCode::InvalidPartitions);
    assert_eq!(refusal("t", counts(-2, 1), &[]), ErrorCode::InvalidPartitions);
    assert_eq!(refusal("t", counts(1, 0), &[]), ErrorCode::InvalidReplicationFactor);
    assert_eq!(refusal("t", counts(1, 2), &[]), ErrorCode::InvalidReplicationFactor);
    assert_eq!(refusal("t", counts(i32::MAX, 1), &[]), ErrorCode::PolicyViolation);
    assert_eq!(refusal("t", counts(10_000, 1), &[]), ErrorCode::PolicyViolation);
    assert_eq!(refusal("t", counts(1, 1), &[("retention.ms", "x")]), ErrorCode::InvalidConfig);
    assert_eq!(refusal("t", counts(1, 1), &[("colour", "red")]), ErrorCode::InvalidConfig);
    let assigned = |brokers: &[(i32, &[i32])]| {
        let broker_ids = |ids: &[i32]| ids.iter().copied().map(BrokerId).collect();
        Placement::Assigned(brokers.iter().map(|(index, ids)| (*index, broker_ids(ids))).collect())
    };
    for placement in [
        assigned(&[(0, &[])]),
        assigned(&[(0, &[2])]),
        assigned(&[(0, &[1, 1])]),
        assigned(&[(1, &[1])]),
        assigned(&[(0, &[1]), (0, &[1])]),
    ] {
        assert_eq!(refusal("t", placement, &[]), ErrorCode::InvalidReplicaAssignment);
    }
}

#[test]
fn the_largest_topic_that_a_request_may_ask_for_is_one_batch() {
    let mut lab = Lab::new();
    assert_eq!(lab.create("t", 9_999, &[]).expect("created").partitions, 9_999);
    assert_eq!(Batches::new(&lab.log).count(), 5);
    assert_log_says_the_same(&lab);
}

#[test]
fn partitions_are_only_ever_added() {
    let mut lab = Lab::new();
    lab.create("t", 2, &[]).expect("created");
    let mut grow = |topic: &str, total: i32, assigned: Option<Vec<Vec<BrokerId>>>| {
        let new = NewPartitions { topic: topic.to_owned(), total, assigned };
        lab.decide(|draft, _, _| draft.create_partitions(&new, &mut Permits::unlimited()))
            .map_err(|error| (ErrorCode::from(&error), error.to_string()))
    };
    let refused = |result: Result<(), (ErrorCode, String)>| result.expect_err("refused");
    assert_eq!(
        refused(grow("t", 2, None)),
        (ErrorCode::InvalidPartitions, "Topic already has 2 partition(s).".to_owned())
    );
    assert_eq!(
        refused(grow("t", 1, None)).1,
        "The topic t currently has 2 partition(s); 1 would not be an increase."
    );
    assert_eq!(refused(grow("t", -1, None)).0, ErrorCode::InvalidPartitions);
    assert_eq!(refused(grow("u", 3, None)).0, ErrorCode::UnknownTopicOrPartition);
    assert_eq!(refused(grow("t", 4, Some(vec![vec![NODE]]))).0, ErrorCode::InvalidReplicaAssignment);
    assert_eq!(refused(grow("t", 3, Some(vec![vec![BrokerId(9)]]))).0, ErrorCode::InvalidReplicaAssignment);
    assert_eq!(refused(grow("t", i32::MAX, None)).0, ErrorCode::PolicyViolation);
    grow("t", 3, Some(vec![vec![NODE]])).expect("grown");
    grow("t", 4, None).expect("grown");
    assert_eq!(lab.replayed().topics.by_name("t").expect("there").partitions.len(), 4);
    assert_log_says_the_same(&lab);
}

#[test]
fn settings_are_set_deleted_appended_to_and_subtracted_from() {
    let mut lab = Lab::new();
    lab.create("t", 1, &[]).expect("created");
    let mut alter = |resource: Resource, changes: &[ConfigChange]| {
        lab.decide(|draft, config, _| draft.alter_configs(&resource, changes, config))
            .map(|()| lab.controller.image().configs.of(&resource).clone())
    };
    let topic = || Resource::topic("t");
    let (set, append, subtract) = (ConfigOperation::Set, ConfigOperation::Append, ConfigOperation::Subtract);
    let after = alter(topic(), &[change("cleanup.policy", append, "compact")]).expect("a list");
    assert_eq!(after["cleanup.policy"], "delete,compact");
    let after = alter(topic(), &[change("cleanup.policy", subtract, "delete")]).expect("a list");
    assert_eq!(after["cleanup.policy"], "compact");
    let after = alter(topic(), &[change("cleanup.policy", ConfigOperation::Delete, "")]).expect("deleted");
    assert!(after.is_empty());

    let mut code = |resource: Resource, changes: &[ConfigChange]| {
        ErrorCode::from(&alter(resource, changes).expect_err("refused"))
    };
    assert_eq!(code(topic(), &[change("retention.ms", append, "1")]), ErrorCode::InvalidConfig);
    assert_eq!(code(topic(), &[change("retention.ms", set, "-2")]), ErrorCode::InvalidConfig);
    assert_eq!(code(topic(), &[change("colour", set, "red")]), ErrorCode::InvalidConfig);
    assert_eq!(code(Resource::topic("u"), &[]), ErrorCode::UnknownTopicOrPartition);
    assert_eq!(code(Resource::broker(BrokerId(2)), &[]), ErrorCode::InvalidRequest);
    assert_eq!(code(Resource::broker(NODE), &[change("node.id", set, "2")]), ErrorCode::InvalidRequest);
    assert_eq!(
        code(Resource::all_brokers(), &[change("log.retention.ms", set, "x")]),
        ErrorCode::InvalidRequest
    );
    let group = |name: &str| Resource { kind: 32, name: name.to_owned() };
    assert_eq!(code(group(""), &[]), ErrorCode::InvalidRequest);
    assert_eq!(code(group("g"), &[change("colour", set, "red")]), ErrorCode::InvalidConfig);
    assert_eq!(
        code(group("g"), &[change("consumer.session.timeout.ms", set, "1000")]),
        ErrorCode::InvalidConfig
    );

    let after = alter(Resource::all_brokers(), &[change("log.retention.ms", set, "7")]).expect("dynamic");
    assert_eq!(after["log.retention.ms"], "7");
    let image = lab.replayed();
    assert_eq!(image.topic_config("t", &lab.config).retention_age, Some(std::time::Duration::from_millis(7)));
    assert_log_says_the_same(&lab);
}

#[test]
fn a_restart_registers_anew_and_counts_every_leader_epoch_up() {
    let mut lab = Lab::new();
    lab.create("t", 3, &[]).expect("created");
    let first_epoch = lab.replayed().brokers.get(NODE).expect("there").epoch;

    let mut next = Controller::new(lab.replayed());
    assert_eq!(next.check_features(), Ok(()));
    let activation = next.activate(&node(), lab.end, false, true);
    assert_eq!(activation.records, [], "features are finalized, and voters stay as they were");
    assert_eq!(activation.control.len(), 1);
    assert_eq!(next.register(&node(), lab.end.next()).len(), 2, "it leads already");
    assert_eq!(next.take_leadership(NODE).len(), 3);
    assert!(next.image().brokers.get(NODE).expect("there").epoch > first_epoch);
    let topic = next.image().topics.by_name("t").expect("there");
    assert!(
        topic.partitions.values().all(|p| p.leader_epoch == LeaderEpoch::new(1) && p.leader == Some(NODE))
    );
}

#[test]
fn a_lost_directory_takes_its_partitions_leaders_with_it_until_it_is_back() {
    let mut lab = Lab::new();
    lab.create("t", 2, &[]).expect("created");
    let lost = Uuid::from_u128(1000);
    let records = lab.controller.lose_directory(NODE, lost);
    lab.write(&records);
    let leaders = |image: &MetadataImage| -> Vec<_> {
        image
            .topics
            .by_name("t")
            .expect("there")
            .partitions
            .values()
            .map(|p| (p.directories[0] == lost, p.leader))
            .collect()
    };
    assert_eq!(leaders(&lab.replayed()), [(true, None), (false, Some(NODE))]);
    assert_log_says_the_same(&lab);

    drop(lab.controller.take_leadership(NODE));
    assert_eq!(leaders(lab.controller.image())[0], (true, None), "still not live");
    drop(lab.controller.register(&node(), lab.end));
    assert_eq!(leaders(lab.controller.image())[0], (true, Some(NODE)));
    let without = Node { directories: vec![Uuid::from_u128(1001)], ..node() };
    drop(lab.controller.register(&without, lab.end));
    assert_eq!(leaders(lab.controller.image()), [(true, None), (false, Some(NODE))]);
}

#[test]
fn a_broker_that_says_goodbye_is_fenced_until_it_is_back() {
    let mut lab = Lab::new();
    let goodbye = lab.controller.fence(NODE);
    lab.write(&goodbye);
    assert!(!lab.replayed().is_live(NODE));
    let hello = lab.controller.register(&node(), lab.end);
    lab.write(&hello);
    assert!(lab.replayed().is_live(NODE));
    assert_log_says_the_same(&lab);
}

#[test]
fn a_feature_level_of_a_later_version_is_refused_by_name() {
    let with = |name: &str, feature_level| {
        let mut replay = Replay::from_image(MetadataImage::empty("cluster"));
        let level = |name: &str, feature_level| aplomb_protocol::messages::FeatureLevelRecord {
            name: name.to_owned(),
            feature_level,
        };
        replay.apply(&level("metadata.version", 33).into()).expect("fits");
        replay.apply(&level(name, feature_level).into()).expect("fits");
        Controller::new(replay.into_image()).check_features()
    };
    for (name, level) in [("metadata.version", 33), ("transaction.version", 2), ("share.version", 2)] {
        assert_eq!(with(name, level), Ok(()));
        let refused = with(name, level + 1).expect_err("nobody knows it");
        assert_eq!((refused.name.as_str(), refused.level, refused.max), (name, level + 1, level));
    }
    assert!(with("transaction.version.of.tomorrow", 1).is_err());
}

#[test]
fn a_formatted_directory_has_its_say_before_the_first_record() {
    let mut formatted = MetadataImage::empty("cluster");
    let level = |name: &str, feature_level| aplomb_protocol::messages::FeatureLevelRecord {
        name: name.to_owned(),
        feature_level,
    };
    let mut replay = Replay::from_image(formatted);
    replay.apply(&level("metadata.version", 30).into()).expect("fits");
    replay.apply(&level("transaction.version", 2).into()).expect("fits");
    formatted = replay.into_image();
    let mut controller = Controller::new(formatted);
    let activation = controller.activate(&node(), Offset::ZERO, false, true);
    assert_eq!(activation.control.len(), 3);
    assert_eq!(
        activation.records,
        [level("metadata.version", 30).into(), level("transaction.version", 2).into()]
    );
    drop(controller.register(&node(), Offset::new(5)));
    let broker = controller.image().brokers.get(NODE).expect("registered").clone();
    assert_eq!(broker.features["transaction.version"].max, 2, "or Apache Kafka would not let it in");
}

#[test]
fn replicas_are_where_they_are_found() {
    let mut lab = Lab::new();
    let id = lab.create("t", 1, &[]).expect("created").id;
    let elsewhere = Uuid::from_u128(1001);
    let found = [(id, PartitionIndex(0), elsewhere)];
    assert_eq!(lab.controller.assign_directories(NODE, &found).len(), 1);
    assert_eq!(lab.controller.assign_directories(NODE, &found).len(), 0);
    let partition = lab.controller.image().topics.partition(id, PartitionIndex(0)).expect("there");
    assert_eq!((partition.directories[0], partition.leader_epoch), (elsewhere, LeaderEpoch::ZERO));
}

#[test]
fn producer_ids_come_in_blocks_that_never_repeat() {
    let mut lab = Lab::new();
    let mut blocks =
        [0, 1].map(|_| lab.decide(|draft, _, _| Ok(draft.allocate_producer_ids(NODE))).expect("drafted"));
    assert_eq!(blocks[0].take().map(|id| id.to_wire()), Some(0));
    assert_eq!(blocks[1].take().map(|id| id.to_wire()), Some(1000));
    assert_eq!((1..1000).filter_map(|_| blocks[0].take()).last().map(|id| id.to_wire()), Some(999));
    assert_eq!(blocks[0].take(), None);
    assert_log_says_the_same(&lab);
}

#[test]
fn a_log_that_ends_inside_of_a_transaction_is_continued_after_an_abort() {
    let mut controller = Controller::new(Lab::new().replayed());
    let activation = controller.activate(&node(), Offset::new(9), true, false);
    assert!(matches!(activation.records[..], [MetadataRecord::AbortTransaction(_)]));
}

#[test]
fn a_cordoned_directory_gets_no_new_partitions() {
    let mut lab = Lab::new();
    let [first, second] = [1000, 1001].map(Uuid::from_u128);
    let records = lab.controller.cordon(NODE, vec![first]);
    assert_eq!(records.len(), 1);
    lab.write(&records);
    assert_eq!(lab.controller.cordon(NODE, vec![first]), [], "it is so already");
    lab.create("t", 3, &[]).expect("created");
    let image = lab.replayed();
    let topic = image.topics.by_name("t").expect("there");
    assert!(topic.partitions.values().all(|partition| partition.directories == [second]));
    let records = lab.controller.cordon(NODE, vec![]);
    lab.write(&records);
    assert_eq!(lab.replayed().brokers.get(NODE).expect("there").cordoned_directories, Some(vec![]));
    assert_log_says_the_same(&lab);
}
