//! Walks over bytes as over a log: in one piece and in slices, with and without checksums, down to
//! the records.

#![no_main]

use aplomb_model::batch::{Batches, RecordIter};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let whole: Vec<_> = Batches::new(data).map(|batch| (batch.position, batch.header)).collect();
    let step = data.first().map_or(1, |byte| usize::from(*byte) + 1);
    let slices: Vec<&[u8]> = data.chunks(step).collect();
    let sliced: Vec<_> = Batches::in_slices(&slices).map(|batch| (batch.position, batch.header)).collect();
    assert_eq!(whole, sliced, "slices of {step} change nothing");
    assert_eq!(
        Batches::new(data).checked().scan_to_end(),
        Batches::in_slices(&slices).checked().scan_to_end(),
        "slices of {step} change nothing"
    );
    for batch in Batches::new(data) {
        assert_eq!(batch.bytes().len(), batch.header.size());
        let Ok(plain) = batch.uncompressed(LIMIT) else { continue };
        for record in RecordIter::new(&plain, batch.header.count()).flatten() {
            assert_eq!(record.headers.iter().count(), record.headers.len());
        }
    }
});
