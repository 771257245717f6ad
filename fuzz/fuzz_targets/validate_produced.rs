//! Decides about produced batches. The first bytes choose the topic's rules; the checksum is made
//! to fit, so that what lies behind it is reached.

#![no_main]

use aplomb_model::batch::{
    Batches, Codec, Compression, CompressionRule, ProduceRules, Stop, TimestampType, crc32c,
    validate_produced,
};
use aplomb_model::{ErrorCode, Timestamp};
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

const NOW: Timestamp = Timestamp(1_700_000_000_000);

fuzz_target!(|data: &[u8]| {
    let Some((&[flags, codec], batch)) = data.split_first_chunk() else { return };
    let mut batch = batch.to_vec();
    if batch.len() >= 61 {
        let crc = crc32c(&batch[21..]);
        batch[17..21].copy_from_slice(&crc.to_be_bytes());
    }
    let rules = ProduceRules {
        max_message_bytes: if flags & 1 == 0 { 1 << 20 } else { 300 },
        max_decompressed_message_bytes: if flags & 2 == 0 { usize::MAX } else { 100 },
        max_decompressed_batch_bytes: 1 << 20,
        timestamp_type: if flags & 4 == 0 { TimestampType::CreateTime } else { TimestampType::LogAppendTime },
        before_max_ms: (flags & 8 != 0).then_some(1000),
        after_max_ms: (flags & 16 != 0).then_some(1000),
        compaction: flags & 32 != 0,
        compression: Codec::from_id(codec).map_or(CompressionRule::KeepProducers, |codec| {
            CompressionRule::Recompress(Compression::from(codec))
        }),
    };
    match validate_produced(&Bytes::from(batch), &rules, NOW) {
        Ok(valid) => {
            let bytes = [&valid.append.header.as_bytes()[..], &valid.append.records].concat();
            assert!(bytes.len() <= rules.max_message_bytes);
            let mut walk = Batches::new(&bytes).checked();
            let view = walk.next().expect("what is accepted is a batch");
            let plain = view.uncompressed(1 << 20).expect("what is accepted can be decompressed");
            for (index, record) in view.records(&plain).enumerate() {
                let record = record.expect("what is accepted can be read");
                assert_eq!(record.offset_delta as usize, index);
                assert!(record.key.is_some() || !rules.compaction);
            }
            assert!(walk.next().is_none() && walk.end().expect("ended").why == Stop::Complete);
        }
        Err(rejection) => assert_ne!(ErrorCode::from(&rejection), ErrorCode::None),
    }
});
