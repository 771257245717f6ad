//! Reads bytes as a record of `__transaction_state`: the key's length, the key, and the value, if
//! there is more.

#![no_main]

use aplomb_coordinator::txn::TxnRecord;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&length, rest)) = data.split_first() else { return };
    let Some((key, value)) = rest.split_at_checked(usize::from(length)) else { return };
    let bytes = Bytes::copy_from_slice;
    let value = (!value.is_empty()).then(|| bytes(value));
    let Ok(Some(record)) = TxnRecord::decode(bytes(key), value) else { return };
    std::hint::black_box(record.id());
    let (key, value) = record.encode().expect("what was read can be written");
    let again =
        TxnRecord::decode(key.clone(), value.clone()).expect("it was just written").expect("it is known");
    assert_eq!(again.encode(), Ok((key, value)));
});
