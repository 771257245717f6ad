//! SaslHandshake and SaslAuthenticate, where they come in vain: the listener wants no SASL, or the
//! client has authenticated. Those that count are the connection's own ([`crate::sasl`]).

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::sasl_authenticate_request::SaslAuthenticateRequest;
use aplomb_protocol::messages::sasl_authenticate_response::SaslAuthenticateResponse;
use aplomb_protocol::messages::sasl_handshake_request::SaslHandshakeRequest;
use aplomb_protocol::messages::sasl_handshake_response::SaslHandshakeResponse;
use aplomb_protocol::{ApiKey, DecodeError};

use crate::operation::{Api, Asked, Begun};

pub(super) const HANDSHAKE: Api = Api::of_connection(ApiKey::SaslHandshake, begin_handshake);
pub(super) const AUTHENTICATE: Api = Api::of_connection(ApiKey::SaslAuthenticate, begin_authenticate);

fn begin_handshake(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let _: SaslHandshakeRequest = asked.decode()?;
    let error_code = ErrorCode::IllegalSaslState.to_wire();
    asked.answer(&SaslHandshakeResponse { error_code, ..Default::default() })
}

fn begin_authenticate(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let _: SaslAuthenticateRequest = asked.decode()?;
    asked.answer(&SaslAuthenticateResponse {
        error_code: ErrorCode::IllegalSaslState.to_wire(),
        error_message: Some("SaslAuthenticate request received after successful authentication".to_owned()),
        ..Default::default()
    })
}
