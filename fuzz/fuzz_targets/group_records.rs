//! Reads bytes as a record of `__consumer_offsets`: the key's length, the key, and the value, if
//! there is more.

#![no_main]

use aplomb_coordinator::group::GroupRecord;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&length, rest)) = data.split_first() else { return };
    let Some((key, value)) = rest.split_at_checked(usize::from(length)) else { return };
    let bytes = Bytes::copy_from_slice;
    let value = (!value.is_empty()).then(|| bytes(value));
    let Ok(Some(record)) = GroupRecord::decode(bytes(key), value) else { return };
    std::hint::black_box(record.group());
    if matches!(record, GroupRecord::Foreign { .. }) {
        return; // never written
    }
    // Written in the version of today, which reads back as the same. What only older ones can say
    // is refused.
    let Ok((key, value)) = record.encode() else { return };
    let again =
        GroupRecord::decode(key.clone(), value.clone()).expect("it was just written").expect("it is known");
    assert_eq!(again.encode(), Ok((key, value)));
});
