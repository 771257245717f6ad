//! Cuts a stream into frames, however it arrives; the first byte says in which steps.

#![no_main]

use aplomb_protocol::Reader;
use aplomb_protocol::frame::{FrameCutter, RequestHead};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((step, stream)) = data.split_first() else { return };
    let mut cutter = FrameCutter::new(1 << 20);
    let mut taken = 0;
    for mut piece in stream.chunks(usize::from(*step) + 1) {
        loop {
            match cutter.next_frame(&mut piece) {
                Ok(Some(frame)) => {
                    taken += 4 + frame.len();
                    let _head = RequestHead::decode(&mut Reader::new(frame.into()));
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
        assert!(piece.is_empty(), "all that came was taken");
        let most = (2 * cutter.held()).max(1 << 15);
        let room = cutter.partial().map_or(0, |partial| partial.capacity());
        assert!(room <= most, "memory follows what has arrived");
    }
    assert_eq!(taken + cutter.held(), stream.len(), "no byte is lost");
});
