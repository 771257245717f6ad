//! What a client may do: every API asks here, in the words of the table ([`mod@super::needs`]).
//! Without an authorizer everything is allowed, and nothing is looked up.

use std::sync::Arc;

use aplomb_model::ErrorCode;
use aplomb_protocol::ApiKey;

use super::needs::needs;
use crate::operation::Asked;
use crate::ports::Session;
use crate::security::{AclOperation, Acls, Audit, Authorizer, CLUSTER_NAME, ResourceKind, Who};
use crate::view::View;

/// A resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On<'r> {
    /// The topic of this name.
    Topic(&'r str),
    /// The group with this id.
    Group(&'r str),
    /// A transactional id.
    TransactionalId(&'r str),
    /// The delegation token with this id.
    DelegationToken(&'r str),
    /// A principal, with its type.
    User(&'r str),
    /// There is only one cluster.
    Cluster,
}

impl<'r> On<'r> {
    const fn kind(self) -> ResourceKind {
        match self {
            Self::Topic(_) => ResourceKind::Topic,
            Self::Group(_) => ResourceKind::Group,
            Self::TransactionalId(_) => ResourceKind::TransactionalId,
            Self::DelegationToken(_) => ResourceKind::DelegationToken,
            Self::User(_) => ResourceKind::User,
            Self::Cluster => ResourceKind::Cluster,
        }
    }

    const fn name(self) -> &'r str {
        match self {
            Self::Topic(name)
            | Self::Group(name)
            | Self::TransactionalId(name)
            | Self::DelegationToken(name)
            | Self::User(name) => name,
            Self::Cluster => CLUSTER_NAME,
        }
    }

    /// The code for a client that may not do something to it.
    #[must_use]
    pub const fn refusal(self) -> ErrorCode {
        match self {
            Self::Topic(_) => ErrorCode::TopicAuthorizationFailed,
            Self::Group(_) => ErrorCode::GroupAuthorizationFailed,
            Self::TransactionalId(_) => ErrorCode::TransactionalIdAuthorizationFailed,
            Self::DelegationToken(_) | Self::User(_) => ErrorCode::DelegationTokenAuthorizationFailed,
            Self::Cluster => ErrorCode::ClusterAuthorizationFailed,
        }
    }

    /// What can be done to it, as a set (`AclEntry#supportedOperations`).
    const fn operations(self) -> u32 {
        use AclOperation::{
            Alter, AlterConfigs, ClusterAction, Create, CreateTokens, Delete, Describe, DescribeConfigs,
            DescribeTokens, IdempotentWrite, Read, TwoPhaseCommit, Write,
        };
        let of_each: &[AclOperation] = match self {
            Self::Topic(_) => &[Read, Write, Create, Describe, Delete, Alter, DescribeConfigs, AlterConfigs],
            Self::Group(_) => &[Read, Describe, Delete, DescribeConfigs, AlterConfigs],
            Self::TransactionalId(_) => &[Describe, Write, TwoPhaseCommit],
            Self::DelegationToken(_) => &[Describe],
            Self::User(_) => &[CreateTokens, DescribeTokens],
            Self::Cluster => {
                &[Create, ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite, Alter, Describe]
            }
        };
        let (mut set, mut at) = (0, 0);
        while at < of_each.len() {
            set |= of_each[at].bit();
            at += 1;
        }
        set
    }
}

/// What the client of a request may do.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a>(Option<AccessRules<'a>>);

#[derive(Clone, Copy, Debug)]
struct AccessRules<'a> {
    authorizer: &'a Authorizer,
    acls: &'a Acls,
    who: Who<'a>,
    api: ApiKey,
    audit: &'a Audit,
    audits_grants: bool,
}

impl<'a> Access<'a> {
    /// To everything.
    #[must_use]
    pub const fn open() -> Self {
        Self(None)
    }

    fn new(view: &'a View, session: &'a Session, api: ApiKey, audit: &'a Audit) -> Self {
        let access = &view.config().access;
        Self(access.authorizer.as_deref().map(|authorizer| AccessRules {
            authorizer,
            acls: &view.image().security.acls,
            who: session.who(),
            api,
            audit,
            audits_grants: access.audits_grants,
        }))
    }

    /// Whether every client may do everything.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.0.is_none()
    }

    /// Whether the client may do this. If not, the audit log says so.
    #[inline]
    #[must_use]
    pub fn may(&self, operation: AclOperation, on: On<'_>) -> bool {
        self.0.as_ref().is_none_or(|guard| guard.may(operation, on, true))
    }

    /// The same, where nothing is refused if not: something else may allow it, or the resource is
    /// left out.
    #[inline]
    #[must_use]
    pub fn may_quietly(&self, operation: AclOperation, on: On<'_>) -> bool {
        self.0.as_ref().is_none_or(|guard| guard.may(operation, on, false))
    }

    /// Whether the client may do this.
    ///
    /// # Errors
    /// The code for one that may not.
    #[inline]
    pub fn check(&self, operation: AclOperation, on: On<'_>) -> Result<(), ErrorCode> {
        if self.may(operation, on) { Ok(()) } else { Err(on.refusal()) }
    }

    /// Whether there is any topic that the client may do this to.
    #[must_use]
    pub fn may_to_any_topic(&self, operation: AclOperation) -> bool {
        self.0.as_ref().is_none_or(|guard| {
            guard.assert_need(operation, ResourceKind::Topic);
            guard.authorizer.allows_any(guard.acls, guard.who, operation, ResourceKind::Topic)
        })
    }

    /// What the client may do to a resource, as responses have it.
    #[must_use]
    pub fn operations(&self, on: On<'_>) -> i32 {
        let all = on.operations();
        let allowed = self
            .0
            .as_ref()
            .map_or(all, |guard| guard.authorizer.allowed(guard.acls, guard.who, all, on.kind(), on.name()));
        allowed.cast_signed()
    }

    /// What the client may do to the cluster; nothing if it may not describe it.
    #[must_use]
    pub fn cluster_operations(&self) -> i32 {
        if self.may(AclOperation::Describe, On::Cluster) { self.operations(On::Cluster) } else { 0 }
    }
}

impl AccessRules<'_> {
    fn may(&self, operation: AclOperation, on: On<'_>, is_noted: bool) -> bool {
        self.assert_need(operation, on.kind());
        let allowed = self.authorizer.allows(self.acls, self.who, operation, on.kind(), on.name());
        if (allowed && self.audits_grants) || (!allowed && is_noted) {
            self.audit.note(|| self.line(operation, on, allowed));
        }
        allowed
    }

    fn assert_need(&self, operation: AclOperation, kind: ResourceKind) {
        debug_assert!(
            needs(self.api).is_some_and(|needs| needs.contains(&(operation, kind))),
            "{operation} on {kind} is not in the row of {:?}",
            self.api
        );
    }

    /// In Apache Kafka's words.
    fn line(&self, operation: AclOperation, on: On<'_>, allowed: bool) -> String {
        let (who, api) = (self.who, self.api);
        let is = if allowed { "Allowed" } else { "Denied" };
        let rule = self.authorizer.rule(self.acls, who, operation, on.kind(), on.name());
        format!(
            "Principal = {} is {is} operation = {operation} from host = {} on resource = {}:LITERAL:{} \
             for request = {api:?} with resourceRefCount = 1 based on rule {rule}",
            who.principal,
            who.host,
            on.kind().title(),
            on.name(),
        )
    }
}

/// What it takes to decide when partitions and coordinators have answered.
#[derive(Debug)]
pub(crate) struct LaterAccess {
    view: View,
    session: Arc<Session>,
    api: ApiKey,
}

impl LaterAccess {
    pub(crate) fn with<'a>(&'a self, audit: &'a Audit) -> Access<'a> {
        Access::new(&self.view, &self.session, self.api, audit)
    }
}

impl<'a> Asked<'a> {
    /// What the client may do.
    pub(crate) fn access(&self) -> Access<'a> {
        Access::new(self.view, &self.request.session, self.to.api, self.audit)
    }

    /// The same for later; `None` where everything is allowed.
    pub(crate) fn access_later(&self) -> Option<LaterAccess> {
        self.view.config().access.authorizer.as_ref()?;
        let (view, session) = (self.view.clone(), self.request.session.clone());
        Some(LaterAccess { view, session, api: self.to.api })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_operations_are_the_bits_that_apache_kafka_sends() {
        let all = [On::Topic("t"), On::Group("g"), On::Cluster, On::TransactionalId("x")];
        let sent = all.map(|on| Access::open().operations(on));
        assert_eq!(sent, [3576, 3400, 8096, 33040]);
        let others = [On::DelegationToken("d"), On::User("User:u")];
        assert_eq!(others.map(|on| Access::open().operations(on)), [256, 24576]);
    }
}
