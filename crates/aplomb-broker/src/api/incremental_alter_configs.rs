//! IncrementalAlterConfigs: settings of topics and of this broker, changed one by one.

use aplomb_protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, IncrementalAlterConfigsRequest,
};
use aplomb_protocol::messages::incremental_alter_configs_response::{
    AlterConfigsResourceResponse, IncrementalAlterConfigsResponse,
};

use aplomb_model::ErrorCode;
use aplomb_protocol::{ApiKey, DecodeError};

use super::Access;
use super::config_changes::{Stores, authorize, check_named_once, check_none_is_null, decide, plan_each};
use crate::config::BrokerConfig;
use crate::controller::{AdminError, ConfigChange, ConfigOperation, ConfigWish, Controller, Draft, Planned};
use crate::metadata::Resource;
use crate::operation::{Api, Asked, Begun};

pub(super) const API: Api = Api::of_controller(ApiKey::IncrementalAlterConfigs, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: IncrementalAlterConfigsRequest = asked.decode()?;
    let resources = request.resources.clone();
    let refuse = move |error: ErrorCode| {
        let refused = |resource: AlterConfigsResource| AlterConfigsResourceResponse {
            error_code: error.to_wire(),
            error_message: None,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name,
        };
        let responses = resources.into_iter().map(refused).collect();
        IncrementalAlterConfigsResponse { responses, ..Default::default() }
    };
    decide(
        asked,
        |controller, config, access, stores| plan(&request, controller, config, access, stores),
        refuse,
    )
}

/// The changes of all resources of the request as one decision.
#[must_use = "the records have to be written"]
pub fn plan(
    request: &IncrementalAlterConfigsRequest,
    controller: &mut Controller,
    config: &BrokerConfig,
    access: &Access<'_>,
    stores: &mut Stores<'_>,
) -> Planned<IncrementalAlterConfigsResponse> {
    let (changes, records) = plan_each(
        &request.resources,
        request.validate_only,
        controller,
        stores,
        |resource| Resource { kind: resource.resource_type, name: resource.resource_name.clone() },
        |request, resource, draft, stores| alter(request, resource, draft, (config, access, stores)),
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
    (config, access, stores): (&BrokerConfig, &Access<'_>, &mut Stores<'_>),
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
    stores.check(draft.store_changes(resource, ConfigWish::Change(&changes), config))?;
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
