//! What a request that is answered from metadata may look at.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use aplomb_model::ErrorCode;

use crate::config::BrokerConfig;
use crate::controller::AdminError;
use crate::metadata::MetadataImage;
use crate::operation::Asked;

/// The broker, as a request finds it.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The cluster, as far as it is durable and applied.
    pub image: &'a MetadataImage,
    /// This broker's settings.
    pub config: &'a BrokerConfig,
    /// The name of the listener that the request came in by: clients are told of addresses behind
    /// the same one.
    pub listener: &'a str,
}

impl<'a> Context<'a> {
    pub(super) fn of(asked: &'a Asked<'_>) -> Self {
        let view = asked.view;
        Self { image: view.image(), config: view.config(), listener: &asked.request.session.listener }
    }
}

/// What clients may do to a resource where nobody is kept from anything: bits of `AclOperation`
/// codes (`AclEntry#supportedOperations`).
pub(super) const ALL_CLUSTER_OPERATIONS: i32 = bits(&[5, 7, 8, 9, 10, 11, 12]);
/// As above, for topics.
pub(super) const ALL_TOPIC_OPERATIONS: i32 = bits(&[3, 4, 5, 6, 7, 8, 10, 11]);

const fn bits(codes: &[u8]) -> i32 {
    let (mut field, mut at) = (0, 0);
    while at < codes.len() {
        field |= 1 << codes[at];
        at += 1;
    }
    field
}

/// A code and a sentence, as responses carry them.
pub(super) fn code_and_message<E>(result: &Result<(), E>) -> (i16, Option<String>)
where
    E: std::fmt::Display,
    for<'e> ErrorCode: From<&'e E>,
{
    match result {
        Ok(()) => (ErrorCode::None.to_wire(), None),
        Err(error) => (ErrorCode::from(error).to_wire(), Some(error.to_string())),
    }
}

/// The error of a resource that a request names twice.
pub(super) fn duplicate(what: &str) -> AdminError {
    AdminError::Request(format!("Duplicate {what}."))
}

/// The keys that more than one item has.
pub(super) fn repeated<T, K: Eq + Hash>(
    items: impl IntoIterator<Item = T>,
    key: impl Fn(T) -> K,
) -> HashSet<K> {
    let mut counts = HashMap::new();
    for item in items {
        *counts.entry(key(item)).or_insert(0_u32) += 1;
    }
    counts.into_iter().filter(|(_, count)| *count > 1).map(|(key, _)| key).collect()
}
