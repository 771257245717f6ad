//! ListPartitionReassignments: a cluster of one has none under way.

use aplomb_protocol::messages::list_partition_reassignments_request::ListPartitionReassignmentsRequest;
use aplomb_protocol::messages::list_partition_reassignments_response::ListPartitionReassignmentsResponse;
use aplomb_protocol::{ApiKey, DecodeError};

use crate::operation::{Api, Asked, Begun};

pub(super) const API: Api = Api::of_controller(ApiKey::ListPartitionReassignments, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let _: ListPartitionReassignmentsRequest = asked.decode()?;
    asked.answer(&handle())
}

/// Partitions that do not move, and those that there are not, are left out, whatever was asked for.
#[must_use]
pub fn handle() -> ListPartitionReassignmentsResponse {
    ListPartitionReassignmentsResponse { error_message: None, ..Default::default() }
}
