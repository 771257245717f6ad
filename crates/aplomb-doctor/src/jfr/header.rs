//! The first 68 bytes of a chunk, and its clock.

use super::fault::JfrFlaw;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 68;

const MAGIC: &[u8; 4] = b"FLR\0";
const COMPRESSED_INTEGERS: u16 = 1;
const REWRITING: u8 = 255;

/// What a chunk says of itself. All of it may be wrong: a chunk that was not finished has zeros and
/// placeholders here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkHeader {
    /// Version of the format, first and second part.
    pub version: (u16, u16),
    /// Bytes of the chunk, header included.
    pub size: i64,
    /// Where the last list of constants is, in bytes from the chunk's beginning; 0 for none as yet.
    pub constants_at: i64,
    /// Where the metadata is, likewise.
    pub metadata_at: i64,
    /// The beginning, in nanoseconds since 1970.
    pub start_unix_ns: i64,
    /// How long it goes on, in nanoseconds.
    pub duration_ns: i64,
    /// The same beginning, in ticks.
    pub start_ticks: i64,
    /// Ticks that a second has.
    pub ticks_per_second: i64,
    /// What its writer has done with it.
    pub state: ChunkState,
}

/// What a chunk's writer has done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkState {
    /// It is finished; async-profiler's chunks say so from the beginning.
    Complete,
    /// A JVM is writing it, and has flushed it so many times (counted modulo 254).
    Flushed(u8),
    /// A JVM was rewriting the header.
    Rewriting,
}

impl ChunkHeader {
    /// Reads the header of a chunk.
    ///
    /// # Errors
    /// When `bytes` does not begin with the header of a chunk of format 2.
    pub fn parse(bytes: &[u8]) -> Result<Self, JfrFlaw> {
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            let is_prefix = bytes.len() < 4 || bytes.starts_with(MAGIC);
            return Err(if is_prefix { JfrFlaw::Truncated } else { JfrFlaw::NotAChunk });
        };
        if !header.starts_with(MAGIC) {
            return Err(JfrFlaw::NotAChunk);
        }
        let version = (short(header, 4), short(header, 6));
        if version.0 != 2 {
            return Err(JfrFlaw::Version(version.0, version.1));
        }
        if short(header, 66) & COMPRESSED_INTEGERS == 0 {
            return Err(JfrFlaw::NotCompressed);
        }
        let state = match header[64] {
            0 => ChunkState::Complete,
            REWRITING => ChunkState::Rewriting,
            flushes => ChunkState::Flushed(flushes),
        };
        Ok(Self {
            version,
            size: long(header, 8),
            constants_at: long(header, 16),
            metadata_at: long(header, 24),
            start_unix_ns: long(header, 32),
            duration_ns: long(header, 40),
            start_ticks: long(header, 48),
            ticks_per_second: long(header, 56),
            state,
        })
    }

    /// The beginning, in milliseconds since 1970.
    #[must_use]
    pub fn start_unix_ms(&self) -> f64 {
        self.start_unix_ns as f64 / 1e6
    }

    /// A moment in ticks, in milliseconds since 1970.
    #[must_use]
    pub fn unix_ms(&self, ticks: i64) -> f64 {
        let since = i128::from(ticks) - i128::from(self.start_ticks);
        self.start_unix_ms() + self.scale(since as f64)
    }

    /// A number of ticks, in milliseconds; what is below zero is zero.
    #[must_use]
    pub fn ticks_ms(&self, ticks: i64) -> f64 {
        self.scale(ticks.max(0) as f64)
    }

    fn scale(&self, ticks: f64) -> f64 {
        // A header that names no frequency is broken; nanoseconds are what most clocks count.
        let per_second = if self.ticks_per_second > 0 { self.ticks_per_second as f64 } else { 1e9 };
        ticks * 1e3 / per_second
    }
}

fn short(header: &[u8; HEADER_BYTES], at: usize) -> u16 {
    u16::from_be_bytes([header[at], header[at + 1]])
}

fn long(header: &[u8; HEADER_BYTES], at: usize) -> i64 {
    header[at..at + 8].iter().fold(0, |value, byte| value << 8 | i64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Vec<u8> {
        let mut bytes = b"FLR\0\x00\x02\x00\x01".to_vec();
        for word in [500_i64, 400, 68, 1_700_000_000_000_000_000, 2_000_000_000, 7_000, 1_000_000] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend([0, 0, 0, 1]);
        bytes
    }

    #[test]
    fn a_header_reads_as_what_was_written() {
        let header = ChunkHeader::parse(&header()).expect("a header");
        assert_eq!((header.version, header.size, header.constants_at), ((2, 1), 500, 400));
        assert_eq!((header.metadata_at, header.state), (68, ChunkState::Complete));
    }

    #[test]
    fn ticks_become_milliseconds_by_the_chunks_own_clock() {
        let header = ChunkHeader::parse(&header()).expect("a header");
        assert_eq!(header.unix_ms(7_000 + 2_500), 1_700_000_000_002.5);
        assert_eq!(header.unix_ms(6_000), 1_699_999_999_999.0);
        assert_eq!((header.ticks_ms(1_000), header.ticks_ms(-1)), (1.0, 0.0));
        let broken = ChunkHeader { ticks_per_second: 0, ..header };
        assert!(broken.unix_ms(i64::MIN).is_finite() && broken.unix_ms(i64::MAX).is_finite());
    }

    #[test]
    fn what_is_no_header_says_why() {
        let change = |at: usize, to: u8| {
            let mut bytes = header();
            bytes[at] = to;
            ChunkHeader::parse(&bytes)
        };
        assert_eq!(change(0, b'X'), Err(JfrFlaw::NotAChunk));
        assert_eq!(change(5, 1), Err(JfrFlaw::Version(1, 1)));
        assert_eq!(change(67, 0), Err(JfrFlaw::NotCompressed));
        assert_eq!(change(64, 255).map(|header| header.state), Ok(ChunkState::Rewriting));
        assert_eq!(change(64, 9).map(|header| header.state), Ok(ChunkState::Flushed(9)));
        assert_eq!(ChunkHeader::parse(&header()[..67]), Err(JfrFlaw::Truncated));
        assert_eq!(ChunkHeader::parse(b""), Err(JfrFlaw::Truncated));
        assert_eq!(ChunkHeader::parse(b"%PDF-1.4"), Err(JfrFlaw::NotAChunk));
    }
}
