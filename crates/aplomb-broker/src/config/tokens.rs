//! Settings of delegation tokens (Apache Kafka 4.4.0: `DelegationTokenManagerConfigs`).

use std::time::Duration;

use aplomb_security::Secret;

use super::reading::Reading;
use crate::security::TokenKey;

/// Settings of delegation tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokensConfig {
    /// `delegation.token.secret.key`; without it there are no tokens.
    pub secret: Option<Secret>,
    /// `delegation.token.max.lifetime.ms`
    pub max_lifetime: i64,
    /// `delegation.token.expiry.time.ms`
    pub expiry: i64,
    /// `delegation.token.expiry.check.interval.ms`
    pub expiry_check: Duration,
}

impl TokensConfig {
    pub(super) fn read(reading: &Reading) -> Self {
        let long = |name: &str| reading.optional_number(name).expect("the key has a default");
        let secret = reading.as_written("delegation.token.secret.key").filter(|text| !text.is_empty());
        Self {
            secret: secret.map(|text| Secret::new(text.to_owned())),
            max_lifetime: long("delegation.token.max.lifetime.ms"),
            expiry: long("delegation.token.expiry.time.ms"),
            expiry_check: reading.millis("delegation.token.expiry.check.interval.ms"),
        }
    }

    /// What tokens are signed with, if there are any.
    #[must_use]
    pub fn key(&self) -> Option<TokenKey> {
        self.secret.as_ref().map(|secret| TokenKey::new(secret.reveal()))
    }
}
