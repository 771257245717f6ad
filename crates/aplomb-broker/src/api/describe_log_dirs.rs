//! DescribeLogDirs: what lies in which log directory, and how much room there is. Answered from
//! memory: sizes are what the logs know of themselves, and room is what the disk said last.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use aplomb_disk_api::DiskIndex;
use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::messages::describe_log_dirs_request::DescribeLogDirsRequest;
use aplomb_protocol::messages::describe_log_dirs_response::{
    DescribeLogDirsPartition, DescribeLogDirsResponse, DescribeLogDirsResult, DescribeLogDirsTopic,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use crate::calls::{Answer, PartitionKey, Slot};
use crate::operation::{
    Api, Ask, Asked, Begun, Calls, Operation, PATIENCE, Place, Progress, Question, Replied, ReplyContext,
};
use crate::reply::ReplyTo;
use crate::security::AclOperation;
use crate::storage::PartitionSize;

pub(super) const API: Api = Api::of_controller(ApiKey::DescribeLogDirs, begin);

/// How large a partition is, and where.
#[derive(Debug)]
struct Size;

impl Question for Size {
    type Answer = Option<PartitionSize>;

    fn ask(self, place: &mut Place<'_>) -> Result<Option<PartitionSize>, ErrorCode> {
        Ok(place.storage.size_of(place.partition))
    }
}

/// A request that waits for the sizes of its partitions.
#[derive(Debug)]
struct LogDirsOp {
    to: ReplyTo,
    names: Vec<(Arc<str>, i32)>,
    sizes: Vec<Option<PartitionSize>>,
    outstanding: usize,
}

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: DescribeLogDirsRequest = asked.decode()?;
    if let Err(error) = asked.access().check(AclOperation::Describe, On::Cluster) {
        let error_code = error.to_wire();
        return asked.answer(&DescribeLogDirsResponse { error_code, ..Default::default() });
    }
    let mut wanted: HashMap<&str, HashSet<i32>> = HashMap::new();
    for topic in request.topics.iter().flatten() {
        wanted.entry(&topic.topic).or_default().extend(&topic.partitions);
    }
    // No topics named means all.
    let is_wanted = |name: &str, partition: i32| {
        request.topics.is_none() || wanted.get(name).is_some_and(|named| named.contains(&partition))
    };
    let mut names = Vec::new();
    for topic in asked.view.image().topics.iter() {
        for partition in topic.partitions.keys().filter(|p| is_wanted(&topic.name, p.0)) {
            let key = PartitionKey { topic: topic.id, partition: *partition };
            let slot = Slot::try_from(names.len()).expect("a broker has fewer partitions than that");
            asked.calls.push((slot, key, Size.call()));
            names.push((topic.name.clone(), partition.0));
        }
    }
    let (sizes, outstanding) = (vec![None; names.len()], names.len());
    asked.wait(LogDirsOp { to: asked.to, names, sizes, outstanding }, PATIENCE)
}

impl Operation for LogDirsOp {
    fn on_answer(&mut self, slot: Slot, answer: Answer) {
        // A partition that is not there any more has no size.
        self.sizes[slot as usize] = Size::take(answer).unwrap_or_default();
        self.outstanding -= 1;
    }

    fn on_deadline(&mut self) {
        self.outstanding = 0;
    }

    fn progress(&mut self, _: Instant, _: &mut Calls) -> Progress {
        if self.outstanding == 0 { Progress::Reply } else { Progress::Wait }
    }

    fn reply(self: Box<Self>, context: &mut ReplyContext<'_>) -> Replied {
        let directories = context.storage.disks().facts();
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
}

impl LogDirsOp {
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
