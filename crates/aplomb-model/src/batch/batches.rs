//! The batches of a log, one after the other, in one piece of memory or in several.
//!
//! The tail's memory comes in chunks and a file is read in buffers, so a batch may begin in one
//! slice and end in another; its header is copied together (61 bytes), its records are not. A walk
//! ends at the first bytes that are no whole batch, and [`Batches::end`] says where that was and
//! why, which is what recovery cuts a log by.

use std::borrow::Cow;
use std::iter::FusedIterator;

use super::compression::decompress;
use super::error::BatchError;
use super::header::{BatchHeader, HEADER_SIZE};
use super::records::RecordIter;

/// Where a walk ended, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanEnd {
    /// Bytes from the start to the end of the last whole batch.
    pub position: u64,
    /// Why there is no batch at that position.
    pub why: Stop,
}

/// Why a walk over batches ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// There are no more bytes.
    Complete,
    /// The last batch is not all there.
    Cut {
        /// Bytes that the batch takes, as far as it tells.
        needed: u64,
        /// Bytes that are left for it.
        available: u64,
    },
    /// The length field holds what no batch has; trailing zeros of a preallocated file look like
    /// this.
    BadLength(i32),
    /// Not a version 2 batch. If `magic` is 0 or 1, an entry of an old format that ends after
    /// `size` bytes.
    BadMagic {
        /// The byte that says which version it is.
        magic: i8,
        /// Size of the entry in bytes.
        size: u64,
    },
    /// The checksum does not fit the bytes.
    BadCrc {
        /// The checksum that the header says.
        stored: u32,
        /// The checksum of the bytes.
        computed: u32,
    },
    /// The header contradicts itself.
    BadHeader(BatchError),
}

impl From<BatchError> for Stop {
    fn from(error: BatchError) -> Self {
        match error {
            BatchError::Cut { needed, available } => Self::Cut { needed, available },
            BatchError::Length(length) => Self::BadLength(length),
            BatchError::Magic { magic, size } => Self::BadMagic { magic, size },
            BatchError::Crc { stored, computed } => Self::BadCrc { stored, computed },
            other @ (BatchError::Field { .. }
            | BatchError::UnknownCodec(_)
            | BatchError::Record { .. }
            | BatchError::Compressed { .. }
            | BatchError::TooLarge { .. }) => Self::BadHeader(other),
        }
    }
}

/// Iterates over the batches of a log.
#[derive(Clone, Debug)]
pub struct Batches<'a> {
    pieces: Pieces<'a>,
    /// Whether each batch's checksum is computed before it is given out.
    checked: bool,
    stopped: Option<Stop>,
}

impl<'a> Batches<'a> {
    /// The batches in `bytes`. Checksums are not looked at.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::over(Pieces { current: bytes, later: &[], position: 0, left: bytes.len() as u64 })
    }

    /// The batches in the bytes that `slices` hold one after the other. Checksums are not looked
    /// at.
    #[must_use]
    pub fn in_slices(slices: &'a [&'a [u8]]) -> Self {
        let left = slices.iter().map(|slice| slice.len() as u64).sum();
        Self::over(Pieces { current: &[], later: slices, position: 0, left })
    }

    /// Computes each batch's checksum before giving it out, and ends at the first that does not
    /// fit.
    #[must_use]
    pub fn checked(self) -> Self {
        Self { checked: true, ..self }
    }

    fn over(pieces: Pieces<'a>) -> Self {
        Self { pieces, checked: false, stopped: None }
    }

    /// Where the walk stands, and why it ended; `None` while it goes on.
    #[must_use]
    pub fn end(&self) -> Option<ScanEnd> {
        self.stopped.clone().map(|why| ScanEnd { position: self.pieces.position, why })
    }

    /// Walks to the end and says where that is.
    #[must_use]
    pub fn scan_to_end(mut self) -> ScanEnd {
        while self.next().is_some() {}
        self.end().expect("an exhausted walk knows its end")
    }

    fn read(&mut self) -> Result<BatchView<'a>, Stop> {
        let mut rest = self.pieces;
        if rest.left == 0 {
            return Err(Stop::Complete);
        }
        let header = match rest.current.first_chunk::<HEADER_SIZE>() {
            Some(here) => BatchHeader::parse(here)?,
            None => {
                let mut copy = [0; HEADER_SIZE];
                let len = rest.copy_front(&mut copy);
                BatchHeader::parse(&copy[..len])?
            }
        };
        let size = header.size() as u64;
        if size > rest.left {
            return Err(Stop::Cut { needed: size, available: rest.left });
        }
        let view = BatchView { position: rest.position, header, bytes: Pieces { left: size, ..rest } };
        if self.checked {
            view.check_crc()?;
        }
        rest.advance(size);
        self.pieces = rest;
        Ok(view)
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = BatchView<'a>;

    fn next(&mut self) -> Option<BatchView<'a>> {
        if self.stopped.is_some() {
            return None;
        }
        self.read().map_err(|why| self.stopped = Some(why)).ok()
    }
}

impl FusedIterator for Batches<'_> {}

/// A whole batch where it lies.
#[derive(Clone, Debug)]
pub struct BatchView<'a> {
    /// Bytes from the start of the walk to the batch.
    pub position: u64,
    /// Its first 61 bytes, checked.
    pub header: BatchHeader,
    bytes: Pieces<'a>,
}

impl<'a> BatchView<'a> {
    /// The batch's bytes, header included; copied only if they lie in several slices.
    #[must_use]
    pub fn bytes(&self) -> Cow<'a, [u8]> {
        self.bytes.gather()
    }

    /// The bytes behind the header, compressed as they are; copied only if they lie in several
    /// slices.
    #[must_use]
    pub fn record_bytes(&self) -> Cow<'a, [u8]> {
        self.behind_header().gather()
    }

    /// The bytes of the records, decompressed up to `limit` bytes; for [`BatchView::records`].
    ///
    /// # Errors
    /// [`BatchError::UnknownCodec`], and those of [`decompress`].
    pub fn uncompressed(&self, limit: usize) -> Result<Cow<'a, [u8]>, BatchError> {
        let codec = self.header.codec()?;
        match self.record_bytes() {
            Cow::Borrowed(bytes) => decompress(codec, bytes, limit),
            Cow::Owned(bytes) => decompress(codec, &bytes, limit).map(|out| Cow::Owned(out.into_owned())),
        }
    }

    /// The records, if `bytes` are this batch's uncompressed record bytes.
    #[must_use]
    pub fn records<'b>(&self, bytes: &'b [u8]) -> RecordIter<'b> {
        RecordIter::new(bytes, self.header.count())
    }

    /// Compares the stored checksum with that of the bytes.
    ///
    /// # Errors
    /// [`BatchError::Crc`] if they differ.
    pub fn check_crc(&self) -> Result<(), BatchError> {
        let mut crc = self.header.crc_so_far();
        self.behind_header().for_each(|piece| crc.update(piece));
        let (stored, computed) = (self.header.crc(), crc.finish());
        if stored == computed { Ok(()) } else { Err(BatchError::Crc { stored, computed }) }
    }

    fn behind_header(&self) -> Pieces<'a> {
        let mut pieces = self.bytes;
        pieces.advance(HEADER_SIZE as u64);
        pieces
    }
}

/// The next `left` bytes of a sequence of slices.
#[derive(Clone, Copy, Debug)]
struct Pieces<'a> {
    current: &'a [u8],
    later: &'a [&'a [u8]],
    position: u64,
    /// How many bytes belong to this; `current` and `later` may hold more.
    left: u64,
}

impl<'a> Pieces<'a> {
    /// The bytes up to the end of the slice they begin in. Empty only if none are left.
    fn front(&mut self) -> &'a [u8] {
        while self.current.is_empty() {
            let Some((next, later)) = self.later.split_first() else { break };
            (self.current, self.later) = (next, later);
        }
        let here = usize::try_from(self.left).unwrap_or(usize::MAX).min(self.current.len());
        &self.current[..here]
    }

    fn advance(&mut self, mut bytes: u64) {
        assert!(bytes <= self.left, "a walk stays inside its bytes");
        while bytes > 0 {
            let step = (self.front().len() as u64).min(bytes);
            self.current = &self.current[step as usize..];
            self.position += step;
            self.left -= step;
            bytes -= step;
        }
        // So that the next header is looked for where it begins.
        self.front();
    }

    fn for_each(mut self, mut visit: impl FnMut(&'a [u8])) {
        while self.left > 0 {
            let piece = self.front();
            visit(piece);
            self.advance(piece.len() as u64);
        }
    }

    /// Copies as many bytes as fit and as there are, and returns how many that is.
    fn copy_front(self, into: &mut [u8]) -> usize {
        let wanted = Pieces { left: self.left.min(into.len() as u64), ..self };
        let mut filled = 0;
        wanted.for_each(|piece| {
            into[filled..][..piece.len()].copy_from_slice(piece);
            filled += piece.len();
        });
        filled
    }

    fn gather(mut self) -> Cow<'a, [u8]> {
        let front = self.front();
        if front.len() as u64 == self.left {
            return Cow::Borrowed(front);
        }
        let mut all = Vec::with_capacity(self.left as usize);
        self.for_each(|piece| all.extend_from_slice(piece));
        Cow::Owned(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::BatchBuilder;
    use crate::{Offset, Timestamp};

    fn log() -> Vec<u8> {
        let mut log = Vec::new();
        for base in [0, 3, 4] {
            let mut builder = BatchBuilder::new(Offset::new(base));
            for n in 0..if base == 0 { 3 } else { 1 } {
                builder.append(Timestamp(100 + n), Some(b"key"), Some(b"a value"), &[]);
            }
            log.extend_from_slice(&builder.build());
        }
        log
    }

    #[test]
    fn a_walk_gives_every_batch_with_its_place() {
        let log = log();
        let mut walk = Batches::new(&log).checked();
        let seen: Vec<_> = walk.by_ref().map(|b| (b.position, b.header.base_offset().get())).collect();
        let size = log.len() as u64;
        let last = Batches::new(&log).last().expect("three batches").header.size() as u64;
        assert_eq!(seen, [(0, 0), (size - 2 * last, 3), (size - last, 4)]);
        assert_eq!(walk.end(), Some(ScanEnd { position: size, why: Stop::Complete }));
    }

    #[test]
    fn slices_of_any_length_give_the_same_batches() {
        let log = log();
        let whole: Vec<_> = Batches::new(&log).map(|b| (b.position, b.bytes().into_owned())).collect();
        for piece in 1..log.len() + 1 {
            let mut slices: Vec<&[u8]> = log.chunks(piece).collect();
            slices.insert(slices.len() / 2, &[]);
            let mut walk = Batches::in_slices(&slices).checked();
            let cut: Vec<_> = walk.by_ref().map(|b| (b.position, b.bytes().into_owned())).collect();
            assert_eq!(cut, whole, "slices of {piece}");
            assert_eq!(walk.end().expect("ended").why, Stop::Complete);
        }
    }

    #[test]
    fn records_in_one_slice_are_lent_and_not_copied() {
        let log = log();
        let view = Batches::new(&log).next().expect("a batch");
        assert!(matches!(view.bytes(), Cow::Borrowed(_)));
        let bytes = view.record_bytes();
        assert!(matches!(bytes, Cow::Borrowed(_)));
        assert_eq!(view.records(&bytes).filter(|r| r.is_ok()).count(), 3);
    }

    #[test]
    fn every_cut_is_reported_at_the_last_whole_batch() {
        let log = log();
        let ends: Vec<u64> = Batches::new(&log).map(|b| b.position + b.header.size() as u64).collect();
        for len in 0..log.len() {
            let kept = ends.iter().copied().filter(|end| *end <= len as u64).max().unwrap_or(0);
            let end = Batches::new(&log[..len]).checked().scan_to_end();
            assert_eq!(end.position, kept, "cut at {len}");
            let complete = kept == len as u64;
            assert_eq!(end.why == Stop::Complete, complete, "cut at {len}");
            assert_eq!(matches!(end.why, Stop::Cut { .. }), !complete, "cut at {len}: {:?}", end.why);
        }
    }

    #[test]
    fn the_reason_for_stopping_is_the_one_that_is_there() {
        let good = log();
        let first = Batches::new(&good).next().expect("a batch").header.size();
        let stop = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut log = good.clone();
            change(&mut log);
            let end = Batches::new(&log).checked().scan_to_end();
            assert_eq!(end.position, first as u64);
            end.why
        };
        assert!(matches!(stop(&|log| log[first + 70] ^= 1), Stop::BadCrc { .. }));
        assert_eq!(stop(&|log| log[first..].fill(0)), Stop::BadLength(0));
        assert!(matches!(stop(&|log| log[first + 16] = 3), Stop::BadMagic { magic: 3, .. }));
        assert!(matches!(stop(&|log| log[first + 16] = 1), Stop::BadMagic { magic: 1, size: 78 }));
        assert!(matches!(
            stop(&|log| log[first] = 0x80),
            Stop::BadHeader(BatchError::Field { field: "baseOffset", .. })
        ));
    }
}
