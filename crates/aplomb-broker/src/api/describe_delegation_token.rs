//! DescribeDelegationToken: tokens, with what their holders have to know of them, to those who have
//! something to do with them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::hot::described_tokens::{DescribedTokens, TokensFrame};
use aplomb_protocol::messages::DelegationTokenRecord;
use aplomb_protocol::messages::describe_delegation_token_request::{
    DescribeDelegationTokenOwner, DescribeDelegationTokenRequest,
};
use aplomb_protocol::messages::describe_delegation_token_response::{
    DescribeDelegationTokenResponse, DescribedDelegationToken, DescribedDelegationTokenRenewer,
};
use aplomb_protocol::{ApiKey, DecodeError, EncodeError};

use super::access::LaterAccess;
use super::token_requests::{are_allowed, joined, parts};
use super::{Access, On};
use crate::calls::{Answer, Slot};
use crate::metadata::MetadataImage;
use crate::operation::{Api, Asked, Begun, Calls, Operation, PATIENCE, Progress, Replied, ReplyContext};
use crate::ports::{Reply, WaitedFor};
use crate::reply::ReplyTo;
use crate::security::tokens::is_of;
use crate::security::{AclOperation, Audit, DelegationTokens, TokenKey};

pub(super) const API: Api = Api::of_controller(ApiKey::DescribeDelegationToken, begin);

/// From this version on responses say who has asked for a token.
const WITH_REQUESTER: i16 = 3;

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: DescribeDelegationTokenRequest = asked.decode()?;
    let session = &asked.request.session;
    if !are_allowed(session) {
        return asked.answer(&refused(ErrorCode::DelegationTokenRequestNotAllowed));
    }
    let Some(key) = asked.view.config().tokens.key() else {
        return asked.answer(&refused(ErrorCode::DelegationTokenAuthDisabled));
    };
    let joined = |owner: &DescribeDelegationTokenOwner| joined(&owner.principal_type, &owner.principal_name);
    asked.wait(
        DescribeTokens {
            to: asked.to,
            image: Arc::clone(asked.view.image()),
            access: asked.access_later(),
            principal: session.principal.as_str().to_owned(),
            owners: request.owners.as_ref().map(|owners| owners.iter().map(joined).collect()),
            key,
            of_owners: HashMap::new(),
            next: 0,
            told: Ok(DescribedTokens::new(asked.to.version)),
            is_late: false,
        },
        PATIENCE,
    )
}

/// The tokens of the owners that are asked for, as far as the client may see them, looked for
/// and written in turns: there may be very many, with a decision and a signature each.
#[derive(Debug)]
struct DescribeTokens {
    to: ReplyTo,
    image: Arc<MetadataImage>,
    access: Option<LaterAccess>,
    principal: String,
    /// A list of none asks for none, no list for all.
    owners: Option<HashSet<String>>,
    key: TokenKey,
    /// Whether the client may see those of an owner. One decision each: thousands of tokens may be
    /// of the same.
    of_owners: HashMap<String, bool>,
    /// The part of all tokens that is next.
    next: usize,
    /// Those that were found, as they are told.
    told: Result<DescribedTokens, EncodeError>,
    is_late: bool,
}

impl Operation for DescribeTokens {
    fn on_answer(&mut self, slot: Slot, answer: Answer) {
        panic!("part {slot} of it asked nothing, and is told {answer:?}");
    }

    fn on_turn(&mut self, audit: &Audit) {
        let Self { image, access, principal, owners, of_owners, .. } = self;
        let mut tokens = Vec::new();
        let access = access.as_ref().map_or(Access::open(), |access| access.with(audit));
        let has_requester = self.to.version >= WITH_REQUESTER;
        for token in image.security.tokens.part(self.next) {
            let is_wanted = owners.as_ref().is_none_or(|owners| {
                let named = [&token.owner, &token.requester].into_iter().chain(&token.renewers);
                named.into_iter().any(|of| owners.contains(of))
            });
            if !is_wanted {
                continue;
            }
            let may_see = is_of(token, principal)
                || may_see_all_of(&token.owner, of_owners, &access)
                || access.may_quietly(AclOperation::Describe, On::DelegationToken(&token.token_id));
            if may_see {
                tokens.push(described(token, &self.key, has_requester));
            }
        }
        self.next += 1;
        let told = self.told.as_mut().map_err(|error| *error);
        if let Err(error) = told.and_then(|told| told.push(&tokens)) {
            self.told = Err(error);
        }
    }

    fn on_deadline(&mut self) {
        self.is_late = true;
    }

    fn progress(&mut self, _: Instant, _: &mut Calls) -> Progress {
        let is_through = self.next == DelegationTokens::PARTS;
        if is_through || self.is_late { Progress::Reply } else { Progress::Turn }
    }

    fn waits_for(&self) -> WaitedFor {
        WaitedFor::Work
    }

    fn reply(self: Box<Self>, _: &mut ReplyContext<'_>) -> Replied {
        if self.next < DelegationTokens::PARTS {
            return self.to.with(&refused(ErrorCode::RequestTimedOut)); // clients try again
        }
        let TokensFrame { pieces, errors, throttle_at } = self.told?.close(self.to.correlation_id)?;
        Ok(Reply::of(pieces, errors, Some(throttle_at)))
    }
}

fn refused(error: ErrorCode) -> DescribeDelegationTokenResponse {
    DescribeDelegationTokenResponse { error_code: error.to_wire(), ..Default::default() }
}

fn may_see_all_of(owner: &str, known: &mut HashMap<String, bool>, access: &Access<'_>) -> bool {
    if let Some(may) = known.get(owner) {
        return *may;
    }
    let may = access.may_quietly(AclOperation::DescribeTokens, On::User(owner));
    known.insert(owner.to_owned(), may);
    may
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
