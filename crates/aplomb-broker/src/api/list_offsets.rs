//! ListOffsets: offsets by timestamp, and the special ones at both ends.

use std::collections::HashSet;

use aplomb_log::cold::TimeWanted;
use aplomb_model::{ErrorCode, LeaderEpoch, Offset, Timestamp};
use aplomb_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsRequest};
use aplomb_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsResponse, ListOffsetsTopicResponse,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::context::each_once;
use crate::calls::{FindOffset, FoundOffset, WantedOffset};
use crate::operation::{Api, Asked, Begun, PATIENCE, Scatter, current_epoch, named, patience};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::ListOffsets, begin);

/// The first version that tells the leader epoch of an offset.
const EPOCHS_FROM: i16 = 4;

/// Special timestamps, and the first version that has each (`ListOffsetsRequest` in Apache Kafka).
const SPECIAL: [(i64, i16, WantedOffset); 6] = [
    (-1, 0, WantedOffset::Latest),
    (-2, 0, WantedOffset::Earliest),
    (-3, 7, WantedOffset::Time(TimeWanted::Greatest)),
    (-4, 8, WantedOffset::Earliest),
    (-5, 9, WantedOffset::Tiered),
    (-6, 11, WantedOffset::Tiered),
];

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: ListOffsetsRequest = asked.decode()?;
    let named_all = request.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|partition| (topic.name.as_str(), partition.partition_index, partition))
    });
    let once = each_once(named_all);
    let topics = once.iter().map(|(name, partitions)| ListOffsetsTopicResponse {
        name: (*name).to_owned(),
        partitions: partitions.iter().map(|partition| unanswered(partition)).collect(),
    });
    let response = ListOffsetsResponse { topics: topics.collect(), ..ListOffsetsResponse::default() };
    let mut scatter = Scatter::new(asked.to, response, fill);
    let repeated = repeated(&request);
    let committed_only = match request.isolation_level {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(ErrorCode::UnknownServerError),
    };
    for (t, (name, partitions)) in once.iter().enumerate() {
        let allowed = asked.access().check(AclOperation::Describe, On::Topic(name));
        for (p, partition) in partitions.iter().enumerate() {
            let wanted = wanted(partition.timestamp, asked.to.version);
            let is_repeated = repeated.contains(&(*name, partition.partition_index));
            let find = committed_only.and_then(|committed_only| {
                let wanted = wanted?;
                let key = named(asked.view.image(), name, partition.partition_index)?;
                let current_epoch = current_epoch(partition.current_leader_epoch)?;
                Ok((key, FindOffset { current_epoch, wanted, committed_only }))
            });
            match find {
                _ if allowed.is_err() => scatter.fill((t, p), On::Topic(name).refusal()),
                _ if is_repeated => scatter.fill((t, p), ErrorCode::InvalidRequest),
                Err(error) => scatter.fill((t, p), error),
                Ok((key, find)) => scatter.ask((t, p), key, find, asked.calls),
            }
        }
    }
    let said = (request.timeout_ms > 0).then(|| patience(request.timeout_ms));
    asked.wait(scatter, said.unwrap_or(PATIENCE))
}

fn wanted(timestamp: i64, version: i16) -> Result<WantedOffset, ErrorCode> {
    if timestamp >= 0 {
        return Ok(WantedOffset::Time(TimeWanted::AtOrAfter(Timestamp(timestamp))));
    }
    let special = SPECIAL.iter().find(|(special, from, _)| *special == timestamp && *from <= version);
    special.map(|(_, _, wanted)| *wanted).ok_or(ErrorCode::UnsupportedVersion)
}

fn repeated(request: &ListOffsetsRequest) -> HashSet<(&str, i32)> {
    let mut seen = HashSet::new();
    let all =
        request.topics.iter().flat_map(|t| t.partitions.iter().map(|p| (t.name.as_str(), p.partition_index)));
    all.filter(|key| !seen.insert(*key)).collect()
}

fn unanswered(partition: &ListOffsetsPartition) -> ListOffsetsPartitionResponse {
    ListOffsetsPartitionResponse {
        partition_index: partition.partition_index,
        error_code: ErrorCode::RequestTimedOut.to_wire(),
        timestamp: -1,
        offset: -1,
        leader_epoch: -1,
    }
}

fn fill(
    response: &mut ListOffsetsResponse,
    (t, p): (usize, usize),
    answer: Result<FoundOffset, ErrorCode>,
    version: i16,
) {
    let cell = &mut response.topics[t].partitions[p];
    match answer {
        Ok(found) => {
            cell.error_code = 0;
            cell.timestamp = found.timestamp.unwrap_or(Timestamp::NONE).0;
            cell.offset = found.offset.map_or(-1, Offset::to_wire);
            let epoch = found.leader_epoch.filter(|_| version >= EPOCHS_FROM);
            cell.leader_epoch = epoch.map_or(-1, LeaderEpoch::to_wire);
        }
        Err(error) => cell.error_code = error.to_wire(),
    }
}
