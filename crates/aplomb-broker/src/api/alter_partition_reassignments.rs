//! AlterPartitionReassignments: other brokers for partitions. With one broker there is nowhere to
//! go: what asks for the replicas that there are is done at once, anything else is refused
//! (`ReplicationControlManager.alterPartitionReassignments`).

use aplomb_model::{BrokerId, ErrorCode, PartitionIndex};
use aplomb_protocol::messages::alter_partition_reassignments_request::{
    AlterPartitionReassignmentsRequest, ReassignablePartition,
};
use aplomb_protocol::messages::alter_partition_reassignments_response::{
    AlterPartitionReassignmentsResponse, ReassignablePartitionResponse, ReassignableTopicResponse,
};

use super::On;
use super::context::{code_and_message, in_words};
use crate::controller::{AdminError, Controller, Draft};
use crate::operation::{Api, Asked, Begun};
use crate::security::AclOperation;
use aplomb_protocol::{ApiKey, DecodeError};

pub(super) const API: Api = Api::of_controller(ApiKey::AlterPartitionReassignments, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: AlterPartitionReassignmentsRequest = asked.decode()?;
    if let Err(error) = asked.access().check(AclOperation::Alter, On::Cluster) {
        return asked.answer(&refused(&request, error));
    }
    let response = handle(&request, asked.head().controller());
    asked.answer(&response)
}

/// The refusal of a request as a whole.
fn refused(
    request: &AlterPartitionReassignmentsRequest,
    error: ErrorCode,
) -> AlterPartitionReassignmentsResponse {
    let words = || Some(in_words(&AdminError::Denied(error)));
    let partition = |asked: &ReassignablePartition| ReassignablePartitionResponse {
        partition_index: asked.partition_index,
        error_code: error.to_wire(),
        error_message: words(),
    };
    let responses = request.topics.iter().map(|topic| ReassignableTopicResponse {
        name: topic.name.clone(),
        partitions: topic.partitions.iter().map(partition).collect(),
    });
    AlterPartitionReassignmentsResponse {
        error_code: error.to_wire(),
        error_message: words(),
        responses: responses.collect(),
        ..Default::default()
    }
}

/// Answers.
#[must_use]
pub fn handle(
    request: &AlterPartitionReassignmentsRequest,
    controller: &Controller,
) -> AlterPartitionReassignmentsResponse {
    let is_late = request.timeout_ms <= 0;
    let mut draft = controller.draft();
    let responses = request.topics.iter().map(|topic| {
        let partition = |asked: &ReassignablePartition| {
            let (error_code, error_message) = if is_late {
                (ErrorCode::RequestTimedOut.to_wire(), None)
            } else {
                code_and_message(&check(&mut draft, &topic.name, asked))
            };
            ReassignablePartitionResponse {
                partition_index: asked.partition_index,
                error_code,
                error_message,
            }
        };
        ReassignableTopicResponse {
            name: topic.name.clone(),
            partitions: topic.partitions.iter().map(partition).collect(),
        }
    });
    AlterPartitionReassignmentsResponse {
        responses: responses.collect(),
        allow_replication_factor_change: request.allow_replication_factor_change,
        error_code: if is_late { ErrorCode::RequestTimedOut } else { ErrorCode::None }.to_wire(),
        error_message: request.topics.is_empty().then(String::new),
        ..Default::default()
    }
}

fn check(draft: &mut Draft, name: &str, asked: &ReassignablePartition) -> Result<(), AdminError> {
    let topic = draft.image().topics.by_name(name);
    let topic = topic.ok_or_else(|| AdminError::NotFound(format!("Unable to find a topic named {name}.")))?;
    let partition = topic.partitions.get(&PartitionIndex(asked.partition_index)).ok_or_else(|| {
        AdminError::NotFound(format!("Unable to find partition {name}:{}.", asked.partition_index))
    })?;
    let present = partition.replicas.clone();
    let wanted = asked.replicas.as_ref().ok_or(AdminError::NoReassignment)?;
    let wanted: Vec<BrokerId> = wanted.iter().copied().map(BrokerId).collect();
    draft.check_assignment(&wanted, asked.partition_index)?;
    if wanted != present {
        return Err(AdminError::Assignment(
            "Replicas cannot be moved between brokers: this is a cluster of one.".to_owned(),
        ));
    }
    Ok(())
}
