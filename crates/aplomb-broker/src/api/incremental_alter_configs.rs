//! IncrementalAlterConfigs: settings of topics and of this broker, changed one by one.

use aplomb_protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, IncrementalAlterConfigsRequest,
};
use aplomb_protocol::messages::incremental_alter_configs_response::{
    AlterConfigsResourceResponse, IncrementalAlterConfigsResponse,
};

use super::context::{Planned, code_and_message, repeated};
use crate::config::BrokerConfig;
use crate::controller::{AdminError, ConfigChange, ConfigOperation, Controller, Draft};
use crate::metadata::Resource;

/// Plans.
#[must_use = "the records have to be written"]
pub fn plan(
    request: &IncrementalAlterConfigsRequest,
    controller: &mut Controller,
    config: &BrokerConfig,
) -> Planned<IncrementalAlterConfigsResponse> {
    let mut draft = controller.draft();
    let key = |resource: &AlterConfigsResource| (resource.resource_type, resource.resource_name.clone());
    let twice = repeated(&request.resources, key);
    let responses = request
        .resources
        .iter()
        .map(|resource| {
            let result = if twice.contains(&key(resource)) {
                Err(AdminError::Request("Each resource must appear at most once.".to_owned()))
            } else {
                alter(resource, &mut draft, config)
            };
            let (error_code, error_message) = code_and_message(&result);
            AlterConfigsResourceResponse {
                error_code,
                error_message,
                resource_type: resource.resource_type,
                resource_name: resource.resource_name.clone(),
            }
        })
        .collect();
    let records = if request.validate_only { Vec::new() } else { controller.take(draft) };
    Planned { response: IncrementalAlterConfigsResponse { responses, ..Default::default() }, records }
}

fn alter(
    resource: &AlterConfigsResource,
    draft: &mut Draft,
    config: &BrokerConfig,
) -> Result<(), AdminError> {
    let request = |text: String| Err(AdminError::Request(text));
    let configs = &resource.configs;
    if !repeated(configs, |config| config.name.as_str()).is_empty() {
        return request("Error due to duplicate config keys".to_owned());
    }
    if resource.resource_type == Resource::BROKER_LOGGER {
        return check_loggers(resource, config);
    }
    let mut changes = Vec::with_capacity(configs.len());
    let mut nulls = Vec::new();
    for change in configs {
        let Some(operation) = ConfigOperation::from_wire(change.config_operation) else {
            return request(format!("Unknown operations type {}", change.config_operation));
        };
        if operation != ConfigOperation::Delete && change.value.is_none() {
            nulls.push(change.name.as_str());
        }
        changes.push(ConfigChange { name: change.name.clone(), operation, value: change.value.clone() });
    }
    if !nulls.is_empty() {
        return request(format!("Null value not supported for : {}", nulls.join(", ")));
    }
    let resource = Resource { kind: resource.resource_type, name: resource.resource_name.clone() };
    draft.alter_configs(&resource, &changes, config)
}

/// Log levels are not settings of this broker: there is no logger whose level could be changed (`RuntimeLoggerManager`).
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
