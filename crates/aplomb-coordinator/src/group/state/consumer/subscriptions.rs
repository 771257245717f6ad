//! What the members of a group are subscribed to, all together: names, and regular expressions with
//! the topics that they stand for.
//!
//! What always holds: each count is how many members, or resolved expressions, say so.

use std::collections::BTreeMap;

use super::member::ConsumerMember;

/// Names and regular expressions by how many are subscribed to them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Subscriptions {
    /// Topics by how many members name them and how many resolved expressions hold them.
    topics: BTreeMap<String, usize>,
    /// Expressions by members.
    expressions: BTreeMap<String, usize>,
    /// Counts how often the topics have become others.
    changes: u64,
}

impl Subscriptions {
    pub(crate) fn add_member(&mut self, member: &ConsumerMember) {
        self.add_topics(member.names());
        if let Some(expression) = member.expression() {
            add(&mut self.expressions, expression);
        }
    }

    pub(crate) fn remove_member(&mut self, member: &ConsumerMember) {
        self.remove_topics(member.names());
        if let Some(expression) = member.expression() {
            remove(&mut self.expressions, expression);
        }
    }

    /// Topics that a member names, or that an expression stands for: each at most once.
    pub(crate) fn add_topics(&mut self, topics: &[String]) {
        for topic in topics {
            self.changes += u64::from(add(&mut self.topics, topic));
        }
    }

    pub(crate) fn remove_topics(&mut self, topics: &[String]) {
        for topic in topics {
            self.changes += u64::from(remove(&mut self.topics, topic));
        }
    }

    /// Whether a member is subscribed to it.
    pub(crate) fn has_topic(&self, topic: &str) -> bool {
        self.topics.contains_key(topic)
    }

    /// The topics, in the order of their names.
    pub(crate) fn topics(&self) -> impl Iterator<Item = &str> {
        self.topics.keys().map(String::as_str)
    }

    /// How many members are subscribed to the expression.
    pub(crate) fn count(&self, expression: &str) -> usize {
        self.expressions.get(expression).copied().unwrap_or(0)
    }

    /// The expressions that members are subscribed to.
    pub(crate) fn expressions(&self) -> impl ExactSizeIterator<Item = &str> {
        self.expressions.keys().map(String::as_str)
    }

    /// Moves whenever there are other topics than before.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }
}

/// Gives whether it is new.
fn add(counts: &mut BTreeMap<String, usize>, name: &str) -> bool {
    if let Some(count) = counts.get_mut(name) {
        *count += 1;
        return false;
    }
    counts.insert(name.to_owned(), 1);
    true
}

/// Gives whether it is gone.
fn remove(counts: &mut BTreeMap<String, usize>, name: &str) -> bool {
    let count = counts.get_mut(name).expect("what is subscribed to is counted");
    *count -= 1;
    if *count > 0 {
        return false;
    }
    counts.remove(name);
    true
}
