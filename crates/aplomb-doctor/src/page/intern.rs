//! Values that are said once and then meant by their numbers.
//!
//! What always holds: equal values have the same number, others have another; the numbers are the
//! positions in [`Interner::all`].

use std::collections::HashMap;
use std::hash::Hash;

/// Values by number.
pub(super) struct Interner<T> {
    numbers: HashMap<T, usize>,
    all: Vec<T>,
}

impl<T: Clone + Eq + Hash> Interner<T> {
    /// With a value that has number 0.
    pub(super) fn beginning_with(first: T) -> Self {
        Self { numbers: HashMap::from([(first.clone(), 0)]), all: vec![first] }
    }

    /// The number of a value; a new one if it has none.
    pub(super) fn number(&mut self, value: T) -> usize {
        let next = self.all.len();
        *self.numbers.entry(value).or_insert_with_key(|value| {
            self.all.push(value.clone());
            next
        })
    }

    /// All values, in the order of their numbers.
    pub(super) fn all(self) -> Vec<T> {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_number() {
        let mut strings = Interner::beginning_with("");
        let numbers = ["a", "b", "", "a", "b"].map(|text| strings.number(text));
        assert_eq!(numbers, [1, 2, 0, 1, 2]);
        assert_eq!(strings.all(), ["", "a", "b"]);
    }
}
