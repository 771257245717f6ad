//! The words of ACLs with their numbers on the wire (`AclOperation`, `ResourceType`, `PatternType`,
//! `AclPermissionType`).

use std::fmt;

/// The name that stands for every resource.
pub const WILDCARD: &str = "*";
/// The principal that stands for every one, whatever its type.
pub const WILDCARD_USER: &str = "User:*";
/// The only name of a cluster.
pub const CLUSTER_NAME: &str = "kafka-cluster";

/// Makes an enum of codes, each with a name in capitals.
macro_rules! words {
    ($(#[$doc:meta])* $type:ident { $($word:ident = $code:literal $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i8)]
        pub enum $type {
            $(#[doc = concat!("`", $name, "`")] $word = $code,)*
        }

        impl $type {
            /// All of them, in the order of their codes.
            pub const ALL: &'static [Self] = &[$(Self::$word,)*];

            /// By its number on the wire.
            #[must_use]
            pub const fn from_wire(code: i8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$word),)*
                    _ => None,
                }
            }

            /// As a number on the wire.
            #[must_use]
            pub const fn to_wire(self) -> i8 {
                self as i8
            }

            /// As Apache Kafka writes it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$word => $name,)*
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

words! {
    /// What may be done; ANY is for filters.
    AclOperation {
        Any = 1 "ANY",
        All = 2 "ALL",
        Read = 3 "READ",
        Write = 4 "WRITE",
        Create = 5 "CREATE",
        Delete = 6 "DELETE",
        Alter = 7 "ALTER",
        Describe = 8 "DESCRIBE",
        ClusterAction = 9 "CLUSTER_ACTION",
        DescribeConfigs = 10 "DESCRIBE_CONFIGS",
        AlterConfigs = 11 "ALTER_CONFIGS",
        IdempotentWrite = 12 "IDEMPOTENT_WRITE",
        CreateTokens = 13 "CREATE_TOKENS",
        DescribeTokens = 14 "DESCRIBE_TOKENS",
        TwoPhaseCommit = 15 "TWO_PHASE_COMMIT",
    }
}

words! {
    /// What it is done to; ANY is for filters.
    ResourceKind {
        Any = 1 "ANY",
        Topic = 2 "TOPIC",
        Group = 3 "GROUP",
        Cluster = 4 "CLUSTER",
        TransactionalId = 5 "TRANSACTIONAL_ID",
        DelegationToken = 6 "DELEGATION_TOKEN",
        User = 7 "USER",
    }
}

words! {
    /// How an ACL names resources; a filter's ANY is both, and its MATCH all that would match.
    PatternKind {
        Any = 1 "ANY",
        Match = 2 "MATCH",
        Literal = 3 "LITERAL",
        Prefixed = 4 "PREFIXED",
    }
}

words! {
    /// What an ACL says; ANY is for filters.
    PermissionKind {
        Any = 1 "ANY",
        Deny = 2 "DENY",
        Allow = 3 "ALLOW",
    }
}

impl AclOperation {
    /// One bit of a set of operations.
    #[must_use]
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// What an ACL for this operation is about.
    pub(super) const fn covered(self) -> u32 {
        match self {
            Self::All => u32::MAX,
            one => one.bit(),
        }
    }

    /// What an ACL that allows this operation allows besides.
    pub(super) const fn implied(self) -> u32 {
        match self {
            Self::Read | Self::Write | Self::Delete | Self::Alter => Self::Describe.bit(),
            Self::AlterConfigs => Self::DescribeConfigs.bit(),
            _ => 0,
        }
    }
}

impl ResourceKind {
    /// As the audit log writes it (`SecurityUtils#resourceTypeName`).
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Any => "Any",
            Self::Topic => "Topic",
            Self::Group => "Group",
            Self::Cluster => "Cluster",
            Self::TransactionalId => "TransactionalId",
            Self::DelegationToken => "DelegationToken",
            Self::User => "User",
        }
    }
}
