//! Produce: each partition's batch goes to the shard that owns the partition; the response is put together when all have answered.
//!
//! With acks 0 nobody waits for the response, but the batches still take this way, since an error has to close the connection.

use std::time::Duration;

use aplomb_model::{ErrorCode, Instant, PartitionIndex};
use aplomb_protocol::EncodeError;
use aplomb_protocol::hot::produce_request::ProduceBody;
use aplomb_protocol::hot::produce_response::{ProduceResponseWriter, ProducedPartition};
use aplomb_protocol::hot::{TopicKey, TopicRef};
use aplomb_protocol::messages::produce_response::BatchIndexAndErrorMessage;

use crate::controller::is_internal_topic;
use crate::message::{
    AppendCall, AppendRefusal, Appended, PartitionAnswer, PartitionCall, PartitionKey, Slot,
};
use crate::metadata::MetadataImage;
use crate::ports::{CloseReason, Reply};

/// The client id that may write to them all the same (`AdminUtils` in Apache Kafka).
const ADMIN_CLIENT: &str = "__admin_client";
/// Versions below this cannot say zstd.
const ZSTD_FROM: i16 = 7;
/// Where a batch has the low byte of its attributes, whose low bits are the codec; 4 is zstd.
const ATTRIBUTES_LOW: usize = 22;

type Part = Result<Appended, AppendRefusal>;

/// A produce request that waits for its partitions.
#[derive(Debug)]
pub(crate) struct ProduceOp {
    version: i16,
    correlation_id: i32,
    acks: i16,
    parts: Vec<ProducePart>,
    outstanding: usize,
}

#[derive(Debug)]
struct ProducePart {
    topic: TopicKey,
    first_of_topic: bool,
    index: i32,
    answer: Option<Part>,
}

/// The calls that a request makes.
pub(crate) type Calls = Vec<(Slot, PartitionKey, PartitionCall)>;

impl ProduceOp {
    /// Takes a request apart.
    pub(crate) fn begin(
        body: &ProduceBody,
        correlation_id: i32,
        client_id: Option<&str>,
        image: &MetadataImage,
        deadline: Instant,
    ) -> (Self, Calls) {
        let mut parts = Vec::new();
        let mut calls = Vec::new();
        for partition in body.partitions() {
            let slot = Slot::try_from(parts.len()).expect("a frame has fewer partitions than that");
            let found = Self::check(body, client_id, image, &partition.topic, partition.index);
            let answer = match (found, partition.records) {
                (Ok(_), Some(records)) if is_zstd(&records) && body.version < ZSTD_FROM => {
                    Some(Err(refusal(ErrorCode::UnsupportedCompressionType)))
                }
                (Ok(key), Some(records)) => {
                    let call = AppendCall { records, deadline };
                    calls.push((slot, key, PartitionCall::Append(call)));
                    None
                }
                (Ok(_), None) => Some(Err(refusal(ErrorCode::InvalidRecord))),
                (Err(error), _) => Some(Err(refusal(error))),
            };
            let topic = match partition.topic {
                TopicRef::Name(name) => TopicKey::Name(name.into()),
                TopicRef::Id(id) => TopicKey::Id(id),
            };
            let first_of_topic = partition.first_of_topic;
            parts.push(ProducePart { topic, first_of_topic, index: partition.index, answer });
        }
        let outstanding = calls.len();
        (Self { version: body.version, correlation_id, acks: body.acks, parts, outstanding }, calls)
    }

    fn check(
        body: &ProduceBody,
        client_id: Option<&str>,
        image: &MetadataImage,
        topic: &TopicRef<'_>,
        index: i32,
    ) -> Result<PartitionKey, ErrorCode> {
        if !matches!(body.acks, -1..=1) {
            return Err(ErrorCode::InvalidRequiredAcks);
        }
        let (found, unknown) = match topic {
            TopicRef::Name(name) => (image.topics.by_name(name), ErrorCode::UnknownTopicOrPartition),
            TopicRef::Id(id) => (image.topics.by_id(*id), ErrorCode::UnknownTopicId),
        };
        let topic = found.ok_or(unknown)?;
        if is_internal_topic(&topic.name) && client_id != Some(ADMIN_CLIENT) {
            return Err(ErrorCode::InvalidTopicException);
        }
        let partition = PartitionIndex(index);
        if !topic.partitions.contains_key(&partition) {
            return Err(ErrorCode::UnknownTopicOrPartition);
        }
        if body.transactional_id.is_some() {
            // Transactions need a coordinator, which is not advertised because it does not exist yet.
            return Err(ErrorCode::InvalidTxnState);
        }
        Ok(PartitionKey { topic: topic.id, partition })
    }

    /// Takes a partition's answer.
    pub(crate) fn on_answer(&mut self, slot: Slot, answer: PartitionAnswer) {
        let PartitionAnswer::Append(answer) = answer else { panic!("an append is answered by an append") };
        let part = &mut self.parts[slot as usize];
        assert!(part.answer.is_none(), "a partition answers once");
        part.answer = Some(answer);
        self.outstanding -= 1;
    }

    /// The time is up: what has not answered is late. A batch of it may still be appended; its producer asks again, and is told.
    pub(crate) fn give_up(&mut self) {
        for part in self.parts.iter_mut().filter(|part| part.answer.is_none()) {
            part.answer = Some(Err(refusal(ErrorCode::RequestTimedOut)));
        }
        self.outstanding = 0;
    }

    /// Whether all have answered.
    pub(crate) fn is_complete(&self) -> bool {
        self.outstanding == 0
    }

    /// The reply.
    pub(crate) fn reply(self) -> Result<Reply, EncodeError> {
        if self.acks == 0 {
            let failed = self.parts.iter().any(|part| matches!(part.answer, Some(Err(_))));
            return Ok(if failed {
                Reply::Close { reason: CloseReason::ProduceFailed }
            } else {
                Reply::Nothing { throttle: Duration::ZERO }
            });
        }
        let mut response = ProduceResponseWriter::new(self.version, self.correlation_id)?;
        for part in self.parts {
            if part.first_of_topic {
                response.topic(part.topic.as_ref())?;
            }
            match part.answer.expect("all have answered") {
                Ok(appended) => response.partition(&ProducedPartition {
                    base_offset: appended.base.to_wire(),
                    log_append_time_ms: appended.log_append_time_wire(),
                    log_start_offset: appended.log_start.to_wire(),
                    ..ProducedPartition::refused(part.index, 0)
                })?,
                Err(refusal) => {
                    let records: Vec<_> = refusal
                        .records
                        .into_iter()
                        .map(|(batch_index, message)| BatchIndexAndErrorMessage {
                            batch_index,
                            batch_index_error_message: message,
                        })
                        .collect();
                    response.partition(&ProducedPartition {
                        log_start_offset: refusal.log_start.map_or(-1, |start| start.to_wire()),
                        record_errors: &records,
                        error_message: refusal.message.as_deref(),
                        ..ProducedPartition::refused(part.index, refusal.error.to_wire())
                    })?;
                }
            }
        }
        let errors = response.take_errors();
        let parts = vec![response.finish(0, &[])?];
        Ok(Reply::Frame { parts, errors, throttle: Duration::ZERO })
    }
}

fn is_zstd(records: &[u8]) -> bool {
    records.get(ATTRIBUTES_LOW).is_some_and(|attributes| attributes & 7 == 4)
}

fn refusal(error: ErrorCode) -> AppendRefusal {
    AppendRefusal { error, message: None, records: Vec::new(), log_start: None }
}
