//! What AlterConfigs and IncrementalAlterConfigs share: resources are changed one by one, each
//! named once, with settings named once each; the whole request is one decision.

use aplomb_protocol::MetadataRecord;

use super::context::{code_and_message, repeated};
use super::{Access, On};
use crate::controller::{AdminError, Controller, Draft};
use crate::metadata::Resource;
use crate::security::AclOperation;

/// What became of one resource.
pub(super) struct Change {
    pub(super) resource: Resource,
    pub(super) error_code: i16,
    pub(super) error_message: Option<String>,
}

/// Changes each of `resources`, and decides unless the request is only to be validated.
pub(super) fn plan_each<R>(
    resources: &[R],
    validate_only: bool,
    controller: &mut Controller,
    resource_of: impl Fn(&R) -> Resource,
    mut change: impl FnMut(&R, &Resource, &mut Draft) -> Result<(), AdminError>,
) -> (Vec<Change>, Vec<MetadataRecord>) {
    let mut draft = controller.draft();
    let twice = repeated(resources, &resource_of);
    let changes = resources.iter().map(|request| {
        let resource = resource_of(request);
        let result = if twice.contains(&resource) {
            Err(AdminError::Request("Each resource must appear at most once.".to_owned()))
        } else {
            change(request, &resource, &mut draft)
        };
        let (error_code, error_message) = code_and_message(&result);
        Change { resource, error_code, error_message }
    });
    let changes = changes.collect();
    let records = if validate_only { Vec::new() } else { controller.take(draft) };
    (changes, records)
}

/// Whether the client may change the settings of a resource. Kinds that there are not are refused
/// elsewhere.
pub(super) fn authorize(resource: &Resource, access: &Access<'_>) -> Result<(), AdminError> {
    let on = match resource.kind {
        Resource::TOPIC => On::Topic(&resource.name),
        Resource::GROUP => On::Group(&resource.name),
        Resource::BROKER | Resource::BROKER_LOGGER | Resource::CLIENT_METRICS => On::Cluster,
        _ => return Ok(()),
    };
    access.check(AclOperation::AlterConfigs, on).map_err(AdminError::Denied)
}

/// Each setting is named once.
pub(super) fn check_named_once<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), AdminError> {
    let names: Vec<&str> = names.collect();
    if repeated(&names, |name| *name).is_empty() {
        return Ok(());
    }
    Err(AdminError::Request("Error due to duplicate config keys".to_owned()))
}

/// No setting lacks a value that needs one.
pub(super) fn check_none_is_null(nulls: &[&str]) -> Result<(), AdminError> {
    if nulls.is_empty() {
        return Ok(());
    }
    Err(AdminError::Request(format!("Null value not supported for : {}", nulls.join(", "))))
}
