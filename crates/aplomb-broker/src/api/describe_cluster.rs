//! DescribeCluster: who is in the cluster.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::describe_cluster_request::DescribeClusterRequest;
use aplomb_protocol::messages::describe_cluster_response::{DescribeClusterBroker, DescribeClusterResponse};

use super::context::Context;
use super::metadata::controller_id;
use crate::operation::{Api, Asked, Begun};
use aplomb_protocol::{ApiKey, DecodeError};

/// Endpoint types (`EndpointType`).
const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

pub(super) const API: Api = Api::new(ApiKey::DescribeCluster, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: DescribeClusterRequest = asked.decode()?;
    asked.answer(&handle(&request, asked.to.version, &Context::of(asked)))
}

/// Answers.
#[must_use]
pub fn handle(request: &DescribeClusterRequest, version: i16, ctx: &Context<'_>) -> DescribeClusterResponse {
    if request.endpoint_type != BROKERS {
        return refusal(request.endpoint_type, version);
    }
    let brokers: Vec<DescribeClusterBroker> = ctx
        .image
        .brokers
        .iter()
        .filter(|broker| !broker.fenced || request.include_fenced_brokers)
        .filter_map(|broker| {
            let endpoint = broker.endpoint(ctx.listener)?;
            Some(DescribeClusterBroker {
                broker_id: broker.id.0,
                host: endpoint.host.clone(),
                port: endpoint.port.into(),
                rack: broker.rack.clone(),
                is_fenced: broker.fenced,
            })
        })
        .collect();
    let controller = controller_id(ctx);
    let mut response = DescribeClusterResponse {
        endpoint_type: BROKERS,
        cluster_id: ctx.image.cluster_id.to_string(),
        controller_id: if brokers.iter().any(|broker| broker.broker_id == controller) {
            controller
        } else {
            -1
        },
        brokers,
        ..Default::default()
    };
    if request.include_cluster_authorized_operations {
        response.cluster_authorized_operations = ctx.access.cluster_operations();
    }
    response
}

fn refusal(asked: i8, version: i16) -> DescribeClusterResponse {
    let (error, message) = match asked {
        CONTROLLERS => (
            ErrorCode::MismatchedEndpointType,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER".to_owned(),
        ),
        other => (ErrorCode::UnsupportedEndpointType, format!("Unsupported endpoint type {other}")),
    };
    // Version 0 does not know these codes.
    let error = if version == 0 { ErrorCode::InvalidRequest } else { error };
    DescribeClusterResponse {
        error_code: error.to_wire(),
        error_message: Some(message),
        ..Default::default()
    }
}
