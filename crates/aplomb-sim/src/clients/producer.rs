//! A producer: batches in flight, retries with the sequence numbers that they had, as the Java
//! client does.
//!
//! An idempotent producer sends a batch again until it is answered, in order; a plain one sends
//! each batch once. An error that only lost records explain makes an idempotent producer begin anew
//! with another id.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use aplomb_model::batch::{BatchBuilder, Codec, ProducerStamp};
use aplomb_model::{ErrorCode, Instant, Offset, ProducerEpoch, ProducerId, Timestamp};
use aplomb_protocol::ApiKey;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use bytes::Bytes;

use super::{Client, Context, Expect, Place, all_places, answer, millis, setting};
use crate::check::journal::BatchId;

/// Batches of one partition that are on their way.
const IN_FLIGHT: usize = 5;
/// Batches of one partition that wait for anything.
const QUEUED: usize = 12;
/// What a client waits beyond the time that it gave the broker.
const GRACE: Duration = millis(1500);
/// The first version that names topics by id.
const BY_ID: i16 = 13;

#[derive(Debug)]
struct Batch {
    id: BatchId,
    /// Its number among the batches of its partition.
    number: usize,
    bytes: Bytes,
    sent: bool,
    attempts: u32,
    /// When it was sent first.
    sent_at: Instant,
    /// When it was sent last.
    asked_at: Instant,
    not_before: Instant,
}

/// What goes to one partition.
#[derive(Debug)]
struct Lane {
    place: Place,
    queue: VecDeque<Batch>,
    next_sequence: i32,
    next_number: usize,
    closed: bool,
}

#[derive(Debug)]
struct InFlight {
    parts: Vec<(usize, BatchId)>,
    version: i16,
    give_up: Instant,
}

#[derive(Debug)]
pub(super) struct Producer {
    idempotent: bool,
    acks: i16,
    timeout: Duration,
    pause: Duration,
    size: u64,
    by_id: bool,
    /// Its identity; `None` until it has asked.
    identity: Option<(ProducerId, ProducerEpoch)>,
    asked: Option<(i32, i16)>,
    lanes: Vec<Lane>,
    in_flight: BTreeMap<i32, InFlight>,
    next_batch: Instant,
    connected: bool,
    /// A producer that never pauses for long fills the tail, however large it is.
    bursts: bool,
}

impl Producer {
    pub(super) fn new(idempotent: bool, dice: &mut crate::random::Dice) -> Self {
        Self {
            idempotent,
            acks: if idempotent { -1 } else { *dice.pick(&[0, 1, 1, -1]) },
            timeout: *dice.pick(&[millis(1), millis(1500), millis(5000)]),
            pause: dice.time(millis(2)..millis(200)),
            size: *dice.pick(&[40, 200, 1000, 5000]),
            by_id: dice.percent(70),
            identity: None,
            asked: None,
            lanes: Vec::new(),
            in_flight: BTreeMap::new(),
            next_batch: Instant::START,
            connected: false,
            bursts: dice.percent(20),
        }
    }

    fn ask_who_i_am(&mut self, ctx: &mut Context<'_>) {
        if !self.idempotent || self.identity.is_some() || self.asked.is_some() {
            return;
        }
        let version = ctx.version(ApiKey::InitProducerId, 0);
        let body = m::InitProducerIdRequest {
            transactional_id: None,
            transaction_timeout_ms: 60_000,
            producer_id: -1,
            producer_epoch: -1,
            ..Default::default()
        };
        self.asked = Some((ctx.send(version, &body, Expect::Decision), version));
    }

    /// Makes a batch for some partition.
    fn make(&mut self, ctx: &mut Context<'_>) {
        let mut places = all_places(ctx.oracle);
        if !self.by_id {
            // By name one cannot tell a topic from the next one of that name.
            places.retain(|place| place.stays());
        }
        if places.is_empty() || (self.idempotent && self.identity.is_none()) {
            return;
        }
        let place = places.swap_remove(ctx.dice.place(places.len()));
        let lane = match self.lanes.iter().position(|lane| lane.place.id == place.id) {
            Some(lane) => lane,
            None => {
                self.lanes.push(Lane {
                    place,
                    queue: VecDeque::new(),
                    next_sequence: 0,
                    next_number: 0,
                    closed: false,
                });
                self.lanes.len() - 1
            }
        };
        if self.lanes[lane].closed || self.lanes[lane].queue.len() >= QUEUED {
            return;
        }
        let batch = self.build(lane, ctx);
        self.lanes[lane].queue.push_back(batch);
    }

    fn build(&mut self, lane: usize, ctx: &mut Context<'_>) -> Batch {
        let lane = &mut self.lanes[lane];
        let mut builder = BatchBuilder::new(Offset::ZERO);
        if let Some((id, epoch)) = self.identity {
            builder = builder.producer(ProducerStamp { id, epoch, base_sequence: lane.next_sequence });
        }
        if ctx.dice.percent(10) {
            builder =
                builder.compression(*ctx.dice.pick(&[Codec::Lz4, Codec::Snappy, Codec::Gzip, Codec::Zstd]));
        }
        let name = ctx.oracle.journal.next_batch() as u64;
        let records = 1 + ctx.dice.within(0..5);
        // Clocks of producers are not the broker's.
        let time = Timestamp(ctx.wall.0 + ctx.dice.within(0..400) as i64 - 200);
        for record in 0..records {
            let key = [name.to_be_bytes(), record.to_be_bytes()].concat();
            let value: Vec<u8> =
                (0..ctx.dice.within(0..self.size)).map(|n| (n as u8) ^ (name as u8)).collect();
            builder.append(time, Some(&key), Some(&value), &[]);
        }
        lane.next_sequence += records as i32;
        let number = lane.next_number;
        lane.next_number += 1;
        let synced = is_synced(ctx, &lane.place);
        let bytes = builder.build();
        let id = ctx.oracle.journal.send(lane.place.id, bytes.clone(), synced, ctx.now);
        Batch {
            id,
            number,
            bytes,
            sent: false,
            attempts: 0,
            sent_at: ctx.now,
            asked_at: ctx.now,
            not_before: ctx.now,
        }
    }

    /// Sends what may be sent: in each lane in order, and one that is sent again only at the head.
    fn send(&mut self, ctx: &mut Context<'_>) {
        loop {
            let mut parts = Vec::new();
            let wanted = if ctx.dice.percent(20) { 3 } else { 1 };
            for (number, lane) in self.lanes.iter_mut().enumerate() {
                if parts.len() < wanted
                    && let Some(batch) = lane.next_to_send(ctx.now)
                {
                    if batch.attempts == 0 {
                        batch.sent_at = ctx.now;
                    }
                    batch.asked_at = ctx.now;
                    (batch.sent, batch.attempts) = (true, batch.attempts + 1);
                    parts.push((number, batch.id, batch.bytes.clone()));
                }
            }
            if parts.is_empty() {
                return;
            }
            self.send_parts(parts, ctx);
        }
    }

    fn send_parts(&mut self, parts: Vec<(usize, BatchId, Bytes)>, ctx: &mut Context<'_>) {
        let version = if self.by_id { BY_ID } else { 7 + ctx.dice.within(0..6) as i16 };
        let mut topics: Vec<TopicProduceData> = Vec::new();
        for (lane, _, records) in &parts {
            let place = &self.lanes[*lane].place;
            let data = PartitionProduceData { index: place.id.index, records: Some(records.clone()) };
            let known = topics.iter_mut().find(|topic| {
                if self.by_id { topic.topic_id == place.id.topic } else { topic.name == place.topic }
            });
            match known {
                Some(topic) => topic.partition_data.push(data),
                None if self.by_id => topics.push(TopicProduceData {
                    topic_id: place.id.topic,
                    partition_data: vec![data],
                    ..Default::default()
                }),
                None => topics.push(TopicProduceData {
                    name: place.topic.clone(),
                    partition_data: vec![data],
                    ..Default::default()
                }),
            }
        }
        let synced = |lane: &usize| is_synced(ctx, &self.lanes[*lane].place);
        let expect = Expect::Produce {
            timeout: self.timeout,
            parts: parts.iter().map(|(lane, ..)| self.lanes[*lane].place.id).collect(),
            synced: parts.iter().any(|(lane, ..)| synced(lane)),
        };
        let body = m::ProduceRequest {
            acks: self.acks,
            timeout_ms: self.timeout.as_millis() as i32,
            topic_data: topics,
            ..Default::default()
        };
        let correlation = ctx.send(version, &body, expect);
        for (lane, id, _) in &parts {
            let place = &self.lanes[*lane].place;
            ctx.note(|| format!("sends batch {id} to {}-{}", place.topic, place.id.index));
        }
        let parts: Vec<_> = parts.into_iter().map(|(lane, id, _)| (lane, id)).collect();
        if self.acks == 0 {
            // What became of them will never be told.
            parts.iter().for_each(|(lane, id)| self.lanes[*lane].remove(*id));
            return;
        }
        let give_up = ctx.now + self.timeout.max(millis(1000)) + GRACE;
        self.in_flight.insert(correlation, InFlight { parts, version, give_up });
    }

    fn on_produced(&mut self, response: m::ProduceResponse, in_flight: InFlight, ctx: &mut Context<'_>) {
        for (lane, id) in in_flight.parts {
            let Some(place) = self.lanes.get(lane).map(|lane| lane.place.clone()) else { return };
            let topic = response.responses.iter().find(|topic| {
                if in_flight.version >= BY_ID {
                    topic.topic_id == place.id.topic
                } else {
                    topic.name == place.topic
                }
            });
            let part = topic
                .and_then(|topic| topic.partition_responses.iter().find(|part| part.index == place.id.index));
            let Some(part) = part else {
                return ctx.oracle.violated(format!("the answer to a batch for {place:?} does not name it"));
            };
            ctx.note(|| format!("batch {id}: error {}, offset {}", part.error_code, part.base_offset));
            match ErrorCode::from_wire(part.error_code) {
                Some(ErrorCode::None) => {
                    let at_once = self.lanes[lane].queue.iter().any(|b| b.id == id && b.attempts == 1);
                    let checked = ctx.oracle.journal.acknowledged(id, part.base_offset, at_once, ctx.now);
                    ctx.oracle.expect(checked);
                    self.lanes[lane].remove(id);
                }
                Some(error) => self.on_error(lane, id, error, part.error_message.as_deref(), ctx),
                None => ctx.oracle.violated(format!("{} is no error code", part.error_code)),
            }
        }
    }

    fn on_error(
        &mut self,
        lane: usize,
        id: BatchId,
        error: ErrorCode,
        message: Option<&str>,
        ctx: &mut Context<'_>,
    ) {
        let place = self.lanes[lane].place.clone();
        let is_head = self.lanes[lane].queue.front().is_some_and(|batch| batch.id == id);
        let unexplained = |ctx: &mut Context<'_>| {
            ctx.oracle.violated(format!("batch {id} for {place:?} is answered by {error}: {message:?}"));
        };
        // Answers come in the order of the requests: this one may have been decided long ago.
        let asked = self.lanes[lane].queue.iter().find(|batch| batch.id == id);
        let asked_at = asked.map_or(ctx.now, |batch| batch.asked_at);
        match error {
            ErrorCode::KafkaStorageError if !ctx.oracle.disk_lost => unexplained(ctx),
            ErrorCode::NotLeaderOrFollower if !ctx.oracle.may_be_loading(asked_at) => unexplained(ctx),
            ErrorCode::NotEnoughReplicas if !ctx.oracle.turns_away => unexplained(ctx),
            ErrorCode::RequestTimedOut
            | ErrorCode::KafkaStorageError
            | ErrorCode::NotLeaderOrFollower
            | ErrorCode::NotEnoughReplicas => {
                self.lanes[lane].again(id, self.idempotent, ctx);
            }
            ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId => {
                if !ctx.oracle.cluster.may_be_gone(place.id.topic) {
                    return unexplained(ctx);
                }
                self.lanes[lane].closed = true;
                self.lanes[lane].queue.clear();
            }
            // The one before it failed, and is sent again first.
            ErrorCode::OutOfOrderSequenceNumber if self.idempotent && !is_head => {
                self.lanes[lane].again(id, true, ctx);
            }
            ErrorCode::OutOfOrderSequenceNumber | ErrorCode::UnknownProducerId if self.idempotent => {
                // What was appended is remembered batch by batch only for a while: a snapshot has
                // the last one, as in Apache Kafka.
                let sent_at = self.lanes[lane].queue.front().map_or(ctx.now, |batch| batch.sent_at);
                // Nor is it known any more what a topic had lost that is deleted meanwhile.
                let is_explained = ctx.oracle.journal.has_lost(place.id)
                    || ctx.oracle.is_forgotten(place.id, sent_at)
                    || ctx.oracle.cluster.may_be_gone(place.id.topic);
                if !is_explained {
                    return unexplained(ctx);
                }
                self.begin_anew();
            }
            ErrorCode::MessageTooLarge => {
                let checked = ctx.oracle.journal.refused(id);
                ctx.oracle.expect(checked);
                self.begin_anew();
            }
            _ => unexplained(ctx),
        }
    }

    /// Forgets what was not answered, and who it is.
    fn begin_anew(&mut self) {
        self.identity = None;
        self.lanes.clear();
        self.in_flight.clear();
    }
}

/// Whether batches are acknowledged after the sync.
fn is_synced(ctx: &Context<'_>, place: &Place) -> bool {
    setting(ctx.oracle, &place.topic, "flush.messages") == Some("1")
}

impl Lane {
    /// The first batch that was not sent, if everything before it may be ahead of it. A broker
    /// knows the last five of a producer's batches again, and the oldest that is unanswered is to
    /// be one of them: what came after it counts, also where it is acknowledged.
    fn next_to_send(&mut self, now: Instant) -> Option<&mut Batch> {
        let oldest = self.queue.front()?.number;
        let place = self.queue.iter().position(|batch| !batch.sent)?;
        let batch = &mut self.queue[place];
        let may_go = if batch.attempts > 0 { place == 0 } else { batch.number - oldest < IN_FLIGHT };
        (may_go && batch.not_before <= now).then_some(batch)
    }

    fn remove(&mut self, id: BatchId) {
        self.queue.retain(|batch| batch.id != id);
    }

    /// A batch failed: it is sent again, if its producer does that.
    fn again(&mut self, id: BatchId, retries: bool, ctx: &mut Context<'_>) {
        if !retries {
            return self.remove(id);
        }
        if let Some(batch) = self.queue.iter_mut().find(|batch| batch.id == id) {
            batch.sent = false;
            batch.not_before = ctx.now + ctx.dice.time(millis(1)..millis(100));
        }
    }
}

impl Client for Producer {
    fn on_connected(&mut self, ctx: &mut Context<'_>) {
        self.connected = true;
        self.next_batch = ctx.now;
        self.ask_who_i_am(ctx);
        self.send(ctx);
    }

    fn on_disconnected(&mut self, ctx: &mut Context<'_>) {
        self.connected = false;
        self.asked = None;
        for (_, in_flight) in std::mem::take(&mut self.in_flight) {
            for (lane, id) in in_flight.parts {
                self.lanes[lane].again(id, self.idempotent, ctx);
            }
        }
    }

    fn on_answer(&mut self, correlation: i32, frame: Bytes, ctx: &mut Context<'_>) {
        if let Some((_, version)) = self.asked.take_if(|(asked, _)| *asked == correlation) {
            match answer::<m::InitProducerIdRequest>(version, frame) {
                Ok(response) if response.error_code == 0 => {
                    let id = ProducerId::from_wire(response.producer_id);
                    ctx.note(|| format!("is {id:?}"));
                    self.identity = id.map(|id| (id, ProducerEpoch(response.producer_epoch)));
                }
                Ok(response) => ctx.oracle.violated(format!("no producer id: {response:?}")),
                Err(error) => ctx.oracle.violated(error),
            }
        } else if let Some(in_flight) = self.in_flight.remove(&correlation) {
            match answer::<m::ProduceRequest>(in_flight.version, frame) {
                Ok(response) => self.on_produced(response, in_flight, ctx),
                Err(error) => ctx.oracle.violated(error),
            }
        }
        self.ask_who_i_am(ctx);
        self.send(ctx);
    }

    fn on_wake(&mut self, ctx: &mut Context<'_>) {
        if self.in_flight.values().any(|in_flight| in_flight.give_up <= ctx.now)
            || ctx.dice.within(0..2000) == 0
        {
            return ctx.disconnect();
        }
        if self.next_batch <= ctx.now {
            let count = if self.bursts { ctx.dice.within(1..8) } else { 1 };
            (0..count).for_each(|_| self.make(ctx));
            self.next_batch = ctx.now + ctx.dice.time(self.pause / 2..self.pause * 2);
        }
        self.send(ctx);
    }

    fn wake_at(&self) -> Option<Instant> {
        let retries = self.lanes.iter().filter_map(|lane| lane.queue.front());
        let retries = retries.filter(|batch| !batch.sent).map(|batch| batch.not_before);
        let give_up = self.in_flight.values().map(|in_flight| in_flight.give_up);
        retries.chain(give_up).chain([self.next_batch]).min()
    }
}
