//! Compressing piece by piece: what a batch is turned into another codec with.

use std::io::Write;

use flate2::write::GzEncoder;
use lz4_flex::frame::FrameEncoder;
use zstd::stream::write::Encoder as ZstdEncoder;

use super::{Codec, Compression, gzip_level, lz4, snappy};

/// Takes pieces of plain bytes and keeps what they become.
pub(in crate::batch) enum Encoder {
    Plain(Vec<u8>),
    Gzip(GzEncoder<Vec<u8>>),
    Snappy(Box<snappy::SnappyWriter>),
    Lz4(Box<FrameEncoder<Vec<u8>>>),
    Zstd(ZstdEncoder<'static, Vec<u8>>),
}

impl Encoder {
    /// For `plain_len` bytes in all: zstd sizes its tables by it.
    pub(in crate::batch) fn new(compression: Compression, plain_len: usize) -> Self {
        match compression.codec() {
            Codec::None => Self::Plain(Vec::new()),
            Codec::Gzip => Self::Gzip(GzEncoder::new(Vec::new(), gzip_level(compression.level()))),
            Codec::Snappy => Self::Snappy(Box::new(snappy::SnappyWriter::new())),
            Codec::Lz4 => Self::Lz4(Box::new(lz4::encoder())),
            Codec::Zstd => {
                let mut encoder =
                    ZstdEncoder::new(Vec::new(), compression.level()).expect("a level is one of zstd's");
                encoder
                    .set_pledged_src_size(Some(plain_len as u64))
                    .expect("a size is said before the first byte");
                Self::Zstd(encoder)
            }
        }
    }

    pub(in crate::batch) fn write(&mut self, plain: &[u8]) {
        let written = match self {
            Self::Plain(out) => out.write_all(plain),
            Self::Gzip(encoder) => encoder.write_all(plain),
            Self::Snappy(writer) => return writer.write(plain),
            Self::Lz4(encoder) => encoder.write_all(plain),
            Self::Zstd(encoder) => encoder.write_all(plain),
        };
        written.expect("memory takes what is written");
    }

    /// Bytes that are made so far; some may still be on their way.
    pub(in crate::batch) fn made(&self) -> usize {
        match self {
            Self::Plain(out) => out.len(),
            Self::Gzip(encoder) => encoder.get_ref().len(),
            Self::Snappy(writer) => writer.made(),
            Self::Lz4(encoder) => encoder.get_ref().len(),
            Self::Zstd(encoder) => encoder.get_ref().len(),
        }
    }

    /// All that was made.
    pub(in crate::batch) fn finish(self) -> Vec<u8> {
        let made = match self {
            Self::Plain(out) => Ok(out),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Snappy(writer) => Ok(writer.finish()),
            Self::Lz4(encoder) => encoder.finish().map_err(std::io::Error::from),
            Self::Zstd(encoder) => encoder.finish(),
        };
        made.expect("memory takes what is written")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::decompress;

    #[test]
    fn pieces_become_what_the_whole_stands_for() {
        let plain: Vec<u8> = (0..300_000u32).map(|i| (i / 7) as u8).collect();
        for codec in Codec::ALL {
            let mut encoder = Encoder::new(Compression::from(codec), plain.len());
            plain.chunks(10_007).for_each(|piece| encoder.write(piece));
            let packed = encoder.finish();
            let unpacked = decompress(codec, &packed, plain.len()).expect("it decompresses");
            assert!(unpacked == plain, "{codec}");
        }
    }
}
