//! What ACLs with one pattern say to one principal, by where it comes from.
//!
//! What counts everywhere stands in the table itself, where a decision finds it; what counts for
//! hosts and networks, and the ACLs that say all of it, are behind a pointer.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use super::acl::Acl;
use super::host::HostPattern;
use super::words::{AclOperation, PermissionKind};

/// Who wants to do something, and from where.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    /// `User:alice`
    pub principal: &'a str,
    /// The address as Java writes it.
    pub host: &'a str,
    /// The same as a number, for networks.
    pub peer: IpAddr,
}

/// What a principal may and may not, as sets of operations.
#[derive(Clone, Debug, Default)]
pub(super) struct OfPrincipal {
    /// From everywhere.
    allowed: u32,
    denied: u32,
    /// Whether hosts or networks have rights of their own.
    has_places: bool,
    by_host: Arc<ByHost>,
}

#[derive(Clone, Debug, Default)]
struct ByHost {
    everywhere: Rights,
    hosts: HashMap<Box<str>, Rights>,
    networks: HashMap<HostPattern, Rights>,
    /// The widths of networks, and how many have them: an address is looked for once for each.
    widths: BTreeMap<HostPattern, usize>,
}

/// What may be done and what may not, as sets of operations, and the ACLs that say so.
#[derive(Clone, Debug, Default)]
struct Rights {
    allowed: u32,
    denied: u32,
    said_by: Vec<Arc<Acl>>,
}

impl OfPrincipal {
    /// What may be done and what may not from a host.
    #[inline]
    pub(super) fn rights(&self, who: Who<'_>) -> (u32, u32) {
        let (mut allowed, mut denied) = (self.allowed, self.denied);
        if self.has_places {
            self.by_host.places(who, |rights| {
                allowed |= rights.allowed;
                denied |= rights.denied;
            });
        }
        (allowed, denied)
    }

    /// The ACLs that decide on an operation from a host.
    pub(super) fn deciding<'a>(
        &'a self,
        who: Who<'_>,
        operation: AclOperation,
        found: &mut Vec<&'a Arc<Acl>>,
    ) {
        let mut take = |rights: &'a Rights| {
            found.extend(rights.said_by.iter().filter(|acl| covers(acl) & operation.bit() != 0));
        };
        take(&self.by_host.everywhere);
        self.by_host.places(who, take);
    }

    /// Whether one of the ACLs says the same as another.
    pub(super) fn says(&self, acl: &Acl) -> bool {
        let by_host = &self.by_host;
        let rights = match &acl.host {
            HostPattern::Any => Some(&by_host.everywhere),
            HostPattern::Text => by_host.hosts.get(acl.record().host.as_str()),
            network => by_host.networks.get(network),
        };
        rights.is_some_and(|rights| rights.said_by.iter().any(|other| other.says_the_same(acl)))
    }

    pub(super) fn add(&mut self, acl: &Arc<Acl>) {
        let by_host = Arc::make_mut(&mut self.by_host);
        let rights = match &acl.host {
            HostPattern::Any => &mut by_host.everywhere,
            HostPattern::Text => by_host.hosts.entry(acl.record().host.as_str().into()).or_default(),
            network => {
                let rights = by_host.networks.entry(network.clone()).or_default();
                if rights.said_by.is_empty() {
                    *by_host.widths.entry(network.width()).or_default() += 1;
                }
                rights
            }
        };
        rights.add(Arc::clone(acl));
        self.sum_up();
    }

    pub(super) fn take_out(&mut self, acl: &Acl) {
        let by_host = Arc::make_mut(&mut self.by_host);
        match &acl.host {
            HostPattern::Any => by_host.everywhere.take_out(acl),
            HostPattern::Text => {
                let host = acl.record().host.as_str();
                let Some(rights) = by_host.hosts.get_mut(host) else { return };
                rights.take_out(acl);
                if rights.said_by.is_empty() {
                    by_host.hosts.remove(host);
                }
            }
            network => {
                let Some(rights) = by_host.networks.get_mut(network) else { return };
                rights.take_out(acl);
                if rights.said_by.is_empty() {
                    by_host.networks.remove(network);
                    let width = network.width();
                    let of_it = by_host.widths.get_mut(&width).expect("it was counted");
                    *of_it -= 1;
                    if *of_it == 0 {
                        by_host.widths.remove(&width);
                    }
                }
            }
        }
        self.sum_up();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_host.everywhere.said_by.is_empty() && !self.has_places
    }

    fn sum_up(&mut self) {
        let by_host = &*self.by_host;
        (self.allowed, self.denied) = (by_host.everywhere.allowed, by_host.everywhere.denied);
        self.has_places = !by_host.hosts.is_empty() || !by_host.networks.is_empty();
    }
}

impl ByHost {
    /// Rights that count for a host, and not everywhere.
    fn places<'a>(&'a self, who: Who<'_>, mut visit: impl FnMut(&'a Rights)) {
        if let Some(rights) = self.hosts.get(who.host) {
            visit(rights);
        }
        for network in self.widths.keys().filter_map(|width| width.around(who.peer)) {
            if let Some(rights) = self.networks.get(&network) {
                visit(rights);
            }
        }
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
}
