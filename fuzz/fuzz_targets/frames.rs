//! Cuts a stream into frames, however it arrives; the first byte says in which steps.

#![no_main]

use aplomb_protocol::Reader;
use aplomb_protocol::frame::{FrameSplitter, RequestHead};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((step, stream)) = data.split_first() else { return };
    let mut splitter = FrameSplitter::new(1 << 16);
    let mut taken = 0;
    for piece in stream.chunks(usize::from(*step) + 1) {
        splitter.push(piece);
        loop {
            match splitter.next_frame() {
                Ok(Some(frame)) => {
                    taken += 4 + frame.len();
                    let _head = RequestHead::decode(&mut Reader::new(frame));
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
        assert!(splitter.buffer().capacity() <= 1 << 18, "memory follows what has arrived");
    }
    assert_eq!(taken + splitter.buffered(), stream.len(), "no byte is lost");
});
