//! Reads bytes as the records of a batch; the first byte says how many.

#![no_main]

use aplomb_model::batch::RecordIter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((count, bytes)) = data.split_first() else { return };
    let mut taken = 0;
    for record in RecordIter::new(bytes, u32::from(*count)).flatten() {
        taken += record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len);
        for header in record.headers {
            taken += header.key.len() + header.value.map_or(0, <[u8]>::len);
        }
    }
    assert!(taken <= bytes.len(), "records lend what is there, once");
});
