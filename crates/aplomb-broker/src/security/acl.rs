//! One ACL: a record of the metadata log, understood.

use std::cmp::Ordering;
use std::fmt;

use aplomb_protocol::messages::AccessControlEntryRecord;

use super::host::HostPattern;
use super::words::{AclOperation, PatternKind, PermissionKind, ResourceKind};

/// An ACL with its id.
#[derive(Clone, Debug, PartialEq)]
pub struct Acl {
    record: AccessControlEntryRecord,
    pub(super) host: HostPattern,
}

impl Acl {
    /// Of a record, whatever it says: a newer Kafka may know more words.
    #[must_use]
    pub fn new(record: AccessControlEntryRecord) -> Self {
        let host = HostPattern::parse(&record.host);
        Self { record, host }
    }

    /// As the log has it.
    #[must_use]
    pub const fn record(&self) -> &AccessControlEntryRecord {
        &self.record
    }

    pub(super) const fn operation(&self) -> Option<AclOperation> {
        AclOperation::from_wire(self.record.operation)
    }

    pub(super) const fn kind(&self) -> Option<ResourceKind> {
        ResourceKind::from_wire(self.record.resource_type)
    }

    pub(super) const fn pattern(&self) -> Option<PatternKind> {
        PatternKind::from_wire(self.record.pattern_type)
    }

    pub(super) const fn permission(&self) -> Option<PermissionKind> {
        PermissionKind::from_wire(self.record.permission_type)
    }

    /// Whether two say the same, whatever their ids.
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.compare(other).is_eq()
    }

    /// The order in which Apache Kafka looks at ACLs: those of longer names first
    /// (`StandardAcl#compareTo`).
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        let (one, two) = (&self.record, &other.record);
        one.resource_type
            .cmp(&two.resource_type)
            .then_with(|| two.resource_name.cmp(&one.resource_name))
            .then_with(|| one.pattern_type.cmp(&two.pattern_type))
            .then_with(|| one.operation.cmp(&two.operation))
            .then_with(|| one.principal.cmp(&two.principal))
            .then_with(|| one.host.cmp(&two.host))
            .then_with(|| one.permission_type.cmp(&two.permission_type))
    }
}

/// As Apache Kafka shows it.
impl fmt::Display for Acl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let r = &self.record;
        let or_unknown = |name: Option<&'static str>| name.unwrap_or("UNKNOWN");
        write!(
            f,
            "StandardAcl[resourceType={}, resourceName={}, patternType={}, principal={}, host={}, \
             operation={}, permissionType={}]",
            or_unknown(self.kind().map(ResourceKind::name)),
            r.resource_name,
            or_unknown(self.pattern().map(PatternKind::name)),
            r.principal,
            r.host,
            or_unknown(self.operation().map(AclOperation::name)),
            or_unknown(self.permission().map(PermissionKind::name)),
        )
    }
}
