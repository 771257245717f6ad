//! What follows from the records of a group's members, counted as they come and go.
//!
//! What always holds: who is taken out was put in, and was no other then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::member::{ConsumerMember, MemberState};
use super::owners::Owners;
use super::subscriptions::Subscriptions;
use crate::group::assignor::Assignor;

/// What follows from the records.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Members by `group.instance.id`: one each, but while a log is read.
    pub(super) instances: BTreeMap<String, BTreeSet<Arc<str>>>,
    /// How many members are in each epoch.
    pub(super) epochs: BTreeMap<i32, usize>,
    /// How many stable members are in each epoch.
    pub(super) settled: BTreeMap<i32, usize>,
    /// How many members prefer each assignor.
    pub(super) assignors: BTreeMap<&'static str, usize>,
    /// How many members speak the classic protocol.
    pub(super) classic: usize,
    /// How many classic members offer each of their protocols.
    pub(super) protocols: BTreeMap<String, usize>,
    pub(super) owners: Owners,
    pub(super) subscriptions: Subscriptions,
    pub(super) bytes: usize,
}

impl Index {
    /// A member has come, or is what it is from here on.
    pub(super) fn add(&mut self, id: &Arc<str>, member: &ConsumerMember) {
        if let Some(instance) = member.instance() {
            self.instances.entry(instance.to_owned()).or_default().insert(id.clone());
        }
        *self.epochs.entry(member.epoch()).or_default() += 1;
        if member.state() == MemberState::Stable {
            *self.settled.entry(member.epoch()).or_default() += 1;
        }
        if let Some(assignor) = member.assignor().and_then(Assignor::from_name) {
            *self.assignors.entry(assignor.name()).or_default() += 1;
        }
        for protocol in protocols(member) {
            *self.protocols.entry(protocol.to_owned()).or_default() += 1;
        }
        self.classic += usize::from(member.is_classic());
        self.subscriptions.add_member(member);
        if let Some(current) = member.written() {
            self.owners.add(current);
        }
        self.bytes += id.len() + member.bytes();
    }

    /// A member goes, or is what it was no longer.
    pub(super) fn remove(&mut self, id: &Arc<str>, member: &ConsumerMember) {
        if let Some(instance) = member.instance() {
            let ids = self.instances.get_mut(instance).expect("static members are known");
            ids.remove(id);
            if ids.is_empty() {
                self.instances.remove(instance);
            }
        }
        count_down(&mut self.epochs, &member.epoch());
        if member.state() == MemberState::Stable {
            count_down(&mut self.settled, &member.epoch());
        }
        if let Some(assignor) = member.assignor().and_then(Assignor::from_name) {
            count_down(&mut self.assignors, assignor.name());
        }
        for protocol in protocols(member) {
            count_down(&mut self.protocols, protocol);
        }
        self.classic -= usize::from(member.is_classic());
        self.subscriptions.remove_member(member);
        if let Some(current) = member.written() {
            self.owners.remove(current);
        }
        self.bytes -= id.len() + member.bytes();
    }
}

/// The protocols that a classic member offers.
fn protocols(member: &ConsumerMember) -> impl Iterator<Item = &str> {
    let classic = member.about().and_then(|about| about.classic_member_metadata.as_ref());
    classic
        .into_iter()
        .flat_map(|classic| &classic.supported_protocols)
        .map(|protocol| protocol.name.as_str())
}

fn count_down<K: Ord + std::borrow::Borrow<Q>, Q: Ord + ?Sized>(counts: &mut BTreeMap<K, usize>, key: &Q) {
    let count = counts.get_mut(key).expect("what is taken out was counted");
    *count -= 1;
    if *count == 0 {
        counts.remove(key);
    }
}
