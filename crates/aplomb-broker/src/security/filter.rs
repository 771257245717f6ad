//! Which ACLs are meant (`AclBindingFilter`).

use std::sync::Arc;

use super::acl::Acl;
use super::acls::Acls;
use super::words::{AclOperation, PatternKind, PermissionKind, ResourceKind, WILDCARD};

/// A filter, with what does not matter left out.
#[derive(Clone, Debug)]
pub struct AclFilter<'a> {
    /// Of what kind of resource; `Any` matches all.
    pub kind: ResourceKind,
    /// By which name, if that matters; the same below.
    pub name: Option<&'a str>,
    /// By which pattern; `Any`, or all that would match the name.
    pub pattern: PatternKind,
    /// For whom, as the ACL has it.
    pub principal: Option<&'a str>,
    /// From where, as the ACL has it.
    pub host: Option<&'a str>,
    /// About what; `Any`.
    pub operation: AclOperation,
    /// With what effect; `Any`.
    pub permission: PermissionKind,
}

impl AclFilter<'_> {
    /// Whether an ACL is meant.
    #[must_use]
    pub fn matches(&self, acl: &Acl) -> bool {
        let record = acl.record();
        (self.kind == ResourceKind::Any || acl.kind() == Some(self.kind))
            && self.matches_name(acl)
            && self.principal.is_none_or(|principal| principal == record.principal)
            && self.host.is_none_or(|host| host == record.host)
            && (self.operation == AclOperation::Any || acl.operation() == Some(self.operation))
            && (self.permission == PermissionKind::Any || acl.permission() == Some(self.permission))
    }

    fn matches_name(&self, acl: &Acl) -> bool {
        let (theirs, pattern) = (acl.record().resource_name.as_str(), acl.pattern());
        match (self.pattern, self.name) {
            (PatternKind::Any | PatternKind::Match, None) => true,
            (PatternKind::Any, Some(name)) => name == theirs,
            (PatternKind::Match, Some(name)) => match pattern {
                Some(PatternKind::Literal) => name == theirs || theirs == WILDCARD,
                Some(PatternKind::Prefixed) => name.starts_with(theirs),
                _ => false,
            },
            (wanted, name) => pattern == Some(wanted) && name.is_none_or(|name| name == theirs),
        }
    }

    /// Whether every ACL has to be looked at to find those that are meant: the index has them by
    /// name and by principal.
    #[must_use]
    pub fn is_wide(&self) -> bool {
        let is_odd = |name: &str| name != WILDCARD && name.starts_with(WILDCARD);
        self.name.is_none_or(is_odd) && self.principal.is_none()
    }

    /// The ACLs that are meant, in Apache Kafka's order.
    #[must_use]
    pub fn select<'a>(&self, acls: &'a Acls) -> Vec<&'a Arc<Acl>> {
        let mut found = Vec::new();
        let mut take = |acl: &'a Arc<Acl>| {
            if self.matches(acl) {
                found.push(acl);
            }
        };
        let of_kinds =
            ResourceKind::ALL.iter().filter(|kind| [ResourceKind::Any, **kind].contains(&self.kind));
        match (self.name, self.principal) {
            _ if self.is_wide() => acls.iter().for_each(take),
            (_, Some(principal)) => {
                of_kinds.for_each(|kind| acls.of_principal_alone(*kind, principal).for_each(&mut take));
            }
            (Some(name), None) => of_kinds.for_each(|kind| {
                acls.about(*kind, name, |found| {
                    found.values().for_each(&mut take);
                    false
                });
            }),
            (None, None) => unreachable!("it is wide"),
        }
        found.sort_by(|one, two| one.compare(two));
        found
    }
}
