//! DescribeAcls: the ACLs that a filter means, by resource.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::describe_acls_request::DescribeAclsRequest;
use aplomb_protocol::messages::describe_acls_response::{
    AclDescription, DescribeAclsResource, DescribeAclsResponse,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::context::in_words;
use super::{Context, On};
use crate::controller::AdminError;
use crate::operation::{Api, Asked, Begun};
use crate::security::{AclFilter, AclOperation, PatternKind, PermissionKind, ResourceKind};

pub(super) const API: Api = Api::of_controller(ApiKey::DescribeAcls, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: DescribeAclsRequest = asked.decode()?;
    let codes = [
        request.resource_type_filter,
        request.pattern_type_filter,
        request.operation,
        request.permission_type,
    ];
    if codes.contains(&0) {
        return Asked::unreadable("an ACL filter of unknown elements");
    }
    asked.answer(&handle(&request, &Context::of(asked)))
}

/// Answers.
#[must_use]
fn handle(request: &DescribeAclsRequest, ctx: &Context<'_>) -> DescribeAclsResponse {
    let refused = |error: ErrorCode, message: String| DescribeAclsResponse {
        error_code: error.to_wire(),
        error_message: Some(message),
        ..Default::default()
    };
    if let Err(error) = ctx.access.check(AclOperation::Describe, On::Cluster) {
        return refused(error, in_words(&AdminError::Denied(error)));
    }
    if ctx.access.is_open() {
        let why = "No Authorizer is configured on the broker";
        return refused(ErrorCode::SecurityDisabled, why.to_owned());
    }
    let mut resources: Vec<DescribeAclsResource> = Vec::new();
    let filter = filter(request);
    let found = filter.iter().flat_map(|filter| filter.select(&ctx.image.security.acls));
    for acl in found {
        let record = acl.record();
        let is_same = |last: &&mut DescribeAclsResource| {
            last.resource_type == record.resource_type
                && last.pattern_type == record.pattern_type
                && last.resource_name == record.resource_name
        };
        let described = AclDescription {
            principal: record.principal.clone(),
            host: record.host.clone(),
            operation: record.operation,
            permission_type: record.permission_type,
        };
        match resources.last_mut().filter(is_same) {
            Some(last) => last.acls.push(described),
            None => resources.push(DescribeAclsResource {
                resource_type: record.resource_type,
                resource_name: record.resource_name.clone(),
                pattern_type: record.pattern_type,
                acls: vec![described],
            }),
        }
    }
    DescribeAclsResponse { resources, ..Default::default() }
}

/// `None`: it has words that there are not, and means nothing.
fn filter(request: &DescribeAclsRequest) -> Option<AclFilter<'_>> {
    Some(AclFilter {
        kind: ResourceKind::from_wire(request.resource_type_filter)?,
        name: request.resource_name_filter.as_deref(),
        pattern: PatternKind::from_wire(request.pattern_type_filter)?,
        principal: request.principal_filter.as_deref(),
        host: request.host_filter.as_deref(),
        operation: AclOperation::from_wire(request.operation)?,
        permission: PermissionKind::from_wire(request.permission_type)?,
    })
}
