//! DescribeQuorum: who keeps the metadata log, and how far each of them has it. Here that is this
//! node alone, and nobody else reads along.

use aplomb_model::{BrokerId, ErrorCode, LeaderEpoch, Offset, PartitionIndex, Timestamp, Uuid};
use aplomb_protocol::messages::VotersRecord;
use aplomb_protocol::messages::describe_quorum_request::DescribeQuorumRequest;
use aplomb_protocol::messages::describe_quorum_response::{
    DescribeQuorumResponse, Listener, Node, PartitionData, ReplicaState, TopicData,
};
use aplomb_protocol::messages::voters_record::Voter;

use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::context::in_words;
use crate::calls::PartitionKey;
use crate::controller::{AdminError, METADATA_TOPIC};
use crate::operation::{Api, Asked, Begun, PATIENCE, Place, Question, Scatter, UNKNOWN_PARTITION};
use crate::security::AclOperation;

/// The first version that has words for errors, directories of voters and where they listen.
const WITH_NODES: i16 = 2;

/// What Apache Kafka says in words of a leader that is none.
const NOT_LEADER: &str = "For requests intended only for the leader, this error indicates that the broker is not the current leader. For requests intended for any replica, this error indicates that the broker is not a replica of the topic partition.";

pub(super) const API: Api = Api::of_controller(ApiKey::DescribeQuorum, begin);

/// How far the metadata log is: (everything below is durable, the log end offset).
#[derive(Debug)]
struct Frontiers;

impl Question for Frontiers {
    type Answer = (Offset, Offset);

    fn ask(self, place: &mut Place<'_>) -> Result<(Offset, Offset), ErrorCode> {
        let log = place.partition.log();
        Ok((log.durable_end(), log.end()))
    }
}

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: DescribeQuorumRequest = asked.decode()?;
    if let Err(error) = asked.access().check(AclOperation::Describe, On::Cluster) {
        return asked.answer(&DescribeQuorumResponse {
            error_code: error.to_wire(),
            error_message: Some(in_words(&AdminError::Denied(error))),
            ..Default::default()
        });
    }
    let (to, now, leader) = (asked.to, asked.now.wall, asked.view.node());
    let head = asked.head();
    let quorum = Quorum {
        leader,
        epoch: head.epoch(),
        committed: Offset::ZERO,
        end: Offset::ZERO,
        voters: head.voters(),
        dynamic_voters: head.durable_image().features.kraft_version() > 0,
    };
    let response = handle(&request, to.version, Some(&quorum), now);
    let is_told = matches!(&response.topics[..], [topic] if matches!(&topic.partitions[..], [log] if log.error_code == 0));
    if !is_told {
        return asked.answer(&response);
    }
    let mut scatter = Scatter::new(to, response, fill);
    scatter.ask((0, 0), PartitionKey::METADATA, Frontiers, asked.calls);
    asked.wait(scatter, PATIENCE)
}

fn fill(
    response: &mut DescribeQuorumResponse,
    (t, p): (usize, usize),
    answer: Result<(Offset, Offset), ErrorCode>,
    _: i16,
) {
    let log = &mut response.topics[t].partitions[p];
    match answer {
        Ok((committed, end)) => {
            log.high_watermark = committed.to_wire();
            for voter in &mut log.current_voters {
                voter.log_end_offset = end.to_wire();
            }
        }
        // The broker has closed its log already.
        Err(_) => {
            log.error_code = ErrorCode::NotLeaderOrFollower.to_wire();
            log.error_message = Some(NOT_LEADER.to_owned());
        }
    }
}

/// The metadata log, as its leader sees it.
#[derive(Clone, Copy, Debug)]
pub struct Quorum<'a> {
    /// Who leads: this node.
    pub leader: BrokerId,
    /// In which epoch.
    pub epoch: LeaderEpoch,
    /// Everything below is durable.
    pub committed: Offset,
    /// The offset after the last record.
    pub end: Offset,
    /// Who votes.
    pub voters: &'a VotersRecord,
    /// Whether the log says who votes (`kraft.version` 1). Otherwise directories of voters are
    /// nobody's business.
    pub dynamic_voters: bool,
}

/// Answers. `quorum` is `None` when the broker has closed its log already.
#[must_use]
pub fn handle(
    request: &DescribeQuorumRequest,
    version: i16,
    quorum: Option<&Quorum<'_>>,
    now: Timestamp,
) -> DescribeQuorumResponse {
    let is_the_log = |topic: &str, partition: i32| {
        topic == METADATA_TOPIC && PartitionIndex(partition) == PartitionKey::METADATA.partition
    };
    let (topic, partition) = match &request.topics[..] {
        [topic] => match &topic.partitions[..] {
            [one] if is_the_log(&topic.topic_name, one.partition_index) => (topic, one),
            _ => return refusal(request, ErrorCode::UnknownTopicOrPartition, UNKNOWN_PARTITION),
        },
        _ => return refusal(request, ErrorCode::UnknownTopicOrPartition, UNKNOWN_PARTITION),
    };
    let Some(quorum) = quorum else {
        return refusal(request, ErrorCode::NotLeaderOrFollower, NOT_LEADER);
    };
    let voters = &quorum.voters.voters;
    let voter = |voter: &Voter| ReplicaState {
        replica_id: voter.voter_id,
        replica_directory_id: match quorum.dynamic_voters && version >= WITH_NODES {
            true => voter.voter_directory_id,
            false => Uuid::ZERO,
        },
        log_end_offset: quorum.end.to_wire(),
        last_fetch_timestamp: now.0,
        last_caught_up_timestamp: now.0,
    };
    let node = |voter: &Voter| Node {
        node_id: voter.voter_id,
        listeners: voter
            .endpoints
            .iter()
            .map(|endpoint| Listener {
                name: endpoint.name.clone(),
                host: endpoint.host.clone(),
                port: endpoint.port,
            })
            .collect(),
    };
    let log = PartitionData {
        partition_index: partition.partition_index,
        leader_id: quorum.leader.0,
        leader_epoch: quorum.epoch.to_wire(),
        high_watermark: quorum.committed.to_wire(),
        current_voters: voters.iter().map(voter).collect(),
        ..Default::default()
    };
    DescribeQuorumResponse {
        topics: vec![TopicData { topic_name: topic.topic_name.clone(), partitions: vec![log] }],
        nodes: if version >= WITH_NODES { voters.iter().map(node).collect() } else { Vec::new() },
        ..Default::default()
    }
}

/// There is one such log, and it has to be asked for alone.
fn refusal(request: &DescribeQuorumRequest, error: ErrorCode, message: &str) -> DescribeQuorumResponse {
    let partition = |index: i32| PartitionData {
        partition_index: index,
        error_code: error.to_wire(),
        error_message: Some(message.to_owned()),
        ..Default::default()
    };
    let topics = request.topics.iter().map(|topic| TopicData {
        topic_name: topic.topic_name.clone(),
        partitions: topic.partitions.iter().map(|asked| partition(asked.partition_index)).collect(),
    });
    DescribeQuorumResponse { topics: topics.collect(), ..Default::default() }
}
