//! What an error code means for a batch that it answers.

use aplomb_model::ErrorCode;

/// What becomes of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is sent again later, to the same broker.
    Again,
    /// It is sent again to the leader that new metadata name.
    Elsewhere,
    /// The broker expects another sequence number of this producer.
    SequenceBroken,
    /// It is given up.
    Final,
}

impl Verdict {
    /// As Apache Kafka's producer has it: `RetriableException`, of these
    /// `InvalidMetadataException`, and what `TransactionManager.canRetry` and `handleFailedBatch`
    /// do with sequence errors.
    pub(super) fn of(code: ErrorCode) -> Self {
        match code {
            ErrorCode::NotLeaderOrFollower
            | ErrorCode::LeaderNotAvailable
            | ErrorCode::UnknownTopicOrPartition
            | ErrorCode::UnknownTopicId
            | ErrorCode::InconsistentTopicId
            | ErrorCode::FencedLeaderEpoch
            | ErrorCode::UnknownLeaderEpoch
            | ErrorCode::ReplicaNotAvailable
            | ErrorCode::KafkaStorageError
            | ErrorCode::NetworkException => Self::Elsewhere,
            ErrorCode::RequestTimedOut
            | ErrorCode::NotEnoughReplicas
            | ErrorCode::NotEnoughReplicasAfterAppend
            | ErrorCode::CorruptMessage
            | ErrorCode::ThrottlingQuotaExceeded
            | ErrorCode::CoordinatorLoadInProgress
            | ErrorCode::CoordinatorNotAvailable => Self::Again,
            ErrorCode::OutOfOrderSequenceNumber
            | ErrorCode::UnknownProducerId
            | ErrorCode::InvalidProducerEpoch => Self::SequenceBroken,
            _ => Self::Final,
        }
    }
}
