//! DeleteAcls: the ACLs that filters mean, as one decision.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::AccessControlEntryRecord;
use aplomb_protocol::messages::delete_acls_request::{DeleteAclsFilter, DeleteAclsRequest};
use aplomb_protocol::messages::delete_acls_response::{
    DeleteAclsFilterResult, DeleteAclsMatchingAcl, DeleteAclsResponse,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::context::in_words;
use crate::controller::{AdminError, Controller, Planned};
use crate::operation::{Api, Asked, Begun, PATIENCE};
use crate::security::{AclFilter, AclOperation, PatternKind, PermissionKind, ResourceKind};

pub(super) const API: Api = Api::of_controller(ApiKey::DeleteAcls, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: DeleteAclsRequest = asked.decode()?;
    let codes = |filter: &DeleteAclsFilter| {
        [filter.resource_type_filter, filter.pattern_type_filter, filter.operation, filter.permission_type]
    };
    if request.filters.iter().any(|filter| codes(filter).contains(&0)) {
        return Asked::unreadable("an ACL filter of unknown elements");
    }
    let count = request.filters.len();
    if let Err(error) = asked.access().check(AclOperation::Alter, On::Cluster) {
        return asked.answer(&refused(count, error, Some(in_words(&AdminError::Denied(error)))));
    }
    if asked.access().is_open() {
        let why = Some("No Authorizer is configured.".to_owned());
        return asked.answer(&refused(count, ErrorCode::SecurityDisabled, why));
    }
    let planned = asked.head().plan(|controller, _| plan(&request, controller));
    asked.decide(Vec::new(), planned, PATIENCE, move |error| refused(count, error, None))
}

fn refused(count: usize, error: ErrorCode, error_message: Option<String>) -> DeleteAclsResponse {
    let result =
        DeleteAclsFilterResult { error_code: error.to_wire(), error_message, matching_acls: Vec::new() };
    DeleteAclsResponse { filter_results: vec![result; count], ..Default::default() }
}

/// What all filters of the request mean, as one decision.
#[must_use = "the records have to be written"]
fn plan(request: &DeleteAclsRequest, controller: &mut Controller) -> Planned<DeleteAclsResponse> {
    let filters: Vec<_> = request.filters.iter().map(filter).collect();
    let understood: Vec<_> = filters.iter().filter_map(|filter| filter.clone().ok()).collect();
    let mut draft = controller.draft();
    let mut found = match draft.delete_acls(&understood) {
        Ok(found) => found.into_iter(),
        Err(error) => {
            let code = ErrorCode::from(&error);
            let response = refused(filters.len(), code, Some(in_words(&error)));
            return Planned { response, records: Vec::new() };
        }
    };
    let filter_results = filters.iter().map(|filter| match filter {
        Ok(_) => DeleteAclsFilterResult {
            error_code: ErrorCode::None.to_wire(),
            error_message: None,
            matching_acls: found.next().unwrap_or_default().into_iter().map(matching).collect(),
        },
        Err(error) => DeleteAclsFilterResult {
            error_code: ErrorCode::from(error).to_wire(),
            error_message: Some(in_words(error)),
            matching_acls: Vec::new(),
        },
    });
    let response = DeleteAclsResponse { filter_results: filter_results.collect(), ..Default::default() };
    Planned { response, records: controller.take(draft) }
}

fn filter(filter: &DeleteAclsFilter) -> Result<AclFilter<'_>, AdminError> {
    let pattern = || AdminError::Request("Unknown patternFilter.".to_owned());
    let entry = || AdminError::Request("Unknown entryFilter.".to_owned());
    Ok(AclFilter {
        kind: ResourceKind::from_wire(filter.resource_type_filter).ok_or_else(pattern)?,
        name: filter.resource_name_filter.as_deref(),
        pattern: PatternKind::from_wire(filter.pattern_type_filter).ok_or_else(pattern)?,
        principal: filter.principal_filter.as_deref(),
        host: filter.host_filter.as_deref(),
        operation: AclOperation::from_wire(filter.operation).ok_or_else(entry)?,
        permission: PermissionKind::from_wire(filter.permission_type).ok_or_else(entry)?,
    })
}

fn matching(acl: AccessControlEntryRecord) -> DeleteAclsMatchingAcl {
    DeleteAclsMatchingAcl {
        error_code: ErrorCode::None.to_wire(),
        error_message: None,
        resource_type: acl.resource_type,
        resource_name: acl.resource_name,
        pattern_type: acl.pattern_type,
        principal: acl.principal,
        host: acl.host,
        operation: acl.operation,
        permission_type: acl.permission_type,
    }
}
