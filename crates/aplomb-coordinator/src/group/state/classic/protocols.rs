//! The protocols that the members of a group offer, counted by name.
//!
//! What always holds: each member counts once for each protocol that it offers.

use std::collections::HashMap;

use super::member::{ClassicMember, Protocols};

/// How many members offer a protocol, by name.
#[derive(Debug, Default)]
pub(super) struct Offered(HashMap<Box<str>, usize>);

impl Offered {
    pub(super) fn add(&mut self, protocols: &Protocols) {
        for name in protocols.names() {
            *self.0.entry(name.into()).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, protocols: &Protocols) {
        for name in protocols.names() {
            let count = self.0.get_mut(name).expect("what a member offers is counted");
            *count -= 1;
            if *count == 0 {
                self.0.remove(name);
            }
        }
    }

    /// Whether so many members, and the one with these protocols, have one in common.
    pub(super) fn has_common(&self, protocols: &Protocols, members: usize) -> bool {
        protocols.names().any(|name| self.count(name) == members)
    }

    fn count(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// The protocol that most members prefer among those that all of them offer; of several, the
    /// first by name.
    pub(super) fn select<'a>(
        &self,
        members: impl ExactSizeIterator<Item = &'a ClassicMember> + Clone,
    ) -> Box<str> {
        let all = members.len();
        let mut common = self.0.iter().filter(|(_, count)| **count == all).map(|(name, _)| name);
        let only = common.next().expect("a member that shares no protocol with all others is not let in");
        if common.next().is_none() {
            return only.clone();
        }
        let mut votes: HashMap<&str, usize> = HashMap::new();
        for member in members {
            let favourite = member.protocols.names().find(|name| self.count(name) == all);
            *votes.entry(favourite.expect("a member offers what all offer")).or_default() += 1;
        }
        let most = votes.iter().max_by(|(one, a), (other, b)| a.cmp(b).then_with(|| other.cmp(one)));
        most.map(|(name, _)| Box::from(*name)).expect("somebody votes")
    }

    /// What a count from scratch says is what is counted.
    #[cfg(test)]
    pub(super) fn check<'a>(&self, members: impl Iterator<Item = &'a ClassicMember>) {
        let mut counted = Self::default();
        for member in members {
            counted.add(&member.protocols);
        }
        assert_eq!(counted.0, self.0, "protocols are counted as members offer them");
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn member(protocols: &[&str]) -> ClassicMember {
        let protocols = protocols.iter().map(|name| ((*name).to_owned(), Bytes::new()));
        ClassicMember::new(None, "c".into(), "/h".into(), 1, 1, Protocols::new(protocols))
    }

    fn selected(members: &[&[&str]]) -> Box<str> {
        let members: Vec<ClassicMember> = members.iter().map(|protocols| member(protocols)).collect();
        let mut offered = Offered::default();
        members.iter().for_each(|member| offered.add(&member.protocols));
        offered.select(members.iter())
    }

    #[test]
    fn each_member_votes_for_its_first_protocol_among_those_that_all_offer() {
        assert_eq!(&*selected(&[&["a"]]), "a");
        assert_eq!(&*selected(&[&["a", "b"], &["b", "a"], &["b", "a"]]), "b");
        assert_eq!(&*selected(&[&["a", "b"], &["b"]]), "b", "not all offer a");
        assert_eq!(&*selected(&[&["x", "b", "a"], &["y", "b", "a"], &["a", "b"]]), "b");
        assert_eq!(&*selected(&[&["b", "a"], &["a", "b"]]), "a", "of several the first by name");
        assert_eq!(&*selected(&[&["a", "a", "b"], &["b", "a"], &["b", "a"]]), "b", "a name counts once");
    }

    #[test]
    fn members_that_go_are_counted_no_more() {
        let (one, other) = (member(&["a", "b"]), member(&["b"]));
        let mut offered = Offered::default();
        offered.add(&one.protocols);
        offered.add(&other.protocols);
        assert!(!offered.has_common(&member(&["a", "c"]).protocols, 2));
        offered.remove(&other.protocols);
        assert!(offered.has_common(&member(&["a", "c"]).protocols, 1));
        offered.remove(&one.protocols);
        assert!(offered.0.is_empty());
    }
}
