//! Zstandard frames, one after the other.
//!
//! A decoder's context and its window cost more to set up than a small batch costs to decode, so
//! each thread keeps one and lends it to one reader at a time. zstd itself gives back a window that
//! has been larger than needed for a while.

use std::cell::Cell;

use ::zstd::zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, ResetDirective, get_error_name};
use bytes::Buf;

use super::Broken;

/// The largest window that zstd's own decoders accept without being told to.
const WINDOW_LOG_MAX: u32 = 27;

thread_local! {
    static IDLE: Cell<Option<DCtx<'static>>> = const { Cell::new(None) };
}

pub(super) fn compress(level: i32, plain: &[u8]) -> Vec<u8> {
    ::zstd::bulk::compress(plain, level).expect("zstd compresses whatever it is given")
}

pub(super) struct ZstdReader<B> {
    rest: B,
    /// Whether a frame has begun and not ended.
    in_frame: bool,
    /// Empty only while this is dropped.
    context: Option<DCtx<'static>>,
}

impl<B: Buf> ZstdReader<B> {
    pub(super) fn new(bytes: B) -> Result<Self, Broken> {
        let mut context = IDLE.take().unwrap_or_default();
        context.reset(ResetDirective::SessionAndParameters).map_err(broken)?;
        context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX)).map_err(broken)?;
        Ok(Self { rest: bytes, in_frame: false, context: Some(context) })
    }

    pub(super) fn append_next(&mut self, out: &mut Vec<u8>, piece: usize) -> Result<bool, Broken> {
        if !self.rest.has_remaining() && !self.in_frame {
            return Ok(false);
        }
        let context = self.context.as_mut().expect("the context is there until the reader is dropped");
        let start = out.len();
        out.resize(start + piece, 0);
        let mut input = InBuffer::around(self.rest.chunk());
        let mut output = OutBuffer::around(&mut out[start..]);
        let hint = context.decompress_stream(&mut output, &mut input).map_err(broken)?;
        let (taken, written) = (input.pos(), output.pos());
        if taken == 0 && written == 0 {
            return Err("frame is cut".into());
        }
        self.rest.advance(taken);
        self.in_frame = hint != 0;
        out.truncate(start + written);
        Ok(true)
    }
}

impl<B> Drop for ZstdReader<B> {
    fn drop(&mut self) {
        IDLE.set(self.context.take());
    }
}

fn broken(code: usize) -> Broken {
    get_error_name(code).into()
}

#[cfg(test)]
mod tests {
    use crate::batch::{BatchError, Codec, decompress};

    #[test]
    fn frames_follow_each_other_and_errors_leave_no_trace() {
        let (first, second) = (super::compress(3, b"hello "), super::compress(19, &[b'x'; 70_000]));
        let both = [&first[..], &second].concat();
        for _ in 0..3 {
            let plain = decompress(Codec::Zstd, &both, 1 << 20).expect("two frames");
            assert!(plain.starts_with(b"hello xxx") && plain.len() == 70_006);
            for end in [1, first.len() - 1, first.len() + 1, both.len() - 1] {
                let cut = decompress(Codec::Zstd, &both[..end], 1 << 20);
                assert!(matches!(cut, Err(BatchError::Compressed { .. })), "cut at {end}");
            }
        }
    }
}
