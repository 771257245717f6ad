//! Tokens by what their holders know of them: one is renewed by that, and to sign all of them for
//! each such request would take a while.

use std::collections::HashMap;

use aplomb_protocol::MetadataRecord;
use bytes::Bytes;

use crate::security::{DelegationTokens, TokenKey};

/// Tokens by what their holders know of them.
///
/// What always holds: all tokens of the image are in it.
#[derive(Clone, Debug)]
pub(super) struct TokenIndex {
    key: TokenKey,
    ids: HashMap<Bytes, String>,
}

impl TokenIndex {
    pub(super) fn new(key: TokenKey, tokens: &DelegationTokens) -> Self {
        let mut index = Self { key, ids: HashMap::new() };
        tokens.iter().for_each(|token| index.add(&token.token_id));
        index
    }

    /// The id of the token that this is known of. There may be none with that id any more.
    pub(super) fn find(&self, hmac: &[u8]) -> Option<&str> {
        self.ids.get(hmac).map(String::as_str)
    }

    fn add(&mut self, id: &str) {
        self.ids.insert(self.key.sign(id), id.to_owned());
    }

    /// Says what a record does to it.
    pub(super) fn follow(&mut self, record: &MetadataRecord) {
        match record {
            MetadataRecord::DelegationToken(token) => self.add(&token.token_id),
            MetadataRecord::RemoveDelegationToken(gone) => {
                self.ids.remove(&self.key.sign(&gone.token_id));
            }
            _ => {}
        }
    }
}
