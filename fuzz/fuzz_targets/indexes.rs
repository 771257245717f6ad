//! Reads bytes as each of a segment's three indexes. The first byte chooses how the file ended.

#![no_main]

use aplomb_log::index::{IndexTail, OffsetIndex, TimeIndex, parse_aborted};
use aplomb_model::{Offset, Timestamp};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    let tail = if choice & 1 == 0 { IndexTail::Trimmed } else { IndexTail::MaybePreallocated };
    let base = Offset::new(u64::from(*choice));
    if let Ok(index) = OffsetIndex::new(bytes, base, tail) {
        let checked = index.check();
        let found = index.lookup(base.plus(1000));
        if checked.is_ok() {
            let found = found.expect("an index that was checked can be searched");
            assert!(found.offset <= base.plus(1000));
            let last = index.last().expect("an index that was checked has a last entry");
            assert_eq!(last.is_some(), !index.is_empty());
        }
        let _at = index.upper_bound(77);
        let _len = index.len_below(base.plus(5));
    }
    if let Ok(index) = TimeIndex::new(bytes, base, tail) {
        let checked = index.check();
        let found = index.lookup(Timestamp(1000));
        if checked.is_ok() {
            assert!(found.is_ok() && index.last().is_ok(), "an index that was checked can be searched");
        }
        let _len = index.len_below(base.plus(5));
    }
    if let Ok(aborted) = parse_aborted(bytes, base) {
        let written: Vec<u8> = aborted.iter().flat_map(|entry| entry.encode()).collect();
        assert_eq!(parse_aborted(&written, base), Ok(aborted));
    }
});
