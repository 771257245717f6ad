//! ListConfigResources: the names of everything that has settings. Version 0 is
//! ListClientMetricsResources under its old name.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::list_config_resources_request::ListConfigResourcesRequest;
use aplomb_protocol::messages::list_config_resources_response::{
    ConfigResource, ListConfigResourcesResponse,
};

use super::On;
use super::context::Context;
use crate::metadata::Resource;
use crate::operation::{Api, Asked, Begun};
use crate::security::AclOperation;
use aplomb_protocol::{ApiKey, DecodeError};

/// In the order in which Apache Kafka answers.
const ALL: [i8; 5] =
    [Resource::GROUP, Resource::CLIENT_METRICS, Resource::BROKER_LOGGER, Resource::BROKER, Resource::TOPIC];

pub(super) const API: Api = Api::of_controller(ApiKey::ListConfigResources, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: ListConfigResourcesRequest = asked.decode()?;
    asked.answer(&handle(&request, asked.to.version, &Context::of(asked)))
}

/// Answers.
#[must_use]
pub fn handle(
    request: &ListConfigResourcesRequest,
    version: i16,
    ctx: &Context<'_>,
) -> ListConfigResourcesResponse {
    if let Err(error) = ctx.access.check(AclOperation::DescribeConfigs, On::Cluster) {
        return ListConfigResourcesResponse { error_code: error.to_wire(), ..Default::default() };
    }
    let known: &[i8] = if version == 0 { &[Resource::CLIENT_METRICS] } else { &ALL };
    if request.resource_types.iter().any(|kind| !known.contains(kind)) {
        let error_code = ErrorCode::UnsupportedVersion.to_wire();
        return ListConfigResourcesResponse { error_code, ..Default::default() };
    }
    let is_wanted = |kind: &&i8| request.resource_types.is_empty() || request.resource_types.contains(kind);
    let config_resources = known.iter().filter(is_wanted).flat_map(|kind| of_kind(*kind, ctx)).collect();
    ListConfigResourcesResponse { config_resources, ..Default::default() }
}

fn of_kind(kind: i8, ctx: &Context<'_>) -> Vec<ConfigResource> {
    let image = ctx.image;
    let named = |resource_name: String| ConfigResource { resource_name, resource_type: kind };
    match kind {
        Resource::BROKER | Resource::BROKER_LOGGER => {
            let live = image.brokers.iter().filter(|broker| !broker.fenced);
            live.map(|broker| named(broker.id.to_string())).collect()
        }
        Resource::TOPIC => image.topics.iter().map(|topic| named(topic.name.to_string())).collect(),
        // Those exist by being configured.
        _ => {
            let of_kind = image.configs.iter().filter(|(its, ..)| *its == kind);
            of_kind.map(|(_, name, _)| named(name.to_owned())).collect()
        }
    }
}
