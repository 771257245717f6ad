//! Fetch: a long poll over many partitions, each read on the shard that owns it.
//!
//! First all partitions are read. If that is not enough to answer with, the operation watches them
//! and reads those again that have more, until there is enough or the time is up. A partition whose
//! records only the disk has says so at once and answers again when they are there; nobody waits
//! for it who has something to return.
//!
//! What always holds: a fetch that waits for more holds no records. Memory for readers is little,
//! and one who waits with some of it in hand would keep others from records that they could have
//! now. It remembers how much there was, and reads it again in the end.

use std::time::Duration;

use aplomb_model::{ErrorCode, Instant, LeaderEpoch, Offset};
use aplomb_protocol::hot::TopicKey;
use aplomb_protocol::hot::fetch_request::FetchBody;
use aplomb_protocol::hot::fetch_response::{FetchResponseHead, FetchResponseWriter, FetchedPartition};
use aplomb_protocol::messages::fetch_response::{AbortedTransaction, EpochEndOffset};
use aplomb_protocol::{ApiKey, DecodeError, EncodeError};

use super::whole_batches::whole_batches_within;
use crate::calls::{Answer, PartitionKey, ReadCall, ReadRecords, ReadRefusal, Slot};
use crate::fetch_sessions::{
    FetchContext, FetchKey, FetchSessions, LastSent, PartitionData, PartitionResult, SessionRequest,
};
use crate::figures::Count;
use crate::metadata::MetadataImage;
use crate::operation::{
    Api, Asked, Begun, Calls, Kind, Operation, PartitionCall, Progress, Replied, ReplyContext, WaitsAt,
    resolve,
};
use crate::ports::Reply;

pub(super) const API: Api = Api::new(ApiKey::Fetch, begin);

/// From this version on, a storage error has a code of its own.
const STORAGE_ERROR_FROM: i16 = 6;
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
    outstanding: usize,
    cold: usize,
    /// What was let go of is read again, to be returned whatever it comes to.
    collecting: bool,
}

#[derive(Debug)]
struct FetchPart {
    key: FetchKey,
    wish: PartitionData,
    target: Result<PartitionKey, ErrorCode>,
    answer: Option<Result<ReadRecords, ReadRefusal>>,
    /// Bytes of records that the answer had and that were let go of.
    let_go: u64,
    state: PartState,
}

/// How far a partition's part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartState {
    /// There is an answer, and nothing more is asked for.
    Told,
    /// It was asked for.
    Reading,
    /// The disk has been asked for it.
    OnDisk,
    /// There is an answer, and the partition says once when there is more.
    Watched,
}

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let body = FetchBody::decode(asked.body, asked.to.version)?;
    let (to, limit) = (asked.to, asked.view.config().network.max_fetch.0);
    let image = asked.view.image();
    match FetchOp::begin(body, to.correlation_id, image, asked.sessions, limit, asked.now.instant) {
        Ok(mut op) => {
            op.reads(asked.calls);
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
        image: &MetadataImage,
        sessions: &mut FetchSessions,
        fetch_limit: u64,
        now: Instant,
    ) -> Result<Self, ErrorCode> {
        let key = |topic: &TopicKey, partition: i32| FetchKey {
            topic: topic.clone(),
            partition: aplomb_model::PartitionIndex(partition),
        };
        let wishes = body
            .partitions
            .iter()
            .map(|partition| {
                let wish = PartitionData {
                    fetch_offset: partition.fetch_offset,
                    current_leader_epoch: partition.current_leader_epoch,
                    last_fetched_epoch: partition.last_fetched_epoch,
                    max_bytes: partition.partition_max_bytes,
                };
                (key(body.topic_of(partition), partition.partition), wish)
            })
            .collect();
        let forgotten = body
            .forgotten
            .iter()
            .flat_map(|topic| topic.partitions.iter().map(|partition| key(&topic.topic, *partition)))
            .collect();
        let request = SessionRequest {
            id: body.session_id,
            epoch: body.session_epoch,
            by_id: body.version >= 13,
            wishes,
            forgotten,
        };
        let (context, list) = sessions.begin(request, now)?;
        let parts = list
            .into_iter()
            .map(|(key, wish)| {
                let found = resolve(image, key.topic.as_ref(), key.partition.0);
                let target = found.map(|(_, key)| key);
                FetchPart { key, wish, target, answer: None, let_go: 0, state: PartState::Told }
            })
            .collect();
        let wait = u64::try_from(body.max_wait_ms).unwrap_or(0);
        Ok(Self {
            version: body.version,
            correlation_id,
            context,
            parts,
            committed_only: body.isolation_level == 1,
            min_bytes: u64::try_from(body.min_bytes).unwrap_or(0),
            max_bytes: u64::try_from(body.max_bytes).unwrap_or(0).min(fetch_limit),
            begun: now,
            deadline: now + Duration::from_millis(wait),
            outstanding: 0,
            cold: 0,
            collecting: false,
        })
    }

    /// When to ask again, if the time is not up: records that are on their way from the disk are
    /// given a little more of it, or a client that does not wait at all would never see them.
    fn wake_again(&self, now: Instant) -> Option<Instant> {
        let patience = self.begun + COLD_PATIENCE;
        let until =
            if self.cold > 0 && self.bytes() == 0 { self.deadline.max(patience) } else { self.deadline };
        (until > now).then_some(until)
    }

    /// Reads of all partitions.
    fn reads(&mut self, calls: &mut Calls) {
        for slot in 0..self.parts.len() {
            self.read(slot as Slot, calls);
        }
    }

    /// A read of one partition that has more.
    fn read(&mut self, slot: Slot, calls: &mut Calls) {
        let part = &mut self.parts[slot as usize];
        let Ok(key) = part.target else { return }; // it is refused in the reply
        if matches!(part.state, PartState::Reading | PartState::OnDisk) {
            return; // what was asked for is still to come
        }
        part.state = PartState::Reading;
        self.outstanding += 1;
        let max = u64::try_from(part.wish.max_bytes).unwrap_or(0).min(self.max_bytes);
        let call = ReadCall {
            from: part.wish.fetch_offset,
            current_epoch: LeaderEpoch::from_wire(part.wish.current_leader_epoch),
            last_fetched_epoch: LeaderEpoch::from_wire(part.wish.last_fetched_epoch),
            max_bytes: u32::try_from(max).unwrap_or(u32::MAX),
            committed_only: self.committed_only,
            deadline: self.deadline,
        };
        calls.push((slot, key, PartitionCall::read(call)));
    }

    /// Watches of all partitions that can have more and are not watched: a watch ends when it comes
    /// true.
    fn watches(&mut self, calls: &mut Calls) {
        for (slot, part) in self.parts.iter_mut().enumerate() {
            if part.state == PartState::Told
                && let (Ok(key), Some(Ok(read))) = (part.target, &part.answer)
            {
                let watch = PartitionCall::watch(read.high_watermark, read.log_start);
                calls.push((slot as Slot, key, watch));
                part.state = PartState::Watched;
            }
        }
    }

    /// Takes a partition's answer. `from_disk_later`: it is not the last one, the disk was asked.
    fn take(&mut self, slot: Slot, answer: Result<ReadRecords, ReadRefusal>, from_disk_later: bool) {
        let part = &mut self.parts[slot as usize];
        part.answer = Some(answer);
        part.let_go = 0;
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
        let enough = self.collecting || self.parts.is_empty() || self.bytes() >= self.min_bytes;
        let later = self.wake_again(now);
        if enough || self.has_news() {
            // Records that are on their way from the disk are worth the wait when there is nothing
            // else.
            let patient = self.cold > 0 && self.bytes() == 0 && !self.has_news();
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
        if self.parts.iter().any(|part| part.let_go > 0) { Next::Collect } else { Next::Reply }
    }

    /// Whether a partition has something to say that should not wait for records: an error, a
    /// divergence.
    fn has_news(&self) -> bool {
        self.parts.iter().any(|part| part.target.is_err() || matches!(part.answer, Some(Err(_))))
    }

    /// What the partitions have, in hand or not.
    fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes() + part.let_go).sum()
    }

    fn respond(mut self, sessions: &mut FetchSessions, now: Instant) -> Result<Reply, EncodeError> {
        self.keep_to_limit();
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
        let errors = response.take_errors();
        Ok(Reply::Frame { parts: response.finish(&[])?, lent, errors, throttle: Duration::ZERO })
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
        self.read(slot, calls);
    }

    fn on_deadline(&mut self) {} // `next` sees that it has come

    fn progress(&mut self, now: Instant, calls: &mut Calls) -> Progress {
        match self.next(now) {
            Next::WaitUntil(later) => Progress::WaitUntil(later),
            Next::Watch(later) => {
                self.parts.iter_mut().for_each(FetchPart::let_go);
                self.watches(calls);
                Progress::WaitUntil(later)
            }
            Next::Collect => {
                self.collecting = true;
                let let_go = |slot: &usize| self.parts[*slot].let_go > 0;
                let slots: Vec<usize> = (0..self.parts.len()).filter(let_go).collect();
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
            if let (PartState::Watched, Ok(key)) = (part.state, part.target) {
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

    fn reply(self: Box<Self>, context: &mut ReplyContext<'_>) -> Replied {
        self.respond(context.sessions, context.now)
    }
}

impl FetchPart {
    /// Bytes of records in hand.
    fn bytes(&self) -> u64 {
        match &self.answer {
            Some(Ok(read)) => read.records.iter().map(|slice| slice.len() as u64).sum(),
            Some(Err(_)) | None => 0,
        }
    }

    fn let_go(&mut self) {
        self.let_go += self.bytes();
        if let Some(Ok(read)) = &mut self.answer {
            read.records.clear();
            read.aborted.clear();
        }
    }

    fn count_sent(&self) {
        if let Some(Ok(read)) = &self.answer {
            let bytes = self.bytes();
            if bytes > 0 {
                read.figures.add(Count::BytesOut, bytes);
            }
        }
    }

    fn result(&self) -> PartitionResult {
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

    fn write(
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
                return response.partition(&FetchedPartition::refused(index, error(*code).to_wire()));
            }
            (Ok(_), Some(Ok(read))) => read,
            (Ok(_), Some(Err(ReadRefusal::Error { error: code, log_start }))) => {
                return response.partition(&FetchedPartition {
                    log_start_offset: log_start.map_or(-1, Offset::to_wire),
                    ..FetchedPartition::refused(index, error(*code).to_wire())
                });
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

/// A response that is nothing but an error.
fn refuse(version: i16, correlation_id: i32, error: ErrorCode) -> Result<Reply, EncodeError> {
    // Sessions exist from version 7 on, and so does the field for their errors.
    let head = FetchResponseHead { throttle_time_ms: 0, error_code: error.to_wire(), session_id: 0 };
    let mut response = FetchResponseWriter::new(version, correlation_id, head)?;
    let errors = response.take_errors();
    Ok(Reply::Frame { parts: response.finish(&[])?, lent: 0, errors, throttle: Duration::ZERO })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aplomb_model::{PartitionIndex, TopicId, TopicPartition};
    use bytes::Bytes;

    use super::*;
    use crate::figures::PartitionFigures;

    const SLOT: Slot = 0;

    /// Records of one partition, as long as somebody holds them.
    struct Records(Arc<Vec<u8>>);

    struct Held(Arc<Vec<u8>>);

    impl AsRef<[u8]> for Held {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    impl Records {
        fn new(bytes: usize) -> Self {
            Self(Arc::new(vec![7; bytes]))
        }

        fn answer(&self) -> Result<ReadRecords, ReadRefusal> {
            let end = Offset::new(10);
            Ok(ReadRecords {
                records: vec![Bytes::from_owner(Held(Arc::clone(&self.0)))],
                high_watermark: end,
                last_stable: end,
                log_start: Offset::ZERO,
                aborted: Vec::new(),
                visible_end: end,
                figures: Arc::new(PartitionFigures::new(TopicPartition::new("orders", 0))),
            })
        }

        fn are_held(&self) -> bool {
            Arc::strong_count(&self.0) > 1
        }
    }

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_secs(10) + Duration::from_millis(millis)
    }

    /// A fetch of one partition, from 0 ms to 100 ms.
    fn wants(min_bytes: u64) -> FetchOp {
        let partition = PartitionIndex(0);
        let target = PartitionKey { topic: TopicId::from_u128(5), partition };
        let wish = PartitionData {
            fetch_offset: 0,
            current_leader_epoch: -1,
            last_fetched_epoch: -1,
            max_bytes: 1 << 20,
        };
        let part = FetchPart {
            key: FetchKey { topic: TopicKey::Name("orders".into()), partition },
            wish,
            target: Ok(target),
            answer: None,
            let_go: 0,
            state: PartState::Told,
        };
        FetchOp {
            version: 12,
            correlation_id: 1,
            context: FetchContext::Sessionless,
            parts: vec![part],
            committed_only: false,
            min_bytes,
            max_bytes: 1 << 20,
            begun: at(0),
            deadline: at(100),
            outstanding: 0,
            cold: 0,
            collecting: false,
        }
    }

    fn calls(ask: impl FnOnce(&mut Calls)) -> usize {
        let mut calls = Calls::new();
        ask(&mut calls);
        calls.len()
    }

    /// Goes on: what is next, and how many calls are made.
    fn go_on(op: &mut FetchOp, now: Instant) -> (Progress, usize) {
        let mut calls = Calls::new();
        (op.progress(now, &mut calls), calls.len())
    }

    #[test]
    fn a_fetch_that_waits_for_more_holds_no_records_and_reads_them_again_when_its_time_is_up() {
        let mut op = wants(1000);
        let records = Records::new(100);
        assert_eq!(calls(|calls| op.reads(calls)), 1);
        op.take(SLOT, records.answer(), false);
        assert_eq!(go_on(&mut op, at(1)), (Progress::WaitUntil(at(100)), 1), "watches");
        assert!(!records.are_held());
        assert_eq!(go_on(&mut op, at(99)), (Progress::WaitUntil(at(100)), 0));
        let (progress, reads) = go_on(&mut op, at(100));
        assert!(matches!(progress, Progress::WaitUntil(_)) && reads == 1, "reads again");
        assert!(matches!(op.next(at(100)), Next::WaitUntil(_)));
        op.take(SLOT, records.answer(), false);
        assert_eq!(go_on(&mut op, at(100)), (Progress::Reply, 0));
        assert!(records.are_held());
    }

    #[test]
    fn what_was_let_go_of_counts_until_it_is_read_again() {
        let mut op = wants(1000);
        op.reads(&mut Calls::new());
        op.take(SLOT, Records::new(600).answer(), false);
        assert_eq!(go_on(&mut op, at(1)).1, 1, "watches");
        // The whole of it, not only what came since.
        assert_eq!(calls(|calls| op.on_woken(SLOT, calls)), 1);
        op.take(SLOT, Records::new(1000).answer(), false);
        assert_eq!(op.next(at(2)), Next::Reply);
    }

    #[test]
    fn what_only_the_disk_has_when_it_is_read_again_is_waited_for_as_ever() {
        let mut op = wants(1000);
        op.reads(&mut Calls::new());
        op.take(SLOT, Records::new(600).answer(), false);
        assert_eq!(go_on(&mut op, at(1)).1, 1, "watches");
        assert_eq!(op.next(at(100)), Next::Collect);
        assert_eq!(go_on(&mut op, at(100)).1, 1, "reads again");
        op.take(SLOT, Records::new(0).answer(), true);
        assert!(matches!(op.next(at(101)), Next::WaitUntil(_)));
        op.take(SLOT, Records::new(600).answer(), false);
        assert_eq!(op.next(at(200)), Next::Reply);
    }
}
