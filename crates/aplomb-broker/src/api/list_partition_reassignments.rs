//! ListPartitionReassignments: partitions on their way to other brokers. With one broker there are none.

use aplomb_protocol::messages::list_partition_reassignments_response::ListPartitionReassignmentsResponse;

/// Answers, whatever was asked for: partitions that do not move, and those that there are not, are left out.
#[must_use]
pub fn handle() -> ListPartitionReassignmentsResponse {
    ListPartitionReassignmentsResponse::default()
}
