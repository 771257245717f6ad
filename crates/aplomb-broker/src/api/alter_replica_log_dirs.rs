//! AlterReplicaLogDirs: replicas go to other log directories of this broker, or stay where they are
//! (`ReplicaManager.alterReplicaLogDirs`).
//!
//! The answer says that a move has begun, not that it is over: DescribeLogDirs shows how far it is.

use std::collections::BTreeMap;

use aplomb_disk_api::DiskIndex;
use aplomb_log::layout::PartitionDir;
use aplomb_model::{ErrorCode, TopicPartition, Uuid};
use aplomb_protocol::messages::alter_replica_log_dirs_request::AlterReplicaLogDirsRequest;
use aplomb_protocol::messages::alter_replica_log_dirs_response::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult, AlterReplicaLogDirsResponse,
};

use super::describe_log_dirs::LogDirFacts;
use super::produce::Calls;
use super::scatter::{ReplyTo, Scatter, named};
use crate::message::{PartitionAnswer, PartitionCall};
use crate::metadata::MetadataImage;

/// The longest name that a directory can have, in bytes.
const LONGEST_NAME: usize = 255;

/// Where partitions are to be made that are not there yet.
pub(crate) type Preferences = Vec<(TopicPartition, DiskIndex)>;

/// Takes a request apart. A partition that is named twice goes to the last directory.
pub(crate) fn begin(
    request: &AlterReplicaLogDirsRequest,
    to: ReplyTo,
    image: &MetadataImage,
    directories: &[LogDirFacts],
) -> (Scatter<AlterReplicaLogDirsResponse>, Calls, Preferences) {
    let mut wanted: BTreeMap<&str, BTreeMap<i32, &str>> = BTreeMap::new();
    for directory in &request.dirs {
        for topic in &directory.topics {
            let partitions = wanted.entry(&topic.name).or_default();
            partitions.extend(topic.partitions.iter().map(|partition| (*partition, directory.path.as_str())));
        }
    }
    let unanswered = |partition_index: &i32| AlterReplicaLogDirPartitionResult {
        partition_index: *partition_index,
        error_code: ErrorCode::RequestTimedOut.to_wire(),
    };
    let results = wanted.iter().map(|(name, partitions)| AlterReplicaLogDirTopicResult {
        topic_name: (*name).to_owned(),
        partitions: partitions.keys().map(unanswered).collect(),
    });
    let response = AlterReplicaLogDirsResponse { results: results.collect(), ..Default::default() };
    let mut scatter = Scatter::new(to, response, fill);
    let (mut calls, mut preferences, mut refused) = (Calls::new(), Preferences::new(), Vec::new());
    for (t, (name, partitions)) in wanted.iter().enumerate() {
        for (p, (index, path)) in partitions.iter().enumerate() {
            let disk = match destination(name, *index, path, directories) {
                Ok(disk) => disk,
                Err(error) => {
                    refused.push(((t, p), error));
                    continue;
                }
            };
            match named(image, name, *index) {
                Ok(key) => scatter.ask((t, p), key, PartitionCall::Move { to: disk }, &mut calls),
                Err(error) => {
                    preferences.push((TopicPartition::new(*name, *index), disk));
                    refused.push(((t, p), error));
                }
            }
        }
    }
    scatter.preset(|response| {
        for ((t, p), error) in refused {
            response.results[t].partitions[p].error_code = error.to_wire();
        }
    });
    (scatter, calls, preferences)
}

fn destination(
    topic: &str,
    index: i32,
    path: &str,
    directories: &[LogDirFacts],
) -> Result<DiskIndex, ErrorCode> {
    if PartitionDir::future(TopicPartition::new(topic, index), Uuid::ZERO).name().len() > LONGEST_NAME {
        return Err(ErrorCode::InvalidTopicException);
    }
    let at = directories.iter().position(|directory| directory.path == path);
    let at = at.ok_or(ErrorCode::LogDirNotFound)?;
    if !directories[at].online {
        return Err(ErrorCode::KafkaStorageError);
    }
    Ok(DiskIndex(u16::try_from(at).expect("log directories are numbered by 16 bits")))
}

fn fill(response: &mut AlterReplicaLogDirsResponse, (t, p): (usize, usize), answer: PartitionAnswer, _: i16) {
    let PartitionAnswer::Move(answer) = answer else { panic!("a move is what was asked for") };
    let error = answer.err().unwrap_or(ErrorCode::None);
    response.results[t].partitions[p].error_code = error.to_wire();
}
