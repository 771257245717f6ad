//! Decisions: a super user may do everything; what an ACL denies is denied; what an ACL allows is
//! allowed; the settings say what becomes of a resource that no ACL is about.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::acl::Acl;
use super::acls::Acls;
use super::host::HostPattern;
use super::of_principal::Who;
use super::patterns::{Form, Key, Patterns};
use super::words::{AclOperation, PatternKind, PermissionKind, ResourceKind, WILDCARD};

/// What a decision rests on, as the audit log shows it.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// `super.users`
    SuperUser,
    /// The ACL that Apache Kafka would name.
    Acl(Arc<Acl>),
    /// No ACL is about the resource, and the settings allow everything then.
    DefaultAllow,
    /// No ACL allows it.
    DefaultDeny,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SuperUser => f.write_str("SuperUser"),
            Self::Acl(acl) => write!(f, "MatchingAcl(acl={acl})"),
            Self::DefaultAllow => f.write_str("DefaultAllow"),
            Self::DefaultDeny => f.write_str("DefaultDeny"),
        }
    }
}

/// Settings of access control.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authorizer {
    /// `super.users`
    pub super_users: BTreeSet<String>,
    /// Whether a resource that no ACL is about is open to every client.
    pub allows_without_acl: bool,
}

/// A name that no pattern but `*` is meant for: Apache Kafka asks for it to find out whether
/// a client may do something to every topic.
const ANY_NAME: &str = "hardcode";

impl Authorizer {
    /// Whether `who` may do this.
    #[must_use]
    pub fn allows(
        &self,
        acls: &Acls,
        who: Who<'_>,
        operation: AclOperation,
        kind: ResourceKind,
        name: &str,
    ) -> bool {
        self.allowed(acls, who, operation.bit(), kind, name) != 0
    }

    /// Which of these operations `who` may do, as a set.
    #[must_use]
    pub fn allowed(&self, acls: &Acls, who: Who<'_>, wanted: u32, kind: ResourceKind, name: &str) -> u32 {
        if self.super_users.contains(who.principal) {
            return wanted;
        }
        let allowed = acls.allowed(who, wanted, kind, name);
        if allowed == 0 && self.allows_without_acl && !acls.has_any_about(kind, name) {
            return wanted;
        }
        allowed
    }

    /// What the decision rests on. For the audit log: it takes longer than deciding.
    #[must_use]
    pub fn rule(
        &self,
        acls: &Acls,
        who: Who<'_>,
        operation: AclOperation,
        kind: ResourceKind,
        name: &str,
    ) -> Rule {
        if self.super_users.contains(who.principal) {
            return Rule::SuperUser;
        }
        let mut found = Vec::new();
        acls.visit(kind, who.principal, name, |of| {
            of.deciding(who, operation, &mut found);
            false
        });
        // The order in which Apache Kafka looks: those for `*` last.
        let is_for_all = |acl: &Acl| {
            acl.record().resource_name == WILDCARD
                && acl.pattern() == Some(PatternKind::Literal)
                && name != WILDCARD
        };
        found.sort_by(|one, two| is_for_all(one).cmp(&is_for_all(two)).then_with(|| one.compare(two)));
        let denies = |acl: &&&Arc<Acl>| acl.permission() == Some(PermissionKind::Deny);
        match found.iter().find(denies).or(found.last()) {
            Some(acl) => Rule::Acl(Arc::clone(acl)),
            None if self.allows_without_acl && !acls.has_any_about(kind, name) => Rule::DefaultAllow,
            None => Rule::DefaultDeny,
        }
    }

    /// Whether there is any resource of a kind that `who` may do this to
    /// (`Authorizer#authorizeByResourceType`). What another operation implies does not count.
    #[must_use]
    pub fn allows_any(&self, acls: &Acls, who: Who<'_>, operation: AclOperation, kind: ResourceKind) -> bool {
        if self.allows(acls, who, operation, kind, ANY_NAME) {
            return true;
        }
        let counts = |acl: &&Acl| {
            let is_from_there = match &acl.host {
                HostPattern::Any => true,
                HostPattern::Text => acl.record().host == who.host,
                network => network.contains(who.peer),
            };
            is_from_there && acl.operation().is_some_and(|of| of == operation || of == AclOperation::All)
        };
        let theirs: Vec<&Acl> = acls.of_principal(kind, who.principal).filter(counts).collect();
        let mut denied = Patterns::default();
        for acl in theirs.iter().filter(|acl| acl.permission() == Some(PermissionKind::Deny)) {
            let name = acl.record().resource_name.as_str();
            match acl.pattern() {
                Some(PatternKind::Literal) if name == WILDCARD => return false,
                Some(pattern) => {
                    let form = if pattern == PatternKind::Prefixed { Form::Prefixed } else { Form::Literal };
                    denied.entry(Key { owner: "", form, text: name }, || pattern);
                }
                None => {}
            }
        }
        theirs.iter().filter(|acl| acl.permission() == Some(PermissionKind::Allow)).any(|acl| {
            let (name, pattern) = (acl.record().resource_name.as_str(), acl.pattern());
            let mut is_denied = false;
            denied.walk([""], name, false, |of| {
                is_denied |= pattern == Some(PatternKind::Literal) || *of == PatternKind::Prefixed;
                is_denied
            });
            !is_denied || (pattern == Some(PatternKind::Literal) && name == WILDCARD)
        })
    }
}
