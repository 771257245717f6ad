//! A partition's part of a fetch: what is wished of it, how far that is, and what it says in the
//! response.

use aplomb_model::{ErrorCode, LeaderEpoch, Offset};
use aplomb_protocol::EncodeError;
use aplomb_protocol::hot::fetch_response::{FetchResponseWriter, FetchedPartition};
use aplomb_protocol::messages::fetch_response::{AbortedTransaction, EpochEndOffset};

use crate::calls::{PartitionKey, ReadRecords, ReadRefusal};
use crate::fetch_sessions::{FetchKey, LastSent, PartitionData, PartitionResult};
use crate::figures::Count;

/// From this version on, a storage error has a code of its own.
const STORAGE_ERROR_FROM: i16 = 6;

#[derive(Debug)]
pub(super) struct FetchPart {
    pub(super) key: FetchKey,
    pub(super) wish: PartitionData,
    pub(super) target: Result<PartitionKey, ErrorCode>,
    pub(super) answer: Option<Result<ReadRecords, ReadRefusal>>,
    /// Bytes that the read under way may bring.
    pub(super) reserved: u64,
    /// Bytes of records that the answer had.
    pub(super) found: u64,
    /// They are not in hand any more.
    pub(super) let_go: bool,
    pub(super) state: PartState,
    /// Watches that were asked for and have not come true. Of those that were replaced nothing is
    /// heard, so that this may be more than there are.
    pub(super) watches: u32,
}

/// How far a partition's part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartState {
    /// There is an answer, and nothing more is asked for.
    Told,
    /// It was asked for.
    Reading,
    /// The disk has been asked for it.
    OnDisk,
    /// There is an answer, and the partition says once when there is more.
    Watched,
}

impl FetchPart {
    pub(super) fn new(key: FetchKey, wish: PartitionData, target: Result<PartitionKey, ErrorCode>) -> Self {
        let state = PartState::Told;
        Self { key, wish, target, answer: None, reserved: 0, found: 0, let_go: false, state, watches: 0 }
    }

    /// Bytes of records in hand.
    pub(super) fn bytes(&self) -> u64 {
        match &self.answer {
            Some(Ok(read)) => read.records.iter().map(|slice| slice.len() as u64).sum(),
            Some(Err(_)) | None => 0,
        }
    }

    pub(super) fn count_sent(&self) {
        if let Some(Ok(read)) = &self.answer {
            let bytes = self.bytes();
            if bytes > 0 {
                read.figures.add(Count::BytesOut, bytes);
            }
        }
    }

    pub(super) fn result(&self) -> PartitionResult {
        let sent = match &self.answer {
            Some(Ok(read)) => LastSent {
                high_watermark: read.high_watermark.to_wire(),
                log_start: read.log_start.to_wire(),
            },
            Some(Err(ReadRefusal::Diverging { high_watermark, log_start, .. })) => {
                LastSent { high_watermark: high_watermark.to_wire(), log_start: log_start.to_wire() }
            }
            Some(Err(ReadRefusal::Error { .. })) | None => LastSent { high_watermark: -1, log_start: -1 },
        };
        PartitionResult {
            sent,
            has_records: self.bytes() > 0,
            error: self.target.is_err() || matches!(self.answer, Some(Err(ReadRefusal::Error { .. }))),
            diverging: matches!(self.answer, Some(Err(ReadRefusal::Diverging { .. }))),
        }
    }

    pub(super) fn write(
        &self,
        response: &mut FetchResponseWriter,
        version: i16,
        committed_only: bool,
    ) -> Result<(), EncodeError> {
        let index = self.key.partition.0;
        let error = |error: ErrorCode| {
            let known = error != ErrorCode::KafkaStorageError || version >= STORAGE_ERROR_FROM;
            if known { error } else { ErrorCode::NotLeaderOrFollower }
        };
        let read = match (&self.target, &self.answer) {
            (Err(code), _) => {
                let is_of_topic = matches!(
                    code,
                    ErrorCode::UnknownTopicOrPartition
                        | ErrorCode::UnknownTopicId
                        | ErrorCode::TopicAuthorizationFailed
                );
                return response.partition(&FetchedPartition {
                    aborted_transactions: is_of_topic.then_some(&[]),
                    ..FetchedPartition::refused(index, error(*code).to_wire())
                });
            }
            (Ok(_), Some(Ok(read))) => read,
            (Ok(_), Some(Err(ReadRefusal::Error { error: code, .. }))) => {
                return response.partition(&FetchedPartition::refused(index, error(*code).to_wire()));
            }
            (Ok(_), Some(Err(ReadRefusal::Diverging { epoch, end, high_watermark, log_start }))) => {
                return response.partition(&FetchedPartition {
                    high_watermark: high_watermark.to_wire(),
                    last_stable_offset: high_watermark.to_wire(),
                    log_start_offset: log_start.to_wire(),
                    diverging_epoch: EpochEndOffset {
                        epoch: epoch.map_or(-1, LeaderEpoch::to_wire),
                        end_offset: end.map_or(-1, Offset::to_wire),
                    },
                    ..FetchedPartition::refused(index, 0)
                });
            }
            (Ok(_), None) => unreachable!("a fetch is answered when its partitions have answered"),
        };
        let aborted: Vec<AbortedTransaction> = read
            .aborted
            .iter()
            .map(|(producer_id, first)| AbortedTransaction {
                producer_id: *producer_id,
                first_offset: first.to_wire(),
            })
            .collect();
        response.partition(&FetchedPartition {
            high_watermark: read.high_watermark.to_wire(),
            last_stable_offset: read.last_stable.to_wire(),
            log_start_offset: read.log_start.to_wire(),
            aborted_transactions: committed_only.then_some(&aborted[..]),
            records: Some(&read.records),
            ..FetchedPartition::refused(index, 0)
        })
    }
}
