//! A consumer: it keeps its positions across connections and processes, and finds out when the log
//! was truncated under it.

use std::time::Duration;

use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::ApiKey;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use aplomb_protocol::messages::metadata_request::MetadataRequestTopic;
use bytes::Bytes;

use super::fetching::{BY_ID, Cursor, Took, parts, topics};
use super::{Client, Context, Expect, Place, all_places, answer, millis};
use crate::check::PartitionId;
use crate::random::Dice;

/// How long a lookup of an offset may take.
const PATIENCE: Duration = millis(2000);
/// A consumer that hears nothing for so long gives its connection up.
const GRACE: Duration = millis(1500);

/// Where reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    Beginning,
    End,
}

/// What the consumer waits for.
#[derive(Debug)]
enum Waiting {
    Offset { correlation: i32, version: i16, place: Place },
    Epochs { correlation: i32, version: i16 },
    Fetch { correlation: i32 },
}

#[derive(Debug)]
pub(super) struct Consumer {
    from: From,
    version: i16,
    sessions: bool,
    max_wait: Duration,
    min_bytes: i32,
    max_bytes: i32,
    most: usize,
    cursors: Vec<Cursor>,
    /// Places whose first offset is not known.
    wanted: Vec<Place>,
    epochs_wanted: bool,
    /// The fetch session, and what it knows: partition, position, epochs.
    session: (i32, i32),
    told: Vec<(PartitionId, i64, i32, i32)>,
    waiting: Option<(Waiting, Instant)>,
    next: Instant,
    ends: u32,
}

impl Consumer {
    pub(super) fn new(from: From, dice: &mut Dice) -> Self {
        let by_id = dice.percent(60);
        let version = if by_id { BY_ID + dice.within(0..5) as i16 } else { 7 + dice.within(0..6) as i16 };
        let max_wait = match from {
            From::Beginning => millis(0),
            From::End => *dice.pick(&[millis(30), millis(200), millis(1000)]),
        };
        Self {
            from,
            version,
            sessions: dice.percent(60),
            max_wait,
            min_bytes: if dice.percent(70) { 1 } else { 2000 },
            max_bytes: *dice.pick(&[1, 300, 4000, 100_000]),
            most: 1 + dice.place(8),
            cursors: Vec::new(),
            wanted: Vec::new(),
            epochs_wanted: dice.percent(50),
            session: (0, 0),
            told: Vec::new(),
            waiting: None,
            next: Instant::START,
            ends: 0,
        }
    }

    fn by_id(&self) -> bool {
        self.version >= BY_ID
    }

    /// Takes up partitions that it does not read yet.
    fn assign(&mut self, ctx: &mut Context<'_>) {
        for place in all_places(ctx.oracle) {
            let is_new = !self.cursors.iter().any(|cursor| cursor.place.id == place.id)
                && !self.wanted.contains(&place);
            let is_named = self.by_id() || place.stays();
            if is_new
                && is_named
                && self.cursors.len() + self.wanted.len() < self.most
                && ctx.dice.percent(60)
            {
                self.wanted.push(place);
            }
        }
    }

    /// Asks for the next thing, unless it waits for an answer.
    fn go_on(&mut self, ctx: &mut Context<'_>) {
        if self.waiting.is_some() || self.next > ctx.now {
            return;
        }
        if ctx.dice.percent(5) || self.cursors.is_empty() {
            self.assign(ctx);
        }
        if let Some(place) = self.wanted.pop() {
            self.find_offset(place, ctx);
        } else if std::mem::take(&mut self.epochs_wanted) {
            self.find_epochs(ctx);
        } else if self.cursors.is_empty() {
            self.next = ctx.now + millis(50);
        } else {
            self.fetch(ctx);
        }
    }

    fn find_offset(&mut self, place: Place, ctx: &mut Context<'_>) {
        let version = ctx.version(ApiKey::ListOffsets, 1);
        let timestamp = if self.from == From::End { -1 } else { -2 };
        let partition =
            ListOffsetsPartition { partition_index: place.id.index, current_leader_epoch: -1, timestamp };
        let topic = ListOffsetsTopic { name: place.topic.clone(), partitions: vec![partition] };
        let body = m::ListOffsetsRequest { replica_id: -1, topics: vec![topic], ..Default::default() };
        let correlation = ctx.send(version, &body, Expect::Memory);
        self.wait(Waiting::Offset { correlation, version, place }, PATIENCE, ctx);
    }

    fn find_epochs(&mut self, ctx: &mut Context<'_>) {
        let version = ctx.version(ApiKey::Metadata, 7);
        let mut names: Vec<&str> = self.cursors.iter().map(|cursor| cursor.place.topic.as_str()).collect();
        names.dedup();
        let topic = |name: &str| MetadataRequestTopic { name: Some(name.to_owned()), ..Default::default() };
        let body =
            m::MetadataRequest { topics: Some(names.into_iter().map(topic).collect()), ..Default::default() };
        let correlation = ctx.send(version, &body, Expect::Memory);
        self.wait(Waiting::Epochs { correlation, version }, PATIENCE, ctx);
    }

    fn fetch(&mut self, ctx: &mut Context<'_>) {
        let (version, max_bytes) = (self.version, self.max_bytes);
        let mut wishes = Vec::new();
        let is_incremental = self.sessions && self.session.1 > 0;
        for cursor in &mut self.cursors {
            let wish = cursor.wish(version, max_bytes, ctx);
            let state = (cursor.place.id, cursor.position, cursor.leader_epoch, cursor.last_epoch);
            if is_incremental && self.told.contains(&state) {
                continue;
            }
            self.told.retain(|(id, ..)| *id != cursor.place.id);
            self.told.push(state);
            wishes.push((cursor.place.clone(), wish));
        }
        let places = match self.min_bytes {
            1 => self.cursors.iter().map(|cursor| (cursor.place.id, cursor.position)).collect(),
            _ => Vec::new(),
        };
        let body = m::FetchRequest {
            replica_id: -1,
            max_wait_ms: self.max_wait.as_millis() as i32,
            min_bytes: self.min_bytes,
            max_bytes: 1 << 20,
            // Without transactions everything is committed.
            isolation_level: (self.version % 2) as i8,
            session_id: if self.sessions { self.session.0 } else { 0 },
            session_epoch: if self.sessions { self.session.1 } else { -1 },
            topics: topics(wishes, self.by_id()),
            ..Default::default()
        };
        let expect = Expect::Fetch { wait: self.max_wait, places };
        let correlation = ctx.send(self.version, &body, expect);
        self.wait(Waiting::Fetch { correlation }, self.max_wait.max(millis(500)), ctx);
    }

    fn wait(&mut self, what: Waiting, patience: Duration, ctx: &Context<'_>) {
        self.waiting = Some((what, ctx.now + patience + GRACE));
    }

    fn on_offset(&mut self, response: &m::ListOffsetsResponse, place: Place, ctx: &mut Context<'_>) {
        let Some(part) = response.topics.first().and_then(|topic| topic.partitions.first()) else {
            return ctx.oracle.violated(format!("no offset for {place:?}: {response:?}"));
        };
        match ErrorCode::from_wire(part.error_code) {
            Some(ErrorCode::None) if ctx.oracle.cluster.may_be_gone(place.id.topic) => {}
            Some(ErrorCode::None) => self.cursors.push(Cursor::new(place, part.offset)),
            Some(error) => self.on_refused(&place, error, ctx),
            None => ctx.oracle.violated(format!("{} is no error code", part.error_code)),
        }
    }

    fn on_epochs(&mut self, response: &m::MetadataResponse) {
        for topic in &response.topics {
            for part in &topic.partitions {
                let is_meant = |cursor: &&mut Cursor| {
                    Some(&cursor.place.topic) == topic.name.as_ref()
                        && cursor.place.id.index == part.partition_index
                };
                for cursor in self.cursors.iter_mut().filter(|c| is_meant(c)) {
                    cursor.leader_epoch = part.leader_epoch;
                }
            }
        }
    }

    fn on_fetched(&mut self, response: &m::FetchResponse, ctx: &mut Context<'_>) {
        match ErrorCode::from_wire(response.error_code) {
            Some(ErrorCode::None) => {}
            Some(
                ErrorCode::FetchSessionIdNotFound
                | ErrorCode::InvalidFetchSessionEpoch
                | ErrorCode::FetchSessionTopicIdError,
            ) if self.sessions => {
                self.forget_session();
                return;
            }
            other => return ctx.oracle.violated(format!("a fetch is answered by {other:?}")),
        }
        if self.sessions {
            self.session = match response.session_id {
                0 => (0, 0),
                id => (id, self.session.1 + 1),
            };
        }
        let cursors = &self.cursors;
        let find = |is_meant: &dyn Fn(&Place) -> bool| {
            cursors.iter().map(|cursor| &cursor.place).find(|place| is_meant(place)).map(|place| place.id)
        };
        let found = parts(response, self.by_id(), find);
        let mut is_done = true;
        for (id, data) in found {
            let Some(at) = id.and_then(|id| self.cursors.iter().position(|cursor| cursor.place.id == id))
            else {
                continue; // given up meanwhile
            };
            match self.cursors[at].take(data, ctx) {
                Took::Batches(batches, (_, end)) => {
                    is_done &= batches.is_empty() && self.cursors[at].position >= end;
                }
                Took::Refused(error) => {
                    let cursor = self.cursors.remove(at);
                    // It still has the partition, and would refuse it every time.
                    self.forget_session();
                    self.on_cursor_refused(cursor, error, ctx);
                }
                Took::Diverging { end } => self.on_diverging(at, end, ctx),
            }
        }
        if is_done && self.from == From::Beginning {
            self.begin_again(ctx);
        } else if self.max_wait.is_zero() {
            self.next = ctx.now + ctx.dice.time(millis(1)..millis(30));
        }
    }

    /// All has been read: a backlog reader begins again, a follower goes on.
    fn begin_again(&mut self, ctx: &mut Context<'_>) {
        self.ends += 1;
        self.next = ctx.now + ctx.dice.time(millis(20)..millis(600));
        if self.ends.is_multiple_of(3) {
            self.wanted.extend(self.cursors.drain(..).map(|cursor| cursor.place));
            self.forget_session();
        }
    }

    fn on_diverging(&mut self, at: usize, end: i64, ctx: &mut Context<'_>) {
        let cursor = &mut self.cursors[at];
        if !ctx.oracle.journal.has_lost(cursor.place.id) {
            ctx.oracle
                .violated(format!("{cursor:?} is told that it diverges from {end} on, and nothing was lost"));
        }
        if end > cursor.position {
            ctx.oracle.violated(format!("{cursor:?} is told that it diverges from {end} on"));
        }
        cursor.position = end;
        // The epoch of what was read last is not known any more.
        cursor.last_epoch = -1;
    }

    fn on_cursor_refused(&mut self, mut cursor: Cursor, error: ErrorCode, ctx: &mut Context<'_>) {
        match error {
            ErrorCode::FencedLeaderEpoch | ErrorCode::UnknownLeaderEpoch if cursor.leader_epoch >= 0 => {
                cursor.leader_epoch = -1;
                self.epochs_wanted = true;
                self.cursors.push(cursor);
            }
            ErrorCode::OffsetOutOfRange => {
                let (id, position) = (cursor.place.id, cursor.position);
                if !ctx.oracle.journal.has_lost(id) && !ctx.oracle.may_start_behind(id, position) {
                    ctx.oracle.violated(format!("{cursor:?} is out of range"));
                }
                self.wanted.push(cursor.place);
            }
            ErrorCode::KafkaStorageError if ctx.oracle.disk_lost => {
                self.next = ctx.now + millis(100);
                self.cursors.push(cursor);
            }
            ErrorCode::NotLeaderOrFollower if ctx.oracle.may_be_loading(ctx.now) => {
                self.next = ctx.now + millis(100);
                self.cursors.push(cursor);
            }
            error => self.on_refused(&cursor.place, error, ctx),
        }
    }

    /// A partition is refused; it is given up if that is right.
    fn on_refused(&mut self, place: &Place, error: ErrorCode, ctx: &mut Context<'_>) {
        let explained = match error {
            ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId => {
                ctx.oracle.cluster.may_be_gone(place.id.topic)
            }
            ErrorCode::KafkaStorageError => ctx.oracle.disk_lost,
            ErrorCode::NotLeaderOrFollower => {
                self.wanted.push(place.clone());
                ctx.oracle.may_be_loading(ctx.now)
            }
            _ => false,
        };
        if !explained {
            ctx.oracle.violated(format!("{place:?} is refused: {error}"));
        }
        self.next = ctx.now + millis(20);
    }

    fn forget_session(&mut self) {
        self.session = (0, 0);
        self.told.clear();
    }
}

impl Client for Consumer {
    fn on_connected(&mut self, ctx: &mut Context<'_>) {
        self.forget_session();
        self.go_on(ctx);
    }

    fn on_disconnected(&mut self, _: &mut Context<'_>) {
        if let Some((Waiting::Offset { place, .. }, _)) = self.waiting.take() {
            self.wanted.push(place);
        }
        self.forget_session();
    }

    fn on_answer(&mut self, correlation: i32, frame: Bytes, ctx: &mut Context<'_>) {
        let read = match self.waiting.take() {
            Some((Waiting::Offset { correlation: asked, version, place }, _)) if asked == correlation => {
                answer::<m::ListOffsetsRequest>(version, frame).map(|r| self.on_offset(&r, place, ctx))
            }
            Some((Waiting::Epochs { correlation: asked, version }, _)) if asked == correlation => {
                answer::<m::MetadataRequest>(version, frame).map(|r| self.on_epochs(&r))
            }
            Some((Waiting::Fetch { correlation: asked }, _)) if asked == correlation => {
                answer::<m::FetchRequest>(self.version, frame).map(|r| self.on_fetched(&r, ctx))
            }
            other => Err(format!("an answer {correlation} for {other:?}")),
        };
        if let Err(wrong) = read {
            ctx.oracle.violated(wrong);
        }
        self.go_on(ctx);
    }

    fn on_wake(&mut self, ctx: &mut Context<'_>) {
        if self.waiting.as_ref().is_some_and(|(_, until)| *until <= ctx.now) || ctx.dice.within(0..1000) == 0
        {
            return ctx.disconnect();
        }
        self.go_on(ctx);
    }

    fn wake_at(&self) -> Option<Instant> {
        Some(self.waiting.as_ref().map_or(self.next, |(_, until)| *until))
    }
}
