//! A producer: takes records from the schedule, gathers them in batches, says what to send to which broker, learns what became of it.
//!
//! What always holds: the schedule is never asked to wait. When the buffer is full, records stay in the schedule, and are made from the times at
//! which they were due as soon as there is room. A batch keeps its records, and with a producer id its sequence number, from its first
//! sending to its end; what is sent again goes before what is newer.

use std::collections::VecDeque;
use std::time::Duration;

use aplomb_model::batch::ProducerStamp;
use aplomb_model::{ErrorCode, Instant, ProducerEpoch, ProducerId, Timestamp};
use aplomb_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use aplomb_protocol::messages::{InitProducerIdResponse, ProduceRequest, ProduceResponse};

use crate::batch::{Batch, OpenBatch};
use crate::keys::{Choice, Keys};
use crate::payload::Payload;
use crate::schedule::Schedule;
use crate::spec::ProducerSpec;
use crate::stats::Stats;
use crate::topic::{TopicView, code_name};

/// How long a partition rests after an error that may pass (`retry.backoff.ms`).
const BACKOFF: Duration = Duration::from_millis(100);
/// Records made in one turn: while a backlog is worked off, answers are looked at in between.
const MOST_IN_ONE_TURN: usize = 4_096;

/// One producer.
#[derive(Debug)]
pub(crate) struct Producer {
    spec: ProducerSpec,
    schedule: Option<Schedule>,
    /// The wall clock's milliseconds at the start of the run's clock.
    wall: i64,
    keys: Keys,
    payload: Payload,
    lanes: Vec<Lane>,
    /// The partitions that it writes to, by their numbers.
    mine: Vec<usize>,
    /// Of these, the one for records without a key.
    sticky: usize,
    buffered: usize,
    identity: Identity,
    /// Whether a turn ended before everything due was made.
    behind: bool,
}

/// What is on its way to one partition.
#[derive(Debug, Default)]
struct Lane {
    open: Option<OpenBatch>,
    ready: VecDeque<Batch>,
    in_flight: usize,
    next_sequence: i32,
    rests_until: Option<Instant>,
}

/// Who the producer is to the brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    Anonymous,
    Wanted { not_before: Instant },
    Asked,
    Known(ProducerId, ProducerEpoch),
}

/// A batch in a request.
#[derive(Debug)]
pub(crate) struct Sent {
    partition: usize,
    batch: Batch,
}

impl Producer {
    /// Writes to `mine`, which are some partitions.
    pub(crate) fn new(spec: &ProducerSpec, mine: Vec<usize>, run: u64, number: usize, wall: i64) -> Self {
        let seed = run ^ (number as u64).rotate_left(32);
        let lanes = mine.iter().max().map_or(0, |last| last + 1);
        Self {
            spec: spec.clone(),
            schedule: None,
            wall,
            keys: Keys::new(spec.keys, spec.key_size, seed),
            payload: Payload::new(run, spec.record_size, seed),
            lanes: (0..lanes).map(|_| Lane::default()).collect(),
            sticky: number % mine.len(),
            mine,
            buffered: 0,
            identity: if spec.idempotent {
                Identity::Wanted { not_before: Instant::START }
            } else {
                Identity::Anonymous
            },
            behind: false,
        }
    }

    /// Whether records can be sent.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.identity, Identity::Anonymous | Identity::Known(..))
    }

    /// The partitions that it writes to.
    pub(crate) fn partitions(&self) -> &[usize] {
        &self.mine
    }

    /// Gives it its times.
    pub(crate) fn begin(&mut self, schedule: Schedule) {
        self.schedule = Some(schedule);
    }

    /// No more records, though their times would have come.
    pub(crate) fn stop(&mut self) {
        self.schedule = None;
    }

    /// Whether every record has found its end.
    pub(crate) fn is_done(&self) -> bool {
        self.schedule.as_ref().is_none_or(|schedule| schedule.peek().is_none())
            && self.lanes.iter().all(|l| l.in_flight == 0 && l.ready.is_empty() && l.open.is_none())
    }

    /// Makes the records that are due, and gives up those that are too old.
    pub(crate) fn advance(&mut self, now: Instant, stats: &mut Stats) {
        self.behind = false;
        for _ in 0..MOST_IN_ONE_TURN {
            if self.buffered >= self.spec.buffer_memory {
                break;
            }
            let Some(due) = self.schedule.as_mut().and_then(|schedule| schedule.take(now)) else { break };
            self.make(due);
        }
        if self.buffered < self.spec.buffer_memory {
            self.behind = self.schedule.as_ref().and_then(Schedule::peek).is_some_and(|due| due <= now);
        }
        self.expire(now, stats);
    }

    fn make(&mut self, due: Instant) {
        let (place, key) = match self.keys.choose(self.mine.len()) {
            Choice::Sticky => (self.sticky, None),
            Choice::Partition(place) => (place, None),
            Choice::Keyed(place, key) => (place, Some(key)),
        };
        let partition = self.mine[place];
        let lane = &mut self.lanes[partition];
        let time = Timestamp(self.wall + (due.as_nanos() / 1_000_000).cast_signed());
        let open = lane.open.get_or_insert_with(|| OpenBatch::new(self.spec.compression));
        let before = open.size();
        open.append(due, time, key, self.payload.value(due));
        self.buffered += open.size() - before;
        if open.size() >= self.spec.batch_size {
            self.seal(partition);
        }
    }

    fn seal(&mut self, partition: usize) {
        let lane = &mut self.lanes[partition];
        let Some(open) = lane.open.take() else { return };
        let mut batch = open.seal();
        // The header was not counted while the batch was open.
        batch.held -= OpenBatch::new(self.spec.compression).size();
        lane.ready.push_back(batch);
        if partition == self.mine[self.sticky] {
            self.sticky = (self.sticky + 1) % self.mine.len();
        }
    }

    fn expire(&mut self, now: Instant, stats: &mut Stats) {
        let mut gap = false;
        for lane in &mut self.lanes {
            while lane.ready.front().is_some_and(|b| b.is_older_than(self.spec.delivery_timeout, now)) {
                let batch = lane.ready.pop_front().expect("it was looked at");
                gap |= batch.stamp.is_some();
                self.buffered -= batch.held;
                stats.expired(&batch.due, now);
            }
        }
        if gap {
            self.want_identity(now);
        }
    }

    /// The next request to this broker, if there is something for it.
    pub(crate) fn ask(
        &mut self,
        broker: i32,
        topic: &TopicView,
        now: Instant,
    ) -> Option<(ProduceRequest, Vec<Sent>)> {
        if !self.is_ready() {
            return None;
        }
        let mut sent: Vec<Sent> = Vec::new();
        let mut size = 0;
        // Another partition is first each time, so that none has to wait for the others when requests are full.
        let first = self.sticky;
        for step in 0..self.mine.len() {
            let partition = self.mine[(first + step) % self.mine.len()];
            if topic.leaders.get(partition).copied().flatten() != Some(broker) {
                continue;
            }
            if self.lanes[partition].rests_until.is_some_and(|until| now < until) {
                continue;
            }
            if self.lanes[partition].ready.is_empty() && self.has_lingered(partition, now) {
                self.seal(partition);
            }
            let lane = &mut self.lanes[partition];
            let Some(batch) = lane.ready.front() else { continue };
            if !sent.is_empty() && size + batch.bytes.len() > self.spec.max_request_size {
                break;
            }
            let mut batch = lane.ready.pop_front().expect("it was looked at");
            if let Identity::Known(id, epoch) = self.identity
                && batch.stamp.is_none_or(|stamp| (stamp.id, stamp.epoch) != (id, epoch))
            {
                let base_sequence = lane.next_sequence;
                batch.stamp(ProducerStamp { id, epoch, base_sequence });
                lane.next_sequence = sequence_after(base_sequence, batch.count());
            }
            lane.rests_until = None;
            lane.in_flight += 1;
            size += batch.bytes.len();
            sent.push(Sent { partition, batch });
        }
        if sent.is_empty() {
            return None;
        }
        let partition_data = sent
            .iter()
            .map(|sent| PartitionProduceData {
                index: sent.partition as i32,
                records: Some(sent.batch.bytes.clone()),
            })
            .collect();
        let topic_data =
            vec![TopicProduceData { name: topic.name.clone(), topic_id: topic.id, partition_data }];
        let timeout_ms =
            i32::try_from(self.spec.delivery_timeout.as_millis()).unwrap_or(i32::MAX).min(30_000);
        Some((ProduceRequest { transactional_id: None, acks: self.spec.acks, timeout_ms, topic_data }, sent))
    }

    fn has_lingered(&self, partition: usize, now: Instant) -> bool {
        let first = self.lanes[partition].open.as_ref().and_then(OpenBatch::first_due);
        let over = self.schedule.as_ref().is_none_or(|schedule| schedule.peek().is_none());
        first.is_some_and(|due| over || due + self.spec.linger <= now)
    }

    /// Everything in a request was written, and no answer will come.
    pub(crate) fn written(&mut self, sent: Vec<Sent>, now: Instant, stats: &mut Stats) {
        for Sent { partition, batch } in sent {
            self.lanes[partition].in_flight -= 1;
            self.acknowledge(&batch, now, stats);
        }
    }

    /// A broker has answered. Returns whether the metadata are old.
    pub(crate) fn answered(
        &mut self,
        sent: Vec<Sent>,
        response: &ProduceResponse,
        now: Instant,
        stats: &mut Stats,
    ) -> bool {
        let mut stale = false;
        let answers = || response.responses.iter().flat_map(|topic| &topic.partition_responses);
        for Sent { partition, batch } in sent {
            self.lanes[partition].in_flight -= 1;
            let answer = answers().find(|answer| usize::try_from(answer.index) == Ok(partition));
            let code = answer.map_or(ErrorCode::UnknownServerError.to_wire(), |answer| answer.error_code);
            if code == 0 || code == ErrorCode::DuplicateSequenceNumber.to_wire() {
                self.acknowledge(&batch, now, stats);
                continue;
            }
            stats.trouble(&code_name(code), now);
            match ErrorCode::from_wire(code).map_or(Verdict::Final, verdict) {
                Verdict::Again => {}
                Verdict::Elsewhere => stale = true,
                Verdict::SequenceBroken => {
                    // Behind a batch that has to go again this is what is to be expected; alone it means that the broker knows another past.
                    let lane = &self.lanes[partition];
                    if lane.in_flight == 0 && lane.ready.front().is_none_or(|next| next.stamp.is_none()) {
                        self.want_identity(now);
                    }
                }
                Verdict::Final => {
                    self.buffered -= batch.held;
                    stats.refused(&batch.due);
                    if batch.stamp.is_some() {
                        self.want_identity(now);
                    }
                    continue;
                }
            }
            self.again(partition, batch, now, stats);
        }
        stale
    }

    /// The connection has gone and the answer with it.
    pub(crate) fn lost(&mut self, sent: Vec<Sent>, now: Instant, stats: &mut Stats) {
        for Sent { partition, batch } in sent {
            self.lanes[partition].in_flight -= 1;
            if self.spec.acks == 0 {
                // Nobody knows what has arrived, and nobody asked.
                self.buffered -= batch.held;
                stats.refused(&batch.due);
            } else {
                self.again(partition, batch, now, stats);
            }
        }
    }

    fn again(&mut self, partition: usize, batch: Batch, now: Instant, stats: &mut Stats) {
        stats.retries += 1;
        let lane = &mut self.lanes[partition];
        lane.rests_until = Some(now + BACKOFF);
        // In the order in which records were due, which is the order of their sequence numbers.
        let place = lane.ready.partition_point(|other| other.due[0] < batch.due[0]);
        lane.ready.insert(place, batch);
    }

    fn acknowledge(&mut self, batch: &Batch, now: Instant, stats: &mut Stats) {
        self.buffered -= batch.held;
        stats.acknowledged(&batch.due, now);
    }

    fn want_identity(&mut self, now: Instant) {
        if matches!(self.identity, Identity::Known(..)) {
            self.identity = Identity::Wanted { not_before: now };
        }
    }

    /// Whether a producer id is to be asked for now. True once.
    pub(crate) fn asks_for_identity(&mut self, now: Instant) -> bool {
        let asks = matches!(self.identity, Identity::Wanted { not_before } if not_before <= now);
        if asks {
            self.identity = Identity::Asked;
        }
        asks
    }

    /// The answer, or `None` when it was lost.
    pub(crate) fn identified(
        &mut self,
        response: Option<&InitProducerIdResponse>,
        now: Instant,
        stats: &mut Stats,
    ) {
        let known = response.filter(|r| r.error_code == 0).and_then(|r| {
            Some(Identity::Known(ProducerId::from_wire(r.producer_id)?, ProducerEpoch(r.producer_epoch)))
        });
        if let Some(code) = response.map(|r| r.error_code).filter(|code| *code != 0) {
            stats.trouble(&code_name(code), now);
        }
        self.identity = known.unwrap_or(Identity::Wanted { not_before: now + BACKOFF });
        if known.is_some() {
            for lane in &mut self.lanes {
                lane.next_sequence = 0;
            }
        }
    }

    /// When it wants to be called next, if nothing happens before.
    pub(crate) fn wake_at(&self, now: Instant) -> Option<Instant> {
        if self.behind {
            return Some(now);
        }
        // What lies in the past waits for something else to happen.
        let mut wake: Option<Instant> = None;
        let mut at = |moment: Option<Instant>| {
            wake = match (wake, moment.filter(|moment| *moment > now)) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        };
        if let Identity::Wanted { not_before } = self.identity {
            at(Some(not_before));
        }
        for lane in &self.lanes {
            at(lane.open.as_ref().and_then(OpenBatch::first_due).map(|due| due + self.spec.linger));
            if !lane.ready.is_empty() {
                at(lane.rests_until);
            }
            at(lane.ready.front().map(|batch| batch.due[0] + self.spec.delivery_timeout + BACKOFF));
        }
        if let Some(schedule) = &self.schedule
            && self.buffered < self.spec.buffer_memory
        {
            let fill = (self.spec.batch_size / (self.spec.record_size + 16)).max(1) as u64;
            at(schedule.peek().map(|due| due + self.spec.linger));
            at(schedule.ahead(fill - 1));
        }
        wake
    }

    /// The run is over: what has found no end is counted with its age.
    pub(crate) fn give_up(&mut self, lost: Vec<Sent>, now: Instant, stats: &mut Stats) {
        let open = self.lanes.iter_mut().filter_map(|lane| lane.open.take()).map(OpenBatch::seal);
        let open: Vec<Batch> = open.collect();
        let ready = self.lanes.iter_mut().flat_map(|lane| lane.ready.drain(..));
        for batch in ready.chain(lost.into_iter().map(|sent| sent.batch)).chain(open) {
            for due in batch.due {
                stats.unanswered(due, now);
            }
        }
        if let Some(mut schedule) = self.schedule.take() {
            while let Some(due) = schedule.take(now) {
                stats.unanswered(due, now);
            }
        }
        for lane in &mut self.lanes {
            lane.in_flight = 0;
        }
    }
}

/// What an error means for a batch.
enum Verdict {
    /// The same again, later.
    Again,
    /// The same again, to whoever leads now.
    Elsewhere,
    /// The broker's idea of the producer is another one.
    SequenceBroken,
    /// Never.
    Final,
}

/// As Apache Kafka's producer has it: `RetriableException`, of these `InvalidMetadataException`, and what `TransactionManager.canRetry` and
/// `handleFailedBatch` do with sequence errors.
fn verdict(code: ErrorCode) -> Verdict {
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
        | ErrorCode::NetworkException => Verdict::Elsewhere,
        ErrorCode::RequestTimedOut
        | ErrorCode::NotEnoughReplicas
        | ErrorCode::NotEnoughReplicasAfterAppend
        | ErrorCode::CorruptMessage
        | ErrorCode::ThrottlingQuotaExceeded
        | ErrorCode::CoordinatorLoadInProgress
        | ErrorCode::CoordinatorNotAvailable => Verdict::Again,
        ErrorCode::OutOfOrderSequenceNumber
        | ErrorCode::UnknownProducerId
        | ErrorCode::InvalidProducerEpoch => Verdict::SequenceBroken,
        _ => Verdict::Final,
    }
}

/// The sequence number after `count` records from `first`; after 2^31-1 comes 0.
fn sequence_after(first: i32, count: usize) -> i32 {
    ((i64::from(first) + count as i64) & i64::from(i32::MAX)) as i32
}

#[cfg(test)]
mod tests {
    use aplomb_protocol::messages::produce_response::{PartitionProduceResponse, TopicProduceResponse};

    use super::*;
    use crate::KeyDistribution;

    struct Bench {
        producer: Producer,
        stats: Stats,
        topic: TopicView,
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    impl Bench {
        /// One record a millisecond for ten seconds, batches of one, to one partition that broker 1 leads.
        fn new(change: impl Fn(&mut ProducerSpec)) -> Self {
            let mut spec = ProducerSpec {
                rate: 1_000,
                record_size: 100,
                batch_size: 1,
                linger: Duration::ZERO,
                idempotent: false,
                ..ProducerSpec::default()
            };
            change(&mut spec);
            let mut producer = Producer::new(&spec, vec![0], 7, 0, 0);
            producer.begin(Schedule::new(at(0), Duration::from_secs(10), spec.rate, 0, 1));
            let mut stats = Stats::new();
            stats.begin(at(0));
            let topic = TopicView { name: "t".to_owned(), leaders: vec![Some(1)], ..TopicView::default() };
            Self { producer, stats, topic }
        }

        fn ask(&mut self, now: u64) -> Option<Vec<Sent>> {
            self.producer.advance(at(now), &mut self.stats);
            self.producer.ask(1, &self.topic, at(now)).map(|(_, sent)| sent)
        }

        fn answer(&mut self, sent: Vec<Sent>, code: ErrorCode, now: u64) -> bool {
            let error_code = code.to_wire();
            let partition_responses = vec![PartitionProduceResponse { error_code, ..Default::default() }];
            let responses = vec![TopicProduceResponse { partition_responses, ..Default::default() }];
            let response = ProduceResponse { responses, ..Default::default() };
            self.producer.answered(sent, &response, at(now), &mut self.stats)
        }

        fn identify(&mut self, producer_id: i64, now: u64) {
            assert!(self.producer.asks_for_identity(at(now)));
            let response = InitProducerIdResponse { producer_id, producer_epoch: 0, ..Default::default() };
            self.producer.identified(Some(&response), at(now), &mut self.stats);
        }
    }

    fn sequence(sent: &[Sent]) -> i32 {
        sent[0].batch.stamp.expect("it has one").base_sequence
    }

    #[test]
    fn a_stalled_broker_does_not_stop_the_schedule_even_when_the_buffer_is_full() {
        let mut bench = Bench::new(|spec| spec.buffer_memory = 1_000);
        let stuck = bench.ask(0).expect("the first record is due");
        bench.producer.advance(at(4_999), &mut bench.stats);
        assert!(bench.producer.buffered < 1_200, "{}", bench.producer.buffered);
        assert!(bench.answer(stuck, ErrorCode::None, 5_000).eq(&false));
        while let Some(sent) = bench.ask(5_000) {
            bench.answer(sent, ErrorCode::None, 5_000);
        }
        let all = &bench.stats.produce.all;
        assert_eq!(all.len(), 5_001, "every record that was due has been sent");
        // Records were due evenly over five seconds, so half of them have waited longer than half of that.
        assert!(all.value_at_quantile(0.5).abs_diff(2_500_000) < 10_000, "{}", all.value_at_quantile(0.5));
    }

    #[test]
    fn the_end_counts_what_was_never_answered_with_its_age() {
        let mut bench = Bench::new(|spec| spec.buffer_memory = 1_000);
        let stuck = bench.ask(0).expect("the first record is due");
        bench.producer.advance(at(10_000), &mut bench.stats);
        bench.producer.lanes[0].in_flight = 0;
        bench.producer.give_up(stuck, at(10_000), &mut bench.stats);
        assert_eq!(bench.stats.unanswered, 10_000);
        assert_eq!(bench.stats.produce.all.len(), 10_000);
        assert!(bench.stats.produce.all.max() >= 9_990_000);
        assert!(bench.producer.is_done());
    }

    #[test]
    fn a_batch_that_failed_goes_first_and_keeps_its_sequence() {
        let mut bench = Bench::new(|spec| spec.idempotent = true);
        bench.identify(5, 0);
        let first = bench.ask(1).expect("due");
        let second = bench.ask(1).expect("due");
        assert_eq!((sequence(&first), sequence(&second)), (0, 1));
        assert!(bench.answer(first, ErrorCode::NotLeaderOrFollower, 2), "the metadata are old");
        bench.answer(second, ErrorCode::OutOfOrderSequenceNumber, 2);
        assert!(bench.ask(50).is_none(), "the partition rests");
        for expected in [0, 1, 2] {
            let sent = bench.ask(103).expect("it has rested");
            assert_eq!(sequence(&sent), expected);
            bench.answer(sent, ErrorCode::None, 103);
        }
        assert_eq!(bench.stats.retries, 2);
        assert_eq!(bench.stats.errors.values().sum::<u64>(), 2);
    }

    #[test]
    fn only_its_own_partitions_are_written_to() {
        for keys in [KeyDistribution::Sticky, KeyDistribution::RoundRobin, KeyDistribution::Uniform(100)] {
            let spec = ProducerSpec {
                keys,
                batch_size: 1,
                record_size: 100,
                idempotent: false,
                ..ProducerSpec::default()
            };
            let mut producer = Producer::new(&spec, vec![1, 4], 7, 0, 0);
            producer.begin(Schedule::new(at(0), Duration::from_millis(10), 1_000, 0, 1));
            let topic = TopicView { leaders: vec![Some(1); 6], ..TopicView::default() };
            producer.advance(at(10), &mut Stats::new());
            let mut written = std::collections::BTreeSet::new();
            while let Some((_, sent)) = producer.ask(1, &topic, at(10)) {
                written.extend(sent.iter().map(|sent| sent.partition));
            }
            assert_eq!(written.into_iter().collect::<Vec<_>>(), [1, 4], "{keys:?}");
        }
    }

    #[test]
    fn a_broker_that_has_forgotten_the_producer_gets_a_new_one() {
        let mut bench = Bench::new(|spec| spec.idempotent = true);
        bench.identify(5, 0);
        let sent = bench.ask(0).expect("due");
        bench.answer(sent, ErrorCode::None, 1);
        let sent = bench.ask(1).expect("due");
        assert_eq!(sequence(&sent), 1);
        bench.answer(sent, ErrorCode::UnknownProducerId, 2);
        assert!(bench.ask(200).is_none(), "it has no id");
        bench.identify(6, 200);
        let sent = bench.ask(200).expect("it has an id");
        assert_eq!((sequence(&sent), sent[0].batch.stamp.unwrap().id.to_wire()), (0, 6));
    }

    #[test]
    fn what_is_refused_for_good_is_not_sent_again() {
        let mut bench = Bench::new(|_| {});
        let sent = bench.ask(0).expect("due");
        bench.answer(sent, ErrorCode::MessageTooLarge, 1);
        assert_eq!((bench.stats.failed, bench.producer.buffered), (1, 0));
        assert!(bench.ask(0).is_none());
    }

    #[test]
    fn a_batch_waits_for_its_linger_and_for_no_longer() {
        let mut bench = Bench::new(|spec| {
            spec.batch_size = 1_000_000;
            spec.linger = Duration::from_millis(5);
        });
        assert!(bench.ask(4).is_none());
        assert_eq!(bench.producer.wake_at(at(4)), Some(at(5)));
        assert_eq!(bench.ask(5).expect("lingered")[0].batch.count(), 6);
    }

    #[test]
    fn records_grow_too_old() {
        let mut bench = Bench::new(|spec| spec.delivery_timeout = Duration::from_secs(1));
        let sent = bench.ask(0).expect("due");
        bench.producer.lost(sent, at(900), &mut bench.stats);
        bench.producer.advance(at(1_001), &mut bench.stats);
        assert_eq!((bench.stats.failed, bench.stats.produce.all.len()), (1, 1));
    }

    #[test]
    fn sequence_numbers_begin_anew_after_the_largest() {
        assert_eq!(sequence_after(5, 3), 8);
        assert_eq!(sequence_after(i32::MAX, 1), 0);
        assert_eq!(sequence_after(i32::MAX - 1, 3), 1);
    }
}
