//! Creating and deleting ACLs (`AclControlManager`).

use std::collections::BTreeSet;

use aplomb_model::Uuid;
use aplomb_protocol::messages as m;

use super::draft::Draft;
use super::error::AdminError;
use super::{MAX_RECORDS, Random};
use crate::security::{
    Acl, AclFilter, AclOperation, PatternKind, PermissionKind, ResourceKind, WILDCARD, check_network,
};

/// Filters of a request for which every ACL is looked at.
const MOST_WIDE: usize = 100;
/// ACLs that an answer lists: one that several filters mean is there several times.
const MOST_FOUND: usize = 10 * MAX_RECORDS;

impl Draft {
    /// Drafts an ACL, unless there is one that says the same. Its id is given here.
    ///
    /// # Errors
    /// When it is none, or there is no room for it.
    pub fn create_acl(
        &mut self,
        acl: m::AccessControlEntryRecord,
        random: Random<'_>,
    ) -> Result<(), AdminError> {
        self.check_acl(&acl)?;
        if self.image().security.acls.contains(&Acl::new(acl.clone())) {
            return Ok(());
        }
        self.check_room(1)?;
        let id = loop {
            let id = Uuid::from_random(random());
            if let Some(id) = id.filter(|id| self.image().security.acls.get(*id).is_none()) {
                break id;
            }
        };
        self.push(vec![m::AccessControlEntryRecord { id, ..acl }.into()]);
        Ok(())
    }

    fn check_acl(&self, acl: &m::AccessControlEntryRecord) -> Result<(), AdminError> {
        let invalid =
            |what: &str, name: Option<&str>| refuse(format!("Invalid {what} {}", name.unwrap_or("UNKNOWN")));
        match ResourceKind::from_wire(acl.resource_type) {
            None | Some(ResourceKind::Any) => return invalid("resourceType", None),
            Some(_) => {}
        }
        match PatternKind::from_wire(acl.pattern_type) {
            Some(PatternKind::Literal | PatternKind::Prefixed) => {}
            other => return invalid("patternType", other.map(PatternKind::name)),
        }
        match AclOperation::from_wire(acl.operation) {
            None | Some(AclOperation::Any) => return invalid("operation", None),
            Some(_) => {}
        }
        match PermissionKind::from_wire(acl.permission_type) {
            Some(PermissionKind::Allow | PermissionKind::Deny) => {}
            other => return invalid("permissionType", other.map(PermissionKind::name)),
        }
        if acl.resource_name.is_empty() {
            return refuse("Resource name should not be empty");
        }
        if !acl.principal.contains(':') {
            return refuse(format!(
                "Could not parse principal from `{}` (no colon is present separating the principal type \
                 from the principal name)",
                acl.principal
            ));
        }
        self.check_host(&acl.host)
    }

    fn check_host(&self, host: &str) -> Result<(), AdminError> {
        if host.is_empty() {
            return refuse("Host pattern cannot be null or empty");
        }
        if host == WILDCARD || !host.contains('/') {
            return Ok(());
        }
        if !self.image().features.metadata_version().has_networks_in_acls() {
            return Err(AdminError::NetworkInAcl);
        }
        check_network(host).or_else(|error| refuse(format!("Invalid CIDR notation '{host}': {error}")))
    }

    /// Drafts the deletion of the ACLs that each filter means. Gives them, filter by filter.
    ///
    /// # Errors
    /// When they are too many.
    pub fn delete_acls(
        &mut self,
        filters: &[AclFilter<'_>],
    ) -> Result<Vec<Vec<m::AccessControlEntryRecord>>, AdminError> {
        if filters.iter().filter(|filter| filter.is_wide()).count() > MOST_WIDE {
            let why = "filters of a request may name neither a resource nor a principal";
            return Err(AdminError::Request(format!("No more than {MOST_WIDE} {why}.")));
        }
        let (mut gone, mut total) = (BTreeSet::new(), 0);
        let mut found = Vec::with_capacity(filters.len());
        for filter in filters {
            let meant = filter.select(&self.image().security.acls);
            gone.extend(meant.iter().map(|acl| acl.record().id));
            total += meant.len();
            if gone.len() > MAX_RECORDS || total > MOST_FOUND {
                return Err(AdminError::TooManyDeletions);
            }
            found.push(meant.into_iter().map(|acl| acl.record().clone()).collect());
        }
        self.push(gone.into_iter().map(|id| m::RemoveAccessControlEntryRecord { id }.into()).collect());
        Ok(found)
    }
}

fn refuse(why: impl Into<String>) -> Result<(), AdminError> {
    Err(AdminError::Request(why.into()))
}
