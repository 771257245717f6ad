//! Produce: each partition's batch goes to the shard that owns the partition; the response is put
//! together when all have answered.
//!
//! With acks 0 nobody waits for the response, but the batches still take this way, since an error
//! has to close the connection.
//!
//! A batch of a transaction that has nothing in its partition yet comes back. When all others are
//! answered the transaction's coordinator is asked about all that did, and they are sent again.
//! Requests of a connection ask in the order in which they came: what is sent again comes to its
//! partition in that order, too.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use aplomb_coordinator::txn::TxnPartitions;
use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::hot::TopicKey;
use aplomb_protocol::hot::produce_request::{ProduceBody, ProducePartition};
use aplomb_protocol::hot::produce_response::{ProduceResponseWriter, ProducedPartition};
use aplomb_protocol::messages::produce_response::BatchIndexAndErrorMessage;
use aplomb_protocol::{ApiKey, DecodeError, EncodeError};
use bytes::Bytes;

use super::rights::TopicRights;
use super::verification::{self, ATTRIBUTES_LOW, TxnPlace, Verification, stamp_in_transaction};
use crate::calls::{
    Allowance, Answer, AppendCall, AppendRefusal, Appended, InTransaction, PartitionKey, Produced, Slot,
};
use crate::controller::is_internal_topic;
use crate::metadata::MetadataImage;
use crate::operation::{
    Api, Asked, Begun, Calls, Kind, Operation, PartitionCall, Progress, Replied, ReplyContext, WaitsAt,
    is_long, patience, resolve,
};
use crate::ports::{CloseReason, Reply, Waited, WaitedFor};
use crate::security::AclOperation;

pub(super) const API: Api = Api::of_connection(ApiKey::Produce, begin);

/// Batches that wait for memory do so at least this long, whatever little time their producer
/// gives.
const SHORTEST_PATIENCE: Duration = Duration::from_secs(1);
/// Who was turned away because enough waits for a disk is told when there is room, or after this
/// time, and long before the client takes the connection for dead.
const LONGEST_HOLD: Duration = Duration::from_secs(10);
/// The client id that may write to internal topics (`AdminUtils` in Apache Kafka).
const ADMIN_CLIENT: &str = "__admin_client";
/// Versions below this cannot say zstd.
const ZSTD_FROM: i16 = 7;
/// Where a batch, and a message of the older formats, has the number of its format.
const MAGIC: usize = 16;
/// What all batches of a request together may cost when they come, in decompressed bytes.
const AT_ONCE: usize = 1 << 20;
/// A batch may cost so many times its size before it stands behind those that do not: as much as
/// lz4 and snappy can stand for, and more than what honest clients send does.
const RATIO: usize = 256;
/// What the batches of a request may cost besides.
const FEW: usize = 64 << 10;
/// A request about more partitions is long: a thousand take half a millisecond.
const MANY: usize = 1_000;
/// From this version on clients know `TRANSACTION_ABORTABLE`.
const KNOWS_ABORTABLE: i16 = 11;
/// From this version on partitions are in a transaction by being written to.
const ADDS_PARTITIONS: i16 = 12;

/// A produce request that waits for its partitions.
#[derive(Debug)]
struct ProduceOp {
    version: i16,
    correlation_id: i32,
    acks: i16,
    parts: Vec<Part>,
    outstanding: usize,
    /// When the client stops waiting.
    deadline: Instant,
    /// Until when it is not told that it was turned away, unless there is room before.
    hold: Instant,
    /// Whether it may be kept waiting for that.
    holds: bool,
    /// Of a request that writes in a transaction.
    verification: Option<Box<Verification>>,
    /// How long its coordinator may take.
    longest_wait: Duration,
}

/// A partition's part.
#[derive(Debug)]
struct Part {
    topic: TopicKey,
    first_of_topic: bool,
    index: i32,
    state: State,
    /// The batch and its place, as it may have to be sent again.
    again: Option<Box<(TxnPlace, Produced)>>,
}

#[derive(Debug)]
enum State {
    /// The partition has the batch.
    Asked(PartitionKey),
    /// The batch has come back: its coordinator is to be asked.
    Unverified(PartitionKey),
    Answered(Result<Appended, AppendRefusal>),
    /// Refused, and the partition wakes this operation when there is room.
    TurnedAway(PartitionKey, AppendRefusal),
}

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    // What comes behind one that was passed on stays behind it.
    let is_for_head = || asked.ahead.has_forwarded(ApiKey::Produce) || names_many(asked);
    if !asked.is_at_head() && is_for_head() {
        return Ok(Begun::ForHead);
    }
    let body = ProduceBody::decode(asked.body, asked.to.version)?;
    let (image, limit) = (asked.view.image(), asked.view.config().network.decompressed.0);
    let all = asked.request.frame.len();
    let budget = Budget { limit: usize::try_from(limit).unwrap_or(usize::MAX), all };
    let patience = patience(body.timeout_ms).max(SHORTEST_PATIENCE);
    let partitions = each_once(&body);
    let sizes = partitions.iter().filter_map(|(_, partition)| Some(partition.records.as_ref()?.len()));
    let connection = asked.request.id.connection;
    let claim = asked.volumes.claim(connection, sizes, asked.ahead.is_nothing(), asked.now.instant);
    let access = asked.access();
    let transaction = verification::transaction(&body, &partitions, &access);
    let mut op = ProduceOp {
        version: body.version,
        correlation_id: asked.to.correlation_id,
        acks: body.acks,
        parts: Vec::new(),
        outstanding: 0,
        deadline: asked.now.instant + patience,
        hold: asked.now.instant + LONGEST_HOLD.min(patience / 2),
        // Who waits for no answer is told nothing, and goes on either way.
        holds: body.acks != 0,
        verification: None,
        longest_wait: asked.view.config().transactions.longest_wait,
    };
    let adds = body.version >= ADDS_PARTITIONS;
    // Who adds partitions by writing to them has them added, whatever the setting says.
    if let Ok(Some(of)) = &transaction
        && (adds || asked.view.config().transactions.verifies)
    {
        op.verification = Some(Box::new(Verification::new(of.clone(), adds, image)));
    }
    let mut rights = TopicRights::new(image, access, AclOperation::Write);
    for (topic, partition) in partitions {
        let allowed = transaction.as_ref().map_err(|error| *error).and_then(|_| rights.check(&topic));
        let checked = allowed.and_then(|()| check(&body, asked.client_id, image, &partition));
        let mut again = None;
        let state = match checked {
            Ok((topic, key, records)) => {
                let stamp = stamp_in_transaction(&records).filter(|_| op.verification.is_some());
                let transaction = stamp.map(|stamp| InTransaction {
                    stamp,
                    guard: None,
                    has_epoch_each: body.version >= ADDS_PARTITIONS,
                });
                let allowance = budget.of(records.len());
                let produced = Produced { records, from: connection, allowance, claim, transaction };
                if transaction.is_some() {
                    again = Some(Box::new(((topic.clone(), partition.index), produced.clone())));
                }
                let call = AppendCall::Produced(produced);
                let slot = Slot::try_from(op.parts.len()).expect("a frame has fewer partitions than that");
                asked.calls.push((slot, key, PartitionCall::append(call)));
                op.outstanding += 1;
                State::Asked(key)
            }
            Err(error) => State::Answered(Err(AppendRefusal::new(error))),
        };
        let first_of_topic = op.parts.last().is_none_or(|last| last.topic != topic);
        op.parts.push(Part { topic, first_of_topic, index: partition.index, state, again });
    }
    asked.wait(op, patience)
}

/// Whether a request is about so many partitions that others would wait for it.
fn names_many(asked: &Asked<'_>) -> bool {
    is_long(asked.request) && ProduceBody::names_more_than(MANY, asked.body, asked.to.version)
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
) -> Result<(Arc<str>, PartitionKey, Bytes), ErrorCode> {
    if !matches!(body.acks, -1..=1) {
        return Err(ErrorCode::InvalidRequiredAcks);
    }
    let (topic, key) = resolve(image, partition.topic, partition.index)?;
    if is_internal_topic(&topic.name) && client_id != Some(ADMIN_CLIENT) {
        return Err(ErrorCode::InvalidTopicException);
    }
    let records = partition.records.clone().ok_or(ErrorCode::InvalidRecord)?;
    if is_zstd(&records) && body.version < ZSTD_FROM {
        return Err(ErrorCode::UnsupportedCompressionType);
    }
    Ok((topic.name.clone(), key, records))
}

impl Operation for ProduceOp {
    fn on_answer(&mut self, slot: Slot, answer: Answer) {
        if slot == verification::SLOT {
            let verification = self.verification.as_mut().expect("it has asked a coordinator");
            return verification.on_answer(answer);
        }
        let Answer::Append(answer) = answer else { panic!("an append is answered, not {answer:?}") };
        let part = &mut self.parts[slot as usize];
        let State::Asked(key) = part.state else { panic!("a partition answers once") };
        self.outstanding -= 1;
        part.state = match answer {
            Err(refusal) if refusal.is_turned_away => State::TurnedAway(key, refusal),
            answer => State::Answered(answer),
        };
        if let State::Answered(Err(AppendRefusal { unverified: Some(guard), .. })) = &part.state {
            let (_, produced) = &mut **part.again.as_mut().expect("it is part of a transaction");
            let transaction = produced.transaction.as_mut().expect("it is part of a transaction");
            transaction.guard = Some(*guard);
            part.state = State::Unverified(key);
        }
    }

    /// There is room where a batch was turned away: its producer is told, and sends it again.
    fn on_woken(&mut self, _: Slot, _: &mut Calls) {
        self.holds = false;
    }

    /// What has not answered is late. A batch that is in the log already stays there; its producer
    /// asks again, and is told. What was to go to its coordinator first is in no log.
    fn on_deadline(&mut self) {
        self.holds = false;
        if let Some(verification) = self.verification.as_mut().filter(|verification| verification.is_asked())
        {
            return verification.give_up();
        }
        self.outstanding = 0;
        self.refuse_unverified(ErrorCode::ConcurrentTransactions);
    }

    fn progress(&mut self, now: Instant, calls: &mut Calls) -> Progress {
        let told = self.verification.as_mut().and_then(|verification| verification.take());
        if let Some(told) = told {
            match told {
                Ok(missing) => self.send_again(&missing, calls),
                Err(error) => self.refuse_unverified(error),
            }
            // There may be no time left for it.
            let is_over = self.outstanding == 0 || self.deadline <= now;
            return if is_over { Progress::Reply } else { Progress::WaitUntil(self.deadline) };
        }
        if self.outstanding > 0 {
            return Progress::Wait;
        }
        if self.is_unverified() {
            return if self.is_asking() { Progress::Wait } else { Progress::InOrder };
        }
        let is_held = self.holds && now < self.hold && self.is_turned_away();
        if is_held { Progress::WaitUntil(self.hold) } else { Progress::Reply }
    }

    fn has_order(&self) -> bool {
        let is_to_ask = self.verification.as_ref().is_some_and(|verification| verification.is_to_ask());
        is_to_ask && (self.outstanding > 0 || self.is_unverified())
    }

    fn ask_in_order(&mut self, now: Instant, calls: &mut Calls) -> Progress {
        let unverified = self.unverified();
        self.verification.as_mut().expect("a coordinator is to be asked").ask(unverified, calls);
        match self.is_asking() {
            true => Progress::WaitUntil(self.deadline.min(now + self.longest_wait)),
            false => self.progress(now, calls), // it has none
        }
    }

    fn waits_at(&self, waits: &mut dyn FnMut(Slot, WaitsAt)) {
        if let Some(verification) = &self.verification {
            verification.waits_at(waits);
        }
        for (slot, part) in self.parts.iter().enumerate() {
            if let State::Asked(key) | State::TurnedAway(key, _) = part.state {
                waits(slot as Slot, WaitsAt::Partition(key));
            }
        }
    }

    fn hurry(&mut self) {
        self.holds = false;
    }

    fn kind(&self) -> Kind {
        Kind::Produce
    }

    fn waits_for(&self) -> WaitedFor {
        if self.is_asking() { WaitedFor::Coordinator } else { WaitedFor::Shard }
    }

    fn outlives_connection(&self) -> bool {
        self.acks == 0
    }

    fn partitions(&self) -> usize {
        self.parts.len()
    }

    fn reply(self: Box<Self>, context: &mut ReplyContext<'_>) -> Replied {
        let throttle = context.till.produced(self.acks != 0);
        if self.acks == 0 {
            let failed = self.parts.iter().any(|part| !matches!(part.state, State::Answered(Ok(_))));
            return Ok(if failed {
                Reply::Close { reason: CloseReason::ProduceFailed }
            } else {
                Reply::Nothing { throttle, waited: Waited::default() }
            });
        }
        self.respond(throttle)
    }
}

impl ProduceOp {
    /// Whether nothing of it has found room. What has is told at once.
    fn is_turned_away(&self) -> bool {
        self.parts.iter().all(|part| matches!(part.state, State::TurnedAway(..)))
    }

    /// Whether its coordinator is being asked.
    fn is_asking(&self) -> bool {
        self.verification.as_ref().is_some_and(|verification| verification.is_asked())
    }

    /// Whether batches have come back.
    fn is_unverified(&self) -> bool {
        self.parts.iter().any(|part| matches!(part.state, State::Unverified(_)))
    }

    /// The partitions whose batches have come back.
    fn unverified(&self) -> TxnPartitions {
        let unverified = self.parts.iter().filter(|part| matches!(part.state, State::Unverified(_)));
        let mut partitions = TxnPartitions::new();
        for part in unverified {
            let ((topic, index), _) = &**part.again.as_ref().expect("it is part of a transaction");
            partitions.entry(topic.clone()).or_default().insert(*index);
        }
        partitions
    }

    /// Sends batches again whose partitions are in the transaction. `missing` are those that are
    /// not.
    fn send_again(&mut self, missing: &TxnPartitions, calls: &mut Calls) {
        for (slot, part) in (0..).zip(&mut self.parts) {
            let State::Unverified(key) = part.state else { continue };
            let ((topic, index), produced) = &**part.again.as_ref().expect("it is part of a transaction");
            if missing.get(topic).is_some_and(|missing| missing.contains(index)) {
                continue;
            }
            calls.push((slot, key, PartitionCall::append(AppendCall::Produced(produced.clone()))));
            self.outstanding += 1;
            (part.state, part.again) = (State::Asked(key), None);
        }
        self.refuse_unverified(ErrorCode::TransactionAbortable);
    }

    /// Batches that have come back are not taken.
    fn refuse_unverified(&mut self, error: ErrorCode) {
        // None of its batches comes back.
        let Some(verification) = &self.verification else { return };
        let error = verification.client_error(error, self.version >= KNOWS_ABORTABLE);
        for part in &mut self.parts {
            if matches!(part.state, State::Unverified(_)) {
                part.state = State::Answered(Err(AppendRefusal::new(error)));
            }
        }
    }

    fn respond(self, throttle: Duration) -> Result<Reply, EncodeError> {
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
                State::Answered(Err(refusal)) | State::TurnedAway(_, refusal) => {
                    refuse(&mut response, part.index, refusal)?
                }
                State::Asked(_) | State::Unverified(_) => refuse(&mut response, part.index, late())?,
            }
        }
        let errors = response.take_errors();
        let throttle_time_ms = i32::try_from(throttle.as_millis()).unwrap_or(i32::MAX);
        let parts = vec![response.finish(throttle_time_ms, &[])?];
        let waited = Waited::default();
        Ok(Reply::Frame { parts, lent: 0, errors, throttle, throttle_at: None, waited })
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

/// Whether the first batch says that it is compressed with zstd: the low bits of its attributes are
/// the codec, 4. What older formats have in that place is a byte of a timestamp.
fn is_zstd(records: &[u8]) -> bool {
    records.get(MAGIC) == Some(&2)
        && records.get(ATTRIBUTES_LOW).is_some_and(|attributes| attributes & 7 == 4)
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
