//! Reads bytes as what members of classic consumer groups say of themselves and are assigned: the
//! version first.

#![no_main]

use aplomb_protocol::messages as m;
use aplomb_protocol::{Message, Reader, Writer};
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    read::<m::ConsumerProtocolSubscription>(data);
    read::<m::ConsumerProtocolAssignment>(data);
});

fn read<M: Message>(data: &[u8]) {
    let mut r = Reader::new(Bytes::copy_from_slice(data));
    // Later versions begin as the last one that is known.
    let Ok(version) = r.i16().map(|version| version.min(M::VERSIONS.max)) else { return };
    if version < 0 {
        return;
    }
    let Ok(message) = M::decode(&mut r, version) else { return };
    let written = write(&message, version);
    let again = M::decode(&mut Reader::new(written.clone()), version).expect("it was just written");
    assert_eq!(write(&again, version), written);
}

fn write<M: Message>(message: &M, version: i16) -> Bytes {
    let mut w = Writer::new();
    message.encode(&mut w, version).expect("it was read in this version");
    w.freeze()
}
