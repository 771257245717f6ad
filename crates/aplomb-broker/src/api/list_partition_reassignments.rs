//! ListPartitionReassignments: a cluster of one has none under way.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::list_partition_reassignments_request::ListPartitionReassignmentsRequest;
use aplomb_protocol::messages::list_partition_reassignments_response::{
    ListPartitionReassignmentsResponse, OngoingPartitionReassignment, OngoingTopicReassignment,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::context::in_words;
use crate::controller::AdminError;
use crate::operation::{Api, Asked, Begun};
use crate::security::AclOperation;

pub(super) const API: Api = Api::of_controller(ApiKey::ListPartitionReassignments, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: ListPartitionReassignmentsRequest = asked.decode()?;
    if let Err(error) = asked.access().check(AclOperation::Describe, On::Cluster) {
        return asked.answer(&refused(&request, error));
    }
    asked.answer(&handle())
}

/// A refusal names what was asked for, as Apache Kafka's does.
fn refused(
    request: &ListPartitionReassignmentsRequest,
    error: ErrorCode,
) -> ListPartitionReassignmentsResponse {
    let none = |index: &i32| OngoingPartitionReassignment { partition_index: *index, ..Default::default() };
    let topics = request.topics.iter().flatten().map(|topic| OngoingTopicReassignment {
        name: topic.name.clone(),
        partitions: topic.partition_indexes.iter().map(none).collect(),
    });
    ListPartitionReassignmentsResponse {
        error_code: error.to_wire(),
        error_message: Some(in_words(&AdminError::Denied(error))),
        topics: topics.collect(),
        ..Default::default()
    }
}

/// Partitions that do not move, and those that there are not, are left out, whatever was asked for.
#[must_use]
pub fn handle() -> ListPartitionReassignmentsResponse {
    ListPartitionReassignmentsResponse { error_message: None, ..Default::default() }
}
