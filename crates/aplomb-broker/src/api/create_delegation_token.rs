//! CreateDelegationToken: a token for the client itself, or for another whom it may have some for.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::create_delegation_token_request::CreateDelegationTokenRequest;
use aplomb_protocol::messages::create_delegation_token_response::CreateDelegationTokenResponse;
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::token_requests::{NO_TIME, USER_TYPE, are_allowed, joined};
use crate::controller::{Controller, NewToken, Planned, Random, TokenRules};
use crate::operation::{Api, Asked, Begun, PATIENCE};
use crate::ports::Principal;
use crate::security::AclOperation;

pub(super) const API: Api = Api::of_controller(ApiKey::CreateDelegationToken, begin);

/// From this version on responses say who has asked.
const WITH_REQUESTER: i16 = 3;

/// Who is named in a response.
#[derive(Clone)]
struct Named {
    kind: String,
    name: String,
    /// In versions that have it.
    requester: Option<Principal>,
}

impl Named {
    /// A response without a token.
    fn none(&self) -> CreateDelegationTokenResponse {
        let kind = self.requester.as_ref().map(|_| USER_TYPE.to_owned());
        let name = self.requester.as_ref().map(|requester| requester.name().to_owned());
        CreateDelegationTokenResponse {
            principal_type: self.kind.clone(),
            principal_name: self.name.clone(),
            token_requester_principal_type: kind.unwrap_or_default(),
            token_requester_principal_name: name.unwrap_or_default(),
            ..Default::default()
        }
    }

    /// The response of a request that is refused before the controller is asked.
    fn refused(&self, error: ErrorCode) -> CreateDelegationTokenResponse {
        CreateDelegationTokenResponse {
            error_code: error.to_wire(),
            issue_timestamp_ms: NO_TIME,
            expiry_timestamp_ms: NO_TIME,
            max_timestamp_ms: NO_TIME,
            ..self.none()
        }
    }
}

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: CreateDelegationTokenRequest = asked.decode()?;
    let session = &asked.request.session;
    let requester = session.principal.clone();
    let has_requester = asked.to.version >= WITH_REQUESTER;
    let named = |kind: &str, name: &str, requester: &Principal| Named {
        kind: kind.to_owned(),
        name: name.to_owned(),
        requester: has_requester.then(|| requester.clone()),
    };
    let nobody = named(USER_TYPE, Principal::ANONYMOUS.name(), &Principal::ANONYMOUS);
    let (kind, name) = match request.owner_principal_name.as_deref() {
        None | Some("") => (USER_TYPE, requester.name()),
        Some(name) => match request.owner_principal_type.as_deref() {
            Some(kind) => (kind, name),
            // Such a principal Apache Kafka cannot even make in memory.
            None => return asked.answer(&nobody.refused(ErrorCode::UnknownServerError)),
        },
    };
    let named = named(kind, name, &requester);
    let owner = joined(kind, name);
    if !are_allowed(session) {
        return asked.answer(&named.refused(ErrorCode::DelegationTokenRequestNotAllowed));
    }
    let is_own = (kind, name) == (USER_TYPE, requester.name());
    let on = On::User(&owner);
    if !is_own && let Err(error) = asked.access().check(AclOperation::CreateTokens, on) {
        return asked.answer(&named.refused(error));
    }
    if request.renewers.iter().any(|renewer| renewer.principal_type != USER_TYPE) {
        return asked.answer(&named.refused(ErrorCode::InvalidPrincipalType));
    }
    let renewers = request.renewers.iter();
    let new = NewToken {
        owner,
        requester: requester.to_string(),
        renewers: renewers.map(|renewer| joined(USER_TYPE, &renewer.principal_name)).collect(),
        max_lifetime: request.max_lifetime_ms,
    };
    let rules = TokenRules { config: &asked.view.config().tokens, now: asked.now.wall };
    let planned = asked.head().plan(|controller, random| plan(new, &named, rules, controller, random));
    asked.decide(Vec::new(), planned, PATIENCE, move |error| nobody.refused(error))
}

#[must_use = "the records have to be written"]
fn plan(
    new: NewToken,
    named: &Named,
    rules: TokenRules<'_>,
    controller: &mut Controller,
    random: Random<'_>,
) -> Planned<CreateDelegationTokenResponse> {
    let mut draft = controller.draft();
    let response = match draft.create_token(new, rules, random) {
        Ok((record, hmac)) => CreateDelegationTokenResponse {
            issue_timestamp_ms: record.issue_timestamp,
            expiry_timestamp_ms: record.expiration_timestamp,
            max_timestamp_ms: record.max_timestamp,
            token_id: record.token_id,
            hmac,
            ..named.none()
        },
        Err(error) => CreateDelegationTokenResponse { error_code: error.to_wire(), ..named.none() },
    };
    Planned { response, records: controller.take(draft) }
}
