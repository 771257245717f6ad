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
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use crate::head::HeadMessage;
use crate::operation::{Api, Asked, Begun, PATIENCE, Place, Question, Scatter, named};
use crate::security::AclOperation;
use crate::storage::LogDirFacts;

pub(super) const API: Api = Api::of_controller(ApiKey::AlterReplicaLogDirs, begin);

/// The longest name that a directory can have, in bytes.
const LONGEST_NAME: usize = 255;

/// Moves a partition to a log directory, or has it stay there.
#[derive(Debug)]
struct MoveReplica(DiskIndex);

impl Question for MoveReplica {
    type Answer = ();

    fn ask(self, place: &mut Place<'_>) -> Result<(), ErrorCode> {
        place.storage.ask_to_move(place.partition, self.0)
    }
}

/// A partition that is named twice goes to the last directory.
fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: AlterReplicaLogDirsRequest = asked.decode()?;
    let directories = asked.storage.disks().facts();
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
    let mut scatter = Scatter::new(asked.to, response, fill);
    let allowed = asked.access().check(AclOperation::Alter, On::Cluster);
    for (t, (name, partitions)) in wanted.iter().enumerate() {
        for (p, (index, path)) in partitions.iter().enumerate() {
            let disk = allowed.and_then(|()| destination(name, *index, path, &directories));
            let disk = match disk {
                Ok(disk) => disk,
                Err(error) => {
                    scatter.fill((t, p), error);
                    continue;
                }
            };
            match named(asked.view.image(), name, *index) {
                Ok(key) => scatter.ask((t, p), key, MoveReplica(disk), asked.calls),
                Err(error) => {
                    // It is made there when it is made.
                    let name = TopicPartition::new(*name, *index);
                    asked.to_head.push(HeadMessage::Prefer { name, disk });
                    scatter.fill((t, p), error);
                }
            }
        }
    }
    asked.wait(scatter, PATIENCE)
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

fn fill(
    response: &mut AlterReplicaLogDirsResponse,
    (t, p): (usize, usize),
    answer: Result<(), ErrorCode>,
    _: i16,
) {
    let error = answer.err().unwrap_or(ErrorCode::None);
    response.results[t].partitions[p].error_code = error.to_wire();
}
