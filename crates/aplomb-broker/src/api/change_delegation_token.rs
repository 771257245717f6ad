//! RenewDelegationToken and ExpireDelegationToken: until when a token is good, said by those who
//! know it and may say that.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::expire_delegation_token_request::ExpireDelegationTokenRequest;
use aplomb_protocol::messages::expire_delegation_token_response::ExpireDelegationTokenResponse;
use aplomb_protocol::messages::renew_delegation_token_request::RenewDelegationTokenRequest;
use aplomb_protocol::messages::renew_delegation_token_response::RenewDelegationTokenResponse;
use aplomb_protocol::{ApiKey, DecodeError, Message};

use super::token_requests::{NO_TIME, are_allowed};
use crate::controller::{Planned, TokenChange, TokenRules};
use crate::operation::{Api, Asked, Begun, PATIENCE};

pub(super) const RENEW: Api = Api::of_controller(ApiKey::RenewDelegationToken, begin_renewal);
pub(super) const EXPIRE: Api = Api::of_controller(ApiKey::ExpireDelegationToken, begin_expiry);

fn begin_renewal(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: RenewDelegationTokenRequest = asked.decode()?;
    let told = |(error_code, expiry_timestamp_ms)| RenewDelegationTokenResponse {
        error_code,
        expiry_timestamp_ms,
        ..Default::default()
    };
    change(asked, &request.hmac, TokenChange::Renew(request.renew_period_ms), told)
}

fn begin_expiry(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: ExpireDelegationTokenRequest = asked.decode()?;
    let told = |(error_code, expiry_timestamp_ms)| ExpireDelegationTokenResponse {
        error_code,
        expiry_timestamp_ms,
        ..Default::default()
    };
    change(asked, &request.hmac, TokenChange::Expire(request.expiry_time_period_ms), told)
}

/// `told` makes a response of a code and of the time until which the token is good then.
fn change<R: Message + 'static>(
    asked: &mut Asked<'_>,
    hmac: &[u8],
    change: TokenChange,
    told: fn((i16, i64)) -> R,
) -> Result<Begun, DecodeError> {
    let session = &asked.request.session;
    if !are_allowed(session) {
        let error = ErrorCode::DelegationTokenRequestNotAllowed;
        return asked.answer(&told((error.to_wire(), NO_TIME)));
    }
    let key = asked.view.config().tokens.key();
    if key.is_some_and(|key| !asked.head().finds_tokens(key)) {
        return Ok(Begun::Again(asked.now.instant)); // in the next turn
    }
    let rules = TokenRules { config: &asked.view.config().tokens, now: asked.now.wall };
    let principal = session.principal.as_str();
    let planned =
        asked.head().plan(|controller, _| match controller.change_token(hmac, principal, change, rules) {
            Ok((draft, until)) => {
                let response = told((ErrorCode::None.to_wire(), until));
                Planned { response, records: controller.take(draft) }
            }
            Err(error) => Planned { response: told((error.to_wire(), 0)), records: Vec::new() },
        });
    asked.decide(Vec::new(), planned, PATIENCE, move |error| told((error.to_wire(), 0)))
}
