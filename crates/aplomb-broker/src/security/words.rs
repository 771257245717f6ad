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
    ($(#[$doc:meta])* $type:ident { $($(#[$of:meta])* $word:ident = $code:literal $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i8)]
        pub enum $type {
            $($(#[$of])* $word = $code,)*
        }

        impl $type {
            /// All of them, in the order of their codes.
            pub const ALL: &'static [Self] = &[$(Self::$word,)*];

            /// By its code.
            #[must_use]
            pub const fn from_wire(code: i8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$word),)*
                    _ => None,
                }
            }

            /// Its code.
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
    /// What may be done. In a filter, any.
    AclOperation {
        /// Any; in filters.
        Any = 1 "ANY",
        /// All; in ACLs.
        All = 2 "ALL",
        /// Read.
        Read = 3 "READ",
        /// Write.
        Write = 4 "WRITE",
        /// Create.
        Create = 5 "CREATE",
        /// Delete.
        Delete = 6 "DELETE",
        /// Alter.
        Alter = 7 "ALTER",
        /// Describe.
        Describe = 8 "DESCRIBE",
        /// What brokers do to each other.
        ClusterAction = 9 "CLUSTER_ACTION",
        /// Describe settings.
        DescribeConfigs = 10 "DESCRIBE_CONFIGS",
        /// Alter settings.
        AlterConfigs = 11 "ALTER_CONFIGS",
        /// Produce idempotently.
        IdempotentWrite = 12 "IDEMPOTENT_WRITE",
        /// Create delegation tokens.
        CreateTokens = 13 "CREATE_TOKENS",
        /// Describe delegation tokens.
        DescribeTokens = 14 "DESCRIBE_TOKENS",
        /// Take part in transactions that another system coordinates.
        TwoPhaseCommit = 15 "TWO_PHASE_COMMIT",
    }
}

words! {
    /// What it is done to. In a filter, any.
    ResourceKind {
        /// Any; in filters.
        Any = 1 "ANY",
        /// A topic.
        Topic = 2 "TOPIC",
        /// A group.
        Group = 3 "GROUP",
        /// The cluster.
        Cluster = 4 "CLUSTER",
        /// A transactional id.
        TransactionalId = 5 "TRANSACTIONAL_ID",
        /// A delegation token.
        DelegationToken = 6 "DELEGATION_TOKEN",
        /// A user.
        User = 7 "USER",
    }
}

words! {
    /// How an ACL names resources. In a filter, any.
    PatternKind {
        /// Any; in filters.
        Any = 1 "ANY",
        /// Whatever would match; in filters.
        Match = 2 "MATCH",
        /// One by its name, or all by `*`.
        Literal = 3 "LITERAL",
        /// All whose names begin so.
        Prefixed = 4 "PREFIXED",
    }
}

words! {
    /// What an ACL says. In a filter, any.
    PermissionKind {
        /// Any; in filters.
        Any = 1 "ANY",
        /// It may not be done.
        Deny = 2 "DENY",
        /// It may be done.
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
