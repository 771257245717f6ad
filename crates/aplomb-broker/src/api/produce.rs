//! Produce: each partition's batch goes to the shard that owns the partition; the response is put
//! together when all have answered.
//!
//! With acks 0 nobody waits for the response, but the batches still take this way, since an error
//! has to close the connection.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::hot::TopicKey;
use aplomb_protocol::hot::produce_request::{ProduceBody, ProducePartition};
use aplomb_protocol::hot::produce_response::{ProduceResponseWriter, ProducedPartition};
use aplomb_protocol::messages::produce_response::BatchIndexAndErrorMessage;
use aplomb_protocol::{ApiKey, DecodeError, EncodeError};
use bytes::Bytes;

use crate::calls::{Allowance, Answer, AppendCall, AppendRefusal, Appended, PartitionKey, Produced, Slot};
use crate::controller::is_internal_topic;
use crate::metadata::MetadataImage;
use crate::operation::{
    Api, Asked, Begun, Calls, Kind, Operation, PartitionCall, Progress, Replied, ReplyContext, WaitsAt,
    patience, resolve,
};
use crate::ports::{CloseReason, Reply};

pub(super) const API: Api = Api::of_connection(ApiKey::Produce, begin);

/// Batches that wait for memory do so at least this long, whatever little time their producer
/// gives.
const SHORTEST_PATIENCE: Duration = Duration::from_secs(1);
/// The client id that may write to internal topics (`AdminUtils` in Apache Kafka).
const ADMIN_CLIENT: &str = "__admin_client";
/// Versions below this cannot say zstd.
const ZSTD_FROM: i16 = 7;
/// Where a batch has the low byte of its attributes, whose low bits are the codec; 4 is zstd.
const ATTRIBUTES_LOW: usize = 22;
/// What all batches of a request together may cost when they come, in decompressed bytes.
const AT_ONCE: usize = 1 << 20;
/// A batch may cost so many times its size before it stands behind those that do not: as much as
/// lz4 and snappy can stand for, and more than what honest clients send does.
const RATIO: usize = 256;
/// What the batches of a request may cost besides.
const FEW: usize = 64 << 10;

/// A produce request that waits for its partitions.
#[derive(Debug)]
struct ProduceOp {
    version: i16,
    correlation_id: i32,
    acks: i16,
    parts: Vec<Part>,
    outstanding: usize,
}

/// A partition's part.
#[derive(Debug)]
struct Part {
    topic: TopicKey,
    first_of_topic: bool,
    index: i32,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The partition has the batch.
    Asked(PartitionKey),
    Answered(Result<Appended, AppendRefusal>),
}

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let body = ProduceBody::decode(asked.body, asked.to.version)?;
    let (image, limit) = (asked.view.image(), asked.view.config().network.decompressed.0);
    let all = asked.request.frame.len();
    let budget = Budget { limit: usize::try_from(limit).unwrap_or(usize::MAX), all };
    let mut op = ProduceOp {
        version: body.version,
        correlation_id: asked.to.correlation_id,
        acks: body.acks,
        parts: Vec::new(),
        outstanding: 0,
    };
    for (topic, partition) in each_once(&body) {
        let state = match check(&body, asked.client_id, image, &partition) {
            Ok((key, records)) => {
                let (from, allowance) = (asked.request.id.connection, budget.of(records.len()));
                let call = AppendCall::Produced(Produced { records, from, allowance });
                let slot = Slot::try_from(op.parts.len()).expect("a frame has fewer partitions than that");
                asked.calls.push((slot, key, PartitionCall::append(call)));
                op.outstanding += 1;
                State::Asked(key)
            }
            Err(error) => State::Answered(Err(AppendRefusal::new(error))),
        };
        let first_of_topic = op.parts.last().is_none_or(|last| last.topic != topic);
        op.parts.push(Part { topic, first_of_topic, index: partition.index, state });
    }
    asked.wait(op, patience(body.timeout_ms).max(SHORTEST_PATIENCE))
}

/// Each partition once, where it is named first, with the batch that is named last: Apache Kafka
/// puts them into a map.
fn each_once(body: &ProduceBody) -> Vec<(TopicKey, ProducePartition<'_>)> {
    let mut once: Vec<(TopicKey, ProducePartition<'_>)> = Vec::new();
    let mut places: HashMap<(TopicKey, i32), usize> = HashMap::new();
    for partition in body.partitions() {
        let topic = partition.topic.to_key();
        match places.entry((topic.clone(), partition.index)) {
            Entry::Occupied(place) => once[*place.get()].1 = partition,
            Entry::Vacant(place) => {
                place.insert(once.len());
                once.push((topic, partition));
            }
        }
    }
    once
}

fn check(
    body: &ProduceBody,
    client_id: Option<&str>,
    image: &MetadataImage,
    partition: &ProducePartition<'_>,
) -> Result<(PartitionKey, Bytes), ErrorCode> {
    if !matches!(body.acks, -1..=1) {
        return Err(ErrorCode::InvalidRequiredAcks);
    }
    let (topic, key) = resolve(image, partition.topic, partition.index)?;
    if is_internal_topic(&topic.name) && client_id != Some(ADMIN_CLIENT) {
        return Err(ErrorCode::InvalidTopicException);
    }
    if body.transactional_id.is_some() {
        // Transactions need a coordinator, which is not advertised because it does not exist yet.
        return Err(ErrorCode::InvalidTxnState);
    }
    let records = partition.records.clone().ok_or(ErrorCode::InvalidRecord)?;
    if is_zstd(&records) && body.version < ZSTD_FROM {
        return Err(ErrorCode::UnsupportedCompressionType);
    }
    Ok((key, records))
}

impl Operation for ProduceOp {
    fn on_answer(&mut self, slot: Slot, answer: Answer) {
        let Answer::Append(answer) = answer else { panic!("an append is answered, not {answer:?}") };
        let part = &mut self.parts[slot as usize];
        assert!(matches!(part.state, State::Asked(_)), "a partition answers once");
        part.state = State::Answered(answer);
        self.outstanding -= 1;
    }

    /// What has not answered is late. A batch that is in the log already stays there; its producer
    /// asks again, and is told.
    fn on_deadline(&mut self) {
        self.outstanding = 0;
    }

    fn progress(&mut self, _: Instant, _: &mut Calls) -> Progress {
        if self.outstanding == 0 { Progress::Reply } else { Progress::Wait }
    }

    fn waits_at(&self, waits: &mut dyn FnMut(Slot, WaitsAt)) {
        for (slot, part) in self.parts.iter().enumerate() {
            if let State::Asked(key) = part.state {
                waits(slot as Slot, WaitsAt::Partition(key));
            }
        }
    }

    fn kind(&self) -> Kind {
        Kind::Produce
    }

    fn outlives_connection(&self) -> bool {
        self.acks == 0
    }

    fn partitions(&self) -> usize {
        self.parts.len()
    }

    fn reply(self: Box<Self>, _: &mut ReplyContext<'_>) -> Replied {
        if self.acks == 0 {
            let failed = self.parts.iter().any(|part| !matches!(part.state, State::Answered(Ok(_))));
            return Ok(if failed {
                Reply::Close { reason: CloseReason::ProduceFailed }
            } else {
                Reply::Nothing { throttle: Duration::ZERO }
            });
        }
        self.respond()
    }
}

impl ProduceOp {
    fn respond(self) -> Result<Reply, EncodeError> {
        let mut response = ProduceResponseWriter::new(self.version, self.correlation_id)?;
        for part in self.parts {
            if part.first_of_topic {
                response.topic(part.topic.as_ref())?;
            }
            match part.state {
                State::Answered(Ok(appended)) => response.partition(&ProducedPartition {
                    base_offset: appended.base.to_wire(),
                    log_append_time_ms: appended.log_append_time_wire(),
                    log_start_offset: appended.log_start.to_wire(),
                    ..ProducedPartition::refused(part.index, 0)
                })?,
                State::Answered(Err(refusal)) => refuse(&mut response, part.index, refusal)?,
                State::Asked(_) => refuse(&mut response, part.index, late())?,
            }
        }
        let errors = response.take_errors();
        let parts = vec![response.finish(0, &[])?];
        Ok(Reply::Frame { parts, lent: 0, errors, throttle: Duration::ZERO })
    }
}

fn refuse(
    response: &mut ProduceResponseWriter,
    index: i32,
    refusal: AppendRefusal,
) -> Result<(), EncodeError> {
    let records = refusal.records.into_iter();
    let records: Vec<_> = records
        .map(|(batch_index, message)| BatchIndexAndErrorMessage {
            batch_index,
            batch_index_error_message: message,
        })
        .collect();
    response.partition(&ProducedPartition {
        log_start_offset: refusal.log_start.map_or(-1, |start| start.to_wire()),
        record_errors: &records,
        error_message: refusal.message.as_deref(),
        ..ProducedPartition::refused(index, refusal.error.to_wire())
    })
}

/// What is said of a batch that was not acknowledged in time: memory, or the sync that the topic
/// asks for, waits for the disk.
fn late() -> AppendRefusal {
    AppendRefusal {
        message: Some("the disk does not keep up: the memory tail is full, or a sync takes long".to_owned()),
        ..AppendRefusal::new(ErrorCode::RequestTimedOut)
    }
}

fn is_zstd(records: &[u8]) -> bool {
    records.get(ATTRIBUTES_LOW).is_some_and(|attributes| attributes & 7 == 4)
}

/// What validating the batches of one request may cost, dealt out by their sizes.
struct Budget {
    /// `aplomb.produce.decompressed.max.bytes`
    limit: usize,
    /// The size of the request.
    all: usize,
}

impl Budget {
    fn of(&self, size: usize) -> Allowance {
        let share = |of: usize| of as u128 * size as u128 / self.all.max(1) as u128;
        let share = |of: usize| usize::try_from(share(of)).unwrap_or(usize::MAX);
        let near = share(FEW).saturating_add(size.saturating_mul(RATIO));
        Allowance {
            at_once: near.min(share(AT_ONCE)),
            near,
            in_all: self.limit.min(share(self.limit).max(near)),
        }
    }
}
