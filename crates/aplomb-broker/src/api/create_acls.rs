//! CreateAcls: ACLs, as one decision.

use aplomb_model::{ErrorCode, Uuid};
use aplomb_protocol::messages::AccessControlEntryRecord;
use aplomb_protocol::messages::create_acls_request::{AclCreation, CreateAclsRequest};
use aplomb_protocol::messages::create_acls_response::{AclCreationResult, CreateAclsResponse};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::context::in_words;
use crate::controller::{AdminError, Controller, Draft, Planned, Random};
use crate::operation::{Api, Asked, Begun, PATIENCE};
use crate::security::{AclOperation, CLUSTER_NAME, PatternKind, ResourceKind};

pub(super) const API: Api = Api::of_controller(ApiKey::CreateAcls, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: CreateAclsRequest = asked.decode()?;
    let codes = |acl: &AclCreation| {
        [acl.resource_type, acl.resource_pattern_type, acl.operation, acl.permission_type]
    };
    if request.creations.iter().any(|acl| codes(acl).contains(&0)) {
        return Asked::unreadable("an ACL of unknown elements");
    }
    let count = request.creations.len();
    if let Err(error) = asked.access().check(AclOperation::Alter, On::Cluster) {
        return asked.answer(&refused(count, error, Some(in_words(&AdminError::Denied(error)))));
    }
    if asked.access().is_open() {
        let why = Some("No Authorizer is configured.".to_owned());
        return asked.answer(&refused(count, ErrorCode::SecurityDisabled, why));
    }
    // Such an ACL Apache Kafka cannot even make in memory.
    if request.creations.iter().any(is_a_filter) {
        return asked.answer(&refused(count, ErrorCode::UnknownServerError, None));
    }
    let planned = asked.head().plan(|controller, random| plan(&request, controller, random));
    asked.decide(Vec::new(), planned, PATIENCE, move |error| refused(count, error, None))
}

fn refused(count: usize, error: ErrorCode, error_message: Option<String>) -> CreateAclsResponse {
    let result = AclCreationResult { error_code: error.to_wire(), error_message };
    CreateAclsResponse { results: vec![result; count], ..Default::default() }
}

/// Whether it has a word that only filters have.
fn is_a_filter(acl: &AclCreation) -> bool {
    const ANY: i8 = 1;
    [acl.resource_type, acl.resource_pattern_type, acl.operation, acl.permission_type].contains(&ANY)
        || acl.resource_pattern_type == PatternKind::Match.to_wire()
}

/// All ACLs of the request that can be, or none if they are too many.
#[must_use = "the records have to be written"]
fn plan(
    request: &CreateAclsRequest,
    controller: &mut Controller,
    random: Random<'_>,
) -> Planned<CreateAclsResponse> {
    let mut draft = controller.draft();
    let mut results = Vec::with_capacity(request.creations.len());
    for acl in &request.creations {
        results.push(match create(acl, &mut draft, random) {
            Ok(()) => AclCreationResult::default(),
            Err(error @ AdminError::TooManyRecords) => {
                let code = ErrorCode::from(&error);
                let response = refused(request.creations.len(), code, Some(in_words(&error)));
                return Planned { response, records: Vec::new() };
            }
            Err(error) => AclCreationResult {
                error_code: ErrorCode::from(&error).to_wire(),
                error_message: Some(in_words(&error)),
            },
        });
    }
    let response = CreateAclsResponse { results, ..Default::default() };
    Planned { response, records: controller.take(draft) }
}

fn create(acl: &AclCreation, draft: &mut Draft, random: Random<'_>) -> Result<(), AdminError> {
    let request = |why: &str| Err(AdminError::Request(why.to_owned()));
    if acl.resource_type == ResourceKind::Cluster.to_wire() && acl.resource_name != CLUSTER_NAME {
        return request("The only valid name for the CLUSTER resource is kafka-cluster");
    }
    if acl.resource_name.is_empty() {
        return request("Invalid empty resource name");
    }
    let record = AccessControlEntryRecord {
        id: Uuid::ZERO,
        resource_type: acl.resource_type,
        resource_name: acl.resource_name.clone(),
        pattern_type: acl.resource_pattern_type,
        principal: acl.principal.clone(),
        host: acl.host.clone(),
        operation: acl.operation,
        permission_type: acl.permission_type,
    };
    draft.create_acl(record, random)
}
