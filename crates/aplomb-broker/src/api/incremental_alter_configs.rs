//! IncrementalAlterConfigs: settings of topics and of this broker, changed one by one.

use aplomb_protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, IncrementalAlterConfigsRequest,
};
use aplomb_protocol::messages::incremental_alter_configs_response::{
    AlterConfigsResourceResponse, IncrementalAlterConfigsResponse,
};

use aplomb_protocol::{ApiKey, DecodeError};

use super::Access;
use super::config_changes::{authorize, check_named_once, check_none_is_null, plan_each};
use crate::config::BrokerConfig;
use crate::controller::{AdminError, ConfigChange, ConfigOperation, Controller, Draft, Planned};
use crate::metadata::Resource;
use crate::operation::{Api, Asked, Begun, PATIENCE};

pub(super) const API: Api = Api::of_controller(ApiKey::IncrementalAlterConfigs, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: IncrementalAlterConfigsRequest = asked.decode()?;
    let (view, disks, access) = (asked.view, asked.storage.disks(), asked.access());
    let head = asked.head();
    let mut planned = head.plan(|controller, _| plan(&request, controller, view.config(), &access));
    planned.records.extend(head.cordon(view, disks));
    asked.decide(Vec::new(), planned, PATIENCE, move |error| {
        let refused = |resource: &AlterConfigsResource| AlterConfigsResourceResponse {
            error_code: error.to_wire(),
            error_message: None,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name.clone(),
        };
        let responses = request.resources.iter().map(refused).collect();
        IncrementalAlterConfigsResponse { responses, ..Default::default() }
    })
}

/// The changes of all resources of the request as one decision.
#[must_use = "the records have to be written"]
pub fn plan(
    request: &IncrementalAlterConfigsRequest,
    controller: &mut Controller,
    config: &BrokerConfig,
    access: &Access<'_>,
) -> Planned<IncrementalAlterConfigsResponse> {
    let (changes, records) = plan_each(
        &request.resources,
        request.validate_only,
        controller,
        |resource| Resource { kind: resource.resource_type, name: resource.resource_name.clone() },
        |request, resource, draft| alter(request, resource, draft, config, access),
    );
    let responses = changes.into_iter().map(|change| AlterConfigsResourceResponse {
        error_code: change.error_code,
        error_message: change.error_message,
        resource_type: change.resource.kind,
        resource_name: change.resource.name,
    });
    let response = IncrementalAlterConfigsResponse { responses: responses.collect(), ..Default::default() };
    Planned { response, records }
}

fn alter(
    request: &AlterConfigsResource,
    resource: &Resource,
    draft: &mut Draft,
    config: &BrokerConfig,
    access: &Access<'_>,
) -> Result<(), AdminError> {
    let configs = &request.configs;
    check_named_once(configs.iter().map(|config| config.name.as_str()))?;
    if resource.kind == Resource::BROKER_LOGGER {
        authorize(resource, access)?;
        return check_loggers(request, config);
    }
    let mut changes = Vec::with_capacity(configs.len());
    let mut nulls = Vec::new();
    for change in configs {
        let Some(operation) = ConfigOperation::from_wire(change.config_operation) else {
            let why = format!("Unknown operations type {}", change.config_operation);
            return Err(AdminError::Request(why));
        };
        if operation != ConfigOperation::Delete && change.value.is_none() {
            nulls.push(change.name.as_str());
        }
        changes.push(ConfigChange { name: change.name.clone(), operation, value: change.value.clone() });
    }
    check_none_is_null(&nulls)?;
    authorize(resource, access)?;
    draft.alter_configs(resource, &changes, config)
}

/// Log levels are not settings of this broker: there is no logger whose level could be changed
/// (`RuntimeLoggerManager`).
fn check_loggers(resource: &AlterConfigsResource, config: &BrokerConfig) -> Result<(), AdminError> {
    let request = |text: String| Err(AdminError::Request(text));
    let (name, this) = (&resource.resource_name, config.node_id);
    match name.parse::<i32>() {
        Ok(id) if id == this.0 => {}
        Ok(id) => return request(format!("Unexpected node id. Expected {this}, but received {id}")),
        Err(_) => return request(format!("Node id must be an integer, but it is: {name}")),
    }
    let Some(change) = resource.configs.first() else { return Ok(()) };
    let not_allowed =
        |what: &str| request(format!("{what} operation is not allowed for the BROKER_LOGGER resource"));
    match ConfigOperation::from_wire(change.config_operation) {
        Some(ConfigOperation::Set | ConfigOperation::Delete) => {
            Err(AdminError::Config(format!("Logger {} does not exist!", change.name)))
        }
        Some(ConfigOperation::Append) => not_allowed("APPEND"),
        Some(ConfigOperation::Subtract) => not_allowed("SUBTRACT"),
        None => request(format!(
            "Unknown operation type {} is not allowed for the BROKER_LOGGER resource",
            change.config_operation
        )),
    }
}
