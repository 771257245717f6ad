//! Reads bytes as the body of any request: two bytes for the API, two for its version, then the
//! body.

#![no_main]

use aplomb_protocol::hot::fetch_request::FetchBody;
use aplomb_protocol::hot::produce_request::ProduceBody;
use aplomb_protocol::{AnyRequest, ApiKey, Reader, Writer};
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&[k0, k1, v0, v1], body)) = data.split_first_chunk() else { return };
    let version = i16::from_be_bytes([v0, v1]);
    let Some(api) = ApiKey::from_i16(i16::from_be_bytes([k0, k1])) else { return };
    let body = Bytes::copy_from_slice(body);
    if api == ApiKey::Produce
        && let Ok(produce) = ProduceBody::decode(&mut Reader::new(body.clone()), version)
    {
        for partition in produce.partitions() {
            std::hint::black_box(partition);
        }
    }
    if api == ApiKey::Fetch
        && let Ok(fetch) = FetchBody::decode(&mut Reader::new(body.clone()), version)
    {
        std::hint::black_box(fetch);
    }

    let Ok(message) = AnyRequest::decode(api, &mut Reader::new(body), version) else { return };
    // What can be read can be written, and what was written reads back as the same.
    let written = write(&message, version);
    let again =
        AnyRequest::decode(api, &mut Reader::new(written.clone()), version).expect("it was just written");
    assert_eq!(write(&again, version), written);
});

fn write(message: &AnyRequest, version: i16) -> Bytes {
    let mut writer = Writer::new();
    message.encode(&mut writer, version).expect("it was read in this version");
    writer.freeze()
}
