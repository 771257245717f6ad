//! LZ4 frames, as Kafka reads and writes them.
//!
//! The frame is the standard one (<https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md>),
//! restricted as Apache Kafka's `Lz4BlockInputStream` does: version 1, independent blocks, no
//! dictionary, one frame; what follows the end mark is not looked at. Blocks are parsed here rather
//! than by the library's stream reader, which asks for whole blocks of memory before it has seen
//! one.

use std::hash::Hasher;
use std::io::Write;

use bytes::Buf;
use lz4_flex::block::{DecompressError, decompress_into};
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use twox_hash::XxHash32;

use super::Broken;

const MAGIC: [u8; 4] = 0x184d_2204_u32.to_le_bytes();
const BLOCK_IS_PLAIN: u32 = 1 << 31;
/// A byte of match length stands for at most 255.
const MAX_RATIO: usize = 255;

const VERSION_MASK: u8 = 0b1100_0000;
const VERSION_1: u8 = 0b0100_0000;
const INDEPENDENT_BLOCKS: u8 = 1 << 5;
const BLOCK_CHECKSUMS: u8 = 1 << 4;
const CONTENT_SIZE: u8 = 1 << 3;
const CONTENT_CHECKSUM: u8 = 1 << 2;
const RESERVED: u8 = 0b11;

pub(super) fn compress(plain: &[u8]) -> Vec<u8> {
    let mut encoder = encoder();
    encoder.write_all(plain).expect("memory takes what is written");
    encoder.finish().expect("memory takes what is written")
}

pub(super) fn encoder() -> FrameEncoder<Vec<u8>> {
    let frame = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Independent);
    FrameEncoder::with_frame_info(frame, Vec::new())
}

pub(super) struct Lz4Reader<B> {
    rest: B,
    block_checksums: bool,
    content_hash: Option<XxHash32>,
    max_block: usize,
    ended: bool,
}

impl<B: Buf> Lz4Reader<B> {
    pub(super) fn new(mut bytes: B) -> Result<Self, Broken> {
        let all = bytes.chunk();
        let descriptor = all.strip_prefix(&MAGIC).ok_or("frame magic is missing")?;
        let &[flags, block_size] = descriptor.first_chunk().ok_or("frame descriptor is cut")?;
        if flags & VERSION_MASK != VERSION_1 {
            return Err("frame version is not 1".into());
        }
        if flags & INDEPENDENT_BLOCKS == 0 {
            return Err("blocks depend on each other".into());
        }
        if flags & RESERVED != 0 || block_size & 0b1000_1111 != 0 {
            return Err("reserved bits are set".into());
        }
        let max_block = match block_size >> 4 {
            4 => 64 << 10,
            5 => 256 << 10,
            6 => 1 << 20,
            7 => 4 << 20,
            _ => return Err("block size is unknown".into()),
        };
        let len = if flags & CONTENT_SIZE == 0 { 2 } else { 2 + 8 };
        let (descriptor, rest) = descriptor.split_at_checked(len).ok_or("frame descriptor is cut")?;
        let (check, rest) = rest.split_first().ok_or("frame descriptor is cut")?;
        if *check != (hash(descriptor) >> 8) as u8 {
            return Err("frame descriptor checksum is wrong".into());
        }
        let read = all.len() - rest.len();
        bytes.advance(read);
        Ok(Self {
            rest: bytes,
            block_checksums: flags & BLOCK_CHECKSUMS != 0,
            content_hash: (flags & CONTENT_CHECKSUM != 0).then(|| XxHash32::with_seed(0)),
            max_block,
            ended: false,
        })
    }

    pub(super) fn append_next(&mut self, out: &mut Vec<u8>, room: usize) -> Result<bool, Broken> {
        if self.ended {
            return Ok(false);
        }
        let (head, rest) = split_u32(self.rest.chunk(), "block length is cut")?;
        let len = (head & !BLOCK_IS_PLAIN) as usize;
        if len == 0 {
            self.rest.advance(4);
            self.ended = true;
            return self.check_content().map(|()| false);
        }
        if len > self.max_block {
            return Err("block is larger than the frame allows".into());
        }
        let (block, rest) = rest.split_at_checked(len).ok_or("block is cut")?;
        let mut read = 4 + len;
        if self.block_checksums {
            let (checksum, _) = split_u32(rest, "block checksum is cut")?;
            if checksum != hash(block) {
                return Err("block checksum is wrong".into());
            }
            read += 4;
        }

        let at = out.len();
        if head & BLOCK_IS_PLAIN != 0 {
            if len > room {
                return Err(Broken::TooLarge);
            }
            out.extend_from_slice(block);
        } else {
            let most = self.max_block.min(len.saturating_mul(MAX_RATIO));
            out.resize(at + most.min(room), 0);
            let written = decompress_into(block, &mut out[at..]).map_err(|why| match why {
                DecompressError::OutputTooSmall { .. } if room < most => Broken::TooLarge,
                other => Broken::Bytes(other.to_string()),
            })?;
            out.truncate(at + written);
        }
        self.rest.advance(read);
        if let Some(content) = &mut self.content_hash {
            content.write(&out[at..]);
        }
        Ok(true)
    }

    /// The most that the next block can give.
    pub(super) fn next_most(&self) -> usize {
        let Ok((head, _)) = split_u32(self.rest.chunk(), "") else { return 0 };
        let len = (head & !BLOCK_IS_PLAIN) as usize;
        let most = if head & BLOCK_IS_PLAIN != 0 { len } else { len.saturating_mul(MAX_RATIO) };
        most.min(self.max_block)
    }

    fn check_content(&mut self) -> Result<(), Broken> {
        let Some(content) = self.content_hash.take() else { return Ok(()) };
        let (checksum, _) = split_u32(self.rest.chunk(), "content checksum is cut")?;
        if u64::from(checksum) != content.finish() {
            return Err("content checksum is wrong".into());
        }
        Ok(())
    }
}

fn split_u32<'a>(bytes: &'a [u8], otherwise: &'static str) -> Result<(u32, &'a [u8]), &'static str> {
    let (number, rest) = bytes.split_first_chunk().ok_or(otherwise)?;
    Ok((u32::from_le_bytes(*number), rest))
}

fn hash(bytes: &[u8]) -> u32 {
    XxHash32::oneshot(0, bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

    use crate::batch::{BatchError, Codec, decompress};

    fn pack(frame: FrameInfo, plain: &[u8]) -> Vec<u8> {
        let mut encoder = FrameEncoder::with_frame_info(frame, Vec::new());
        encoder.write_all(plain).expect("memory takes it");
        encoder.finish().expect("memory takes it")
    }

    fn reason(bytes: &[u8]) -> String {
        match decompress(Codec::Lz4, bytes, 1 << 20) {
            Err(BatchError::Compressed { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_frame_of_independent_blocks_is_read() {
        let plain: Vec<u8> = (0..300_000u32).map(|i| (i / 7) as u8).collect();
        for size in [BlockSize::Max64KB, BlockSize::Max256KB, BlockSize::Max1MB, BlockSize::Max4MB] {
            for checks in [false, true] {
                let frame = FrameInfo::new()
                    .block_size(size)
                    .block_mode(BlockMode::Independent)
                    .block_checksums(checks)
                    .content_checksum(checks)
                    .content_size(checks.then_some(plain.len() as u64));
                let packed = pack(frame, &plain);
                let unpacked = decompress(Codec::Lz4, &packed, plain.len()).expect("it decompresses");
                assert!(unpacked == plain);
            }
        }
    }

    #[test]
    fn linked_blocks_are_refused_as_java_refuses_them() {
        let packed = pack(FrameInfo::new().block_mode(BlockMode::Linked), b"linked");
        assert_eq!(reason(&packed), "blocks depend on each other");
    }

    #[test]
    fn checksums_are_compared() {
        let frame = FrameInfo::new().block_checksums(true).content_checksum(true);
        let packed = pack(frame, &[7; 1000]);
        let mut header = packed.clone();
        header[6] ^= 1;
        assert_eq!(reason(&header), "frame descriptor checksum is wrong");
        let mut block = packed.clone();
        block[12] ^= 1;
        assert_eq!(reason(&block), "block checksum is wrong");
        let mut content = packed;
        *content.last_mut().expect("bytes") ^= 1;
        assert_eq!(reason(&content), "content checksum is wrong");
    }
}
