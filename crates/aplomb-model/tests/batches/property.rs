//! What holds for all records and for all bytes.

use std::borrow::Cow;

use aplomb_model::batch::{
    BatchBuilder, BatchHeader, Batches, Codec, Compression, Header, ProduceRules, RecordIter, Stop,
    decompress, stamp_timestamps, validate_produced,
};
use aplomb_model::batch::{CompressionRule, TimestampType};
use aplomb_model::{Offset, Timestamp};
use bytes::Bytes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

#[derive(Clone, Debug, PartialEq)]
struct Owned {
    timestamp: i64,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

fn records() -> impl Strategy<Value = Vec<Owned>> {
    let bytes = || vec(any::<u8>(), 0..80);
    let record = (
        prop_oneof![any::<i64>(), 0..i64::from(u32::MAX)],
        option::of(bytes()),
        option::of(prop_oneof![bytes(), vec(0..3u8, 0..3000)]),
        vec((bytes(), option::of(bytes())), 0..4),
    )
        .prop_map(|(timestamp, key, value, headers)| Owned { timestamp, key, value, headers });
    vec(record, 1..20)
}

fn codec() -> impl Strategy<Value = Codec> {
    (0..5u8).prop_map(|id| Codec::from_id(id).expect("five codecs"))
}

fn build(codec: Codec, records: &[Owned]) -> Bytes {
    let mut builder = BatchBuilder::new(Offset::ZERO).compression(codec);
    for record in records {
        let headers: Vec<Header<'_>> =
            record.headers.iter().map(|(key, value)| Header { key, value: value.as_deref() }).collect();
        builder.append(Timestamp(record.timestamp), record.key.as_deref(), record.value.as_deref(), &headers);
    }
    builder.build()
}

fn read(batch: &[u8]) -> Vec<Owned> {
    let view = Batches::new(batch).checked().next().expect("a batch");
    let plain = view.uncompressed(1 << 24).expect("it decompresses");
    view.records(&plain)
        .map(|record| record.expect("whole"))
        .enumerate()
        .map(|(index, record)| {
            assert_eq!(record.offset_delta as usize, index);
            Owned {
                timestamp: view.header.record_timestamp(record.timestamp_delta).0,
                key: record.key.map(Cow::from).map(Cow::into_owned),
                value: record.value.map(Cow::from).map(Cow::into_owned),
                headers: record
                    .headers
                    .iter()
                    .map(|h| (h.key.to_vec(), h.value.map(<[u8]>::to_vec)))
                    .collect(),
            }
        })
        .collect()
}

/// Rules that any record fits.
fn lenient() -> ProduceRules {
    ProduceRules { before_max_ms: None, after_max_ms: None, ..ProduceRules::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn records_read_back_as_what_was_written(records in records(), codec in codec()) {
        prop_assert_eq!(read(&build(codec, &records)), records);
    }

    #[test]
    fn a_leader_keeps_records_whatever_it_recompresses_them_to(
        records in records(), from in codec(), to in codec(),
    ) {
        let batch = build(from, &records);
        let rules = ProduceRules {
            compression: CompressionRule::Recompress(Compression::from(to)),
            ..lenient()
        };
        let valid = validate_produced(&batch, &rules, Timestamp(7)).expect("it is a good batch");
        let appended = [&valid.append.header.as_bytes()[..], &valid.append.records].concat();
        prop_assert_eq!(valid.rebuilt, from != to);
        prop_assert_eq!(valid.append.header.codec(), Ok(to));
        let max = records.iter().map(|r| r.timestamp).max().expect("a record").max(-1);
        prop_assert_eq!(valid.max_timestamp, Timestamp(max));
        prop_assert_eq!(valid.append.header.max_timestamp(), Timestamp(max));
        prop_assert_eq!(read(&appended), records);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(mut bytes in vec(any::<u8>(), 0..400), codec in codec(), count in 0..20u32) {
        for record in RecordIter::new(&bytes, count).flatten() {
            prop_assert!(record.headers.iter().count() == record.headers.len());
        }
        if let Ok(plain) = decompress(codec, &bytes, 1 << 16) {
            prop_assert!(plain.len() <= (1 << 16).max(bytes.len()));
        }
        if bytes.len() > 20 {
            // Enough of a header to get further than the first check.
            let length = (bytes.len() as u32 - 12).to_be_bytes();
            bytes[8..12].copy_from_slice(&length);
            bytes[16] = 2;
        }
        let end = Batches::new(&bytes).checked().scan_to_end();
        prop_assert!(end.position <= bytes.len() as u64);
        prop_assert!(bytes.is_empty() || end.why != Stop::Complete || end.position > 0);
    }

    #[test]
    fn a_damaged_batch_is_refused_or_still_a_good_one(
        records in records(), codec in codec(), damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = build(codec, &records).to_vec();
        for (at, value) in damage {
            let at = 21 + at.index(bytes.len() - 21);
            bytes[at] = value;
        }
        // With a checksum that fits, so that the checks behind it are reached.
        let crc = aplomb_model::batch::crc32c(&bytes[21..]).to_be_bytes();
        bytes[17..21].copy_from_slice(&crc);
        let rules = ProduceRules { max_decompressed_batch_bytes: 1 << 22, ..lenient() };
        if let Ok(valid) = validate_produced(&Bytes::from(bytes), &rules, Timestamp(7)) {
            let appended = [&valid.append.header.as_bytes()[..], &valid.append.records].concat();
            prop_assert_eq!(read(&appended).len(), valid.count as usize);
        }
    }

    #[test]
    fn stamping_leaves_a_batch_whose_checksum_fits(
        records in records(), codec in codec(), max in any::<i64>(), append in any::<bool>(),
    ) {
        let mut batch = build(codec, &records).to_vec();
        let kind = if append { TimestampType::LogAppendTime } else { TimestampType::CreateTime };
        let before = BatchHeader::parse(&batch).expect("a header");
        let changed = stamp_timestamps(&mut batch, kind, Timestamp(max)).expect("a batch");
        let after = BatchHeader::parse(&batch).expect("a header");
        prop_assert_eq!(changed, before != after);
        prop_assert_eq!((after.timestamp_type(), after.max_timestamp()), (kind, Timestamp(max)));
        prop_assert_eq!(Batches::new(&batch).checked().scan_to_end().why, Stop::Complete);
        prop_assert_eq!(stamp_timestamps(&mut batch, kind, Timestamp(max)), Ok(false));
    }
}
