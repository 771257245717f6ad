//! Fetch: a long poll over many partitions, each read on the shard that owns it.
//!
//! First all partitions are read, in the order of the request, as many at a time as the limit of
//! the response has room for: each read is given what is left of it, and those for which nothing is
//! left only say where their logs are. If that is not enough to answer with, the operation watches
//! the partitions and reads those again that have more, until there is enough or the time is up. A
//! partition whose records only the disk has says so at once and answers again when they are there;
//! nobody waits for it who has something to return.
//!
//! What always holds: a fetch that waits for more holds no records. Memory for readers is little,
//! and one who waits with some of it in hand would keep others from records that they could have
//! now. It remembers how much there was, and reads it again in the end. It is woken not by each
//! append but by as much as it lacks. Sums are kept, not made: who waits for many partitions is
//! woken by each of them.

mod part;
mod patience;
mod refusals;
mod wishes;

use std::time::Duration;

use aplomb_model::{ErrorCode, Instant, LeaderEpoch};
use aplomb_protocol::hot::TopicKey;
use aplomb_protocol::hot::fetch_request::FetchBody;
use aplomb_protocol::hot::fetch_response::{FetchResponseHead, FetchResponseWriter};
use aplomb_protocol::{ApiKey, DecodeError, EncodeError};

use self::part::{FetchPart, PartState};
use self::patience::Patience;
use self::refusals::{refuse, refuse_each};
use super::Access;
use super::rights::TopicRights;
use super::whole_batches::whole_batches_within;
use crate::calls::{Answer, ReadCall, ReadRecords, ReadRefusal, Slot, Watch};
use crate::fetch_sessions::{FetchContext, FetchSessions};
use crate::metadata::MetadataImage;
use crate::operation::{
    Api, Asked, Begun, Calls, Kind, Operation, PartitionCall, Progress, Replied, ReplyContext, WaitsAt,
    resolve,
};
use crate::ports::{Reply, Waited};
use crate::view::HEAD;

pub(super) const API: Api = Api::new(ApiKey::Fetch, begin);

/// What a response has beside its partitions, and they beside their records, for quotas: most of
/// what Apache Kafka counts, and no name.
const HEAD_BYTES: u64 = 24;
const PART_BYTES: u64 = 48;
/// How long a fetch waits for the disk at least, when there is nothing else to answer with.
const COLD_PATIENCE: Duration = Duration::from_millis(500);

/// A fetch request that waits for records.
#[derive(Debug)]
struct FetchOp {
    version: i16,
    correlation_id: i32,
    context: FetchContext,
    parts: Vec<FetchPart>,
    committed_only: bool,
    min_bytes: u64,
    max_bytes: u64,
    begun: Instant,
    deadline: Instant,
    /// The first part that was not read yet.
    unread: usize,
    outstanding: usize,
    cold: usize,
    /// Bytes that reads under way may bring.
    reserved: u64,
    /// Bytes that the answers had, in hand or let go of, but for those that are being read again.
    found: u64,
    patience: Patience,
    /// Parts whose records were let go of.
    let_go: usize,
    /// Parts with something to say that should not wait for records: an error, a divergence.
    news: usize,
    /// It was not to be woken by each byte: there may be more than it was told of.
    patient: bool,
    /// What was let go of is read again, to be returned whatever it comes to.
    collecting: bool,
}

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let body = FetchBody::decode(asked.body, asked.to.version)?;
    if asked.sessions.owner_of(body.session_id) == Some(HEAD) && !asked.is_at_head() {
        return Ok(Begun::ForHead);
    }
    let (to, limit) = (asked.to, asked.view.config().network.max_fetch.0);
    if !matches!(body.isolation_level, 0 | 1) {
        return Ok(Begun::Reply(refuse_each(&body, to.correlation_id, ErrorCode::UnknownServerError)));
    }
    let image: &MetadataImage = asked.view.image();
    let (at, about) = (asked.now.instant, (image, asked.access()));
    match FetchOp::begin(body, to.correlation_id, about, asked.sessions, limit, at) {
        Ok(mut op) => {
            // More would only have it wait longer afterwards.
            let most = asked.quotas.most_fetched(asked.bill.as_ref()).unwrap_or(u64::MAX);
            (op.max_bytes, op.min_bytes) = (op.max_bytes.min(most), op.min_bytes.min(most));
            op.read_on(asked.calls);
            let deadline = op.deadline;
            Ok(Begun::Wait(Box::new(op), deadline))
        }
        Err(error) => Ok(Begun::Reply(refuse(to.version, to.correlation_id, error))),
    }
}

impl FetchOp {
    /// Takes a request apart. The error is for the whole response.
    fn begin(
        body: FetchBody,
        correlation_id: i32,
        (image, access): (&MetadataImage, Access<'_>),
        sessions: &mut FetchSessions,
        fetch_limit: u64,
        now: Instant,
    ) -> Result<Self, ErrorCode> {
        let (context, list) = sessions.begin(wishes::of(&body), now)?;
        // No partition has a replica elsewhere.
        let is_follower = body.replica_id >= 0;
        let mut rights = TopicRights::to_fetch(image, access, is_follower);
        let parts: Vec<_> = list
            .into_iter()
            .map(|(key, wish)| {
                let found = rights
                    .check(&key.topic)
                    .and_then(|()| resolve(image, key.topic.as_ref(), key.partition.0));
                let target = found.and_then(|(_, key)| {
                    if is_follower {
                        // As Apache Kafka says to a replica that it does not know.
                        let knows_epoch = wish.current_leader_epoch >= 0;
                        return Err(if knows_epoch {
                            ErrorCode::UnknownLeaderEpoch
                        } else {
                            ErrorCode::NotLeaderOrFollower
                        });
                    }
                    if body.max_bytes < 0 || wish.max_bytes < 0 {
                        return Err(ErrorCode::UnknownServerError);
                    }
                    Ok(key)
                });
                FetchPart::new(key, wish, target)
            })
            .collect();
        let news = parts.iter().filter(|part| part.target.is_err()).count();
        let wait = u64::try_from(body.max_wait_ms).unwrap_or(0);
        let max_bytes = u64::try_from(body.max_bytes).unwrap_or(0).min(fetch_limit);
        Ok(Self {
            version: body.version,
            correlation_id,
            context,
            parts,
            committed_only: body.isolation_level == 1,
            min_bytes: u64::try_from(body.min_bytes).unwrap_or(0).min(max_bytes),
            max_bytes,
            begun: now,
            deadline: now + Duration::from_millis(wait),
            unread: 0,
            outstanding: 0,
            cold: 0,
            reserved: 0,
            found: 0,
            patience: Patience::default(),
            let_go: 0,
            news,
            patient: false,
            collecting: false,
        })
    }

    /// When to ask again, if the time is not up: records that are on their way from the disk are
    /// given a little more of it, or a client that does not wait at all would never see them.
    fn wake_again(&self, now: Instant) -> Option<Instant> {
        let patience = self.begun + COLD_PATIENCE;
        let until =
            if self.cold > 0 && self.found == 0 { self.deadline.max(patience) } else { self.deadline };
        (until > now).then_some(until)
    }

    /// Reads of the next partitions, as long as the response may have room for what they bring.
    fn read_on(&mut self, calls: &mut Calls) {
        while self.unread < self.parts.len() {
            let slot = self.unread as Slot;
            if self.reserved > 0 && self.room_for(slot) == 0 {
                return; // what is under way may turn out to be less
            }
            self.unread += 1;
            self.read(slot, calls);
        }
    }

    /// What is left of the limit beside the other parts. Where they have nothing, a first batch has
    /// room whatever the limit.
    fn room_for(&self, slot: Slot) -> u64 {
        let others = self.found - self.parts[slot as usize].found + self.reserved;
        self.max_bytes.saturating_sub(others).max(u64::from(others == 0))
    }

    /// A read of one partition that has more.
    fn read(&mut self, slot: Slot, calls: &mut Calls) {
        let room = self.room_for(slot);
        let part = &mut self.parts[slot as usize];
        let Ok(key) = part.target else { return }; // it is refused in the reply
        if matches!(part.state, PartState::Reading | PartState::OnDisk) {
            return; // what was asked for is still to come
        }
        part.state = PartState::Reading;
        self.outstanding += 1;
        // A limit of its own that is nothing is no limit for the first batch.
        let max = u64::try_from(part.wish.max_bytes).unwrap_or(0).max(1).min(room);
        (part.reserved, self.reserved) = (max, self.reserved + max);
        self.found -= std::mem::take(&mut part.found);
        let call = ReadCall {
            from: part.wish.fetch_offset,
            current_epoch: LeaderEpoch::from_wire(part.wish.current_leader_epoch),
            last_fetched_epoch: LeaderEpoch::from_wire(part.wish.last_fetched_epoch),
            max_bytes: u32::try_from(max).unwrap_or(u32::MAX),
            committed_only: self.committed_only,
            deadline: self.deadline,
            reader: aplomb_log::Reader::Others,
        };
        calls.push((slot, key, PartitionCall::read(call)));
    }

    /// Watches of all partitions that can have more and are not watched: a watch ends when it comes
    /// true.
    fn watches(&mut self, calls: &mut Calls) {
        let (more, anew) = self.patience.with(self.min_bytes - self.found, self.parts.len());
        for (slot, part) in self.parts.iter_mut().enumerate() {
            let due = part.state == PartState::Told || (anew && part.state == PartState::Watched);
            if due && let (Ok(key), Some(Ok(read))) = (part.target, &part.answer) {
                // The end of a transaction shows more than its own bytes.
                let undecided = self.committed_only && read.last_stable < read.high_watermark;
                let more = if undecided { 1 } else { more };
                self.patient |= more > 1;
                let watch = Watch { seen: read.seen, start: read.log_start, more };
                calls.push((slot as Slot, key, PartitionCall::watch(watch)));
                part.state = PartState::Watched;
                part.watches += 1;
            }
        }
    }

    /// Takes a partition's answer. `from_disk_later`: it is not the last one, the disk was asked.
    fn take(&mut self, slot: Slot, answer: Result<ReadRecords, ReadRefusal>, from_disk_later: bool) {
        let part = &mut self.parts[slot as usize];
        self.reserved -= std::mem::take(&mut part.reserved);
        self.let_go -= usize::from(std::mem::take(&mut part.let_go));
        self.news += usize::from(answer.is_err());
        self.news -= usize::from(matches!(part.answer, Some(Err(_))));
        part.answer = Some(answer);
        let found = part.bytes();
        self.found = self.found - std::mem::replace(&mut part.found, found) + found;
        match part.state {
            PartState::Reading => self.outstanding -= 1,
            PartState::OnDisk => self.cold -= 1,
            PartState::Told | PartState::Watched => panic!("a partition answers what it was asked"),
        }
        // A read that goes on in the next segment says a second time that the disk is asked.
        part.state = if from_disk_later { PartState::OnDisk } else { PartState::Told };
        self.cold += usize::from(from_disk_later);
    }

    /// When to look again at reads that were not answered by the deadline: they may turn out to
    /// need the disk.
    fn answers_by(&self, now: Instant) -> Instant {
        let late = self.deadline <= now;
        if late { (self.begun + COLD_PATIENCE).max(now + Duration::from_millis(1)) } else { self.deadline }
    }

    /// What to do now.
    fn next(&self, now: Instant) -> Next {
        if self.outstanding > 0 {
            // Partitions of other shards are about to answer, from memory: the last answer ends it,
            // unless it says that the disk was asked.
            return Next::WaitUntil(self.answers_by(now));
        }
        let enough = self.collecting || self.parts.is_empty() || self.found >= self.min_bytes;
        let later = self.wake_again(now);
        if enough || self.news > 0 {
            // Records that are on their way from the disk are worth the wait when there is nothing
            // else.
            let patient = self.cold > 0 && self.found == 0 && self.news == 0;
            return match later {
                Some(later) if patient => Next::WaitUntil(later),
                Some(_) | None => self.end(),
            };
        }
        match later {
            Some(later) => Next::Watch(later),
            None => self.end(),
        }
    }

    fn end(&self) -> Next {
        let has_more = || !self.collecting && (0..self.parts.len()).any(|slot| self.may_have_more(slot));
        if self.let_go > 0 || has_more() { Next::Collect } else { Next::Reply }
    }

    /// Whether a part has records that are not in hand.
    fn may_have_more(&self, slot: usize) -> bool {
        let part = &self.parts[slot];
        part.let_go || self.patient && part.state == PartState::Watched
    }

    /// Keeps no records while it waits.
    fn let_go(&mut self) {
        for part in &mut self.parts {
            if let Some(Ok(read)) = &mut part.answer
                && part.found > 0
                && !part.let_go
            {
                read.records.clear();
                read.aborted.clear();
                part.let_go = true;
                self.let_go += 1;
            }
        }
    }

    fn respond(mut self, context: &mut ReplyContext<'_>) -> Result<Reply, EncodeError> {
        let (sessions, now) = (&mut *context.sessions, context.now);
        self.keep_to_limit();
        let throttle = context.till.fetched(|| self.size());
        if !throttle.is_zero() {
            // Who is throttled is told nothing else, and goes on from where it is.
            self.parts.clear();
        }
        let outcomes: Vec<_> =
            self.parts.iter().map(|part| (part.key.clone(), part.wish, part.result())).collect();
        let (session_id, included) = match sessions.finish(self.context, &outcomes, now) {
            Ok(finished) => finished,
            Err(error) => return refuse(self.version, self.correlation_id, error),
        };
        let head = FetchResponseHead { throttle_time_ms: 0, error_code: 0, session_id };
        let mut response = FetchResponseWriter::new(self.version, self.correlation_id, head)?;
        let (mut topic, mut lent): (Option<&TopicKey>, usize) = (None, 0);
        for (part, _) in self.parts.iter().zip(included).filter(|(_, included)| *included) {
            if topic != Some(&part.key.topic) {
                response.topic(part.key.topic.as_ref())?;
                topic = Some(&part.key.topic);
            }
            part.write(&mut response, self.version, self.committed_only)?;
            part.count_sent();
            lent += usize::try_from(part.bytes()).unwrap_or(usize::MAX);
        }
        let (errors, throttle_at) = (response.take_errors(), response.throttle_at());
        let (parts, waited) = (response.finish(&[])?, Waited::default());
        Ok(Reply::Frame { parts, lent, errors, throttle, throttle_at, waited })
    }

    /// About how many bytes the response has. Partitions of a session that have nothing to say are
    /// not part of it.
    fn size(&self) -> u64 {
        let parts = self.parts.iter().filter(|part| part.result().is_news());
        parts.map(|part| PART_BYTES + part.bytes()).sum::<u64>() + HEAD_BYTES
    }

    /// Partitions are served in the order of the request until the response is full; the first that
    /// has records gives at least one batch, whatever its size.
    fn keep_to_limit(&mut self) {
        let mut left = self.max_bytes;
        let mut first = true;
        for part in &mut self.parts {
            let limit = left.min(u64::try_from(part.wish.max_bytes).unwrap_or(0));
            let Some(Ok(read)) = &mut part.answer else { continue };
            let bytes: u64 = read.records.iter().map(|slice| slice.len() as u64).sum();
            if bytes > limit && !first {
                read.records = whole_batches_within(&read.records, limit);
            }
            let kept: u64 = read.records.iter().map(|slice| slice.len() as u64).sum();
            first &= kept == 0;
            left = left.saturating_sub(kept);
        }
    }
}

/// What a fetch wants next.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Answers are to come. To be looked at again at that time.
    WaitUntil(Instant),
    /// Watch the partitions until then.
    Watch(Instant),
    /// Read again what was let go of; it is enough, or the time is up.
    Collect,
    /// Answer now.
    Reply,
}

impl Operation for FetchOp {
    fn on_answer(&mut self, slot: Slot, answer: Answer) {
        match answer {
            Answer::Read(answer) => self.take(slot, answer, false),
            Answer::ReadLater(nothing_yet) => self.take(slot, Ok(nothing_yet), true),
            other => panic!("a read is answered by records, not by {other:?}"),
        }
    }

    fn on_woken(&mut self, slot: Slot, calls: &mut Calls) {
        self.parts[slot as usize].watches -= 1;
        self.read(slot, calls);
    }

    fn on_deadline(&mut self) {} // `next` sees that it has come

    fn progress(&mut self, now: Instant, calls: &mut Calls) -> Progress {
        self.read_on(calls);
        match self.next(now) {
            Next::WaitUntil(later) => Progress::WaitUntil(later),
            Next::Watch(later) => {
                self.let_go();
                self.watches(calls);
                Progress::WaitUntil(later)
            }
            Next::Collect => {
                self.collecting = true;
                let slots: Vec<usize> =
                    (0..self.parts.len()).filter(|slot| self.may_have_more(*slot)).collect();
                for slot in slots {
                    self.read(slot as Slot, calls);
                }
                Progress::WaitUntil(self.answers_by(now))
            }
            Next::Reply => Progress::Reply,
        }
    }

    fn waits_at(&self, waits: &mut dyn FnMut(Slot, WaitsAt)) {
        for (slot, part) in self.parts.iter().enumerate() {
            // Reads of a disk go on: what they bring is kept for the client's next poll.
            if let (1.., Ok(key)) = (part.watches, part.target) {
                waits(slot as Slot, WaitsAt::Partition(key));
            }
        }
    }

    /// The answer goes out as soon as all partitions have said what they have in memory.
    fn hurry(&mut self) {
        (self.begun, self.deadline) = (Instant::START, Instant::START);
    }

    fn kind(&self) -> Kind {
        Kind::Fetch
    }

    /// All partitions have answered, and the disk has nothing to bring: records are to come.
    fn is_idle(&self) -> bool {
        self.outstanding == 0 && self.cold == 0
    }

    fn partitions(&self) -> usize {
        self.parts.len()
    }

    fn reply(self: Box<Self>, context: &mut ReplyContext<'_>) -> Replied {
        self.respond(context)
    }
}

#[cfg(test)]
mod tests;
