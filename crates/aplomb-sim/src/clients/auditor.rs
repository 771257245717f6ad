//! The auditor: comes with each start, looks at all topics and their settings, and reads every
//! partition from its start to its end.
//!
//! After a power cut it comes alone, before all others, so that what is gone can be told from what
//! was written later.

use std::collections::BTreeMap;

use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::ApiKey;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use bytes::Bytes;

use super::admin::{describe, observe_configs, observe_topics};
use super::fetching::{BY_ID, Cursor, Took, parts, topics};
use super::{Client, Context, Expect, Place, all_places, answer, millis};
use crate::check::journal::BatchId;

#[derive(Debug)]
enum Asked {
    Topics,
    Configs,
    Bounds { which: i64 },
    Records,
}

/// A partition that is being read.
#[derive(Debug)]
struct Reading {
    cursor: Cursor,
    start: i64,
    end: i64,
    begun: Instant,
    batches: BTreeMap<i64, BatchId>,
    /// Nothing came, so many times in a row.
    patience: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Auditor {
    asked: Option<(i32, i16, Asked, Instant)>,
    places: Vec<Place>,
    reading: Option<Reading>,
    next: Option<Instant>,
    /// Everything was looked at, or cannot be.
    pub(crate) done: bool,
    /// Partitions that could not be read.
    pub(crate) unread: usize,
}

const EARLIEST: i64 = -2;
const LATEST: i64 = -1;
/// A disk that gives nothing so often is not going to.
const PATIENCE: u32 = 200;

impl Auditor {
    fn ask(&mut self, correlation: i32, version: i16, what: Asked, ctx: &Context<'_>) {
        self.asked = Some((correlation, version, what, ctx.now));
    }

    fn ask_bound(&mut self, which: i64, ctx: &mut Context<'_>) {
        let Some(reading) = &mut self.reading else { return };
        reading.cursor.before = ctx.oracle.journal.before(reading.cursor.place.id);
        let place = &reading.cursor.place;
        let version = ctx.version(ApiKey::ListOffsets, 1);
        let partition = ListOffsetsPartition {
            partition_index: place.id.index,
            current_leader_epoch: -1,
            timestamp: which,
        };
        let topic = ListOffsetsTopic { name: place.topic.clone(), partitions: vec![partition] };
        let body = m::ListOffsetsRequest { replica_id: -1, topics: vec![topic], ..Default::default() };
        let correlation = ctx.send(version, &body, Expect::Memory);
        self.ask(correlation, version, Asked::Bounds { which }, ctx);
    }

    /// Takes up the next partition, or is done.
    fn next_partition(&mut self, ctx: &mut Context<'_>) {
        self.reading = None;
        let Some(place) = self.places.pop() else {
            self.done = true;
            return;
        };
        self.reading = Some(Reading {
            cursor: Cursor::new(place, 0),
            start: 0,
            end: 0,
            begun: ctx.now,
            batches: BTreeMap::new(),
            patience: 0,
        });
        self.ask_bound(LATEST, ctx);
    }

    fn read_on(&mut self, ctx: &mut Context<'_>) {
        let Some(reading) = &mut self.reading else { return };
        if reading.cursor.position >= reading.end {
            let bounds = (reading.start, reading.end.max(reading.start));
            let id = reading.cursor.place.id;
            let checked = ctx.oracle.journal.audited(id, bounds, &reading.batches, reading.begun);
            ctx.oracle.expect(checked);
            return self.next_partition(ctx);
        }
        let version = ctx.version(ApiKey::Fetch, BY_ID);
        let wish = reading.cursor.wish(version, 60_000, ctx);
        let body = m::FetchRequest {
            replica_id: -1,
            max_wait_ms: 100,
            min_bytes: 1,
            max_bytes: 60_000,
            session_id: 0,
            session_epoch: -1,
            topics: topics(vec![(reading.cursor.place.clone(), wish)], true),
            ..Default::default()
        };
        let expect = Expect::Fetch { wait: millis(100), places: Vec::new() };
        let correlation = ctx.send(version, &body, expect);
        self.ask(correlation, version, Asked::Records, ctx);
    }

    fn on_bound(
        &mut self,
        which: i64,
        response: &m::ListOffsetsResponse,
        ctx: &mut Context<'_>,
    ) -> Result<(), String> {
        let Some(reading) = &mut self.reading else { return Ok(()) };
        let place = reading.cursor.place.clone();
        if ctx.oracle.cluster.may_be_gone(place.id.topic) {
            // Bounds are asked for by name, which another topic may have by now.
            self.next_partition(ctx);
            return Ok(());
        }
        let part = response.topics.first().and_then(|topic| topic.partitions.first());
        let part = part.ok_or_else(|| format!("no offset for {place:?}: {response:?}"))?;
        if let Some(error) = ErrorCode::from_wire(part.error_code).filter(|error| *error != ErrorCode::None) {
            return self.give_up(&place, error, ctx);
        }
        if which == LATEST {
            reading.end = part.offset;
            self.ask_bound(EARLIEST, ctx);
            return Ok(());
        }
        (reading.start, reading.cursor.position) = (part.offset, part.offset);
        let (before, bounds) = (reading.cursor.before, (reading.start, reading.end));
        // The end was asked for first, so that it may lie below a start that moved since.
        let bounds = (
            bounds.0,
            bounds.1.max(bounds.0).max(if ctx.oracle.journal.is_unsure(place.id) { 0 } else { before.end }),
        );
        ctx.oracle.bounds(place.id, before, bounds, ctx.now)?;
        self.read_on(ctx);
        Ok(())
    }

    fn on_records(&mut self, response: &m::FetchResponse, ctx: &mut Context<'_>) -> Result<(), String> {
        let Some(reading) = &mut self.reading else { return Ok(()) };
        let place = reading.cursor.place.clone();
        let id = place.id;
        let found = parts(response, true, |is_meant| is_meant(&place).then_some(id));
        let [(Some(_), data)] = found[..] else {
            return Err(format!("a fetch of {place:?} is answered by {response:?}"));
        };
        match reading.cursor.take(data, ctx) {
            Took::Batches(batches, (start, _)) => {
                reading.patience = if batches.is_empty() { reading.patience + 1 } else { 0 };
                reading.batches.extend(batches);
                if start > reading.start {
                    // Records went meanwhile: what lies below need not be there.
                    reading.start = start;
                }
                if reading.patience > PATIENCE && ctx.oracle.may_end_in_a_gap(id) {
                    reading.cursor.position = reading.end;
                } else if reading.patience > PATIENCE {
                    return self.give_up(&place, ErrorCode::RequestTimedOut, ctx);
                }
                self.read_on(ctx);
                Ok(())
            }
            Took::Refused(ErrorCode::OffsetOutOfRange) => {
                if !ctx.oracle.may_start_behind(id, reading.cursor.position) {
                    return Err(format!("{place:?} is out of range at {}", reading.cursor.position));
                }
                self.places.push(place);
                self.next_partition(ctx);
                Ok(())
            }
            Took::Refused(error) => self.give_up(&place, error, ctx),
            Took::Diverging { end } => Err(format!("{place:?} is read from its start and diverges at {end}")),
        }
    }

    /// A partition cannot be read; that may be right.
    fn give_up(&mut self, place: &Place, error: ErrorCode, ctx: &mut Context<'_>) -> Result<(), String> {
        let troubled = ctx.oracle.calm.since().is_none_or(|since| ctx.now.since(since) < millis(5000));
        let explained = match error {
            ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId => {
                ctx.oracle.cluster.may_be_gone(place.id.topic)
            }
            ErrorCode::KafkaStorageError => {
                self.unread += 1;
                ctx.oracle.disk_lost
            }
            ErrorCode::RequestTimedOut => {
                self.unread += 1;
                troubled
            }
            // The others first.
            ErrorCode::NotLeaderOrFollower => {
                self.places.insert(0, place.clone());
                ctx.oracle.may_be_loading(ctx.now)
            }
            _ => false,
        };
        if !explained {
            return Err(format!("{place:?} cannot be read: {error}"));
        }
        self.next_partition(ctx);
        Ok(())
    }
}

impl Client for Auditor {
    fn on_connected(&mut self, ctx: &mut Context<'_>) {
        *self = Self::default();
        let version = ctx.version(ApiKey::Metadata, 10);
        let body = m::MetadataRequest { topics: None, ..Default::default() };
        let correlation = ctx.send(version, &body, Expect::Memory);
        self.ask(correlation, version, Asked::Topics, ctx);
    }

    fn on_disconnected(&mut self, _: &mut Context<'_>) {
        let done = self.done;
        *self = Self { done, ..Self::default() };
    }

    fn on_answer(&mut self, correlation: i32, frame: Bytes, ctx: &mut Context<'_>) {
        let Some((asked, version, what, at)) = self.asked.take() else {
            return ctx.oracle.violated("an answer to no question");
        };
        assert_eq!(asked, correlation, "an auditor asks for one thing at a time");
        let checked = match what {
            Asked::Topics => answer::<m::MetadataRequest>(version, frame).and_then(|response| {
                observe_topics(&response, at, ctx.oracle, ctx.now)?;
                let names: Vec<String> =
                    ctx.oracle.cluster.living().map(|(name, _)| name.to_owned()).collect();
                let (correlation, version) = describe(&names, ctx);
                self.ask(correlation, version, Asked::Configs, ctx);
                Ok(())
            }),
            Asked::Configs => answer::<m::DescribeConfigsRequest>(version, frame).and_then(|response| {
                observe_configs(&response, at, ctx.oracle)?;
                self.places = all_places(ctx.oracle);
                self.next_partition(ctx);
                Ok(())
            }),
            Asked::Bounds { which } => answer::<m::ListOffsetsRequest>(version, frame)
                .and_then(|response| self.on_bound(which, &response, ctx)),
            Asked::Records => {
                answer::<m::FetchRequest>(version, frame).and_then(|response| self.on_records(&response, ctx))
            }
        };
        ctx.oracle.expect(checked);
    }

    fn on_wake(&mut self, _: &mut Context<'_>) {
        self.next = None;
    }

    fn wake_at(&self) -> Option<Instant> {
        self.next
    }
}
