//! Log directories: what is in them, and what is to go to another.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;

use super::admin::Decided;
use super::{Place, code};
use crate::support::client::Ask;
use crate::support::process::path_of;

/// A log directory as DescribeLogDirs describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogDir {
    pub(crate) path: String,
    pub(crate) error: ErrorCode,
    pub(crate) replicas: Vec<Replica>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replica {
    pub(crate) topic: String,
    pub(crate) index: i32,
    pub(crate) size: i64,
    /// It is a copy that takes the log's place once it has all of it.
    pub(crate) is_future: bool,
}

/// Moves a replica to another log directory.
#[derive(Clone, Debug)]
pub(crate) struct MoveReplica {
    place: Place,
    disk: usize,
}

impl MoveReplica {
    pub(crate) fn of(place: impl Into<Place>, disk: usize) -> Self {
        Self { place: place.into(), disk }
    }
}

impl Ask for MoveReplica {
    type Request = m::AlterReplicaLogDirsRequest;
    type Answer = Decided;
    const VERSION: i16 = 2;

    fn request(&self) -> m::AlterReplicaLogDirsRequest {
        use m::alter_replica_log_dirs_request::{AlterReplicaLogDir, AlterReplicaLogDirTopic};
        let (name, partitions) = (self.place.topic.clone(), vec![self.place.index]);
        let topics = vec![AlterReplicaLogDirTopic { name, partitions }];
        let directory = AlterReplicaLogDir { path: path_of(self.disk), topics };
        m::AlterReplicaLogDirsRequest { dirs: vec![directory] }
    }

    fn answer(response: m::AlterReplicaLogDirsResponse) -> Decided {
        let part = &response.results[0].partitions[0];
        Decided { error: code(part.error_code), message: None }
    }
}

/// Asks which log directory has what.
#[derive(Clone, Debug)]
pub(crate) struct DescribeLogDirs;

impl Ask for DescribeLogDirs {
    type Request = m::DescribeLogDirsRequest;
    type Answer = Vec<LogDir>;
    const VERSION: i16 = 4;

    fn request(&self) -> m::DescribeLogDirsRequest {
        m::DescribeLogDirsRequest { topics: None }
    }

    fn answer(response: m::DescribeLogDirsResponse) -> Vec<LogDir> {
        let directory = |result: &m::describe_log_dirs_response::DescribeLogDirsResult| {
            let mut replicas = Vec::new();
            for topic in &result.topics {
                replicas.extend(topic.partitions.iter().map(|partition| Replica {
                    topic: topic.name.clone(),
                    index: partition.partition_index,
                    size: partition.partition_size,
                    is_future: partition.is_future_key,
                }));
            }
            LogDir { path: result.log_dir.clone(), error: code(result.error_code), replicas }
        };
        response.results.iter().map(directory).collect()
    }
}
