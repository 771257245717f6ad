//! Small files and names, against what Apache Kafka 4.4.0's own classes write and read.
//!
//! `tests/oracle-formats/golden.sh` makes the golden files anew.

use aplomb_log::checkpoint::{encode_offsets, parse_offsets};
use aplomb_log::layout::{LogDirEntry, PartitionDir};
use aplomb_log::state_files::{
    CleanShutdown, MetaProperties, MetaVersion, PartitionMetadata, PropertiesText, QuorumState,
    QuorumStateFormat, Vote,
};
use aplomb_model::{BrokerId, LeaderEpoch, Offset, TopicPartition, Uuid};

const SOME_ID: Uuid = Uuid::from_u128(0x1122_3344_5566_7788_99aa_bbcc_ddee_ff00);

#[test]
fn an_offset_checkpoint_is_read_and_written_alike() {
    let golden = include_bytes!("golden/replication-offset-checkpoint");
    let offsets = parse_offsets(golden).unwrap();
    assert_eq!(offsets.len(), 3);
    assert_eq!(offsets[&TopicPartition::new("my-orders.v2_x", 3)], Offset::new(42));
    assert_eq!(offsets[&TopicPartition::new("orders", 0)], Offset::new(i64::MAX as u64));
    let written = encode_offsets(offsets.iter().map(|(partition, offset)| (partition, *offset)));
    assert_eq!(written.as_bytes(), golden);
}

#[test]
fn partition_metadata_is_read_and_written_alike() {
    let golden = include_bytes!("golden/partition.metadata");
    let metadata = PartitionMetadata::parse(golden).unwrap();
    assert_eq!(metadata.topic_id, SOME_ID);
    assert_eq!(metadata.encode().as_bytes(), golden);
}

#[test]
fn a_clean_shutdown_is_read_and_written_alike() {
    let golden = include_bytes!("golden/.kafka_cleanshutdown");
    assert_eq!(CleanShutdown::parse(golden).broker_epoch, Some(4711));
    assert_eq!(CleanShutdown::encode(4711).as_bytes(), golden);
}

#[test]
fn quorum_states_of_both_versions_are_read_and_written_alike() {
    let golden = include_bytes!("golden/quorum-state-0");
    let state = QuorumState::parse(golden).unwrap();
    assert_eq!((state.leader, state.epoch, state.vote), (Some(BrokerId(2)), LeaderEpoch::new(5), None));
    let QuorumStateFormat::Static { voters, .. } = &state.format else { panic!("version 0") };
    assert_eq!(voters, &[BrokerId(2)]);
    assert_eq!(state.encode().as_bytes(), golden);

    let golden = include_bytes!("golden/quorum-state-1");
    let state = QuorumState::parse(golden).unwrap();
    let vote = Some(Vote { candidate: BrokerId(3), directory: SOME_ID });
    assert_eq!((state.leader, state.epoch, state.vote), (None, LeaderEpoch::new(7), vote));
    assert_eq!(state.encode().as_bytes(), golden);
}

#[test]
fn meta_properties_are_read_alike_and_kept() {
    let golden = include_bytes!("golden/meta.properties");
    let meta = MetaProperties::parse(golden).unwrap();
    assert_eq!((meta.version(), meta.node_id()), (MetaVersion::V1, Some(BrokerId(3))));
    assert_eq!(meta.cluster_id(), Some("4L6g3nShT-eMCtK--X86sw"));
    assert_eq!(meta.directory_id(), Some(Uuid::from_u128((1 << 64) + 2)));
    assert_eq!(meta.encode(), golden);
}

/// Lines of `input key=value key=value` or `input refused`, all in hexadecimal.
#[test]
fn odd_properties_are_read_as_java_reads_them() {
    let mut refused = 0;
    for line in include_str!("golden/properties.txt").lines() {
        let (input, expected) = line.split_once(' ').unwrap_or((line, ""));
        let parsed = PropertiesText::parse(&bytes_of(input));
        if expected == "refused" {
            assert!(parsed.is_err(), "{line}");
            refused += 1;
            continue;
        }
        let text = parsed.expect(line);
        let mut keys: Vec<&str> = text.entries().map(|(key, _)| key).collect();
        keys.sort_unstable();
        keys.dedup();
        let read: Vec<String> =
            keys.iter().map(|key| format!("{}={}", hex(key), hex(text.get(key).unwrap()))).collect();
        assert_eq!(read.join(" "), expected, "{line}");
        assert_eq!(text.encode(), bytes_of(input), "{line}");
    }
    assert!(refused > 50, "the refused ones were not looked at");
}

/// Lines of `name topic partition` or `name refused`.
#[test]
fn the_same_directories_are_partitions() {
    for line in include_str!("golden/directory-names.txt").lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let read = PartitionDir::parse(fields[0]).map(|dir| dir.partition);
        match fields[..] {
            [name, "refused"] => {
                assert!(read.is_err(), "{name}");
                // Apache Kafka's loader leaves this one out by its name.
                let known = LogDirEntry::of_directory(name) == Ok(LogDirEntry::RemoteIndexCache);
                assert_eq!(known, name == "remote-log-index-cache", "{name}");
            }
            [name, topic, partition] => {
                let expected = TopicPartition::new(topic, partition.parse().unwrap());
                assert_eq!(read, Ok(expected), "{name}");
            }
            _ => panic!("a line of another form: {line}"),
        }
    }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}
