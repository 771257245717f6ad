//! AlterConfigs: all settings of a resource at once; what is not named is set no more. Deprecated by Apache Kafka, used by older tools.

use aplomb_protocol::messages::alter_configs_request::{AlterConfigsRequest, AlterConfigsResource};
use aplomb_protocol::messages::alter_configs_response::{AlterConfigsResourceResponse, AlterConfigsResponse};

use super::context::{Planned, code_and_message, repeated};
use crate::config::{BrokerConfig, Properties};
use crate::controller::{AdminError, Controller, Draft};
use crate::metadata::Resource;

/// Plans.
#[must_use = "the records have to be written"]
pub fn plan(
    request: &AlterConfigsRequest,
    controller: &mut Controller,
    config: &BrokerConfig,
) -> Planned<AlterConfigsResponse> {
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
                replace(resource, &mut draft, config)
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
    Planned { response: AlterConfigsResponse { responses, ..Default::default() }, records }
}

fn replace(
    resource: &AlterConfigsResource,
    draft: &mut Draft,
    config: &BrokerConfig,
) -> Result<(), AdminError> {
    let request = |text: String| Err(AdminError::Request(text));
    let configs = &resource.configs;
    if !repeated(configs, |config| config.name.as_str()).is_empty() {
        return request("Error due to duplicate config keys".to_owned());
    }
    let nulls: Vec<&str> =
        configs.iter().filter(|config| config.value.is_none()).map(|config| config.name.as_str()).collect();
    if !nulls.is_empty() {
        return request(format!("Null value not supported for : {}", nulls.join(", ")));
    }
    // Log levels are changed one by one or not at all.
    if resource.resource_type == Resource::BROKER_LOGGER {
        return request(format!("Unknown resource type {}", resource.resource_type));
    }
    let settings: Properties =
        configs.iter().filter_map(|config| Some((config.name.clone(), config.value.clone()?))).collect();
    let resource = Resource { kind: resource.resource_type, name: resource.resource_name.clone() };
    draft.replace_configs(&resource, &settings, config)
}
