//! Snappy as Kafka's clients write it: in the frame of the xerial library, or raw.
//!
//! The frame is `82 "SNAPPY" 00`, two big-endian `int32` versions, then blocks, each behind its
//! `int32` length. Bytes that do not begin like that are one raw block. As in snappy-java, a frame
//! may be followed by another.

use snap::raw::{Decoder, Encoder, decompress_len, max_compress_len};

use super::Broken;

const MAGIC: [u8; 8] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
/// The magic, the version that wrote it and the oldest version that can read it: both 1.
const FRAME_HEADER: [u8; 16] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1];
/// The library's block size.
const BLOCK: usize = 32 * 1024;
/// A copy of three bytes stands for at most 64.
const MAX_RATIO: usize = 22;

pub(super) fn compress(plain: &[u8]) -> Vec<u8> {
    let mut out = FRAME_HEADER.to_vec();
    let mut encoder = Encoder::new();
    for block in plain.chunks(BLOCK) {
        let at = out.len();
        out.resize(at + 4 + max_compress_len(block.len()), 0);
        let len = encoder.compress(block, &mut out[at + 4..]).expect("there is room for the largest result");
        out[at..][..4].copy_from_slice(&(len as u32).to_be_bytes());
        out.truncate(at + 4 + len);
    }
    out
}

pub(super) enum SnappyReader<'a> {
    Raw(&'a [u8]),
    Framed(&'a [u8]),
}

impl<'a> SnappyReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, Broken> {
        match bytes.strip_prefix(&MAGIC) {
            Some(rest) => Ok(Self::Framed(rest.get(8..).ok_or("frame header is cut")?)),
            None if bytes.is_empty() => Err("there are no bytes".into()),
            None => Ok(Self::Raw(bytes)),
        }
    }

    pub(super) fn append_next(&mut self, out: &mut Vec<u8>, room: usize) -> Result<bool, Broken> {
        let block = match self {
            Self::Raw([]) | Self::Framed([]) => return Ok(false),
            Self::Raw(rest) => std::mem::take(rest),
            Self::Framed(rest) => take_block(rest)?,
        };
        let len = decompress_len(block).map_err(|why| Broken::Bytes(why.to_string()))?;
        if len / MAX_RATIO > block.len() {
            return Err("block claims more output than it can have".into());
        }
        if len > room {
            return Err(Broken::TooLarge);
        }
        let at = out.len();
        out.resize(at + len, 0);
        Decoder::new().decompress(block, &mut out[at..]).map_err(|why| Broken::Bytes(why.to_string()))?;
        Ok(true)
    }
}

fn take_block<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], &'static str> {
    if let Some(after) = rest.strip_prefix(&MAGIC) {
        *rest = after.get(8..).ok_or("frame header is cut")?;
    }
    let (len, after) = rest.split_first_chunk().ok_or("block length is cut")?;
    let len = usize::try_from(i32::from_be_bytes(*len)).map_err(|_| "block length is negative")?;
    let (block, after) = after.split_at_checked(len).ok_or("block is cut")?;
    *rest = after;
    Ok(block)
}

#[cfg(test)]
mod tests {
    use crate::batch::{BatchError, Codec, decompress};

    fn unpack(bytes: &[u8]) -> Result<Vec<u8>, BatchError> {
        decompress(Codec::Snappy, bytes, 1000).map(std::borrow::Cow::into_owned)
    }

    #[test]
    fn raw_and_framed_and_repeated_frames_are_read() {
        let raw = snap::raw::Encoder::new().compress_vec(b"hello hello hello").expect("it compresses");
        assert_eq!(unpack(&raw).expect("raw"), b"hello hello hello");
        let framed = super::compress(b"hello ");
        assert_eq!(unpack(&framed).expect("framed"), b"hello ");
        assert_eq!(unpack(&[&framed[..], &framed].concat()).expect("two frames"), b"hello hello ");
    }

    #[test]
    fn a_block_that_claims_too_much_costs_nothing() {
        // Claims 4 GiB - 1 in 5 bytes of varint, and holds one literal.
        let bytes = [0xff, 0xff, 0xff, 0xff, 0x0f, 0, b'x'];
        assert!(matches!(unpack(&bytes), Err(BatchError::Compressed { .. })));
    }
}
