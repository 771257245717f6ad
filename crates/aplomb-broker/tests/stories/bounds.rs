//! Bounds that no client can pass, whatever it sends.

use aplomb_broker::figures::ShardFigures;
use aplomb_model::batch::{BatchBuilder, Codec, crc32c};
use aplomb_model::{ErrorCode, Offset, Timestamp};
use bytes::Bytes;

use crate::support::{Batch, Broker, CreateTopic, MS, NEW_YEAR, Place, Produce, ProduceAll, Setup};

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
