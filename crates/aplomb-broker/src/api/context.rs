//! What a request that is answered from metadata may look at.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use aplomb_model::ErrorCode;

use super::access::Access;
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
    /// What the client may do.
    pub access: Access<'a>,
}

impl<'a> Context<'a> {
    pub(super) fn of(asked: &Asked<'a>) -> Self {
        let (view, listener, access) = (asked.view, &asked.request.session.listener, asked.access());
        Self { image: view.image(), config: view.config(), listener, access }
    }
}

/// Bytes of a sentence in a response.
const LONGEST_SENTENCE: usize = 4096;

/// What is said of an error in words. Some quote what the request said, which may be as long as a
/// string of the protocol can be: with a word more it could not be written.
pub(super) fn in_words(error: &impl std::fmt::Display) -> String {
    let mut words = error.to_string();
    words.truncate(words.floor_char_boundary(LONGEST_SENTENCE));
    words
}

/// A code and a sentence, as responses carry them.
pub(super) fn code_and_message<E>(result: &Result<(), E>) -> (i16, Option<String>)
where
    E: std::fmt::Display,
    for<'e> ErrorCode: From<&'e E>,
{
    match result {
        Ok(()) => (ErrorCode::None.to_wire(), None),
        Err(error) => (ErrorCode::from(error).to_wire(), Some(in_words(error))),
    }
}

/// The error of a resource that a request names twice.
pub(super) fn duplicate(what: &str) -> AdminError {
    AdminError::Request(format!("Duplicate {what}."))
}

/// Partitions by topic, each once where it is named first and with what is said of it last; topics
/// of which none is named are left out. So Apache Kafka, which puts them into maps.
pub(super) fn each_once<'r, P>(named: impl Iterator<Item = (&'r str, i32, P)>) -> Vec<(&'r str, Vec<P>)> {
    let mut topics: Vec<(&'r str, Vec<P>)> = Vec::new();
    let (mut by_name, mut by_index) = (HashMap::new(), HashMap::new());
    for (topic, index, partition) in named {
        let t = *by_name.entry(topic).or_insert(topics.len());
        if t == topics.len() {
            topics.push((topic, Vec::new()));
        }
        let partitions = &mut topics[t].1;
        let p = *by_index.entry((t, index)).or_insert(partitions.len());
        if p == partitions.len() {
            partitions.push(partition);
        } else {
            partitions[p] = partition;
        }
    }
    topics
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_a_hundred_thousand_times_is_there_once_with_what_was_said_last() {
        let named = (0..100_000).map(|n| ("orders", n % 2, n)).chain([("returns", 0, -1), ("orders", 2, -2)]);
        assert_eq!(each_once(named), [("orders", vec![99_998, 99_999, -2]), ("returns", vec![-1])]);
    }
}
