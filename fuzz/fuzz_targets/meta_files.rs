//! Reads bytes as each of the small files that say whose a directory is, and as names of files and
//! directories.

#![no_main]

use aplomb_log::layout::{PartitionDir, SegmentFile, with_suffix};
use aplomb_log::state_files::{
    CleanShutdown, MetaProperties, PartitionMetadata, PropertiesText, QuorumState,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(properties) = PropertiesText::parse(data) {
        let again = PropertiesText::parse(&properties.encode()).expect("it was just written");
        assert!(again.entries().eq(properties.entries()));
    }
    if let Ok(meta) = MetaProperties::parse(data) {
        let again = MetaProperties::parse(&meta.encode()).expect("it was just written");
        assert_eq!(again.cluster_id(), meta.cluster_id());
        assert_eq!(again.node_id(), meta.node_id());
        assert_eq!(again.directory_id(), meta.directory_id());
    }
    if let Ok(partition) = PartitionMetadata::parse(data) {
        let again = PartitionMetadata::parse(partition.encode().as_bytes()).expect("it was just written");
        assert_eq!(again, partition);
    }
    if let Ok(state) = QuorumState::parse(data) {
        let again = QuorumState::parse(state.encode().as_bytes()).expect("it was just written");
        assert_eq!(again, state);
    }
    let _marker = CleanShutdown::parse(data);

    // No file system has longer names, so that those that Apache Kafka cuts never come back.
    let Some(Ok(name)) = (data.len() <= 255).then(|| std::str::from_utf8(data)) else { return };
    if let Some((file, base, suffix)) = SegmentFile::parse(name) {
        let plain = file.name(base);
        let written = suffix.map_or(plain.clone(), |suffix| with_suffix(&plain, suffix));
        assert_eq!(written, name);
    }
    if let Ok(directory) = PartitionDir::parse(name) {
        assert!(PartitionDir::parse(&directory.name()).is_ok());
    }
});
