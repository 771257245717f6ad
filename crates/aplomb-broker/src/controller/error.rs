//! Why the controller says no. Each variant asks for its code; the sentences say what Apache
//! Kafka's say, since people search for them.

use aplomb_model::{BrokerId, ErrorCode, TopicId};

use crate::config::{TopicConfigError, ValueError};
use crate::quotas::Throttled;

/// A refusal.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AdminError {
    /// Not a topic's name.
    #[error("Topic name is invalid: {0}")]
    TopicName(String),
    /// Its metrics would be those of another topic.
    #[error("Topic '{name}' collides with existing topic: {existing}")]
    TopicCollision {
        /// The new name.
        name: String,
        /// The name that is there.
        existing: String,
    },
    /// The name is taken.
    #[error("Topic '{0}' already exists.")]
    TopicExists(String),
    /// There is none.
    #[error("The topic '{0}' does not exist.")]
    UnknownTopic(String),
    /// There is none with this id.
    #[error("This server does not host topic ID {0}.")]
    UnknownTopicId(TopicId),
    /// The number of partitions.
    #[error("Number of partitions was set to an invalid non-positive value.")]
    NoPartitions,
    /// The number of partitions, for an existing topic.
    #[error("Topic already has {0} partition(s).")]
    SamePartitions(usize),
    /// The number of partitions, for an existing topic.
    #[error("The topic {topic} currently has {current} partition(s); {wanted} would not be an increase.")]
    FewerPartitions {
        /// The topic that is to have more.
        topic: String,
        /// How many it has.
        current: usize,
        /// How many are asked for.
        wanted: i32,
    },
    /// The number of replicas.
    #[error("Replication factor must be larger than 0, or -1 to use the default value.")]
    NoReplicas,
    /// The number of replicas.
    #[error(
        "Unable to replicate the partition {wanted} time(s): The target replication factor of {wanted} cannot be reached because only {registered} broker(s) are registered or some brokers have all their log directories cordoned."
    )]
    TooFewBrokers {
        /// How many replicas are asked for.
        wanted: i16,
        /// How many brokers there are.
        registered: usize,
    },
    /// No replica can lead.
    #[error(
        "Unable to replicate the partition {0} time(s): All brokers are currently fenced or in controlled shutdown."
    )]
    NoLiveBroker(i16),
    /// Both counts and an assignment.
    #[error("A manual partition assignment was specified, but {0} was not set to -1.")]
    CountAndAssignment(&'static str),
    /// An assignment that cannot be.
    #[error("{0}")]
    Assignment(String),
    /// No such topic or partition, in words of their own.
    #[error("{0}")]
    NotFound(String),
    /// There is no reassignment that could be cancelled.
    #[error("No partition reassignment is in progress.")]
    NoReassignment,
    /// Settings that cannot be.
    #[error(transparent)]
    TopicConfig(#[from] TopicConfigError),
    /// Settings that cannot be, of a broker.
    #[error(transparent)]
    BrokerConfig(#[from] ValueError),
    /// Settings that cannot be.
    #[error("{0}")]
    Config(String),
    /// A value that is no value.
    #[error("Null value not supported for topic configs: {0}")]
    NullConfigs(String),
    /// A resource that cannot be changed, or not in this way.
    #[error("{0}")]
    Request(String),
    /// A level that a feature cannot have, or cannot go to from where it is.
    #[error("Invalid update version {level} for feature {feature}. {why}")]
    FeatureLevel {
        /// The feature that cannot have it.
        feature: String,
        /// The level that was asked for.
        level: i16,
        /// Why not.
        why: String,
    },
    /// Records would be lost on the way to this level.
    #[error("Unsupported metadata.version downgrade from {from} to {to}. {why}")]
    MetadataDowngrade {
        /// The level that there is.
        from: i16,
        /// The level that was asked for.
        to: i16,
        /// Why not.
        why: &'static str,
    },
    /// A password for SCRAM that cannot be.
    #[error("{0}")]
    Scram(&'static str),
    /// A salted password of no bytes.
    #[error("The salted password must not be empty")]
    EmptyScram,
    /// A mechanism that there is not.
    #[error("Unknown SCRAM mechanism")]
    ScramMechanism,
    /// There is none to take away.
    #[error("Attempt to delete a user credential that does not exist")]
    NoScram,
    /// A user that is named twice.
    #[error("A user credential cannot be altered twice in the same request")]
    ScramTwice,
    /// No such broker.
    #[error("No node with id {0} found.")]
    UnknownBroker(BrokerId),
    /// `delete.topic.enable` is false.
    #[error("Topic deletion is disabled.")]
    DeletionDisabled,
    /// More than one request may ask for.
    #[error("Unable to perform excessively large batch operation.")]
    TooManyRecords,
    /// More than one request may ask for.
    #[error("Excessively large number of partitions per request.")]
    TooManyPartitions,
    /// More than one request may ask for.
    #[error("Cannot remove more than {} acls in a single delete operation.", super::MAX_RECORDS)]
    TooManyDeletions,
    /// The cluster's `metadata.version` is too low for an ACL with a network.
    #[error("CIDR-based ACL host patterns require metadata version 4.4-IV1 or higher.")]
    NetworkInAcl,
    /// The client may not do that.
    #[error("{}", denial(*.0))]
    Denied(ErrorCode),
    /// The client has used up what it may create and delete.
    #[error("The throttling quota has been exceeded.")]
    Throttled,
}

/// What Apache Kafka says in words of what a client may not do.
fn denial(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::TopicAuthorizationFailed => "Topic authorization failed.",
        ErrorCode::GroupAuthorizationFailed => "Group authorization failed.",
        ErrorCode::TransactionalIdAuthorizationFailed => "Transactional Id authorization failed.",
        _ => "Cluster authorization failed.",
    }
}

impl From<Throttled> for AdminError {
    fn from(_: Throttled) -> Self {
        Self::Throttled
    }
}

impl From<&AdminError> for ErrorCode {
    fn from(error: &AdminError) -> Self {
        match error {
            AdminError::TopicName(_) | AdminError::TopicCollision { .. } => Self::InvalidTopicException,
            AdminError::TopicExists(_) => Self::TopicAlreadyExists,
            AdminError::UnknownTopic(_) | AdminError::NotFound(_) => Self::UnknownTopicOrPartition,
            AdminError::NoReassignment => Self::NoReassignmentInProgress,
            AdminError::UnknownTopicId(_) => Self::UnknownTopicId,
            AdminError::NoPartitions | AdminError::SamePartitions(_) | AdminError::FewerPartitions { .. } => {
                Self::InvalidPartitions
            }
            AdminError::NoReplicas | AdminError::TooFewBrokers { .. } | AdminError::NoLiveBroker(_) => {
                Self::InvalidReplicationFactor
            }
            AdminError::CountAndAssignment(_) | AdminError::Request(_) | AdminError::TooManyDeletions => {
                Self::InvalidRequest
            }
            AdminError::NetworkInAcl => Self::UnsupportedVersion,
            AdminError::Denied(code) => *code,
            AdminError::Assignment(_) => Self::InvalidReplicaAssignment,
            AdminError::TopicConfig(_)
            | AdminError::BrokerConfig(_)
            | AdminError::Config(_)
            | AdminError::NullConfigs(_) => Self::InvalidConfig,
            AdminError::FeatureLevel { .. } | AdminError::MetadataDowngrade { .. } => {
                Self::InvalidUpdateVersion
            }
            AdminError::Scram(_) => Self::UnacceptableCredential,
            AdminError::EmptyScram => Self::UnknownServerError,
            AdminError::ScramMechanism => Self::UnsupportedSaslMechanism,
            AdminError::NoScram => Self::ResourceNotFound,
            AdminError::ScramTwice => Self::DuplicateResource,
            AdminError::UnknownBroker(_) => Self::BrokerIdNotRegistered,
            AdminError::DeletionDisabled => Self::TopicDeletionDisabled,
            AdminError::TooManyRecords | AdminError::TooManyPartitions => Self::PolicyViolation,
            AdminError::Throttled => Self::ThrottlingQuotaExceeded,
        }
    }
}
