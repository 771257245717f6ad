//! Error codes are counted as they are written: what a response says is known once it is bytes,
//! without asking every message for it.

/// How often each error code is in a response, "none" included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorTally {
    /// Most responses have no other, and cost no allocation.
    none: u64,
    others: Vec<(i16, u64)>,
}

impl ErrorTally {
    /// Counts one code.
    pub(crate) fn add(&mut self, code: i16) {
        if code == 0 {
            self.none += 1;
            return;
        }
        match self.others.iter_mut().find(|(known, _)| *known == code) {
            Some((_, count)) => *count += 1,
            None => self.others.push((code, 1)),
        }
    }

    /// The codes that there are, each with its count.
    pub fn iter(&self) -> impl Iterator<Item = (i16, u64)> {
        let none = (self.none > 0).then_some((0, self.none));
        none.into_iter().chain(self.others.iter().copied())
    }
}

impl FromIterator<i16> for ErrorTally {
    fn from_iter<I: IntoIterator<Item = i16>>(codes: I) -> Self {
        let mut tally = Self::default();
        codes.into_iter().for_each(|code| tally.add(code));
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_counted_and_what_is_not_there_is_not_named() {
        assert_eq!(ErrorTally::default().iter().count(), 0);
        let tally = ErrorTally::from_iter([3, 0, -1, 3, 0]);
        assert_eq!(tally.iter().collect::<Vec<_>>(), [(0, 2), (3, 2), (-1, 1)]);
    }
}
