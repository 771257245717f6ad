//! ElectLeaders: who leads is elected anew, by preference or from any replica. The one replica of
//! each partition leads already, or its log directory is lost.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::elect_leaders_request::ElectLeadersRequest;
use aplomb_protocol::messages::elect_leaders_response::{
    ElectLeadersResponse, PartitionResult, ReplicaElectionResult,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::context::in_words;
use crate::controller::AdminError;
use crate::metadata::{MetadataImage, Partition};
use crate::operation::{Api, Asked, Begun};
use crate::security::AclOperation;

pub(super) const API: Api = Api::of_controller(ApiKey::ElectLeaders, begin);

/// The first version with an error for the whole request.
const WITH_ERROR: i16 = 1;

/// Which replica is to lead (`ElectionType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Election {
    /// The first one, if it is in sync.
    Preferred,
    /// Any, if none that is in sync is left.
    Unclean,
}

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: ElectLeadersRequest = asked.decode()?;
    if let Err(error) = asked.access().check(AclOperation::Alter, On::Cluster) {
        return asked.answer(&refused(&request, asked.to.version, error));
    }
    let response = handle(&request, asked.to.version, asked.view.image());
    asked.answer(&response)
}

/// The refusal of a request as a whole.
fn refused(request: &ElectLeadersRequest, version: i16, error: ErrorCode) -> ElectLeadersResponse {
    let refused = |partition_id| PartitionResult {
        partition_id,
        error_code: error.to_wire(),
        error_message: Some(in_words(&AdminError::Denied(error))),
    };
    ElectLeadersResponse {
        error_code: if version >= WITH_ERROR { error } else { ErrorCode::None }.to_wire(),
        replica_election_results: of_named(request, |_, partition| refused(partition)),
        ..Default::default()
    }
}

/// Answers. Asked about all partitions, it names all topics, and of their partitions only those
/// that have no leader and get none.
#[must_use]
pub fn handle(request: &ElectLeadersRequest, version: i16, image: &MetadataImage) -> ElectLeadersResponse {
    if request.topic_partitions.as_ref().is_some_and(Vec::is_empty) {
        return ElectLeadersResponse::default();
    }
    if request.timeout_ms <= 0 {
        let late = |partition| PartitionResult {
            partition_id: partition,
            error_code: ErrorCode::RequestTimedOut.to_wire(),
            error_message: None,
        };
        return ElectLeadersResponse {
            error_code: if version >= WITH_ERROR { ErrorCode::RequestTimedOut } else { ErrorCode::None }
                .to_wire(),
            replica_election_results: of_named(request, |_, partition| late(partition)),
            ..Default::default()
        };
    }
    let election = match request.election_type {
        0 => Election::Preferred,
        1 => Election::Unclean,
        other => {
            let error = (ErrorCode::InvalidRequest, format!("Unknown election type {other}"));
            return ElectLeadersResponse {
                error_code: error.0.to_wire(),
                replica_election_results: of_named(request, |_, p| result(p, error.clone())),
                ..Default::default()
            };
        }
    };
    let replica_election_results = if request.topic_partitions.is_some() {
        of_named(request, |topic, p| result(p, elect(image, topic, p, election)))
    } else {
        let topics = image.topics.iter().map(|topic| {
            let refused = topic.partitions.iter().filter_map(|(index, partition)| {
                let error = refusal(partition, election);
                let is_news = error != ErrorCode::ElectionNotNeeded;
                is_news.then(|| result(index.0, (error, words(error))))
            });
            ReplicaElectionResult { topic: topic.name.to_string(), partition_result: refused.collect() }
        });
        topics.collect()
    };
    ElectLeadersResponse { replica_election_results, ..Default::default() }
}

/// What becomes of each partition that the request names.
fn of_named(
    request: &ElectLeadersRequest,
    become_of: impl Fn(&str, i32) -> PartitionResult,
) -> Vec<ReplicaElectionResult> {
    let topics = request.topic_partitions.iter().flatten().map(|topic| ReplicaElectionResult {
        topic: topic.topic.clone(),
        partition_result: topic
            .partitions
            .iter()
            .map(|partition| become_of(&topic.topic, *partition))
            .collect(),
    });
    topics.collect()
}

fn elect(image: &MetadataImage, topic: &str, partition: i32, election: Election) -> (ErrorCode, String) {
    let unknown = ErrorCode::UnknownTopicOrPartition;
    let Some(found) = image.topics.by_name(topic) else {
        return (unknown, format!("No such topic as {topic}"));
    };
    match found.partitions.get(&aplomb_model::PartitionIndex(partition)) {
        Some(partition) => {
            let error = refusal(partition, election);
            (error, words(error))
        }
        None => (unknown, format!("No such partition as {topic}-{partition}")),
    }
}

/// Why no other replica comes to lead.
fn refusal(partition: &Partition, election: Election) -> ErrorCode {
    let is_led = match election {
        Election::Preferred => partition.leader == partition.replicas.first().copied(),
        Election::Unclean => partition.leader.is_some(),
    };
    match election {
        _ if is_led => ErrorCode::ElectionNotNeeded,
        Election::Preferred => ErrorCode::PreferredLeaderNotAvailable,
        Election::Unclean => ErrorCode::EligibleLeadersNotAvailable,
    }
}

/// What Apache Kafka says of the code where it says nothing else.
fn words(error: ErrorCode) -> String {
    let words = match error {
        ErrorCode::ElectionNotNeeded => "Leader election not needed for topic partition.",
        ErrorCode::PreferredLeaderNotAvailable => "The preferred leader was not available.",
        ErrorCode::EligibleLeadersNotAvailable => "Eligible topic partition leaders are not available.",
        other => unreachable!("{other} is no end of an election"),
    };
    words.to_owned()
}

fn result(partition_id: i32, (error, message): (ErrorCode, String)) -> PartitionResult {
    PartitionResult { partition_id, error_code: error.to_wire(), error_message: Some(in_words(&message)) }
}
