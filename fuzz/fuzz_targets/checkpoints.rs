//! Reads bytes as the two kinds of text checkpoint.

#![no_main]

use aplomb_log::checkpoint::{encode_offsets, parse_offsets};
use aplomb_log::epochs::LeaderEpochs;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(offsets) = parse_offsets(data) {
        let written = encode_offsets(offsets.iter().map(|(partition, offset)| (partition, *offset)));
        assert_eq!(parse_offsets(written.as_bytes()), Ok(offsets));
    }
    if let Ok(epochs) = LeaderEpochs::parse(data) {
        let again = LeaderEpochs::parse(epochs.encode().as_bytes()).expect("it was just written");
        assert_eq!(again.entries(), epochs.entries());
    }
});
