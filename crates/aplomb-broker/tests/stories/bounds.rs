//! Bounds that no client can pass, whatever it sends.

use aplomb_broker::figures::ShardFigures;
use aplomb_model::batch::{BatchBuilder, Codec, crc32c};
use aplomb_model::{ErrorCode, Offset, Timestamp};
use bytes::Bytes;

use crate::support::{
    Asked, Batch, Broker, Client, CreateTopic, MS, NEW_YEAR, Place, Produce, ProduceAll, SECOND, Setup,
};

/// A batch of one record of so many zeros.
fn zeros(codec: Codec, bytes: usize) -> Batch {
    let mut builder = BatchBuilder::new(Offset::ZERO).compression(codec);
    builder.append(Timestamp(NEW_YEAR), None, Some(&vec![0; bytes]), &[]);
    Batch::as_it_is(builder.build())
}

/// So many records that all say they are the first, in a few kilobytes.
fn all_first(count: u32) -> Bytes {
    let mut builder = BatchBuilder::new(Offset::ZERO).compression(Codec::Zstd);
    for _ in 0..count {
        builder.append_at(0, Timestamp(NEW_YEAR), None, None, std::iter::empty());
    }
    let mut batch = builder.build().to_vec();
    batch[23..27].copy_from_slice(&(count - 1).to_be_bytes());
    let crc = crc32c(&batch[21..]).to_be_bytes();
    batch[17..21].copy_from_slice(&crc);
    batch.into()
}

#[test]
fn records_that_all_say_they_are_the_first_are_refused_at_the_second() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let bomb = all_first(1_000_000);
    assert!(bomb.len() < 10_000, "{}", bomb.len());
    let produced = broker.client().ask(Produce::to("orders", Batch::as_it_is(bomb)));
    assert_eq!(produced.error, ErrorCode::InvalidRecord);
    let decompressed = broker.total(ShardFigures::decompressed);
    assert!(decompressed <= 64 << 10, "{decompressed} bytes were decompressed for it");
}

#[test]
fn a_request_of_bombs_costs_what_one_request_may_and_no_more() {
    let limit = 8 << 20;
    let settings = vec![("aplomb.produce.decompressed.max.bytes", "8388608")];
    let broker = Broker::of(Setup { settings, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(20));
    // 600 bytes each.
    let bomb = zeros(Codec::Zstd, 16 << 20);
    let parts: Vec<(Place, Batch)> =
        (0..20).map(|partition| (("orders", partition).into(), bomb.clone())).collect();
    let produced = broker.client().ask(ProduceAll::to(parts));
    assert!(produced.iter().all(|part| part.error == ErrorCode::MessageTooLarge), "{produced:?}");
    let decompressed = broker.total(ShardFigures::decompressed);
    // Each is begun anew once or twice: at once, near, far.
    assert!(decompressed <= 3 * limit + 20 * 256 * 1000, "{decompressed} bytes were decompressed for it");
    assert!(broker.logs("aplomb.produce.decompressed.max.bytes"));
    assert_eq!(broker.total(ShardFigures::too_much_decompressed), 20);

    let honest = zeros(Codec::Zstd, 4 << 20);
    assert_eq!(broker.client().ask(Produce::to("orders", honest)).error, ErrorCode::None);
}

#[test]
fn a_batch_that_takes_long_to_validate_is_passed_by_all_but_its_own_connections() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let (heavy, other) = (broker.client(), broker.client());
    let first = heavy.send_along(Produce::to("orders", zeros(Codec::Zstd, 64 << 20)));
    let at_once = broker.total(ShardFigures::decompressed);
    assert!(at_once <= 1 << 20, "{at_once} bytes were decompressed in the turn that it came in");
    assert_eq!(broker.total(ShardFigures::checking), 1);
    let second = heavy.send_along(Produce::to("orders", zeros(Codec::Lz4, 100)));
    let quick = other.send_along(Produce::to("orders", zeros(Codec::Lz4, 100)));
    broker.advance(MS);
    let (first, second, quick) = (first.answer(), second.answer(), quick.answer());
    assert_eq!([quick.error, first.error, second.error], [ErrorCode::None; 3]);
    assert_eq!([quick.base, first.base, second.base], [0, 1, 2]);
    assert_eq!(broker.total(ShardFigures::checking), 0);
}

#[test]
fn a_batch_that_is_being_validated_is_forgotten_with_its_connection() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let heavy = broker.client();
    let _gone = heavy.send_along(Produce::to("orders", zeros(Codec::Zstd, 64 << 20)));
    heavy.close();
    assert_eq!(broker.client().ask(Produce::to("orders", "one")).base, 0);
    broker.advance(MS);
    assert_eq!(broker.client().read("orders", 0), ["one"]);
}

#[test]
fn a_topic_with_a_codec_of_its_own_gets_it_in_turns() {
    let broker = Broker::of(Setup { chunks: 4096, ..Setup::default() });
    broker.has(CreateTopic::named("orders").with("compression.type", "gzip"));
    let client = broker.client();
    for codec in Codec::ALL {
        let asked = client.send(Produce::to("orders", zeros(codec, 900_000)));
        assert_eq!(asked.wait().error, ErrorCode::None, "{codec}");
    }
    assert_eq!(client.read("orders", 0).len(), Codec::ALL.len());
}

/// A broker with a topic "orders" on its second disk, which is frozen, and for which 20,000 bytes
/// may wait; and one "payments" on the first. A share of fewer than sixteen chunks keeps none for
/// light clients.
fn a_frozen_disk() -> Broker {
    a_frozen_disk_with(15)
}

fn a_frozen_disk_with(chunks: u32) -> Broker {
    let settings = vec![("aplomb.produce.waiting.max.bytes", "20000")];
    let broker = Broker::of(Setup { disks: 2, chunks, settings, ..Setup::default() });
    broker.has_on_disk(0, CreateTopic::named("payments"));
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.disk(1).freeze();
    broker
}

/// Sends batches of 2,000 bytes until one is turned away, and gives those that wait.
fn fill(broker: &Broker, producer: &Client) -> Vec<Asked<Produce>> {
    let mut waiting = Vec::new();
    let before = broker.total(ShardFigures::too_much_waiting);
    for _ in 0..1000 {
        let asked = large(producer);
        broker.advance(MS);
        if broker.total(ShardFigures::too_much_waiting) > before {
            return waiting;
        }
        if asked.is_waiting() {
            waiting.push(asked);
            continue;
        }
        assert_eq!(asked.answer().error, ErrorCode::None);
        assert!(waiting.is_empty(), "the share has room again");
    }
    panic!("none is turned away, and {} batches wait", waiting.len());
}

fn large(producer: &Client) -> Asked<Produce> {
    producer.send(Produce::to("orders", Batch::of_size(2000)).within(100 * SECOND))
}

#[test]
fn who_is_turned_away_is_told_when_there_is_room() {
    let broker = a_frozen_disk();
    let waiting = fill(&broker, &broker.client());
    let producer = broker.client();
    let turned_away: Vec<_> = (0..50).map(|_| large(&producer)).collect();
    let gone = broker.client();
    let _never_answered = large(&gone);
    broker.advance(5 * SECOND);
    assert!(turned_away.iter().all(Asked::is_waiting), "to come again would be for nothing");
    assert!(!turned_away.iter().any(Asked::is_held), "they are nothing but names");
    gone.close();

    broker.disk(1).thaw();
    broker.advance(200 * MS);
    for asked in waiting {
        assert_eq!(asked.answer().error, ErrorCode::None);
    }
    for asked in turned_away {
        assert_eq!(asked.answer().error, ErrorCode::NotEnoughReplicas);
    }
}

#[test]
fn who_is_turned_away_does_not_stand_behind_those_that_have_gone() {
    let broker = a_frozen_disk();
    let _waiting = fill(&broker, &broker.client());
    let (gone, producer) = (broker.client(), broker.client());
    let large =
        |client: &Client| client.send(Produce::to("orders", Batch::of_size(10_000)).within(100 * SECOND));
    // More than is let in again in a second.
    let ghosts: Vec<_> = (0..7000).map(|_| large(&gone)).collect();
    broker.advance(MS);
    let turned_away = large(&producer);
    broker.advance(SECOND);
    gone.close();
    drop(ghosts);
    broker.disk(1).thaw();
    broker.advance(200 * MS);
    assert!(!turned_away.is_waiting());
    assert_eq!(turned_away.answer().error, ErrorCode::NotEnoughReplicas);
}

#[test]
fn who_is_turned_away_is_told_long_before_its_time_is_up() {
    let broker = a_frozen_disk();
    let _waiting = fill(&broker, &broker.client());
    let producer = broker.client();
    let (patient, hasty) = (large(&producer), broker.client());
    let hasty = hasty.send(Produce::to("orders", Batch::of_size(2000)).within(4 * SECOND));
    broker.advance(1990 * MS);
    assert!(hasty.is_waiting());
    broker.advance(20 * MS);
    assert_eq!(hasty.answer().error, ErrorCode::NotEnoughReplicas);
    broker.advance(7980 * MS);
    assert!(patient.is_waiting());
    broker.advance(20 * MS);
    assert_eq!(patient.answer().error, ErrorCode::NotEnoughReplicas);
}

#[test]
fn what_has_found_room_is_told_though_something_beside_it_has_not() {
    let broker = a_frozen_disk();
    let _waiting = fill(&broker, &broker.client());
    let parts = ["orders", "payments"].map(|topic| (topic.into(), Batch::of_size(2000)));
    let produced = broker.client().ask(ProduceAll::to(parts));
    let errors: Vec<_> = produced.iter().map(|part| part.error).collect();
    assert_eq!(errors, [ErrorCode::NotEnoughReplicas, ErrorCode::None]);
}

#[test]
fn as_much_waits_for_a_frozen_disk_as_may_and_others_are_turned_away() {
    let broker = a_frozen_disk();
    let producer = broker.client();
    let waiting = fill(&broker, &producer);
    assert_eq!(waiting.len(), 9, "20,000 bytes");
    assert!(broker.logs("aplomb.produce.waiting.max.bytes"));
    assert_eq!(broker.total(ShardFigures::too_much_waiting), 1);
    assert!(!waiting.iter().any(Asked::is_held), "the requests are freed");
    for n in 0..20 {
        let produced = producer.ask(Produce::to("payments", Batch::of_size(2000)));
        assert_eq!((produced.error, produced.base), (ErrorCode::None, n));
    }

    broker.disk(1).thaw();
    let bases: Vec<i64> = waiting.into_iter().map(|asked| asked.wait().base).collect();
    assert!(bases.is_sorted() && bases[0] > 0, "{bases:?}");
    let next = producer.ask(Produce::to("orders", "next"));
    assert_eq!((next.error, next.base), (ErrorCode::None, bases[8] + 1));
}

#[test]
fn what_waits_for_a_frozen_disk_goes_with_its_connection() {
    let broker = a_frozen_disk();
    let producer = broker.client();
    let waiting = fill(&broker, &producer);
    producer.close();
    drop(waiting);
    assert_eq!(fill(&broker, &broker.client()).len(), 9, "others may wait in its place");
}

#[test]
fn small_batches_that_nobody_waits_for_are_bounded_too() {
    let broker = a_frozen_disk();
    let producer = broker.client();
    let small = || Produce::to("orders", "small").within(100 * SECOND);
    let first = loop {
        let asked = producer.send(small());
        broker.advance(MS);
        if asked.is_waiting() {
            break asked;
        }
    };
    let mut waiting = 1;
    while broker.total(ShardFigures::too_much_waiting) == 0 {
        let gone = broker.client().busy();
        let _never_answered = gone.send(small().acks(0));
        gone.close();
        broker.advance(MS);
        waiting += 1;
    }
    let refused = 1;
    assert_eq!(waiting - refused, 20_000 / 1024);
    broker.disk(1).thaw();
    let base = first.wait().base;
    broker.advance(SECOND);
    let sent = broker.client().read("orders", base).len();
    assert_eq!(sent, waiting - refused);
}

#[test]
fn a_batch_that_is_refused_because_others_wait_comes_before_those_sent_behind_it() {
    use crate::support::InitProducerId;
    let broker = a_frozen_disk();
    let producer = broker.client().ask(InitProducerId);
    let (client, filler) = (broker.client(), broker.client());
    let _waiting = fill(&broker, &filler);
    let batch = |value, sequence| Produce::to("orders", Batch::from(value).by(producer, sequence));
    let large = Batch::of_size(2000).by(producer, 0);
    let refused = client.send(Produce::to("orders", large.clone())).wait();
    assert_eq!(refused.error, ErrorCode::NotEnoughReplicas);
    filler.close();
    broker.disk(1).thaw();
    broker.advance(SECOND);
    assert_eq!(client.ask(batch("1", 1)).error, ErrorCode::OutOfOrderSequenceNumber);
    assert_eq!(client.ask(Produce::to("orders", large)).error, ErrorCode::None);
    assert_eq!(client.ask(batch("1", 1)).error, ErrorCode::None);
}

#[test]
fn who_produces_little_does_not_wait_for_those_who_have_filled_the_memory() {
    let broker = a_frozen_disk_with(256);
    broker.has_on_disk(1, CreateTopic::named("quiet"));
    let _waiting = fill(&broker, &broker.client());
    let light = broker.client();
    for n in 0..20 {
        for topic in ["orders", "quiet"] {
            let produced = light.send(Produce::to(topic, Batch::of_size(1000)));
            broker.advance(MS);
            assert!(!produced.is_waiting(), "batch {n} for {topic}");
            assert_eq!(produced.answer().error, ErrorCode::None);
        }
        broker.advance(50 * MS);
    }
    assert_eq!(light.read("quiet", 0).len(), 20);

    // One that has produced much of late waits as all others do, when its chunk is full.
    let busy = light.busy();
    assert!((0..5).any(|_| {
        let asked = busy.send(Produce::to("quiet", Batch::of_size(1000)));
        broker.advance(MS);
        asked.is_waiting()
    }));
}

#[test]
fn a_light_batch_does_not_overtake_those_before_it_on_its_connection() {
    let broker = a_frozen_disk_with(256);
    let producer = broker.client();
    let _filled = fill(&broker, &producer);
    broker.advance(5 * SECOND);
    let next = producer.send(Produce::to("orders", "next").within(100 * SECOND));
    broker.advance(MS);
    assert!(next.is_waiting(), "its account has run out, but others of it wait");
}
