//! What most of many have nothing of.
//!
//! A table of the standard library that was emptied keeps memory: a tree its last leaf, eleven
//! entries wide, a hash table all that it ever had. A broker has five such tables for each of
//! 50,000 partitions.

/// Tables that have memory only while something is in them: one word otherwise.
///
/// What always holds: what is there is not empty, once a change of it is over.
#[derive(Debug)]
pub(crate) struct Seldom<T> {
    some: Option<Box<T>>,
}

/// What can have nothing in it.
pub(crate) trait Emptiable: Default {
    fn is_empty(&self) -> bool;
}

impl<T> Default for Seldom<T> {
    fn default() -> Self {
        Self { some: None }
    }
}

impl<T: Emptiable> Seldom<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.some.is_none()
    }

    /// What is in it, if anything is.
    pub(crate) fn get(&self) -> Option<&T> {
        self.some.as_deref()
    }

    /// The same, for changes that take nothing out.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.some.as_deref_mut()
    }

    /// Puts something in.
    ///
    /// # Panics
    /// If `put` does not.
    pub(crate) fn put<R>(&mut self, put: impl FnOnce(&mut T) -> R) -> R {
        let tables = self.some.get_or_insert_default();
        let result = put(tables);
        assert!(!tables.is_empty(), "something was put in");
        result
    }

    /// Takes something out, if there is anything.
    pub(crate) fn take<R>(&mut self, take: impl FnOnce(&mut T) -> Option<R>) -> Option<R> {
        let tables = self.some.as_deref_mut()?;
        let result = take(tables);
        if tables.is_empty() {
            self.some = None;
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    impl Emptiable for BTreeMap<u8, u8> {
        fn is_empty(&self) -> bool {
            self.is_empty()
        }
    }

    #[test]
    fn there_is_memory_only_while_something_is_in_it() {
        let mut seldom = Seldom::<BTreeMap<u8, u8>>::default();
        assert_eq!((size_of_val(&seldom), seldom.take(|all| all.pop_first())), (size_of::<usize>(), None));
        assert_eq!(seldom.put(|all| all.insert(1, 10)), None);
        seldom.put(|all| all.insert(2, 20));
        assert_eq!(seldom.take(|all| all.remove(&1)), Some(10));
        assert_eq!((seldom.is_empty(), seldom.get().map(BTreeMap::len)), (false, Some(1)));
        assert_eq!(seldom.take(|all| all.pop_first()), Some((2, 20)));
        assert!(seldom.is_empty() && seldom.some.is_none());
    }

    #[test]
    #[should_panic(expected = "something was put in")]
    fn to_put_nothing_in_is_a_fault() {
        Seldom::<BTreeMap<u8, u8>>::default().put(|_| ());
    }
}
