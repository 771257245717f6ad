//! Stories of one producer, told the time and the answers of its broker.

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
    /// For ten seconds a record each millisecond, in batches of one, to a partition of broker 1.
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
    // Records were due evenly over five seconds: half of them waited longer than half of that.
    assert!(all.value_at_quantile(0.5).abs_diff(2_500_000) < 10_000, "{}", all.value_at_quantile(0.5));
}

#[test]
fn the_end_counts_what_was_never_answered_with_its_age() {
    let mut bench = Bench::new(|spec| spec.buffer_memory = 1_000);
    let stuck = bench.ask(0).expect("the first record is due");
    bench.producer.advance(at(10_000), &mut bench.stats);
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
