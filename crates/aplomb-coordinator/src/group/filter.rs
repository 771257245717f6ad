//! What ListGroups asks for.

use std::collections::HashSet;

/// Which groups are listed: those in one of these states and of one of these types. An empty set
/// lets all pass, and a word that Apache Kafka does not know matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupFilter {
    states: HashSet<String>,
    types: HashSet<String>,
}

impl GroupFilter {
    /// Of the words of a request, in whatever case.
    #[must_use]
    pub fn new(states: &[String], types: &[String]) -> Self {
        let set = |words: &[String]| words.iter().map(|word| word.to_ascii_lowercase()).collect();
        Self { states: set(states), types: set(types) }
    }

    /// Whether a group in this state and of this type is listed.
    pub(super) fn passes(&self, state: &str, group_type: &str) -> bool {
        let passes =
            |set: &HashSet<String>, word: &str| set.is_empty() || set.contains(&word.to_ascii_lowercase());
        passes(&self.states, state) && passes(&self.types, group_type)
    }
}
