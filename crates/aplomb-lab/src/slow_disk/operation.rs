//! What a device is asked to do, and a value for each of these.
//!
//! What always holds: trimming and writing zeros count as writes, since that is what they are to
//! who waits for them.

use std::fmt;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// A kind of request to a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Bytes from the device.
    Read,
    /// Bytes to the device, also zeros and trimming.
    Write,
    /// What was written is to survive a power cut.
    Flush,
}

impl Operation {
    /// The three kinds, in the order in which pages show them.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Flush];

    /// `read`, `write` or `flush`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
        }
    }

    /// The operation of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One value for each operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerOperation<T> {
    /// The one for reads.
    pub read: T,
    /// The one for writes.
    pub write: T,
    /// The one for cache flushes.
    pub flush: T,
}

impl<T> PerOperation<T> {
    /// The values that `make` has for each.
    pub fn from_fn(mut make: impl FnMut(Operation) -> T) -> Self {
        Self { read: make(Operation::Read), write: make(Operation::Write), flush: make(Operation::Flush) }
    }
}

impl<T> Index<Operation> for PerOperation<T> {
    type Output = T;

    fn index(&self, operation: Operation) -> &T {
        match operation {
            Operation::Read => &self.read,
            Operation::Write => &self.write,
            Operation::Flush => &self.flush,
        }
    }
}

impl<T> IndexMut<Operation> for PerOperation<T> {
    fn index_mut(&mut self, operation: Operation) -> &mut T {
        match operation {
            Operation::Read => &mut self.read,
            Operation::Write => &mut self.write,
            Operation::Flush => &mut self.flush,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operations_name_reads_back_as_the_operation() {
        for operation in Operation::ALL {
            assert_eq!(Operation::from_name(operation.name()), Some(operation));
            assert_eq!(serde_json::to_value(operation).expect("a word"), operation.name());
        }
        assert_eq!(Operation::from_name("trim"), None);
    }

    #[test]
    fn each_operation_has_a_value_of_its_own() {
        let mut values = PerOperation::from_fn(Operation::name);
        for operation in Operation::ALL {
            assert_eq!(values[operation], operation.name());
        }
        values[Operation::Flush] = "changed";
        assert_eq!(values, PerOperation { read: "read", write: "write", flush: "changed" });
    }
}
