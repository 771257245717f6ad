//! ApiVersions: what this broker serves, and which features the cluster has on. The first thing
//! that a client asks; it may ask in a version that we do not know.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::api_versions_request::ApiVersionsRequest;
use aplomb_protocol::messages::api_versions_response::{
    ApiVersion, ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey,
};
use aplomb_protocol::{ApiKey, DecodeError, VersionRange};

use super::context::Context;
use crate::controller::supported_features;
use crate::metadata::{KRAFT_VERSION, MetadataImage};
use crate::operation::{Api, Asked, Begun};

/// The first version with the client's software.
const WITH_SOFTWARE: i16 = 3;
/// The first version whose clients can read a feature that begins at level 0 (KAFKA-17492).
const WITH_LEVEL_ZERO: i16 = 4;
/// The first version in which the client says whom it believes to be talking to (KIP-1242).
const WITH_EXPECTATION: i16 = 5;

pub(super) const API: Api = Api::of_connection(ApiKey::ApiVersions, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: ApiVersionsRequest = asked.decode()?;
    introduce(&request, asked);
    let response = handle(&request, asked.to.version, asked.apis, &Context::of(asked));
    asked.answer(&response)
}

/// What a client says it is, for those who look at the figures. An invalid name is refused and not
/// noted.
fn introduce(request: &ApiVersionsRequest, asked: &mut Asked<'_>) {
    let (name, release) = (&request.client_software_name, &request.client_software_version);
    let said = asked.to.version >= WITH_SOFTWARE;
    if said && ![name, release].into_iter().all(|text| is_software_text(text)) {
        return;
    }
    let (name, release) = if said { (name.as_str(), release.as_str()) } else { ("unknown", "unknown") };
    let connection = asked.request.id.connection.number;
    asked.clients.introduce(connection, name, release, &asked.request.session.listener);
}

/// Answers. `apis` is what is served.
#[must_use]
pub fn handle(
    request: &ApiVersionsRequest,
    version: i16,
    apis: &[Api],
    ctx: &Context<'_>,
) -> ApiVersionsResponse {
    if !is_valid(request, version) {
        return failure(ErrorCode::InvalidRequest);
    }
    if version >= WITH_EXPECTATION {
        match (request.cluster_id.as_deref(), request.node_id) {
            (None, -1) => {}
            (Some(cluster), node) if node != -1 => {
                // Either being another means that the address is somebody else's now.
                if cluster != &*ctx.image.cluster_id || node != ctx.config.node_id.0 {
                    return failure(ErrorCode::RebootstrapRequired);
                }
            }
            // A client that names a cluster also names a node.
            _ => return failure(ErrorCode::InvalidRequest),
        }
    }
    let supported = supported_features();
    ApiVersionsResponse {
        api_keys: apis.iter().map(|api| advertised(api.key(), api.versions())).collect(),
        supported_features: supported
            .into_iter()
            .filter(|(_, range)| version >= WITH_LEVEL_ZERO || range.min > 0)
            .map(|(name, range)| SupportedFeatureKey { name, min_version: range.min, max_version: range.max })
            .collect(),
        // The image goes up to, and not including, `end`.
        finalized_features_epoch: ctx.image.provenance.end.to_wire() - 1,
        finalized_features: finalized_features(ctx.image),
        ..Default::default()
    }
}

/// Whether the client says properly what it is.
pub(crate) fn is_valid(request: &ApiVersionsRequest, version: i16) -> bool {
    let software = [&request.client_software_name, &request.client_software_version];
    version < WITH_SOFTWARE || software.into_iter().all(|text| is_software_text(text))
}

/// The answer to a request of a version that is not served, to be written in version 0 whatever
/// version was asked for: the client asks again in a version that it finds in it. The body of such
/// a request is not to be read.
#[must_use]
pub fn unsupported_version() -> ApiVersionsResponse {
    let own = advertised(ApiKey::ApiVersions, ApiKey::ApiVersions.stable_versions());
    ApiVersionsResponse { api_keys: vec![own], ..failure(ErrorCode::UnsupportedVersion) }
}

pub(crate) fn failure(error: ErrorCode) -> ApiVersionsResponse {
    ApiVersionsResponse { error_code: error.to_wire(), ..Default::default() }
}

/// Versions 0 to 2 of Produce are not served, and are named all the same: old librdkafka cannot
/// live without (KAFKA-18659).
fn advertised(key: ApiKey, versions: VersionRange) -> ApiVersion {
    let min_version = if key == ApiKey::Produce { 0 } else { versions.min };
    ApiVersion { api_key: key.key(), min_version, max_version: versions.max }
}

fn finalized_features(image: &MetadataImage) -> Vec<FinalizedFeatureKey> {
    let kraft = (KRAFT_VERSION, image.features.kraft_version());
    image
        .features
        .iter()
        .chain([kraft])
        .filter(|(_, level)| *level > 0)
        .map(|(name, level)| FinalizedFeatureKey {
            name: name.to_owned(),
            max_version_level: level,
            min_version_level: level,
        })
        .collect()
}

/// Letters and digits, with dots and dashes between them (KIP-511).
fn is_software_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends_well = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    ends_well(bytes.first())
        && ends_well(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
}
