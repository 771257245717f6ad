//! AlterConfigs: all settings of a resource at once; what is not named is set no more. Deprecated
//! by Apache Kafka, used by older tools.

use aplomb_protocol::messages::alter_configs_request::{AlterConfigsRequest, AlterConfigsResource};
use aplomb_protocol::messages::alter_configs_response::{AlterConfigsResourceResponse, AlterConfigsResponse};

use aplomb_model::ErrorCode;
use aplomb_protocol::{ApiKey, DecodeError};

use super::Access;
use super::config_changes::{Stores, authorize, check_named_once, check_none_is_null, decide, plan_each};
use crate::config::{BrokerConfig, Properties};
use crate::controller::{AdminError, ConfigWish, Controller, Draft, Planned};
use crate::metadata::Resource;
use crate::operation::{Api, Asked, Begun};

pub(super) const API: Api = Api::of_controller(ApiKey::AlterConfigs, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: AlterConfigsRequest = asked.decode()?;
    let resources = request.resources.clone();
    let refuse = move |error: ErrorCode| {
        let refused = |resource: AlterConfigsResource| AlterConfigsResourceResponse {
            error_code: error.to_wire(),
            error_message: None,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name,
        };
        let responses = resources.into_iter().map(refused).collect();
        AlterConfigsResponse { responses, ..Default::default() }
    };
    decide(
        asked,
        |controller, config, access, stores| plan(&request, controller, config, access, stores),
        refuse,
    )
}

/// The settings of all resources of the request as one decision.
#[must_use = "the records have to be written"]
pub fn plan(
    request: &AlterConfigsRequest,
    controller: &mut Controller,
    config: &BrokerConfig,
    access: &Access<'_>,
    stores: &mut Stores<'_>,
) -> Planned<AlterConfigsResponse> {
    let (changes, records) = plan_each(
        &request.resources,
        request.validate_only,
        controller,
        stores,
        |resource| Resource { kind: resource.resource_type, name: resource.resource_name.clone() },
        |request, resource, draft, stores| replace(request, resource, draft, (config, access, stores)),
    );
    let responses = changes.into_iter().map(|change| AlterConfigsResourceResponse {
        error_code: change.error_code,
        error_message: change.error_message,
        resource_type: change.resource.kind,
        resource_name: change.resource.name,
    });
    let response = AlterConfigsResponse { responses: responses.collect(), ..Default::default() };
    Planned { response, records }
}

fn replace(
    request: &AlterConfigsResource,
    resource: &Resource,
    draft: &mut Draft,
    (config, access, stores): (&BrokerConfig, &Access<'_>, &mut Stores<'_>),
) -> Result<(), AdminError> {
    let configs = &request.configs;
    check_named_once(configs.iter().map(|config| config.name.as_str()))?;
    let nulls = configs.iter().filter(|config| config.value.is_none());
    check_none_is_null(&nulls.map(|config| config.name.as_str()).collect::<Vec<_>>())?;
    // Log levels are changed one by one or not at all.
    if resource.kind == Resource::BROKER_LOGGER {
        return Err(AdminError::Request(format!("Unknown resource type {}", resource.kind)));
    }
    let settings: Properties =
        configs.iter().filter_map(|config| Some((config.name.clone(), config.value.clone()?))).collect();
    authorize(resource, access)?;
    stores.check(draft.store_changes(resource, ConfigWish::Replace(&settings), config))?;
    draft.replace_configs(resource, &settings, config)
}
