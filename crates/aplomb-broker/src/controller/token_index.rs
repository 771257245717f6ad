//! Tokens by what their holders know of them: one is renewed by that, and to sign all of them for
//! each such request would take a while.

use std::collections::HashMap;

use aplomb_protocol::MetadataRecord;
use bytes::Bytes;

use crate::security::{DelegationTokens, TokenKey};

/// Tokens by what their holders know of them.
///
/// What always holds: all tokens of the image are in it that are in parts before `next`.
#[derive(Clone, Debug)]
pub(super) struct TokenIndex {
    key: TokenKey,
    ids: HashMap<Bytes, String>,
    next: usize,
}

impl TokenIndex {
    pub(super) fn new(key: TokenKey) -> Self {
        Self { key, ids: HashMap::new(), next: 0 }
    }

    /// Signs the tokens of the next part, if any is left.
    pub(super) fn go_on(&mut self, tokens: &DelegationTokens) {
        if !self.is_complete() {
            tokens.part(self.next).for_each(|token| self.add(&token.token_id));
            self.next += 1;
        }
    }

    /// Whether all tokens are in it.
    pub(super) const fn is_complete(&self) -> bool {
        self.next == DelegationTokens::PARTS
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

#[cfg(test)]
mod tests {
    use aplomb_protocol::messages::{DelegationTokenRecord, RemoveDelegationTokenRecord};

    use super::*;

    fn token(n: u32) -> DelegationTokenRecord {
        DelegationTokenRecord { token_id: n.to_string(), ..Default::default() }
    }

    #[test]
    fn tokens_are_signed_some_a_turn_and_those_that_come_and_go_meanwhile_too() {
        let (key, mut tokens) = (TokenKey::new("secret"), DelegationTokens::default());
        (0..20_000).for_each(|n| tokens.insert(&token(n)));
        let (mut index, mut turns) = (TokenIndex::new(key.clone()), 0);
        while !index.is_complete() {
            let before = index.ids.len();
            index.go_on(&tokens);
            assert!(index.ids.len() - before < 200, "a turn is short");
            turns += 1;
            if turns == 100 {
                tokens.insert(&token(20_000));
                index.follow(&token(20_000).into());
                for n in 0..100 {
                    tokens.remove(&n.to_string());
                    index.follow(&RemoveDelegationTokenRecord { token_id: n.to_string() }.into());
                }
            }
        }
        let found = |n: u32| index.find(&key.sign(&n.to_string())).is_some();
        assert!((100..=20_000).all(found) && !(0..100).any(found));
        assert_eq!(index.ids.len(), tokens.len());
    }
}
