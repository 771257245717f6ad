//! Reads bytes as the value of a record of the metadata log.

#![no_main]

use aplomb_protocol::MetadataRecord;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok((record, version)) = MetadataRecord::decode(Bytes::copy_from_slice(data)) else { return };
    let written = record.to_bytes(version).expect("it was read in this version");
    let (again, same) = MetadataRecord::decode(written.clone()).expect("it was just written");
    assert_eq!(same, version);
    assert_eq!(again.to_bytes(version), Ok(written));
});
