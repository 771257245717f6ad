//! What a leader takes, and what it makes of it.

use aplomb_model::batch::{
    BatchBuilder, Codec, Compression, CompressionRule, ProduceRejection, ProduceRules, ProducerStamp,
    RecordFault, TimestampType, Validated, Validation, validate_produced,
};
use aplomb_model::{ErrorCode, Offset, ProducerEpoch, ProducerId, Timestamp};
use bytes::Bytes;

const NOW: Timestamp = Timestamp(1_700_000_000_000);
const HOUR: i64 = 3_600_000;

fn producer(id: i64, epoch: i16, base_sequence: i32) -> ProducerStamp {
    ProducerStamp {
        id: ProducerId::from_wire(id).expect("not negative"),
        epoch: ProducerEpoch(epoch),
        base_sequence,
    }
}

fn batch(codec: Codec) -> Bytes {
    BatchBuilder::new(Offset::ZERO)
        .compression(codec)
        .producer(producer(5, 1, 10))
        .append(Timestamp(NOW.0 - 5), Some(b"a"), Some(b"1"), &[])
        .append(Timestamp(NOW.0 - 2), None, Some(b"2"), &[])
        .append(Timestamp(NOW.0 - 9), Some(b"c"), None, &[])
        .build()
}

fn accept(batch: &Bytes, rules: &ProduceRules) -> Validated {
    validate_produced(batch, rules, NOW).expect("a good batch")
}

fn refuse(batch: &Bytes, rules: &ProduceRules) -> (ErrorCode, Vec<u32>) {
    let rejection = validate_produced(batch, rules, NOW).expect_err("a reason to refuse");
    (ErrorCode::from(&rejection), rejection.records().iter().map(|record| record.index).collect())
}

/// A good batch with some bytes changed, and the checksum that goes with them.
fn with(batch: &Bytes, at: usize, bytes: &[u8]) -> Bytes {
    let mut changed = batch.to_vec();
    changed[at..at + bytes.len()].copy_from_slice(bytes);
    let crc = aplomb_model::batch::crc32c(&changed[21..]).to_be_bytes();
    changed[17..21].copy_from_slice(&crc);
    changed.into()
}

#[test]
fn a_good_batch_is_appended_as_the_bytes_it_came_in() {
    for codec in Codec::ALL {
        let batch = batch(codec);
        let valid = accept(&batch, &ProduceRules::default());
        assert!(!valid.rebuilt);
        assert_eq!(valid.append.header.as_bytes()[..], batch[..61]);
        assert_eq!(valid.append.records.as_ptr(), batch[61..].as_ptr(), "no copy");
        assert_eq!((valid.count, valid.max_timestamp.0), (3, NOW.0 - 2));
        assert_eq!(valid.producer.expect("a producer").base_sequence, 10);
        assert!(!valid.transactional);
    }
}

#[test]
fn the_largest_timestamp_is_what_the_records_say() {
    let lying = with(&batch(Codec::None), 35, &(NOW.0 + 99).to_be_bytes());
    let valid = accept(&lying, &ProduceRules::default());
    assert_eq!(valid.append.header.max_timestamp().0, NOW.0 - 2);
    assert_eq!(valid.append.header.check_crc(&valid.append.records), Ok(()));
}

#[test]
fn log_append_time_changes_the_header_and_nothing_else() {
    let rules = ProduceRules { timestamp_type: TimestampType::LogAppendTime, ..ProduceRules::default() };
    for codec in Codec::ALL {
        let batch = batch(codec);
        let valid = accept(&batch, &rules);
        assert_eq!(valid.append.header.timestamp_type(), TimestampType::LogAppendTime);
        assert_eq!(valid.append.header.max_timestamp(), NOW);
        assert_eq!(valid.max_timestamp, NOW);
        assert_eq!(valid.append.header.check_crc(&valid.append.records), Ok(()));
        assert_eq!(valid.append.records.as_ptr(), batch[61..].as_ptr(), "no copy");
    }
}

#[test]
fn a_topic_with_a_codec_of_its_own_recompresses() {
    let zstd = Compression::at_level(Codec::Zstd, 7).expect("a level");
    let rules = ProduceRules { compression: CompressionRule::Recompress(zstd), ..ProduceRules::default() };
    for codec in Codec::ALL {
        let valid = accept(&batch(codec), &rules);
        assert_eq!(valid.rebuilt, codec != Codec::Zstd);
        assert_eq!(valid.append.header.codec(), Ok(Codec::Zstd));
        assert_eq!(valid.producer, Some(producer(5, 1, 10)));
        assert_eq!(valid.append.header.check_crc(&valid.append.records), Ok(()));
    }
}

/// A batch whose second record has the offset of its first.
fn with_a_gap(codec: Codec) -> Bytes {
    let mut builder = BatchBuilder::new(Offset::ZERO).compression(codec);
    for delta in [0, 0, 2] {
        builder.append_at(delta, NOW, Some(b"k"), Some(b"v"), std::iter::empty());
    }
    builder.build()
}

#[test]
fn offsets_with_gaps_are_renumbered_where_that_is_a_copy() {
    let rules = ProduceRules::default();
    let lz4 = CompressionRule::Recompress(Compression::from(Codec::Lz4));
    for rules in [rules, ProduceRules { compression: lz4, ..rules }] {
        let valid = accept(&with_a_gap(Codec::None), &rules);
        assert!(valid.rebuilt);
        assert_eq!(valid.append.header.last_offset_delta(), 2);
        let codec = valid.append.header.codec().expect("a codec");
        assert_eq!(valid.append.header.check_crc(&valid.append.records), Ok(()));
        let plain =
            aplomb_model::batch::decompress(codec, &valid.append.records, 1000).expect("it decompresses");
        let deltas: Vec<i32> = aplomb_model::batch::RecordIter::new(&plain, 3)
            .map(|record| record.expect("whole").offset_delta)
            .collect();
        assert_eq!(deltas, [0, 1, 2], "{codec}");
    }
}

#[test]
fn a_compressed_batch_with_gaps_is_refused_at_the_first() {
    for codec in Codec::ALL.into_iter().filter(|codec| *codec != Codec::None) {
        let rejection = validate_produced(&with_a_gap(codec), &ProduceRules::default(), NOW);
        let rejection = rejection.expect_err("Apache Kafka fails at it");
        assert_eq!(rejection, ProduceRejection::Offset { index: 1, delta: 0 }, "{codec}");
        assert_eq!(ErrorCode::from(&rejection), ErrorCode::InvalidRecord);
    }
}

/// Millions of records that all have the offset of the first, in a few kilobytes.
fn bomb() -> Bytes {
    let mut builder = BatchBuilder::new(Offset::ZERO).compression(Codec::Zstd);
    for _ in 0..2_000_000 {
        builder.append_at(0, NOW, None, None, std::iter::empty());
    }
    let count = 2_000_000_i32;
    let batch = builder.build();
    with(&with(&batch, 57, &count.to_be_bytes()), 23, &(count - 1).to_be_bytes())
}

#[test]
fn a_bomb_is_refused_before_it_goes_off() {
    let bomb = bomb();
    assert!(bomb.len() < 20_000, "{}", bomb.len());
    let mut validation = Validation::new(&bomb, &ProduceRules::default(), NOW).expect("its header is good");
    let rejection = validation.work(usize::MAX).expect_err("offsets do not follow");
    assert_eq!(rejection, ProduceRejection::Offset { index: 1, delta: 0 });
    assert!(validation.cost() <= 128 * 1024, "{} bytes were decompressed", validation.cost());
}

#[test]
fn a_turn_of_validation_costs_no_more_than_it_was_given() {
    let zeros = |codec| {
        let mut builder = BatchBuilder::new(Offset::ZERO).compression(codec);
        (0..3).for_each(|_| {
            builder.append(NOW, None, Some(&[0; 1_000_000]), &[]);
        });
        builder.build()
    };
    let unpack = CompressionRule::Recompress(Compression::from(Codec::Gzip));
    for codec in Codec::ALL {
        for compression in [CompressionRule::KeepProducers, unpack] {
            let rules = ProduceRules { compression, max_message_bytes: 4_000_000, ..ProduceRules::default() };
            let batch = zeros(codec);
            let at_once = accept(&batch, &rules);
            let mut validation = Validation::new(&batch, &rules, NOW).expect("its header is good");
            let in_turns = loop {
                let (before, turn) = (validation.cost(), validation.least_step().max(100_000));
                let validated = validation.work(turn).expect("a good batch");
                assert!(validation.cost() - before <= turn + 512, "{codec}");
                if let Some(validated) = validated {
                    break validated;
                }
            };
            assert_eq!(in_turns.append.header.as_bytes(), at_once.append.header.as_bytes(), "{codec}");
            assert!(in_turns.append.records == at_once.append.records, "{codec}");
        }
    }
}

#[test]
fn a_batch_that_grows_beyond_its_topics_limit_is_not_recompressed_to_the_end() {
    let mut builder = BatchBuilder::new(Offset::ZERO).compression(Codec::Zstd);
    let mut noise = 1_u32;
    let value: Vec<u8> = (0..400_000)
        .map(|_| {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (noise >> 24) as u8
        })
        .collect();
    (0..50).for_each(|_| {
        builder.append(NOW, None, Some(&value), &[]);
    });
    let batch = builder.build();
    assert!(batch.len() < 1_000_000, "zstd sees that the values are one: {}", batch.len());
    let snappy = CompressionRule::Recompress(Compression::from(Codec::Snappy));
    let rules = ProduceRules { compression: snappy, ..ProduceRules::default() };
    let mut validation = Validation::new(&batch, &rules, NOW).expect("its header is good");
    let rejection = validation.work(usize::MAX).expect_err("snappy does not see it");
    assert_eq!(ErrorCode::from(&rejection), ErrorCode::MessageTooLarge);
    // All of it was looked at, and a megabyte of it compressed.
    assert!(validation.cost() < 20_100_000 + 8 * 1_200_000, "{}", validation.cost());
}

#[test]
fn damage_is_told_from_mistakes() {
    let rules = ProduceRules::default();
    let good = batch(Codec::None);
    let mut flipped = good.to_vec();
    flipped[58] ^= 0x80; // the record count becomes negative, which only damage does
    assert_eq!(refuse(&flipped.into(), &rules).0, ErrorCode::CorruptMessage);
    let code = |at, bytes: &[u8]| refuse(&with(&good, at, bytes), &rules).0;
    assert_eq!(code(57, &(-3i32).to_be_bytes()), ErrorCode::InvalidRecord);
    assert_eq!(code(57, &4i32.to_be_bytes()), ErrorCode::InvalidRecord);
    assert_eq!(code(57, &0i32.to_be_bytes()), ErrorCode::InvalidRecord);
    assert_eq!(code(23, &7i32.to_be_bytes()), ErrorCode::InvalidRecord);
    assert_eq!(code(0, &1i64.to_be_bytes()), ErrorCode::InvalidRecord);
    assert_eq!(code(53, &(-1i32).to_be_bytes()), ErrorCode::InvalidRecord);
    assert_eq!(code(21, &0x20u16.to_be_bytes()), ErrorCode::InvalidRecord);
    assert_eq!(code(21, &0x08u16.to_be_bytes()), ErrorCode::InvalidTimestamp);
    assert_eq!(code(21, &0x05u16.to_be_bytes()), ErrorCode::UnsupportedCompressionType);
    assert_eq!(code(16, &[1]), ErrorCode::InvalidRecord);
    assert_eq!(code(16, &[3]), ErrorCode::CorruptMessage);
    assert_eq!(code(8, &3i32.to_be_bytes()), ErrorCode::CorruptMessage);
    let transaction_of_nobody = with(&with(&good, 21, &0x10u16.to_be_bytes()), 43, &(-1i64).to_be_bytes());
    assert_eq!(refuse(&transaction_of_nobody, &rules).0, ErrorCode::InvalidRecord);
}

#[test]
fn a_partition_gets_exactly_one_batch() {
    let rules = ProduceRules::default();
    let good = batch(Codec::None);
    let two = Bytes::from([&good[..], &good].concat());
    assert_eq!(validate_produced(&two, &rules, NOW).expect_err("two"), ProduceRejection::MoreThanOneBatch);
    for len in [0, 16, 60, 61, good.len() - 1] {
        assert_eq!(refuse(&good.slice(..len), &rules).0, ErrorCode::InvalidRecord);
    }
}

#[test]
fn sizes_have_limits_before_and_after_recompression() {
    let exact = |bytes: &Bytes| ProduceRules { max_message_bytes: bytes.len(), ..ProduceRules::default() };
    let good = batch(Codec::None);
    accept(&good, &exact(&good));
    let tight = ProduceRules { max_message_bytes: good.len() - 1, ..ProduceRules::default() };
    assert_eq!(refuse(&good, &tight).0, ErrorCode::MessageTooLarge);

    let mut builder = BatchBuilder::new(Offset::ZERO).compression(Codec::Zstd);
    builder.append(NOW, None, Some(&[0; 50_000]), &[]);
    let packed = builder.build();
    let unpack = CompressionRule::Recompress(Compression::from(Codec::None));
    let rules = ProduceRules { compression: unpack, ..exact(&packed) };
    assert_eq!(refuse(&packed, &rules).0, ErrorCode::MessageTooLarge);
    let bomb = ProduceRules { max_decompressed_batch_bytes: 49_000, ..ProduceRules::default() };
    assert_eq!(refuse(&packed, &bomb).0, ErrorCode::MessageTooLarge);
    let record = ProduceRules { max_decompressed_message_bytes: 49_000, ..ProduceRules::default() };
    assert_eq!(refuse(&packed, &record).0, ErrorCode::InvalidRecord);
}

#[test]
fn a_compacted_topic_names_the_records_without_key() {
    let rules = ProduceRules { compaction: true, ..ProduceRules::default() };
    for codec in Codec::ALL {
        assert_eq!(refuse(&batch(codec), &rules), (ErrorCode::InvalidRecord, vec![1]));
    }
}

#[test]
fn timestamps_have_a_window() {
    let build = |offsets: &[i64]| {
        let mut builder = BatchBuilder::new(Offset::ZERO);
        for offset in offsets {
            builder.append(Timestamp(NOW.0 + offset), Some(b"k"), None, &[]);
        }
        builder.build()
    };
    let rules = ProduceRules { before_max_ms: Some(HOUR as u64), ..ProduceRules::default() };
    accept(&build(&[-HOUR, 0, HOUR]), &rules);
    let code = (ErrorCode::InvalidTimestamp, vec![0, 2]);
    assert_eq!(refuse(&build(&[-HOUR - 1, 0, HOUR + 1]), &rules), code);
    // No timestamp is in no window and refused by none.
    let valid = accept(&build(&[-1 - NOW.0]), &rules);
    assert_eq!(valid.max_timestamp, Timestamp::NONE);
    let append_time = ProduceRules { timestamp_type: TimestampType::LogAppendTime, ..rules };
    accept(&build(&[-HOUR - 1, 0, HOUR + 1]), &append_time);
}

#[test]
fn one_wrong_timestamp_decides_the_code_for_all() {
    let mut builder = BatchBuilder::new(Offset::ZERO);
    builder.append(NOW, None, None, &[]).append(Timestamp(NOW.0 + 2 * HOUR), Some(b"k"), None, &[]);
    let rules = ProduceRules { compaction: true, ..ProduceRules::default() };
    let rejection = validate_produced(&builder.build(), &rules, NOW).expect_err("two faults");
    assert_eq!(ErrorCode::from(&rejection), ErrorCode::InvalidTimestamp);
    let faults: Vec<_> = rejection.records().iter().map(|record| record.fault).collect();
    let late = RecordFault::Timestamp { timestamp: Timestamp(NOW.0 + 2 * HOUR), now: NOW };
    assert_eq!(faults, [RecordFault::NoKey, late]);
}

#[test]
fn a_broken_record_is_found_in_every_codec() {
    for codec in Codec::ALL {
        let mut builder = BatchBuilder::new(Offset::ZERO).compression(codec);
        builder.append(NOW, Some(b"key"), Some(b"value"), &[]);
        let one = builder.build();
        // The header promises a second record.
        let two = with(&with(&one, 57, &2i32.to_be_bytes()), 23, &1i32.to_be_bytes());
        let rejection =
            validate_produced(&two, &ProduceRules::default(), NOW).expect_err("a record is missing");
        assert_eq!(ErrorCode::from(&rejection), ErrorCode::InvalidRecord, "{codec}");
        assert!(rejection.to_string().starts_with("record 1: "), "{codec}: {rejection}");
    }
}
