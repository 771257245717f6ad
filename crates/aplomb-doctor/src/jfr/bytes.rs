//! Bytes of a chunk, and a cursor over some of them.
//!
//! What always holds: a cursor never leaves its range; what it hands out lies in it; each step is
//! paid for from the chunk's allowance, which grows with its size alone. So no file, whatever it
//! says of itself, makes a reader work without end.

use std::cell::Cell;

use super::fault::{ChunkPlace, JfrFault, JfrFlaw};

/// Steps that a byte pays for. Real recordings take about three a byte, all questions included.
const STEPS_PER_BYTE: u64 = 64;
/// Steps that each chunk has, however small.
const STEPS_AT_LEAST: u64 = 10_000;

/// The bytes of one chunk.
#[derive(Debug)]
pub(super) struct ChunkBytes<'a> {
    bytes: &'a [u8],
    place: ChunkPlace,
    steps_left: Cell<u64>,
}

impl<'a> ChunkBytes<'a> {
    pub(super) fn new(bytes: &'a [u8], place: ChunkPlace) -> Self {
        let steps = (bytes.len() as u64).saturating_mul(STEPS_PER_BYTE).saturating_add(STEPS_AT_LEAST);
        Self { bytes, place, steps_left: Cell::new(steps) }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn place(&self) -> ChunkPlace {
        self.place
    }

    /// A fault `at` so many bytes into the chunk.
    pub(super) fn fault(&self, at: usize, flaw: JfrFlaw) -> JfrFault {
        JfrFault { chunk: self.place.number, offset: self.offset(at), flaw }
    }

    /// Bytes of the file before the one that is `at` so many bytes into the chunk.
    pub(super) fn offset(&self, at: usize) -> u64 {
        self.place.offset.saturating_add(at as u64)
    }

    /// A cursor from `from` to `to`, both counted from the chunk's beginning; what lies outside of
    /// the chunk is left out.
    pub(super) fn cursor(&self, from: usize, to: usize) -> ByteCursor<'_> {
        let end = to.min(self.bytes.len());
        ByteCursor { source: self, at: from.min(end), end }
    }

    fn pay(&self, at: usize, steps: u64) -> Result<(), JfrFault> {
        let Some(left) = self.steps_left.get().checked_sub(steps) else {
            self.steps_left.set(0);
            return Err(self.fault(at, JfrFlaw::Work));
        };
        self.steps_left.set(left);
        Ok(())
    }
}

/// Reads one value after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteCursor<'c> {
    source: &'c ChunkBytes<'c>,
    at: usize,
    end: usize,
}

impl<'c> ByteCursor<'c> {
    /// Bytes of the chunk before it.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn left(&self) -> usize {
        self.end - self.at
    }

    /// A fault at the place that it has come to.
    pub(super) fn fault(&self, flaw: JfrFlaw) -> JfrFault {
        self.source.fault(self.at, flaw)
    }

    /// Pays for `steps` that are taken elsewhere.
    pub(super) fn pay(&self, steps: u64) -> Result<(), JfrFault> {
        self.source.pay(self.at, steps)
    }

    pub(super) fn byte(&mut self) -> Result<u8, JfrFault> {
        Ok(self.array::<1>()?[0])
    }

    /// A compressed integer of up to 64 bits: seven bits a byte, the lowest first, and all eight
    /// of the ninth.
    pub(super) fn long(&mut self) -> Result<i64, JfrFault> {
        self.pay(1)?;
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let Some(&byte) = self.source.bytes[..self.end].get(self.at) else {
                return Err(self.fault(JfrFlaw::Truncated));
            };
            self.at += 1;
            if shift == 56 {
                value |= u64::from(byte) << shift;
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        Ok(value.cast_signed())
    }

    /// How many elements or bytes follow: each takes at least one byte, so more cannot be meant.
    pub(super) fn length(&mut self) -> Result<usize, JfrFault> {
        let before = *self;
        let length = i64::from(self.long()? as i32);
        match usize::try_from(length) {
            Ok(length) if length <= self.left() => Ok(length),
            _ => Err(before.fault(JfrFlaw::Length { length, left: self.left() as u64 })),
        }
    }

    pub(super) fn float(&mut self) -> Result<f32, JfrFault> {
        self.array().map(f32::from_be_bytes)
    }

    pub(super) fn double(&mut self) -> Result<f64, JfrFault> {
        self.array().map(f64::from_be_bytes)
    }

    /// The next `count` bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<&'c [u8], JfrFault> {
        self.pay(1)?;
        if count > self.left() {
            return Err(self.fault(JfrFlaw::Truncated));
        }
        let taken = &self.source.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], JfrFault> {
        let at = self.at;
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| self.source.fault(at, JfrFlaw::Truncated))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(bytes: &[u8]) -> ChunkBytes<'_> {
        ChunkBytes::new(bytes, ChunkPlace { number: 3, offset: 1000 })
    }

    fn flaw_of<T: std::fmt::Debug>(result: Result<T, JfrFault>) -> (u64, JfrFlaw) {
        let fault = result.expect_err("a fault");
        assert_eq!(fault.chunk, 3);
        (fault.offset, fault.flaw)
    }

    #[test]
    fn compressed_integers_have_nine_bytes_at_most() {
        let long = |bytes: &[u8]| over(bytes).cursor(0, bytes.len()).long();
        assert_eq!(long(&[0x05]), Ok(5));
        assert_eq!(long(&[0x85, 0x00]), Ok(5), "padded, as the JDK pads sizes");
        assert_eq!(long(&[0x80, 0x01]), Ok(128));
        assert_eq!(long(&[0xff; 9]), Ok(-1));
        assert_eq!(long(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80]), Ok(i64::MIN));
        assert_eq!(flaw_of(long(&[0x80, 0x80])), (1002, JfrFlaw::Truncated));
        assert_eq!(flaw_of(long(&[])), (1000, JfrFlaw::Truncated));
    }

    #[test]
    fn a_length_is_no_longer_than_what_is_left() {
        let length = |bytes: &[u8]| over(bytes).cursor(0, bytes.len()).length();
        assert_eq!(length(&[2, 0, 0]), Ok(2));
        assert_eq!(flaw_of(length(&[3, 0, 0])), (1000, JfrFlaw::Length { length: 3, left: 2 }));
        let minus_one = [0xff, 0xff, 0xff, 0xff, 0x0f];
        assert_eq!(flaw_of(length(&minus_one)), (1000, JfrFlaw::Length { length: -1, left: 0 }));
    }

    #[test]
    fn a_cursor_stays_in_its_range() {
        let bytes = over(&[1, 2, 3, 4]);
        let mut cursor = bytes.cursor(1, 3);
        assert_eq!(cursor.take(2), Ok(&[2, 3][..]));
        assert_eq!(flaw_of(cursor.byte()), (1003, JfrFlaw::Truncated));
        assert_eq!(bytes.cursor(9, 99).left(), 0);
    }

    #[test]
    fn work_ends() {
        let bytes = over(&[0; 10]);
        let mut steps = 0_u64;
        let end = loop {
            match bytes.cursor(0, 1).byte() {
                Ok(_) => steps += 1,
                Err(fault) => break fault.flaw,
            }
        };
        assert_eq!((end, steps), (JfrFlaw::Work, 10 * STEPS_PER_BYTE + STEPS_AT_LEAST));
    }
}
