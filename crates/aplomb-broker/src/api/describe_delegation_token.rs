//! DescribeDelegationToken: tokens, with what their holders have to know of them, to those who have
//! something to do with them.

use std::collections::{HashMap, HashSet};

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::DelegationTokenRecord;
use aplomb_protocol::messages::describe_delegation_token_request::DescribeDelegationTokenRequest;
use aplomb_protocol::messages::describe_delegation_token_response::{
    DescribeDelegationTokenResponse, DescribedDelegationToken, DescribedDelegationTokenRenewer,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::token_requests::{are_allowed, joined, parts};
use super::{Context, On};
use crate::operation::{Api, Asked, Begun};
use crate::security::tokens::is_of;
use crate::security::{AclOperation, TokenKey};

// There may be very many.
pub(super) const API: Api = Api::of_controller(ApiKey::DescribeDelegationToken, begin);

/// From this version on responses say who has asked for a token.
const WITH_REQUESTER: i16 = 3;

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: DescribeDelegationTokenRequest = asked.decode()?;
    let refused = |error: ErrorCode| DescribeDelegationTokenResponse {
        error_code: error.to_wire(),
        ..Default::default()
    };
    let session = &asked.request.session;
    if !are_allowed(session) {
        return asked.answer(&refused(ErrorCode::DelegationTokenRequestNotAllowed));
    }
    let Some(key) = asked.view.config().tokens.key() else {
        return asked.answer(&refused(ErrorCode::DelegationTokenAuthDisabled));
    };
    let (principal, has_requester) = (session.principal.as_str(), asked.to.version >= WITH_REQUESTER);
    let tokens = shown(&request, principal, &Context::of(asked));
    let tokens = tokens.into_iter().map(|token| described(token, &key, has_requester)).collect();
    asked.answer(&DescribeDelegationTokenResponse { tokens, ..Default::default() })
}

/// The tokens of the owners that are asked for, as far as the client may see them. A list of none
/// asks for none, no list for all.
fn shown<'a>(
    request: &DescribeDelegationTokenRequest,
    principal: &str,
    ctx: &Context<'a>,
) -> Vec<&'a DelegationTokenRecord> {
    let owners = request.owners.as_ref().map(|owners| -> HashSet<String> {
        owners.iter().map(|owner| joined(&owner.principal_type, &owner.principal_name)).collect()
    });
    let is_wanted = |token: &DelegationTokenRecord| {
        owners.as_ref().is_none_or(|owners| {
            let named = [&token.owner, &token.requester].into_iter().chain(&token.renewers);
            named.into_iter().any(|of| owners.contains(of))
        })
    };
    // One decision an owner: thousands of tokens may be of the same.
    let mut of_owners: HashMap<&str, bool> = HashMap::new();
    let mut may_see = |token: &'a DelegationTokenRecord| {
        let of_owner = || ctx.access.may_quietly(AclOperation::DescribeTokens, On::User(&token.owner));
        is_of(token, principal)
            || *of_owners.entry(&token.owner).or_insert_with(of_owner)
            || ctx.access.may_quietly(AclOperation::Describe, On::DelegationToken(&token.token_id))
    };
    let all = ctx.image.security.tokens.iter().map(|token| &**token);
    all.filter(|token| is_wanted(token) && may_see(token)).collect()
}

fn described(token: &DelegationTokenRecord, key: &TokenKey, has_requester: bool) -> DescribedDelegationToken {
    let owned = |(kind, name): (&str, &str)| (kind.to_owned(), name.to_owned());
    let (principal_type, principal_name) = owned(parts(&token.owner));
    let requester = has_requester.then(|| owned(parts(&token.requester)));
    let (token_requester_principal_type, token_requester_principal_name) = requester.unwrap_or_default();
    let renewers = token.renewers.iter().map(|renewer| {
        let (principal_type, principal_name) = owned(parts(renewer));
        DescribedDelegationTokenRenewer { principal_type, principal_name }
    });
    DescribedDelegationToken {
        principal_type,
        principal_name,
        token_requester_principal_type,
        token_requester_principal_name,
        issue_timestamp: token.issue_timestamp,
        expiry_timestamp: token.expiration_timestamp,
        max_timestamp: token.max_timestamp,
        token_id: token.token_id.clone(),
        hmac: key.sign(&token.token_id),
        renewers: renewers.collect(),
    }
}
