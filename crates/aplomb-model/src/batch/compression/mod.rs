//! Compressing and decompressing the records of a batch.
//!
//! Output is taken in blocks: at most [`PIECE`] bytes for gzip and zstd, one block of the format
//! for snappy and lz4. No memory is asked for because a length field says so: a block's room is
//! bounded by the most that its compressed bytes can stand for, and all output together by the
//! caller's limit. (zstd alone asks for its window ahead, at most 128 MiB of address space, of
//! which it touches what it fills; encoders at the highest levels announce that much, so a broker
//! has to accept it.) So one block takes at most 22 times its compressed bytes (snappy) or 4 MiB
//! (lz4): that much is decompressed at a time, whatever a caller's turn allows.

mod encoder;
mod lz4;
mod snappy;
mod zstd;

use std::borrow::Cow;
use std::io::{Read, Write};

use bytes::Buf;
use bytes::buf::Reader;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

pub(super) use self::encoder::Encoder;
use super::codec::{Codec, Compression};
use super::error::BatchError;

/// How many bytes a stream without blocks is asked for at a time, at most.
const PIECE: usize = 32 * 1024;

/// The fewest bytes that it is asked for.
const LEAST_PIECE: usize = 512;

/// Compresses the records of a batch. Snappy is framed as xerial's library does it, and lz4 in
/// frames of independent 64 KiB blocks, which is what all clients read. The levels of lz4 all give
/// the same output: the library has one.
pub(super) fn compress(compression: Compression, records: &[u8]) -> Cow<'_, [u8]> {
    match compression.codec() {
        Codec::None => Cow::Borrowed(records),
        Codec::Gzip => Cow::Owned(gzip(compression.level(), records)),
        Codec::Snappy => Cow::Owned(snappy::compress(records)),
        Codec::Lz4 => Cow::Owned(lz4::compress(records)),
        Codec::Zstd => Cow::Owned(zstd::compress(compression.level(), records)),
    }
}

fn gzip_level(level: i32) -> flate2::Compression {
    u32::try_from(level).map_or_else(|_| flate2::Compression::default(), flate2::Compression::new)
}

fn gzip(level: i32, records: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), gzip_level(level));
    encoder.write_all(records).and_then(|()| encoder.finish()).expect("memory takes what is written")
}

/// Decompresses the records of a batch, up to `limit` bytes of output; borrows if there is nothing
/// to do.
///
/// # Errors
/// [`BatchError::Compressed`] if the bytes are not what the codec writes, [`BatchError::TooLarge`]
/// if they stand for more than `limit` bytes.
pub fn decompress(codec: Codec, bytes: &[u8], limit: usize) -> Result<Cow<'_, [u8]>, BatchError> {
    if codec == Codec::None {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut blocks = Blocks::new(codec, bytes, limit)?;
    let mut out = Vec::new();
    while blocks.append_next(&mut out, PIECE)? {}
    Ok(Cow::Owned(out))
}

/// The uncompressed form of some bytes, block by block. The bytes lie in one piece.
pub(super) struct Blocks<B: Buf> {
    source: Source<B>,
    limit: usize,
    left: usize,
}

enum Source<B: Buf> {
    Plain(B),
    Gzip(Box<MultiGzDecoder<Reader<B>>>),
    Snappy(snappy::SnappyReader<B>),
    Lz4(lz4::Lz4Reader<B>),
    Zstd(zstd::ZstdReader<B>),
}

impl<B: Buf> Blocks<B> {
    /// # Errors
    /// [`BatchError::Compressed`] if the bytes do not begin as the codec's do.
    pub(super) fn new(codec: Codec, bytes: B, limit: usize) -> Result<Self, BatchError> {
        let broken = |why: Broken| why.in_codec(codec, limit);
        let source = match codec {
            Codec::None => Source::Plain(bytes),
            Codec::Gzip => Source::Gzip(Box::new(MultiGzDecoder::new(bytes.reader()))),
            Codec::Snappy => Source::Snappy(snappy::SnappyReader::new(bytes).map_err(broken)?),
            Codec::Lz4 => Source::Lz4(lz4::Lz4Reader::new(bytes).map_err(broken)?),
            Codec::Zstd => Source::Zstd(zstd::ZstdReader::new(bytes).map_err(broken)?),
        };
        Ok(Self { source, limit, left: limit })
    }

    /// Appends the next block of output, which may be empty; `false` when there is no more. A
    /// stream without blocks gives about `piece` bytes.
    ///
    /// # Errors
    /// As [`decompress`]. After an error the output is of no use.
    pub(super) fn append_next(&mut self, out: &mut Vec<u8>, piece: usize) -> Result<bool, BatchError> {
        let start = out.len();
        let piece = piece.clamp(LEAST_PIECE, PIECE);
        let (codec, result) = match &mut self.source {
            Source::Plain(bytes) => {
                let len = bytes.remaining().min(piece);
                out.extend_from_slice(&bytes.chunk()[..len]);
                bytes.advance(len);
                (Codec::None, Ok(len > 0))
            }
            Source::Gzip(decoder) => (Codec::Gzip, read_piece(decoder, out, piece)),
            Source::Snappy(reader) => (Codec::Snappy, reader.append_next(out, self.left)),
            Source::Lz4(reader) => (Codec::Lz4, reader.append_next(out, self.left)),
            Source::Zstd(reader) => (Codec::Zstd, reader.append_next(out, piece)),
        };
        let more = result.map_err(|why| why.in_codec(codec, self.limit))?;
        match self.left.checked_sub(out.len() - start) {
            Some(left) => self.left = left,
            None => return Err(BatchError::TooLarge { limit: self.limit as u64 }),
        }
        Ok(more)
    }

    /// The most that the next block can give, if as little is asked for as may be.
    pub(super) fn least_next(&self) -> usize {
        let least = match &self.source {
            Source::Plain(_) | Source::Gzip(_) | Source::Zstd(_) => LEAST_PIECE,
            Source::Snappy(reader) => reader.next_most(),
            Source::Lz4(reader) => reader.next_most(),
        };
        least.min(self.left)
    }

    /// Bytes of output so far.
    pub(super) fn produced(&self) -> usize {
        self.limit - self.left
    }
}

fn read_piece(reader: &mut impl Read, out: &mut Vec<u8>, piece: usize) -> Result<bool, Broken> {
    let start = out.len();
    out.resize(start + piece, 0);
    let read = reader.read(&mut out[start..]);
    out.truncate(start + *read.as_ref().unwrap_or(&0));
    Ok(read? > 0)
}

/// Why a block could not be decompressed.
enum Broken {
    /// The bytes are wrong.
    Bytes(String),
    /// They may be right, and are too many when decompressed.
    TooLarge,
}

impl Broken {
    fn in_codec(self, codec: Codec, limit: usize) -> BatchError {
        match self {
            Self::Bytes(reason) => BatchError::Compressed { codec: codec.name(), reason },
            Self::TooLarge => BatchError::TooLarge { limit: limit as u64 },
        }
    }
}

impl From<&str> for Broken {
    fn from(reason: &str) -> Self {
        Self::Bytes(reason.to_owned())
    }
}

impl From<std::io::Error> for Broken {
    fn from(error: std::io::Error) -> Self {
        Self::Bytes(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: [(Codec, &[i32]); 4] = [
        (Codec::Gzip, &[-1, 1, 9]),
        (Codec::Snappy, &[0]),
        (Codec::Lz4, &[1, 9, 17]),
        (Codec::Zstd, &[-5, 1, 3, 19, 22]),
    ];

    fn text(len: usize) -> Vec<u8> {
        (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24 & 0x3f) as u8 + 32).collect()
    }

    #[test]
    fn every_codec_and_level_gives_back_what_it_was_given() {
        for len in [0, 1, 13, 1000, 32 * 1024, 200_000] {
            let plain = text(len);
            for (codec, levels) in LEVELS {
                for level in levels {
                    let compression = Compression::at_level(codec, *level).expect("a known level");
                    let packed = compress(compression, &plain);
                    let unpacked = decompress(codec, &packed, len).expect("it decompresses");
                    assert!(unpacked == plain, "{codec} {level} {len}");
                }
            }
        }
    }

    #[test]
    fn output_beyond_the_limit_is_refused() {
        for (codec, levels) in LEVELS {
            let compression = Compression::at_level(codec, levels[0]).expect("a known level");
            let bomb = compress(compression, &vec![0; 3_000_000]).into_owned();
            assert!(bomb.len() < 200_000, "{codec} makes {} bytes", bomb.len());
            for limit in [0, 1, 70_000, 2_999_999] {
                assert_eq!(
                    decompress(codec, &bomb, limit).map(|out| out.len()),
                    Err(BatchError::TooLarge { limit: limit as u64 }),
                    "{codec}"
                );
            }
            assert_eq!(decompress(codec, &bomb, 3_000_000).map(|out| out.len()), Ok(3_000_000), "{codec}");
        }
    }

    #[test]
    fn cut_bytes_are_an_error_and_not_a_shorter_output() {
        let plain = text(100_000);
        for (codec, levels) in LEVELS {
            let packed = compress(Compression::at_level(codec, levels[0]).expect("a known level"), &plain);
            for end in [1, 5, 17, packed.len() / 2, packed.len() - 1] {
                assert!(
                    matches!(decompress(codec, &packed[..end], 1 << 20), Err(BatchError::Compressed { .. })),
                    "{codec} cut at {end}"
                );
            }
        }
    }
}
