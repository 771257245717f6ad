//! Decompresses bytes as snappy, under a limit.

#![no_main]

use aplomb_model::batch::{Codec, decompress};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for limit in [0, 1000, 1 << 20] {
        if let Ok(plain) = decompress(Codec::Snappy, data, limit) {
            assert!(plain.len() <= limit);
        }
    }
});
