//! Creating, renewing and ending delegation tokens (`DelegationTokenControlManager`).

use std::sync::Arc;

use aplomb_model::{ErrorCode, Timestamp, Uuid};
use aplomb_protocol::messages::{DelegationTokenRecord, RemoveDelegationTokenRecord};
use bytes::Bytes;

use super::draft::Draft;
use super::token_index::TokenIndex;
use super::{Controller, Random};
use crate::config::TokensConfig;
use crate::metadata::MetadataImage;
use crate::security::TokenKey;
use crate::security::tokens::{is_expired, may_renew, weight};

/// What one token may take in memory, with the names of those who may renew it.
const MOST_BYTES: usize = 64 << 10;
/// What all tokens together may take: as many as 65,536.
const MOST_BYTES_OF_ALL: usize = 32 << 20;
/// What those may take that one principal has asked for, so that it leaves room for others.
const MOST_BYTES_OF_ONE: usize = 8 << 20;
/// Tokens that are taken away in one decision because their time is up.
const SWEPT_AT_ONCE: usize = 1000;

/// A token that is asked for.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// Who its holder will be.
    pub owner: String,
    /// Who asks for it.
    pub requester: String,
    /// Who may renew it, beside its owner.
    pub renewers: Vec<String>,
    /// How long it can be renewed, in milliseconds; as long as can be if that is not positive.
    pub max_lifetime: i64,
}

/// What is to become of a token.
#[derive(Clone, Copy, Debug)]
pub enum TokenChange {
    /// It is good for so many milliseconds more; as long as is usual if that is not positive.
    Renew(i64),
    /// It is good for so many milliseconds more, and ends at once if that is negative.
    Expire(i64),
}

/// A cluster where tokens can be had.
#[derive(Clone, Copy, Debug)]
pub struct TokenRules<'a> {
    /// The settings.
    pub config: &'a TokensConfig,
    /// When it is asked.
    pub now: Timestamp,
}

impl Controller {
    /// Whether tokens can be found by what their holders know: [`Self::index_tokens`] sees to that.
    #[must_use]
    pub fn has_token_index(&self) -> bool {
        self.token_index.as_ref().is_some_and(TokenIndex::is_complete)
    }

    /// Signs some more tokens. Whether none are left.
    pub fn index_tokens(&mut self, key: &TokenKey) -> bool {
        let index = self.token_index.get_or_insert_with(|| TokenIndex::new(key.clone()));
        index.go_on(&self.image.security.tokens);
        index.is_complete()
    }

    /// The token that a client knows, as far as this says.
    fn token(&self, hmac: &[u8]) -> Option<&Arc<DelegationTokenRecord>> {
        assert!(self.has_token_index(), "tokens are looked for when they can be found");
        let index = self.token_index.as_ref()?;
        self.image.security.tokens.get(index.find(hmac)?)
    }

    /// Drafts a change of a token by a client that knows it. Gives until when it is good then.
    ///
    /// # Errors
    /// When there is none, it is another's, or its time is up.
    ///
    /// # Panics
    /// If there are tokens here, and [`Self::has_token_index`] does not hold.
    pub fn change_token(
        &self,
        hmac: &[u8],
        principal: &str,
        change: TokenChange,
        rules: TokenRules<'_>,
    ) -> Result<(Draft, i64), ErrorCode> {
        check_enabled(&self.image, rules.config)?;
        let token = self.token(hmac).ok_or(ErrorCode::DelegationTokenNotFound)?;
        let (now, is_over) = (rules.now, is_expired(token, rules.now));
        let is_renewal = matches!(change, TokenChange::Renew(_));
        if is_renewal && is_over {
            return Err(ErrorCode::DelegationTokenExpired);
        }
        if !may_renew(token, principal) {
            return Err(ErrorCode::DelegationTokenOwnerMismatch);
        }
        let mut draft = self.draft();
        let period = match change {
            TokenChange::Renew(period) if period > 0 => period.min(rules.config.expiry),
            TokenChange::Renew(_) => rules.config.expiry,
            TokenChange::Expire(period) if period < 0 => {
                let token_id = token.token_id.clone();
                draft.push(vec![RemoveDelegationTokenRecord { token_id }.into()]);
                return Ok((draft, now.0));
            }
            TokenChange::Expire(_) if is_over => return Err(ErrorCode::DelegationTokenExpired),
            TokenChange::Expire(period) => period,
        };
        let expiration_timestamp = token.max_timestamp.min(now.0.saturating_add(period));
        let renewed = DelegationTokenRecord { expiration_timestamp, ..(**token).clone() };
        draft.push(vec![renewed.into()]);
        Ok((draft, expiration_timestamp))
    }

    /// Drafts the end of tokens whose time is up, of so many at once. The flag says whether there
    /// are more.
    pub fn sweep_tokens(&self, now: Timestamp) -> (Draft, bool) {
        let mut draft = self.draft();
        let over = self.image.security.tokens.iter().filter(|token| is_expired(token, now));
        let mut ids: Vec<&str> = over.take(SWEPT_AT_ONCE + 1).map(|token| token.token_id.as_str()).collect();
        let has_more = ids.len() > SWEPT_AT_ONCE;
        ids.truncate(SWEPT_AT_ONCE);
        let gone = |id: &str| RemoveDelegationTokenRecord { token_id: id.to_owned() }.into();
        draft.push(ids.into_iter().map(gone).collect());
        (draft, has_more)
    }
}

impl Draft {
    /// Drafts a token. Its id is given here. Gives what is written of it, and what its holder has
    /// to know.
    ///
    /// # Errors
    /// When there are no tokens here, or there is no room for it.
    pub fn create_token(
        &mut self,
        new: NewToken,
        rules: TokenRules<'_>,
        random: Random<'_>,
    ) -> Result<(DelegationTokenRecord, Bytes), ErrorCode> {
        let key = check_enabled(self.image(), rules.config)?;
        let NewToken { owner, requester, renewers, max_lifetime } = new;
        let lifetime = match max_lifetime {
            asked if asked > 0 => asked.min(rules.config.max_lifetime),
            _ => rules.config.max_lifetime,
        };
        let tokens = &self.image().security.tokens;
        let token_id = loop {
            let id = Uuid::from_random(random()).map(|id| id.to_string());
            if let Some(id) = id.filter(|id| tokens.get(id).is_none()) {
                break id;
            }
        };
        let max_timestamp = rules.now.0.saturating_add(lifetime);
        let record = DelegationTokenRecord {
            owner,
            requester,
            renewers,
            issue_timestamp: rules.now.0,
            max_timestamp,
            expiration_timestamp: max_timestamp.min(rules.now.0.saturating_add(rules.config.expiry)),
            token_id,
        };
        let bytes = weight(&record);
        let is_too_much = bytes > MOST_BYTES
            || tokens.bytes() + bytes > MOST_BYTES_OF_ALL
            || tokens.bytes_of(&record.requester) + bytes > MOST_BYTES_OF_ONE;
        if is_too_much {
            return Err(ErrorCode::PolicyViolation);
        }
        self.push(vec![record.clone().into()]);
        let hmac = key.sign(&record.token_id);
        Ok((record, hmac))
    }
}

/// What tokens are signed with.
fn check_enabled(image: &MetadataImage, config: &TokensConfig) -> Result<TokenKey, ErrorCode> {
    let key = config.key().ok_or(ErrorCode::DelegationTokenAuthDisabled)?;
    if !image.features.metadata_version().has_delegation_tokens() {
        return Err(ErrorCode::UnsupportedVersion);
    }
    Ok(key)
}
