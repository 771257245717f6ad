//! How much of an unfinished record of TLS is here.

/// A record's header: its kind, a version, and its length.
const HEADER: usize = 5;

/// Follows the records of a stream as its bytes arrive.
#[derive(Debug, Default)]
pub(crate) struct Records {
    header: [u8; HEADER],
    /// Bytes of the record at hand, its header included.
    held: usize,
}

impl Records {
    /// The next bytes.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.held < HEADER {
                let head = bytes.len().min(HEADER - self.held);
                self.header[self.held..self.held + head].copy_from_slice(&bytes[..head]);
                (self.held, bytes) = (self.held + head, &bytes[head..]);
            }
            if self.held < HEADER {
                return;
            }
            let whole = HEADER + usize::from(u16::from_be_bytes([self.header[3], self.header[4]]));
            let more = bytes.len().min(whole - self.held);
            (self.held, bytes) = (self.held + more, &bytes[more..]);
            if self.held == whole {
                self.held = 0;
            }
        }
    }

    /// Bytes of a record that has not come whole.
    pub(crate) fn held(&self) -> usize {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unfinished_is_counted_however_the_stream_is_cut() {
        let record = |length: u16| {
            let [high, low] = length.to_be_bytes();
            [&[23, 3, 3, high, low][..], &vec![7; length.into()]].concat()
        };
        let stream = [record(0), record(1), record(16_401), record(300)].concat();
        for piece in [1, 2, 3, 5, 6, 1000, 100_000] {
            let mut records = Records::default();
            let mut seen = 0;
            for part in stream.chunks(piece) {
                records.take(part);
                seen += part.len();
                let ends = [5, 11, 11 + 16_406, stream.len()];
                let begun = ends.iter().rev().find(|end| **end <= seen).copied().unwrap_or(0);
                assert_eq!(records.held(), seen - begun, "{piece} {seen}");
            }
            assert_eq!(records.held(), 0);
        }
    }
}
