//! What a room wants done by others.

use std::collections::VecDeque;

/// So many keep their room for the next turn. Of a request about many partitions there are more,
/// once.
const KEPT: usize = 1024;

/// What a room wants done by others, in the order in which it came up.
#[derive(Debug)]
pub(crate) struct Errands<T>(VecDeque<T>);

impl<T> Errands<T> {
    pub(crate) fn new() -> Self {
        Self(VecDeque::new())
    }

    pub(crate) fn push(&mut self, effect: T) {
        self.0.push_back(effect);
    }

    /// Takes the next.
    pub(crate) fn next(&mut self) -> Option<T> {
        if self.0.is_empty() && self.0.capacity() > KEPT {
            self.0 = VecDeque::new();
        }
        self.0.pop_front()
    }

    /// Whether nothing is errands.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Extend<T> for Errands<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, effects: I) {
        self.0.extend(effects);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_of_many_is_given_back_when_all_are_taken() {
        let mut errands = Errands::new();
        errands.extend(0..100_000);
        assert!((0..100_000).all(|n| errands.next() == Some(n)));
        assert_eq!((errands.next(), errands.0.capacity()), (None, 0));
        errands.push(7);
        assert_eq!((errands.next(), errands.is_empty()), (Some(7), true));
    }
}
