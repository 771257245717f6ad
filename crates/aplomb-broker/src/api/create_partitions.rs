//! CreatePartitions: more partitions for topics that exist.

use std::collections::HashSet;

use aplomb_model::BrokerId;
use aplomb_protocol::messages::create_partitions_request::{CreatePartitionsRequest, CreatePartitionsTopic};
use aplomb_protocol::messages::create_partitions_response::{
    CreatePartitionsResponse, CreatePartitionsTopicResult,
};

use super::context::{code_and_message, duplicate, repeated};
use super::{Access, On};
use crate::controller::Planned;
use crate::controller::{AdminError, Controller, NewPartitions};
use crate::operation::{Api, Asked, Begun, patience};
use crate::quotas::Permits;
use crate::security::AclOperation;
use aplomb_protocol::{ApiKey, DecodeError};

/// From this version on, clients know `THROTTLING_QUOTA_EXCEEDED`.
const STRICT_FROM: i16 = 3;

pub(super) const API: Api = Api::of_controller(ApiKey::CreatePartitions, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: CreatePartitionsRequest = asked.decode()?;
    let (view, disks) = (asked.view, asked.storage.disks());
    let mut planned = asked.with_permits(STRICT_FROM, |asked, permits| {
        let access = asked.access();
        asked.head().plan(|controller, _| plan(&request, controller, permits, &access))
    });
    let head = asked.head();
    planned.records.extend(head.place_as_preferred(&planned.records, view, disks));
    let patience = patience(request.timeout_ms);
    asked.decide(Vec::new(), planned, patience, move |error| {
        let refused = |topic: &CreatePartitionsTopic| CreatePartitionsTopicResult {
            name: topic.name.clone(),
            error_code: error.to_wire(),
            error_message: None,
        };
        let results = request.topics.iter().map(refused).collect();
        CreatePartitionsResponse { results, ..Default::default() }
    })
}

/// Plans.
#[must_use = "the records have to be written"]
pub fn plan(
    request: &CreatePartitionsRequest,
    controller: &mut Controller,
    permits: &mut Permits,
    access: &Access<'_>,
) -> Planned<CreatePartitionsResponse> {
    let mut draft = controller.draft();
    let mut results = Vec::with_capacity(request.topics.len());
    let twice = repeated(&request.topics, |topic| topic.name.as_str());
    let mut refused = HashSet::new();
    for topic in &request.topics {
        let is_twice = twice.contains(topic.name.as_str());
        if is_twice && !refused.insert(topic.name.as_str()) {
            continue;
        }
        let result = if is_twice {
            Err(duplicate("topic name"))
        } else {
            let allowed = access.check(AclOperation::Alter, On::Topic(&topic.name));
            let allowed = allowed.map_err(AdminError::Denied);
            allowed.and_then(|()| draft.create_partitions(&new_partitions(topic), permits))
        };
        let (error_code, error_message) = code_and_message(&result);
        results.push(CreatePartitionsTopicResult { name: topic.name.clone(), error_code, error_message });
    }
    let records = if request.validate_only { Vec::new() } else { controller.take(draft) };
    Planned { response: CreatePartitionsResponse { results, ..Default::default() }, records }
}

fn new_partitions(topic: &CreatePartitionsTopic) -> NewPartitions {
    let ids = |ids: &[i32]| ids.iter().copied().map(BrokerId).collect();
    NewPartitions {
        topic: topic.name.clone(),
        total: topic.count,
        assigned: topic
            .assignments
            .as_ref()
            .map(|assignments| assignments.iter().map(|assignment| ids(&assignment.broker_ids)).collect()),
    }
}
