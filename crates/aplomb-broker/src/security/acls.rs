//! All ACLs, and an index of them.
//!
//! What always holds: the index says what the ACLs say. Clones are cheap and share what they do not
//! change, so that each image has its own and shards read it without a lock.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use aplomb_model::Uuid;
use aplomb_protocol::messages::AccessControlEntryRecord;

use super::acl::Acl;
use super::host::HostPattern;
use super::patterns::Patterns;
use super::shared_map::SharedMap;
use super::words::{AclOperation, PatternKind, PermissionKind, ResourceKind, WILDCARD, WILDCARD_USER};

/// The permissions of a cluster.
#[derive(Clone, Debug, Default)]
pub struct Acls {
    by_id: SharedMap<Uuid, Arc<Acl>>,
    kinds: [OfKind; KINDS],
}

/// Kinds of resources that there are: 2 to 7 on the wire.
const KINDS: usize = 6;

/// The ACLs of one kind of resource.
#[derive(Clone, Debug, Default)]
struct OfKind {
    /// Those for `*`.
    all: Option<Arc<OnResource>>,
    /// Those for a name or a prefix.
    named: Patterns<Arc<OnResource>>,
    by_principal: SharedMap<Arc<str>, Arc<BTreeMap<Uuid, Arc<Acl>>>>,
}

/// The ACLs with one pattern.
#[derive(Clone, Debug, Default)]
pub(super) struct OnResource {
    of_anyone: Option<Arc<OfPrincipal>>,
    by_principal: BTreeMap<Arc<str>, Arc<OfPrincipal>>,
}

/// The ACLs of one principal with one pattern, by host.
#[derive(Clone, Debug, Default)]
struct OfPrincipal {
    everywhere: Rights,
    hosts: BTreeMap<Box<str>, Rights>,
    networks: BTreeMap<Box<str>, (HostPattern, Rights)>,
}

/// What may be done and what may not, as sets of operations, and the ACLs that say so.
#[derive(Clone, Debug, Default)]
struct Rights {
    allowed: u32,
    denied: u32,
    said_by: Vec<Arc<Acl>>,
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
        let record = acl.record();
        let Some(of_kind) = acl.kind().and_then(|kind| self.of_kind(kind)) else { return false };
        let mut found = false;
        of_kind.visit(&record.resource_name, |on| {
            found |= on.with(&record.principal).any(|rights| rights.says(acl));
            found
        });
        found
    }

    /// Adds one, or another in the place of the one with its id.
    pub fn insert(&mut self, record: &AccessControlEntryRecord) {
        let acl = Arc::new(Acl::new(record.clone()));
        if let Some(old) = self.by_id.insert(record.id, acl.clone()) {
            self.take_out(&old);
        }
        let Some(of_kind) = acl.kind().and_then(|kind| self.of_kind_mut(kind)) else { return };
        let principal: Arc<str> = record.principal.as_str().into();
        if let Some(on) = of_kind.place(&acl) {
            Arc::make_mut(on).of_mut(principal.clone()).add(&acl);
        }
        let mut theirs = of_kind.by_principal.remove(&principal).unwrap_or_default();
        Arc::make_mut(&mut theirs).insert(record.id, acl);
        of_kind.by_principal.insert(principal, theirs);
    }

    /// Removes the one with this id, if it is there.
    pub fn remove(&mut self, id: Uuid) {
        if let Some(acl) = self.by_id.remove(&id) {
            self.take_out(&acl);
        }
    }

    fn take_out(&mut self, acl: &Acl) {
        let Some(of_kind) = acl.kind().and_then(|kind| self.of_kind_mut(kind)) else { return };
        let record = acl.record();
        of_kind.take_out(acl);
        if let Some(mut theirs) = of_kind.by_principal.remove(&*record.principal) {
            Arc::make_mut(&mut theirs).remove(&record.id);
            if !theirs.is_empty() {
                of_kind.by_principal.insert(record.principal.as_str().into(), theirs);
            }
        }
    }

    fn of_kind(&self, kind: ResourceKind) -> Option<&OfKind> {
        self.kinds.get(index_of(kind)?)
    }

    fn of_kind_mut(&mut self, kind: ResourceKind) -> Option<&mut OfKind> {
        self.kinds.get_mut(index_of(kind)?)
    }

    /// Visits what is said of a resource by anybody's ACLs.
    pub(super) fn visit<'a>(
        &'a self,
        kind: ResourceKind,
        name: &str,
        visit: impl FnMut(&'a OnResource) -> bool,
    ) {
        if let Some(of_kind) = self.of_kind(kind) {
            of_kind.visit(name, visit);
        }
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

impl OfKind {
    /// Where an ACL belongs.
    fn place(&mut self, acl: &Acl) -> Option<&mut Arc<OnResource>> {
        let name = &acl.record().resource_name;
        match acl.pattern()? {
            PatternKind::Literal if name == WILDCARD => Some(self.all.get_or_insert_default()),
            PatternKind::Literal => Some(self.named.entry(name, false, Arc::default)),
            PatternKind::Prefixed => Some(self.named.entry(name, true, Arc::default)),
            PatternKind::Any | PatternKind::Match => None,
        }
    }

    fn take_out(&mut self, acl: &Acl) {
        let name = &acl.record().resource_name;
        let take_out = |on: &mut Arc<OnResource>| {
            Arc::make_mut(on).take_out(acl);
            on.is_empty()
        };
        match acl.pattern() {
            Some(PatternKind::Literal) if name == WILDCARD => drop(self.all.take_if(take_out)),
            Some(PatternKind::Literal) => self.named.change(name, false, take_out),
            Some(PatternKind::Prefixed) => self.named.change(name, true, take_out),
            Some(PatternKind::Any | PatternKind::Match) | None => {}
        }
    }

    #[inline]
    fn visit<'a>(&'a self, name: &str, mut visit: impl FnMut(&'a OnResource) -> bool) {
        // Apache Kafka takes other names that begin with `*` for names that the ACL for `*` is a
        // part of and not meant for. Groups and transactional ids can have such.
        let is_part = name.len() > 1 && name.starts_with(WILDCARD);
        if let Some(all) = self.all.as_ref().filter(|_| !is_part)
            && visit(all)
        {
            return;
        }
        self.named.walk(name, |on| visit(on));
    }
}

impl OnResource {
    fn of_mut(&mut self, principal: Arc<str>) -> &mut OfPrincipal {
        let of = if *principal == *WILDCARD_USER {
            self.of_anyone.get_or_insert_default()
        } else {
            self.by_principal.entry(principal).or_default()
        };
        Arc::make_mut(of)
    }

    fn take_out(&mut self, acl: &Acl) {
        let principal = acl.record().principal.as_str();
        let of = if principal == WILDCARD_USER {
            self.of_anyone.as_mut()
        } else {
            self.by_principal.get_mut(principal)
        };
        let Some(of) = of else { return };
        let of = Arc::make_mut(of);
        of.take_out(acl);
        if !of.is_empty() {
            return;
        }
        if principal == WILDCARD_USER {
            self.of_anyone = None;
        } else {
            self.by_principal.remove(principal);
        }
    }

    fn is_empty(&self) -> bool {
        self.of_anyone.is_none() && self.by_principal.is_empty()
    }

    pub(super) fn acls(&self) -> impl Iterator<Item = &Arc<Acl>> {
        let of_each = self.of_anyone.iter().chain(self.by_principal.values());
        of_each.flat_map(|of| of.rights()).flat_map(|rights| &rights.said_by)
    }

    /// What an ACL principal's own text may and may not.
    fn with(&self, principal: &str) -> impl Iterator<Item = &Rights> {
        let of = if principal == WILDCARD_USER {
            self.of_anyone.as_ref()
        } else {
            self.by_principal.get(principal)
        };
        of.into_iter().flat_map(|of| of.rights())
    }

    /// What may be done and what may not by a principal from a host.
    #[inline]
    pub(super) fn rights(&self, principal: &str, host: &str, peer: IpAddr) -> (u32, u32) {
        let theirs = self.by_principal.get(principal).into_iter();
        let (mut allowed, mut denied) = (0, 0);
        for of in theirs.chain(&self.of_anyone) {
            of.from(host, peer, |rights| {
                allowed |= rights.allowed;
                denied |= rights.denied;
            });
        }
        (allowed, denied)
    }

    /// The ACLs that decide on an operation of a principal from a host.
    pub(super) fn deciding<'a>(
        &'a self,
        (principal, host, peer): (&str, &str, IpAddr),
        operation: AclOperation,
        found: &mut Vec<&'a Arc<Acl>>,
    ) {
        let theirs = self.by_principal.get(principal).into_iter();
        for of in theirs.chain(&self.of_anyone) {
            of.from(host, peer, |rights| {
                found.extend(rights.said_by.iter().filter(|acl| covers(acl) & operation.bit() != 0));
            });
        }
    }
}

impl OfPrincipal {
    /// Rights that count for a host.
    #[inline]
    fn from<'a>(&'a self, host: &str, peer: IpAddr, mut visit: impl FnMut(&'a Rights)) {
        visit(&self.everywhere);
        if let Some(rights) = self.hosts.get(host) {
            visit(rights);
        }
        for (network, rights) in self.networks.values() {
            if network.contains(peer) {
                visit(rights);
            }
        }
    }

    fn rights(&self) -> impl Iterator<Item = &Rights> {
        let networks = self.networks.values().map(|(_, rights)| rights);
        std::iter::once(&self.everywhere).chain(self.hosts.values()).chain(networks)
    }

    fn add(&mut self, acl: &Arc<Acl>) {
        let host = acl.record().host.as_str();
        let rights = match &acl.host {
            HostPattern::Any => &mut self.everywhere,
            HostPattern::Text => self.hosts.entry(host.into()).or_default(),
            network => {
                let new = || (network.clone(), Rights::default());
                &mut self.networks.entry(host.into()).or_insert_with(new).1
            }
        };
        rights.add(acl.clone());
    }

    fn take_out(&mut self, acl: &Acl) {
        let host = acl.record().host.as_str();
        match &acl.host {
            HostPattern::Any => self.everywhere.take_out(acl),
            HostPattern::Text => {
                let Some(rights) = self.hosts.get_mut(host) else { return };
                rights.take_out(acl);
                if rights.said_by.is_empty() {
                    self.hosts.remove(host);
                }
            }
            HostPattern::V4 { .. } | HostPattern::V6 { .. } => {
                let Some((_, rights)) = self.networks.get_mut(host) else { return };
                rights.take_out(acl);
                if rights.said_by.is_empty() {
                    self.networks.remove(host);
                }
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.everywhere.said_by.is_empty() && self.hosts.is_empty() && self.networks.is_empty()
    }
}

/// The operations that an ACL decides on.
fn covers(acl: &Acl) -> u32 {
    let Some(operation) = acl.operation() else { return 0 };
    match acl.permission() {
        Some(PermissionKind::Allow) => operation.covered() | operation.implied(),
        Some(PermissionKind::Deny) => operation.covered(),
        Some(PermissionKind::Any) | None => 0,
    }
}

impl Rights {
    fn add(&mut self, acl: Arc<Acl>) {
        match acl.permission() {
            Some(PermissionKind::Allow) => self.allowed |= covers(&acl),
            Some(PermissionKind::Deny) => self.denied |= covers(&acl),
            Some(PermissionKind::Any) | None => {}
        }
        self.said_by.push(acl);
    }

    /// There are no more than a few with the same pattern, principal and host.
    fn take_out(&mut self, acl: &Acl) {
        let mut left = std::mem::take(&mut self.said_by);
        left.retain(|other| other.record().id != acl.record().id);
        (self.allowed, self.denied) = (0, 0);
        left.into_iter().for_each(|acl| self.add(acl));
    }

    fn says(&self, acl: &Acl) -> bool {
        self.said_by.iter().any(|other| other.says_the_same(acl))
    }
}
