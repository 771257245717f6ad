//! Writes a metadata log and a snapshot as Aplomb's controller makes them, for Apache Kafka to
//! read: see `tests/oracle-metadata/run.sh`.
#![expect(clippy::disallowed_methods, reason = "a program of the tests, with no request in sight")]

use std::error::Error;
use std::path::Path;

use aplomb_broker::config::{BrokerConfig, Properties};
use aplomb_broker::controller::{
    ConfigChange, ConfigOperation, Controller, MAX_RECORDS, NewPartitions, NewTopic, Node, Placement,
};
use aplomb_broker::metadata::{
    Endpoint, MetadataImage, Resource, encode_batch, encode_control_batch, snapshot_bytes, snapshot_name,
};
use aplomb_broker::quotas::Permits;
use aplomb_model::{BrokerId, LeaderEpoch, Offset, Timestamp, Uuid};
use aplomb_protocol::MetadataRecord;

const NODE: BrokerId = BrokerId(1);
const NOW: Timestamp = Timestamp(1_700_000_000_000);

/// A log in the making.
struct Log {
    bytes: Vec<u8>,
    end: Offset,
    epoch: LeaderEpoch,
}

impl Log {
    fn write(&mut self, controller: &Controller, records: &[MetadataRecord]) -> Result<(), Box<dyn Error>> {
        let version = controller.image().features.metadata_version();
        for records in records.chunks(MAX_RECORDS) {
            self.bytes.extend_from_slice(&encode_batch(records, version, self.end, self.epoch, NOW)?);
            self.end = self.end.plus(records.len() as u64);
        }
        Ok(())
    }

    /// What a process does first.
    fn start(&mut self, controller: &mut Controller, node: &Node) -> Result<(), Box<dyn Error>> {
        let activation = controller.activate(node, self.end, false, true);
        self.bytes.extend_from_slice(&encode_control_batch(&activation.control, self.end, self.epoch, NOW)?);
        self.end = self.end.plus(activation.control.len() as u64);
        self.write(controller, &activation.records)?;
        let registration = controller.register(node, self.end);
        self.write(controller, &registration)?;
        let leadership = controller.take_leadership(node.id);
        self.write(controller, &leadership)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).ok_or("which directory?")?;
    let (config, _) = BrokerConfig::from_properties(&Properties::new())?;
    let endpoint = |name: &str, port| Endpoint {
        name: name.to_owned(),
        host: "localhost".to_owned(),
        port,
        security_protocol: 0,
    };
    let mut node = Node {
        id: NODE,
        incarnation: Uuid::from_u128(1 << 80),
        endpoints: vec![endpoint("PLAINTEXT", 9092)],
        controller_endpoints: vec![endpoint("CONTROLLER", 9093)],
        rack: Some("rack".to_owned()),
        directories: vec![Uuid::from_u128(1000), Uuid::from_u128(1001), Uuid::from_u128(1002)],
        cordoned_directories: vec![Uuid::from_u128(1002)],
        metadata_directory: Uuid::from_u128(1000),
    };
    let mut log = Log { bytes: Vec::new(), end: Offset::ZERO, epoch: LeaderEpoch::new(1) };
    let mut controller = Controller::new(MetadataImage::empty("4L6g3nShT-eMCtK--X86sw"));
    log.start(&mut controller, &node)?;
    decide(&mut controller, &mut log, &config)?;

    // Another process on the same log, with a directory less.
    log.epoch = log.epoch.next();
    node.incarnation = Uuid::from_u128(2 << 80);
    log.start(&mut controller, &node)?;
    let lost = controller.lose_directory(NODE, Uuid::from_u128(1001));
    log.write(&controller, &lost)?;

    let mut image = controller.image().clone();
    image.provenance.end = log.end;
    image.provenance.epoch = log.epoch;
    let snapshot = snapshot_bytes(&image, Some(&node.voters()), NOW, NOW)?;
    std::fs::write(Path::new(&directory).join("aplomb.log"), &log.bytes)?;
    std::fs::write(Path::new(&directory).join(snapshot_name(log.end, log.epoch)), &snapshot)?;
    Ok(())
}

/// A bit of everything that the controller decides.
fn decide(controller: &mut Controller, log: &mut Log, config: &BrokerConfig) -> Result<(), Box<dyn Error>> {
    let mut count = 0_u128;
    let mut random = || {
        count += 1;
        (count << 64 | count).to_be_bytes()
    };
    let mut draft = controller.draft();
    let mut permits = Permits::unlimited();
    for nth in 0..20 {
        let topic = NewTopic {
            name: format!("topic-{nth}"),
            placement: match nth % 3 {
                0 => Placement::Counts { partitions: nth + 1, replicas: 1 },
                1 => Placement::Counts { partitions: -1, replicas: -1 },
                _ => Placement::Assigned(vec![(0, vec![NODE]), (1, vec![NODE])]),
            },
            configs: vec![("retention.ms".to_owned(), Some((nth * 1000).to_string()))],
        };
        draft.create_topic(&topic, config, &mut random, &mut permits)?;
    }
    let large = Placement::Counts { partitions: 2000, replicas: 1 };
    draft.create_topic(
        &NewTopic { name: "large".to_owned(), placement: large, configs: vec![] },
        config,
        &mut random,
        &mut permits,
    )?;
    log.write_draft(controller, draft)?;

    let mut draft = controller.draft();
    draft.create_partitions(
        &NewPartitions { topic: "topic-1".to_owned(), total: 7, assigned: None },
        &mut permits,
    )?;
    let doomed = draft.image().topics.by_name("topic-4").ok_or("topic-4 is there")?.id;
    draft.delete_topic(doomed, &mut permits)?;
    let change = |name: &str, operation, value: &str| ConfigChange {
        name: name.to_owned(),
        operation,
        value: Some(value.to_owned()),
    };
    let changes = [
        change("cleanup.policy", ConfigOperation::Append, "compact"),
        change("retention.ms", ConfigOperation::Delete, ""),
        change("min.insync.replicas", ConfigOperation::Set, "1"),
    ];
    draft.alter_configs(&Resource::topic("topic-2"), &changes, config)?;
    let retention = [change("log.retention.ms", ConfigOperation::Set, "86400000")];
    draft.alter_configs(&Resource::all_brokers(), &retention, config)?;
    draft.alter_configs(&Resource::broker(NODE), &retention, config)?;
    draft.allocate_producer_ids(NODE);
    log.write_draft(controller, draft)?;

    let moved = controller.image().topics.by_name("topic-3").ok_or("topic-3 is there")?;
    let found: Vec<_> =
        moved.partitions.keys().map(|index| (moved.id, *index, Uuid::from_u128(1000))).collect();
    let records = controller.assign_directories(NODE, &found);
    log.write(controller, &records)
}

impl Log {
    fn write_draft(
        &mut self,
        controller: &mut Controller,
        draft: aplomb_broker::controller::Draft,
    ) -> Result<(), Box<dyn Error>> {
        let records = controller.take(draft);
        self.write(controller, &records)
    }
}
