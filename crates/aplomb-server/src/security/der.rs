//! ASN.1's distinguished encoding, as far as keys, certificates and PKCS #12 need it.
//!
//! What always holds: nothing is read beyond what is there, and nothing is allocated by a length
//! that only is said.

/// The bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

pub(super) const INTEGER: u8 = 0x02;
pub(super) const OCTETS: u8 = 0x04;
pub(super) const OID: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;
/// `[0]`, around another value.
pub(super) const EXPLICIT_0: u8 = 0xa0;
/// `[0]`, instead of the tag of octets.
pub(super) const IMPLICIT_0: u8 = 0x80;

/// Values, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Der<'a> {
    rest: &'a [u8],
}

impl<'a> Der<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next value: its tag, its content, and all of it.
    pub(super) fn value(&mut self) -> Result<(u8, &'a [u8], &'a [u8]), Broken> {
        let [tag, first, ..] = *self.rest else { return Err(Broken) };
        let (head, length) = if first < 0x80 {
            (2, usize::from(first))
        } else {
            let digits = usize::from(first & 0x7f);
            let bytes = self.rest.get(2..2 + digits).filter(|_| (1..=4).contains(&digits)).ok_or(Broken)?;
            (2 + digits, bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
        };
        let end = head.checked_add(length).filter(|end| *end <= self.rest.len()).ok_or(Broken)?;
        let (whole, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok((tag, &whole[head..], whole))
    }

    /// The content of the next value, which has this tag.
    pub(super) fn expect(&mut self, tag: u8) -> Result<&'a [u8], Broken> {
        let (found, content, _) = self.value()?;
        if found == tag { Ok(content) } else { Err(Broken) }
    }

    /// The same, to be read in turn.
    pub(super) fn inside(&mut self, tag: u8) -> Result<Self, Broken> {
        self.expect(tag).map(Self::new)
    }

    /// The content of the next value, if that has this tag.
    pub(super) fn optional(&mut self, tag: u8) -> Result<Option<&'a [u8]>, Broken> {
        if self.rest.first() == Some(&tag) { self.expect(tag).map(Some) } else { Ok(None) }
    }

    /// A number that is not negative and fits.
    pub(super) fn number(&mut self) -> Result<u32, Broken> {
        let bytes = self.expect(INTEGER)?;
        let digits = bytes.strip_prefix(&[0]).unwrap_or(bytes);
        if digits.len() > 4 || bytes.first().is_none_or(|first| *first >= 0x80) {
            return Err(Broken);
        }
        Ok(digits.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
    }
}

/// One value with this tag and content.
#[cfg(test)]
pub(super) fn wrap(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut whole = vec![tag];
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => whole.push(short),
        _ => {
            let bytes = length.to_be_bytes();
            let digits = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
            whole.push(0x80 | u8::try_from(digits.len()).unwrap_or(8));
            whole.extend_from_slice(digits);
        }
    }
    whole.extend_from_slice(content);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_reads_back_as_it_was_written() {
        for length in [0, 1, 127, 128, 255, 256, 70_000] {
            let content = vec![7; length];
            let whole = wrap(OCTETS, &content);
            let mut der = Der::new(&whole);
            assert_eq!(der.value(), Ok((OCTETS, &content[..], &whole[..])));
            assert!(der.is_empty());
        }
    }

    #[test]
    fn what_ends_early_or_has_no_length_is_broken() {
        for bytes in
            [&[][..], &[4], &[4, 2, 0], &[4, 0x80], &[4, 0x85, 0, 0, 0, 0, 1], &[4, 0x84, 255, 255, 255, 255]]
        {
            assert_eq!(Der::new(bytes).value(), Err(Broken), "{bytes:?}");
        }
        assert_eq!(Der::new(&[2, 1, 0x80]).number(), Err(Broken));
        assert_eq!(Der::new(&[2, 3, 0, 0x80, 1]).number(), Ok(0x8001));
    }
}
