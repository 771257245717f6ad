//! All ACLs, and an index of them.
//!
//! What always holds: the index says what the ACLs say. Clones are cheap and share what they do not
//! change, so that each image has its own and shards read it without a lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use aplomb_model::Uuid;
use aplomb_protocol::messages::AccessControlEntryRecord;

use super::acl::Acl;
use super::of_principal::{OfPrincipal, Who};
use super::patterns::{Form, Key, Patterns};
use super::shared_map::SharedMap;
use super::words::{PatternKind, PermissionKind, ResourceKind, WILDCARD, WILDCARD_USER};

/// The permissions of a cluster.
#[derive(Clone, Debug, Default)]
pub struct Acls {
    by_id: SharedMap<Uuid, Arc<Acl>>,
    kinds: [OfKind; KINDS],
}

/// Kinds of resources that there are: 2 to 7 on the wire.
const KINDS: usize = 6;

type ById = Arc<BTreeMap<Uuid, Arc<Acl>>>;

/// The ACLs of one kind of resource.
#[derive(Clone, Debug, Default)]
struct OfKind {
    /// What each principal may: this decides.
    rights: Patterns<OfPrincipal>,
    /// How many of them deny.
    denials: usize,
    /// The ACLs with a pattern, of whatever principal.
    by_pattern: Patterns<ById>,
    by_principal: SharedMap<Arc<str>, ById>,
}

impl Acls {
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

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Acl>> {
        self.by_id.values()
    }

    /// The one with this id.
    #[must_use]
    pub fn get(&self, id: Uuid) -> Option<&Arc<Acl>> {
        self.by_id.get(&id)
    }

    /// All of them in the order of their ids, as a snapshot has them.
    #[must_use]
    pub fn records(&self) -> Vec<&AccessControlEntryRecord> {
        let mut records: Vec<_> = self.iter().map(|acl| acl.record()).collect();
        records.sort_unstable_by_key(|record| record.id);
        records
    }

    /// Whether there is one that says the same.
    #[must_use]
    pub fn contains(&self, acl: &Acl) -> bool {
        let place = acl.kind().and_then(|kind| self.of_kind(kind)).zip(form_of(acl));
        let said = place.and_then(|(of_kind, form)| of_kind.rights.get(key_of(acl, form)));
        said.is_some_and(|of| of.says(acl))
    }

    /// Adds one, or another in the place of the one with its id.
    pub fn insert(&mut self, record: &AccessControlEntryRecord) {
        let acl = Arc::new(Acl::new(record.clone()));
        if let Some(old) = self.by_id.insert(record.id, acl.clone()) {
            self.take_out(&old);
        }
        if let Some(of_kind) = acl.kind().and_then(|kind| self.of_kind_mut(kind)) {
            of_kind.add(&acl);
        }
    }

    /// Removes the one with this id, if it is there.
    pub fn remove(&mut self, id: Uuid) {
        if let Some(acl) = self.by_id.remove(&id) {
            self.take_out(&acl);
        }
    }

    fn take_out(&mut self, acl: &Acl) {
        if let Some(of_kind) = acl.kind().and_then(|kind| self.of_kind_mut(kind)) {
            of_kind.take_out(acl);
        }
    }

    fn of_kind(&self, kind: ResourceKind) -> Option<&OfKind> {
        self.kinds.get(index_of(kind)?)
    }

    fn of_kind_mut(&mut self, kind: ResourceKind) -> Option<&mut OfKind> {
        self.kinds.get_mut(index_of(kind)?)
    }

    /// Which of these operations a principal may do from its host, as a set.
    #[inline]
    pub(super) fn allowed(&self, who: Who<'_>, wanted: u32, kind: ResourceKind, name: &str) -> u32 {
        let Some(of_kind) = self.of_kind(kind) else { return 0 };
        let (mut allowed, mut denied, denies_nothing) = (0, 0, of_kind.denials == 0);
        of_kind.visit(who.principal, name, |of| {
            let (allows, denies) = of.rights(who);
            allowed |= allows;
            denied |= denies;
            denied & wanted == wanted || (denies_nothing && allowed & wanted == wanted)
        });
        allowed & !denied & wanted
    }

    /// Visits what is said to a principal, and to every one, of a resource.
    pub(super) fn visit<'a>(
        &'a self,
        kind: ResourceKind,
        principal: &str,
        name: &str,
        visit: impl FnMut(&'a OfPrincipal) -> bool,
    ) {
        if let Some(of_kind) = self.of_kind(kind) {
            of_kind.visit(principal, name, visit);
        }
    }

    /// Visits the ACLs that are about a resource, of whatever principal, a pattern at a time.
    pub(super) fn about<'a>(
        &'a self,
        kind: ResourceKind,
        name: &str,
        mut visit: impl FnMut(&'a BTreeMap<Uuid, Arc<Acl>>) -> bool,
    ) {
        if let Some(of_kind) = self.of_kind(kind) {
            of_kind.by_pattern.walk([""], name, counts_for_all(name), |acls| visit(acls));
        }
    }

    /// Whether any ACL is about a resource, of any principal.
    pub(super) fn has_any_about(&self, kind: ResourceKind, name: &str) -> bool {
        let mut is_known = false;
        self.about(kind, name, |_| {
            is_known = true;
            true
        });
        is_known
    }

    /// The ACLs of a principal, and of every one, for a kind of resource.
    pub(super) fn of_principal(&self, kind: ResourceKind, principal: &str) -> impl Iterator<Item = &Acl> {
        let anyone = (principal != WILDCARD_USER).then(|| self.of_principal_alone(kind, WILDCARD_USER));
        let theirs = self.of_principal_alone(kind, principal);
        anyone.into_iter().flatten().chain(theirs).map(|acl| &**acl)
    }

    /// The ACLs with this very principal, for a kind of resource.
    pub(super) fn of_principal_alone(
        &self,
        kind: ResourceKind,
        principal: &str,
    ) -> impl Iterator<Item = &Arc<Acl>> {
        let theirs = self.of_kind(kind).and_then(|of_kind| of_kind.by_principal.get(principal));
        theirs.into_iter().flat_map(|acls| acls.values())
    }
}

/// The ids are the log's: two that say the same under other ids are not equal.
impl PartialEq for Acls {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.iter().all(|acl| other.get(acl.record().id).is_some_and(|same| **same == **acl))
    }
}

fn index_of(kind: ResourceKind) -> Option<usize> {
    usize::try_from(kind.to_wire() - 2).ok()
}

/// The pattern of an ACL; `None` for one that a newer Kafka knows.
fn form_of(acl: &Acl) -> Option<Form> {
    match acl.pattern()? {
        PatternKind::Literal if acl.record().resource_name == WILDCARD => Some(Form::All),
        PatternKind::Literal => Some(Form::Literal),
        PatternKind::Prefixed => Some(Form::Prefixed),
        PatternKind::Any | PatternKind::Match => None,
    }
}

fn key_of(acl: &Acl, form: Form) -> Key<'_> {
    let record = acl.record();
    let text = if form == Form::All { "" } else { &record.resource_name };
    Key { owner: &record.principal, form, text }
}

/// Apache Kafka takes names that begin with `*` and are longer for names that the ACL for `*` is a
/// part of and not meant for. Groups and transactional ids can have such.
#[inline]
fn counts_for_all(name: &str) -> bool {
    name == WILDCARD || !name.starts_with(WILDCARD)
}

impl OfKind {
    fn add(&mut self, acl: &Arc<Acl>) {
        let record = acl.record();
        if let Some(form) = form_of(acl) {
            let key = key_of(acl, form);
            self.rights.entry(key, OfPrincipal::default).add(acl);
            self.denials += usize::from(acl.permission() == Some(PermissionKind::Deny));
            let acls = self.by_pattern.entry(Key { owner: "", ..key }, Arc::default);
            Arc::make_mut(acls).insert(record.id, Arc::clone(acl));
        }
        let principal: Arc<str> = record.principal.as_str().into();
        let mut theirs = self.by_principal.remove(&principal).unwrap_or_default();
        Arc::make_mut(&mut theirs).insert(record.id, Arc::clone(acl));
        self.by_principal.insert(principal, theirs);
    }

    fn take_out(&mut self, acl: &Acl) {
        let record = acl.record();
        if let Some(form) = form_of(acl) {
            let key = key_of(acl, form);
            self.rights.change(key, |of| {
                of.take_out(acl);
                of.is_empty()
            });
            self.denials -= usize::from(acl.permission() == Some(PermissionKind::Deny));
            self.by_pattern.change(Key { owner: "", ..key }, |acls| {
                Arc::make_mut(acls).remove(&record.id);
                acls.is_empty()
            });
        }
        if let Some(mut theirs) = self.by_principal.remove(&*record.principal) {
            Arc::make_mut(&mut theirs).remove(&record.id);
            if !theirs.is_empty() {
                self.by_principal.insert(record.principal.as_str().into(), theirs);
            }
        }
    }

    #[inline]
    fn visit<'a>(&'a self, principal: &str, name: &str, visit: impl FnMut(&'a OfPrincipal) -> bool) {
        self.rights.walk([principal, WILDCARD_USER], name, counts_for_all(name), visit);
    }
}
