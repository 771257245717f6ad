//! Reads bytes as a producer snapshot, whose checksum is made to fit.

#![no_main]

use aplomb_log::producers::{encode_snapshot, parse_snapshot};
use aplomb_model::batch::crc32c;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.to_vec();
    if bytes.len() > 6 {
        let crc = crc32c(&bytes[6..]);
        bytes[2..6].copy_from_slice(&crc.to_be_bytes());
    }
    let Ok(producers) = parse_snapshot(&bytes) else { return };
    let written = encode_snapshot(producers.iter().map(|(id, entry)| (*id, entry)));
    let again = parse_snapshot(&written).expect("it was just written");
    assert_eq!(again, producers);
});
