//! Bytes of a log, cut into lines.
//!
//! What always holds: no more than [`MAX_LINE`] bytes are kept of a line, however long it is; bytes
//! that are not UTF-8 are replaced; every line is given once, whatever the pieces that it came in.

/// The most bytes of a line. Lines of a JVM's logs have a tenth of it.
pub const MAX_LINE: usize = 16 << 10;

/// Cuts bytes into lines.
#[derive(Debug, Default)]
pub struct LineCutter {
    /// What is kept of the line that has no end yet.
    partial: Vec<u8>,
    /// How long that line is in all.
    length: u64,
    /// The line that has no end yet began before the bytes did: it is left out.
    is_amid: bool,
    /// Bytes of that line were thrown away.
    is_cut: bool,
    cut: u64,
}

impl LineCutter {
    /// For bytes that begin in the middle of a line: it is left out.
    #[must_use]
    pub fn amid_a_line() -> Self {
        Self { is_amid: true, ..Self::default() }
    }

    /// Takes bytes, and gives the lines that end in them, without line feeds.
    pub fn feed(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(&str)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.keep(&bytes[..end]);
            self.end(each);
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    /// Gives the last line, if it has no line feed.
    pub fn finish(&mut self, each: &mut dyn FnMut(&str)) {
        if self.length > 0 {
            self.end(each);
        }
        self.is_amid = false;
    }

    /// How many lines were longer than [`MAX_LINE`], and lost their ends.
    #[must_use]
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// How many bytes there are of the line that has no end yet.
    #[must_use]
    pub fn unfinished(&self) -> u64 {
        self.length
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.is_amid {
            return;
        }
        // A file that was emptied under its writer begins with a hole: gigabytes of zeros.
        let zeros =
            if self.partial.is_empty() { bytes.iter().take_while(|byte| **byte == 0).count() } else { 0 };
        let (kept, lost) = bytes[zeros..].split_at((bytes.len() - zeros).min(MAX_LINE - self.partial.len()));
        self.partial.extend_from_slice(kept);
        self.is_cut |= !lost.is_empty();
    }

    fn end(&mut self, each: &mut dyn FnMut(&str)) {
        self.cut += u64::from(std::mem::take(&mut self.is_cut));
        if !std::mem::take(&mut self.is_amid) {
            let line = self.partial.strip_suffix(b"\r").unwrap_or(&self.partial);
            each(&String::from_utf8_lossy(line));
        }
        self.partial.clear();
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(mut cutter: LineCutter, pieces: &[&[u8]]) -> (Vec<String>, u64) {
        let mut lines = Vec::new();
        for piece in pieces {
            cutter.feed(piece, &mut |line| lines.push(line.to_owned()));
        }
        cutter.finish(&mut |line| lines.push(line.to_owned()));
        (lines, cutter.cut())
    }

    #[test]
    fn lines_come_in_pieces() {
        let (found, cut) = lines(LineCutter::default(), &[b"on", b"e\r\n\ntw", b"o\nthree"]);
        assert_eq!((found, cut), (vec!["one".into(), String::new(), "two".into(), "three".into()], 0));
        let (found, _) = lines(LineCutter::amid_a_line(), &[b"on", b"e\ntwo\n"]);
        assert_eq!(found, ["two"]);
        let (found, _) = lines(LineCutter::default(), &[b"\0\0", b"\0[gc]\n", b"\xff\n"]);
        assert_eq!(found, ["[gc]", "\u{fffd}"]);
    }

    #[test]
    fn a_long_line_is_cut_and_counted() {
        let long = vec![b'x'; MAX_LINE + 1];
        let (found, cut) = lines(LineCutter::default(), &[&long[..5], &long[5..], &long, b"\nnext\n"]);
        assert_eq!((found[0].len(), found[1].as_str(), cut), (MAX_LINE, "next", 1));
        let mut cutter = LineCutter::default();
        cutter.feed(&long, &mut |_| {});
        assert_eq!(cutter.unfinished(), long.len() as u64);
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200),
            at in any::<proptest::sample::Index>(),
        ) {
            let (one, other) = bytes.split_at(at.index(bytes.len() + 1));
            prop_assert_eq!(lines(LineCutter::default(), &[one, other]), lines(LineCutter::default(), &[&bytes]));
        }
    }
}
