//! Snappy as Kafka's clients write it: in the frame of the xerial library, or raw.
//!
//! The frame is `82 "SNAPPY" 00`, two big-endian `int32` versions, then blocks, each behind its
//! `int32` length. Bytes that do not begin like that are one raw block. As in snappy-java, a frame
//! may be followed by another.

use bytes::Buf;
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
    let mut writer = SnappyWriter::new();
    writer.write(plain);
    writer.finish()
}

/// Frames what it is given, in blocks of the library's size.
pub(in crate::batch) struct SnappyWriter {
    out: Vec<u8>,
    /// The beginning of a block.
    begun: Vec<u8>,
    encoder: Encoder,
}

impl SnappyWriter {
    pub(super) fn new() -> Self {
        Self { out: FRAME_HEADER.to_vec(), begun: Vec::new(), encoder: Encoder::new() }
    }

    pub(super) fn write(&mut self, mut plain: &[u8]) {
        if !self.begun.is_empty() {
            let (head, rest) = plain.split_at(plain.len().min(BLOCK - self.begun.len()));
            self.begun.extend_from_slice(head);
            plain = rest;
            if self.begun.len() == BLOCK {
                let block = std::mem::take(&mut self.begun);
                self.put(&block);
            }
        }
        let mut blocks = plain.chunks_exact(BLOCK);
        blocks.by_ref().for_each(|block| self.put(block));
        self.begun.extend_from_slice(blocks.remainder());
    }

    /// Bytes of whole blocks so far.
    pub(super) fn made(&self) -> usize {
        self.out.len()
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        let block = std::mem::take(&mut self.begun);
        if !block.is_empty() {
            self.put(&block);
        }
        self.out
    }

    fn put(&mut self, block: &[u8]) {
        let at = self.out.len();
        self.out.resize(at + 4 + max_compress_len(block.len()), 0);
        let len = self.encoder.compress(block, &mut self.out[at + 4..]);
        let len = len.expect("there is room for the largest result");
        self.out[at..][..4].copy_from_slice(&(len as u32).to_be_bytes());
        self.out.truncate(at + 4 + len);
    }
}

pub(super) struct SnappyReader<B> {
    rest: B,
    framed: bool,
}

impl<B: Buf> SnappyReader<B> {
    pub(super) fn new(mut bytes: B) -> Result<Self, Broken> {
        let framed = bytes.chunk().starts_with(&MAGIC);
        if framed {
            bytes.chunk().get(..FRAME_HEADER.len()).ok_or("frame header is cut")?;
            bytes.advance(FRAME_HEADER.len());
        } else if !bytes.has_remaining() {
            return Err("there are no bytes".into());
        }
        Ok(Self { rest: bytes, framed })
    }

    /// The most that the next block can give.
    pub(super) fn next_most(&self) -> usize {
        let all = self.rest.chunk();
        let block = if self.framed { split_block(all).map_or(&[][..], |(block, _)| block) } else { all };
        let len = decompress_len(block).unwrap_or(0);
        if len / MAX_RATIO > block.len() { 0 } else { len }
    }

    pub(super) fn append_next(&mut self, out: &mut Vec<u8>, room: usize) -> Result<bool, Broken> {
        let all = self.rest.chunk();
        if all.is_empty() {
            return Ok(false);
        }
        let (block, after) = if self.framed { split_block(all)? } else { (all, &[][..]) };
        let read = all.len() - after.len();
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
        self.rest.advance(read);
        Ok(true)
    }
}

/// The next block, and what follows it.
fn split_block(bytes: &[u8]) -> Result<(&[u8], &[u8]), &'static str> {
    let bytes = match bytes.strip_prefix(&MAGIC) {
        Some(after) => after.get(8..).ok_or("frame header is cut")?,
        None => bytes,
    };
    let (len, after) = bytes.split_first_chunk().ok_or("block length is cut")?;
    let len = usize::try_from(i32::from_be_bytes(*len)).map_err(|_| "block length is negative")?;
    after.split_at_checked(len).ok_or("block is cut")
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
