//! Which version of an API both sides speak (the highest), and answers read in it.

use std::error::Error;
use std::io;

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse};
use aplomb_protocol::{ApiKey, DecodeError, Message, Reader, Request, VersionRange};
use bytes::Bytes;

/// What a broker said it speaks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Versions(Vec<(i16, VersionRange)>);

impl Versions {
    pub(crate) fn new(response: &ApiVersionsResponse) -> Self {
        let range = |min, max| VersionRange::new(min, max);
        Self(
            response
                .api_keys
                .iter()
                .map(|api| (api.api_key, range(api.min_version, api.max_version)))
                .collect(),
        )
    }

    /// Whether both sides have a version of it.
    pub(crate) fn speaks<T: Request>(&self) -> bool {
        self.pick::<T>(i16::MAX).is_some()
    }

    /// The highest version up to `limit` that both sides have.
    pub(crate) fn pick<T: Request>(&self, limit: i16) -> Option<i16> {
        let (_, theirs) = self.0.iter().find(|(key, _)| *key == T::KEY.key())?;
        let ours = T::KEY.stable_versions();
        let version = theirs.max.min(ours.max).min(limit);
        (version >= theirs.min && version >= ours.min).then_some(version)
    }
}

/// The version to ask for versions with, before any is known.
pub(crate) const FIRST_ASKED: i16 = 3;

/// Asks for versions in the name of this program.
pub(crate) fn versions_request() -> ApiVersionsRequest {
    ApiVersionsRequest {
        client_software_name: "aplomb-bench".to_owned(),
        client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
        ..Default::default()
    }
}

/// Reads the answer to that. A broker that lacks the version answers in version 0, with an error
/// that says so (KIP-511).
pub(crate) fn read_answer(body: Bytes) -> Result<ApiVersionsResponse, DecodeError> {
    let code = body.first_chunk().map(|raw| i16::from_be_bytes(*raw));
    let version = if code == Some(ErrorCode::UnsupportedVersion.to_wire()) { 0 } else { FIRST_ASKED };
    ApiVersionsResponse::from_bytes(body, version)
}

/// Reads a response of any other kind, from behind its correlation id.
pub(crate) fn decode<T: Message>(api: ApiKey, version: i16, bytes: Bytes) -> io::Result<T> {
    let mut reader = Reader::new(bytes);
    if api.response_header_version(version) > 0 {
        reader.skip_tags().map_err(malformed)?;
    }
    T::decode(&mut reader, version).map_err(malformed)
}

/// A request or a response that is not of the protocol.
pub(crate) fn malformed(error: impl Into<Box<dyn Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// The highest version that names topics by name, for brokers that give them no ids.
pub(crate) fn limit_without_id(api: ApiKey) -> i16 {
    match api {
        ApiKey::Produce | ApiKey::Fetch => 12,
        _ => i16::MAX,
    }
}

#[cfg(test)]
mod tests {
    use aplomb_protocol::messages::api_versions_response::ApiVersion;
    use aplomb_protocol::messages::{FetchRequest, ProduceRequest};

    use super::*;

    #[test]
    fn the_highest_common_version_is_picked() {
        let api = |api_key, min_version, max_version| ApiVersion { api_key, min_version, max_version };
        let api_keys = vec![api(0, 0, 9), api(1, 0, 3)];
        let versions = Versions::new(&ApiVersionsResponse { api_keys, ..Default::default() });
        assert_eq!(versions.pick::<ProduceRequest>(i16::MAX), Some(9));
        assert_eq!(versions.pick::<ProduceRequest>(7), Some(7));
        assert_eq!(versions.pick::<FetchRequest>(i16::MAX), None, "theirs end below ours");
        assert_eq!(Versions::default().pick::<FetchRequest>(i16::MAX), None);
    }
}
