//! A recording chunk by chunk, from a file of any size.
//!
//! What always holds: one chunk at a time is in memory, and none above [`MOST_CHUNK_BYTES`]; memory
//! is asked for as bytes arrive, not as a header promises them. Each chunk brings the file further,
//! or ends it.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use super::chunk::JfrChunk;
use super::fault::{ChunkPlace, JfrFault, JfrFlaw};
use super::header::{ChunkHeader, ChunkState, HEADER_BYTES};

/// The largest chunk that is read: 1 GiB. A JVM ends a chunk at 12 MB, async-profiler at 100.
pub const MOST_CHUNK_BYTES: u64 = 1 << 30;

/// A recording that is being read.
#[derive(Debug)]
pub struct JfrFile<R> {
    source: R,
    length: u64,
    limit: u64,
    next: ChunkPlace,
    /// The chunk before was still being written: what follows it is no chunk.
    is_after_live: bool,
    chunk: Vec<u8>,
}

impl JfrFile<File> {
    /// Opens a recording.
    ///
    /// # Errors
    /// When the system does not let it be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self::new(file, length))
    }
}

impl<'a> JfrFile<Cursor<&'a [u8]>> {
    /// A recording that is in memory.
    #[must_use]
    pub fn in_memory(bytes: &'a [u8]) -> Self {
        Self::new(Cursor::new(bytes), bytes.len() as u64)
    }
}

impl<R: Read + Seek> JfrFile<R> {
    fn new(source: R, length: u64) -> Self {
        let next = ChunkPlace { number: 1, offset: 0 };
        Self { source, length, limit: MOST_CHUNK_BYTES, next, is_after_live: false, chunk: Vec::new() }
    }

    /// The next chunk, or why it cannot be read; the chunk after that may be in order all the same.
    /// `None` at the end.
    pub fn next_chunk(&mut self) -> Option<Result<JfrChunk<'_>, JfrFault>> {
        let place = self.next;
        let rest = self.length.checked_sub(place.offset).filter(|rest| *rest > 0)?;
        let fault = |flaw| JfrFault { chunk: place.number, offset: place.offset, flaw };
        // Until the chunk's size is known, its end is the file's.
        self.next = ChunkPlace { number: place.number.saturating_add(1), offset: self.length };
        if let Err(error) = self.load(place.offset, rest.min(HEADER_BYTES as u64)) {
            return Some(Err(fault(JfrFlaw::Io(error.kind()))));
        }
        let header = match ChunkHeader::parse(&self.chunk) {
            Ok(header) => header,
            Err(JfrFlaw::NotAChunk | JfrFlaw::Truncated) if self.is_after_live => return None,
            Err(flaw) => return Some(Err(fault(flaw))),
        };
        self.is_after_live = header.state != ChunkState::Complete;
        let said = u64::try_from(header.size).ok().filter(|size| *size >= HEADER_BYTES as u64);
        let size = said.unwrap_or(rest).min(rest);
        self.next.offset = place.offset + size;
        if size > self.limit {
            return Some(Err(fault(JfrFlaw::TooLarge { size, limit: self.limit })));
        }
        if let Err(error) = self.load(place.offset, size) {
            return Some(Err(fault(JfrFlaw::Io(error.kind()))));
        }
        Some(JfrChunk::open(&self.chunk, place))
    }

    /// Reads `count` bytes, or those that are there, in place of the chunk before.
    fn load(&mut self, offset: u64, count: u64) -> io::Result<()> {
        self.chunk.clear();
        self.source.seek(SeekFrom::Start(offset))?;
        self.source.by_ref().take(count).read_to_end(&mut self.chunk).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::ChunkBuilder;
    use super::*;

    #[test]
    fn a_chunk_above_the_limit_is_left_out_and_the_next_one_is_read() {
        let whole = ChunkBuilder::whole();
        let mut large = ChunkBuilder::new();
        (0..1000).for_each(|at| large.wall(at, 1, 1, 1, 1));
        let large = large.finished();
        let bytes = [&large[..], &whole[..]].concat();
        let mut file = JfrFile { limit: whole.len() as u64, ..JfrFile::in_memory(&bytes) };
        let fault = file.next_chunk().expect("a chunk").expect_err("that is too large");
        let flaw = JfrFlaw::TooLarge { size: large.len() as u64, limit: whole.len() as u64 };
        assert_eq!(fault, JfrFault { chunk: 1, offset: 0, flaw });
        let next = file.next_chunk().expect("a chunk").expect("that can be read");
        assert_eq!(next.place(), ChunkPlace { number: 2, offset: large.len() as u64 });
        assert!(file.next_chunk().is_none());
    }
}
