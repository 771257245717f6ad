//! Quotas, passwords, permissions and tokens: kept exactly as the log has them, so that a snapshot
//! of ours loses nothing. The rooms that act on them read them from here.

use std::collections::BTreeMap;

use aplomb_protocol::messages::UserScramCredentialRecord;

use crate::security::{Acls, DelegationTokens};

/// Whom a quota is for: (type, name) pairs sorted by type; a name of `None` is the default of its
/// type.
pub type QuotaEntity = Vec<(String, Option<String>)>;

/// Quotas, credentials, permissions and tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Security {
    /// Quotas, by whom they are for and by key.
    pub quotas: BTreeMap<QuotaEntity, BTreeMap<String, f64>>,
    /// SCRAM passwords, by user and mechanism.
    pub scram: BTreeMap<(String, i8), UserScramCredentialRecord>,
    /// Permissions.
    pub acls: Acls,
    /// Who may act as whom, until when.
    pub tokens: DelegationTokens,
}
