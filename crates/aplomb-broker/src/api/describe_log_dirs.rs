//! DescribeLogDirs: what lies in which log directory, and how much room there is. Answered from memory: sizes are what the logs know of
//! themselves, and room is what the disk said last.

use std::collections::BTreeMap;

use aplomb_disk_api::DiskIndex;
use aplomb_model::ErrorCode;
use aplomb_protocol::EncodeError;
use aplomb_protocol::messages::describe_log_dirs_request::DescribeLogDirsRequest;
use aplomb_protocol::messages::describe_log_dirs_response::{
    DescribeLogDirsPartition, DescribeLogDirsResponse, DescribeLogDirsResult, DescribeLogDirsTopic,
};

use super::produce::Calls;
use super::scatter::ReplyTo;
use crate::message::{PartitionAnswer, PartitionCall, PartitionKey, PartitionSize, Slot};
use crate::metadata::MetadataImage;
use crate::ports::Reply;

/// What is known of a log directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogDirFacts {
    pub(crate) path: String,
    pub(crate) online: bool,
    /// Size and usable bytes of its file system, once the disk has said.
    pub(crate) space: Option<(u64, u64)>,
}

/// A request that waits for the sizes of its partitions.
#[derive(Debug)]
pub(crate) struct LogDirsOp {
    to: ReplyTo,
    names: Vec<(String, i32)>,
    sizes: Vec<Option<PartitionSize>>,
    outstanding: usize,
}

impl LogDirsOp {
    /// Takes a request apart. No topics named means all.
    pub(crate) fn begin(
        request: &DescribeLogDirsRequest,
        to: ReplyTo,
        image: &MetadataImage,
    ) -> (Self, Calls) {
        let mut names = Vec::new();
        let mut calls = Calls::new();
        let wanted = |name: &str, partition: i32| match &request.topics {
            None => true,
            Some(topics) => topics.iter().any(|t| t.topic == name && t.partitions.contains(&partition)),
        };
        for topic in image.topics.iter() {
            for partition in topic.partitions.keys().filter(|p| wanted(&topic.name, p.0)) {
                let key = PartitionKey { topic: topic.id, partition: *partition };
                let slot = Slot::try_from(names.len()).expect("a broker has fewer partitions than that");
                calls.push((slot, key, PartitionCall::Size));
                names.push((topic.name.to_string(), partition.0));
            }
        }
        let (sizes, outstanding) = (vec![None; names.len()], names.len());
        (Self { to, names, sizes, outstanding }, calls)
    }

    pub(crate) fn on_answer(&mut self, slot: Slot, answer: PartitionAnswer) {
        let PartitionAnswer::Size(size) = answer else { panic!("a size is what was asked for") };
        self.sizes[slot as usize] = size;
        self.outstanding -= 1;
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.outstanding == 0
    }

    pub(crate) fn reply(&self, directories: &[LogDirFacts]) -> Result<Reply, EncodeError> {
        let results = directories.iter().enumerate().map(|(n, directory)| {
            if !directory.online {
                return DescribeLogDirsResult {
                    error_code: ErrorCode::KafkaStorageError.to_wire(),
                    log_dir: directory.path.clone(),
                    ..DescribeLogDirsResult::default()
                };
            }
            let bytes = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
            DescribeLogDirsResult {
                log_dir: directory.path.clone(),
                topics: self.topics_on(DiskIndex(n as u16)),
                total_bytes: directory.space.map_or(-1, |(total, _)| bytes(total)),
                usable_bytes: directory.space.map_or(-1, |(_, usable)| bytes(usable)),
                ..DescribeLogDirsResult::default()
            }
        });
        let response = DescribeLogDirsResponse { results: results.collect(), ..Default::default() };
        self.to.with(&response)
    }

    fn topics_on(&self, disk: DiskIndex) -> Vec<DescribeLogDirsTopic> {
        let mut topics: BTreeMap<&str, Vec<DescribeLogDirsPartition>> = BTreeMap::new();
        for ((name, partition), size) in self.names.iter().zip(&self.sizes) {
            let Some(size) = size else { continue };
            let current = (size.disk == disk).then_some((size.bytes, 0, false));
            let future = size.future.as_ref().filter(|future| future.disk == disk);
            let future = future.map(|future| (future.bytes, future.lag, true));
            for (bytes, lag, is_future_key) in current.into_iter().chain(future) {
                topics.entry(name).or_default().push(DescribeLogDirsPartition {
                    partition_index: *partition,
                    partition_size: i64::try_from(bytes).unwrap_or(i64::MAX),
                    offset_lag: i64::try_from(lag).unwrap_or(i64::MAX),
                    is_future_key,
                });
            }
        }
        topics
            .into_iter()
            .map(|(name, partitions)| DescribeLogDirsTopic { name: name.to_owned(), partitions })
            .collect()
    }
}
