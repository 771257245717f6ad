//! Batches of every kind that this crate's builder makes.

use aplomb_model::batch::{BatchBuilder, Codec, Compression, EndTxnMarker, Header, ProducerStamp};
use aplomb_model::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};
use bytes::Bytes;

/// What makes a batch of its kind.
type Finish = fn(BatchBuilder) -> BatchBuilder;

const NOW: i64 = 1_700_000_000_000;

/// Names and batches. The base offsets are those of a log, except where a name begins with
/// "produced".
pub(crate) fn all() -> Vec<(String, Bytes)> {
    let mut all = Vec::new();
    for codec in Codec::ALL {
        let kinds: [(&str, Finish); 5] = [
            ("plain", |b| b),
            ("idempotent", |b| b.producer(producer(4_000_000_000, 7, i32::MAX - 1))),
            ("transactional", |b| b.producer(producer(12, 0, 0)).transactional()),
            ("append-time", |b| b.log_append_time(Timestamp(NOW + 1000))),
            ("horizon", |b| b.delete_horizon(Timestamp(NOW + 86_400_000))),
        ];
        for (kind, with) in kinds {
            let log = BatchBuilder::new(Offset::new(500)).leader_epoch(LeaderEpoch::new(3));
            all.push((format!("{kind}-{codec}"), records(with(log.compression(codec)))));
            let produced = BatchBuilder::new(Offset::ZERO);
            all.push((format!("produced-{kind}-{codec}"), records(with(produced.compression(codec)))));
        }
        all.push((format!("produced-many-{codec}"), many(codec.into())));
        all.push((format!("gaps-{codec}"), gaps(codec)));
    }
    for level in [1, 9] {
        let gzip = Compression::at_level(Codec::Gzip, level).expect("a gzip level");
        all.push((format!("produced-many-gzip-level-{level}"), many(gzip)));
    }
    for level in [-5, 19, 22] {
        let zstd = Compression::at_level(Codec::Zstd, level).expect("a zstd level");
        all.push((format!("produced-many-zstd-level-{level}"), many(zstd)));
    }
    for committed in [true, false] {
        let id = ProducerId::from_wire(12).expect("an id");
        let marker = EndTxnMarker { committed, coordinator_epoch: 5 };
        let batch =
            marker.to_batch(Offset::new(99), LeaderEpoch::new(4), (id, ProducerEpoch(3)), Timestamp(NOW));
        all.push((format!("marker-{committed}"), batch));
    }
    let empty = BatchBuilder::new(Offset::new(40)).producer(producer(12, 1, 17)).last_offset_delta(3).build();
    all.push(("empty".to_owned(), empty));
    all
}

fn producer(id: i64, epoch: i16, base_sequence: i32) -> ProducerStamp {
    ProducerStamp {
        id: ProducerId::from_wire(id).expect("not negative"),
        epoch: ProducerEpoch(epoch),
        base_sequence,
    }
}

fn records(mut builder: BatchBuilder) -> Bytes {
    let headers = [
        Header { key: b"trace", value: Some(b"a1") },
        Header { key: b"trace", value: Some(b"a2") },
        Header { key: b"", value: None },
        Header { key: "h\u{e9}\u{4e16}".as_bytes(), value: Some(b"") },
    ];
    builder
        .append(Timestamp(NOW), Some(b"key"), Some(b"value"), &[])
        .append(Timestamp(NOW + 5), None, Some(b"no key"), &headers)
        .append(Timestamp(NOW - 70_000), Some(b""), None, &[])
        .append(Timestamp(NOW + 3), Some(b"k"), Some(&[0; 300]), &headers[2..3])
        .append(Timestamp(NOW), None, None, &[])
        .build()
}

fn many(compression: Compression) -> Bytes {
    let mut builder = BatchBuilder::new(Offset::ZERO).compression(compression);
    for n in 0..12i64 {
        let key = format!("key-{n}");
        let value: Vec<u8> = (0..20_000).map(|at: i64| (n * (at / 1000)) as u8).collect();
        let value = if compression.codec() == Codec::None { &value[..20] } else { &value };
        builder.append(Timestamp(NOW + n), (n % 3 != 0).then_some(key.as_bytes()), Some(value), &[]);
    }
    builder.build()
}

fn gaps(codec: Codec) -> Bytes {
    let mut builder = BatchBuilder::new(Offset::new(500)).compression(codec).last_offset_delta(100);
    for delta in [0, 2, 70] {
        let time = Timestamp(NOW + i64::from(delta));
        builder.append_at(delta, time, Some(b"key"), Some(b"value"), std::iter::empty());
    }
    builder.build()
}
