//! Delegation tokens: who may act as whom, and until when.
//!
//! A token's secret half is nowhere in here: it is made of its id and the key of the settings
//! ([`TokenKey`]). Clones are cheap, as those of ACLs are.

use std::fmt;
use std::sync::Arc;

use aplomb_model::Timestamp;
use aplomb_protocol::messages::DelegationTokenRecord;
use bytes::Bytes;
use ring::hmac;

use super::shared_map::{PARTS, SharedMap};

/// What a token takes in memory beside its texts.
const OVERHEAD: usize = 512;
/// What a name among those who may renew it takes beside its text.
const OF_RENEWER: usize = 24;

/// `delegation.token.secret.key`: what tokens are signed with. It is shown nowhere.
#[derive(Clone)]
pub struct TokenKey(hmac::Key);

impl TokenKey {
    /// From the setting's text.
    #[must_use]
    pub fn new(secret: &str) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA512, secret.as_bytes()))
    }

    /// What the holder of a token has to know of it.
    #[must_use]
    pub fn sign(&self, id: &str) -> Bytes {
        Bytes::copy_from_slice(hmac::sign(&self.0, id.as_bytes()).as_ref())
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

/// The tokens of a cluster.
///
/// What always holds: the sums are those of the tokens that there are.
#[derive(Clone, Debug, Default)]
pub struct DelegationTokens {
    by_id: SharedMap<Arc<str>, Arc<DelegationTokenRecord>>,
    bytes: usize,
    /// What those take that one principal has asked for.
    by_requester: SharedMap<Arc<str>, usize>,
}

impl DelegationTokens {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What they take in memory.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// What those take that this principal has asked for.
    #[must_use]
    pub fn bytes_of(&self, requester: &str) -> usize {
        self.by_requester.get(requester).copied().unwrap_or(0)
    }

    /// The one with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Arc<DelegationTokenRecord>> {
        self.by_id.get(id)
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<DelegationTokenRecord>> {
        self.by_id.values()
    }

    /// They are looked at in so many parts by those who do more with each than to read it: a few
    /// hundred are in one when there are as many as there can be.
    pub const PARTS: usize = PARTS;

    /// Those of one part.
    pub fn part(&self, part: usize) -> impl Iterator<Item = &Arc<DelegationTokenRecord>> {
        self.by_id.values_of(part)
    }

    /// All of them in the order of their ids.
    #[must_use]
    pub fn sorted(&self) -> Vec<&Arc<DelegationTokenRecord>> {
        let mut all: Vec<_> = self.iter().collect();
        all.sort_unstable_by(|a, b| a.token_id.cmp(&b.token_id));
        all
    }

    /// Adds one, or another in the place of the one with its id.
    pub fn insert(&mut self, record: &DelegationTokenRecord) {
        self.remove(&record.token_id);
        let (size, requester) = (weight(record), record.requester.as_str());
        self.bytes += size;
        self.by_requester.insert(requester.into(), self.bytes_of(requester) + size);
        self.by_id.insert(record.token_id.as_str().into(), Arc::new(record.clone()));
    }

    /// Takes one out, if it is there.
    pub fn remove(&mut self, id: &str) {
        let Some(gone) = self.by_id.remove(id) else { return };
        let (size, requester) = (weight(&gone), gone.requester.as_str());
        self.bytes -= size;
        match self.bytes_of(requester) - size {
            0 => drop(self.by_requester.remove(requester)),
            left => drop(self.by_requester.insert(requester.into(), left)),
        }
    }
}

impl PartialEq for DelegationTokens {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|token| other.get(&token.token_id) == Some(token))
    }
}

/// What a token takes in memory.
#[must_use]
pub fn weight(record: &DelegationTokenRecord) -> usize {
    let renewers = record.renewers.iter().map(|renewer| renewer.len() + OF_RENEWER);
    OVERHEAD + record.owner.len() + record.requester.len() + record.token_id.len() + renewers.sum::<usize>()
}

/// Whether a token is good for nothing any more.
#[must_use]
pub fn is_expired(record: &DelegationTokenRecord, now: Timestamp) -> bool {
    record.max_timestamp < now.0 || record.expiration_timestamp < now.0
}

/// Whether a principal has a token, has asked for it, or may renew it: it is shown to those.
#[must_use]
pub fn is_of(record: &DelegationTokenRecord, principal: &str) -> bool {
    record.requester == principal || may_renew(record, principal)
}

/// Whether a principal may say for how long a token is good.
#[must_use]
pub fn may_renew(record: &DelegationTokenRecord, principal: &str) -> bool {
    record.owner == principal || record.renewers.iter().any(|renewer| renewer == principal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(id: &str, requester: &str, renewers: usize) -> DelegationTokenRecord {
        DelegationTokenRecord {
            token_id: id.to_owned(),
            owner: "User:alice".to_owned(),
            requester: requester.to_owned(),
            renewers: vec!["User:r".to_owned(); renewers],
            max_timestamp: 100,
            expiration_timestamp: 50,
            ..Default::default()
        }
    }

    #[test]
    fn sums_are_those_of_the_tokens_that_there_are() {
        let mut tokens = DelegationTokens::default();
        tokens.insert(&token("a", "User:alice", 0));
        tokens.insert(&token("b", "User:bob", 2));
        let one = tokens.bytes_of("User:alice");
        assert_eq!(one, weight(&token("a", "User:alice", 0)));
        assert_eq!(tokens.bytes(), one + tokens.bytes_of("User:bob"));
        tokens.insert(&token("a", "User:alice", 1));
        assert_eq!((tokens.len(), tokens.bytes_of("User:alice") - one), (2, "User:r".len() + OF_RENEWER));
        for id in ["a", "a", "b", "c"] {
            tokens.remove(id);
        }
        assert!(tokens.is_empty());
        assert_eq!((tokens.bytes(), tokens.bytes_of("User:alice")), (0, 0));
    }

    #[test]
    fn each_token_is_in_one_part_and_none_has_many() {
        let mut tokens = DelegationTokens::default();
        (0..20_000).for_each(|n| tokens.insert(&token(&n.to_string(), "User:alice", 0)));
        let parts = (0..DelegationTokens::PARTS).map(|part| tokens.part(part).count());
        let parts: Vec<usize> = parts.collect();
        assert_eq!(parts.iter().sum::<usize>(), 20_000);
        assert!(parts.iter().all(|count| *count < 200), "{parts:?}");
        assert_eq!(tokens.part(DelegationTokens::PARTS).count(), 0);
    }

    #[test]
    fn equal_are_those_that_say_the_same() {
        let (mut one, mut other) = (DelegationTokens::default(), DelegationTokens::default());
        one.insert(&token("a", "User:alice", 0));
        assert_ne!(one, other);
        other.insert(&token("a", "User:alice", 1));
        assert_ne!(one, other);
        other.insert(&token("a", "User:alice", 0));
        assert_eq!(one, other);
    }

    #[test]
    fn a_token_is_good_up_to_its_time_and_not_after() {
        let one = token("a", "User:alice", 0);
        assert!(!is_expired(&one, Timestamp(50)) && is_expired(&one, Timestamp(51)));
    }

    #[test]
    fn what_a_holder_has_to_know_is_a_signature_of_the_id() {
        // By Python's hmac, with SHA-512.
        let expected = "49908b961539c2740529b28ef57e33618ef4c43c99e74c251d5216eb93c4609a\
                        26fe95d524137946c3002173b531a7747f72dc1febea1c5cbddecbd8d152bdd4";
        let signed = TokenKey::new("secret").sign("AAAAAAAAAAAAAAAAAAAAAA");
        let hex: String = signed.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
    }
}
