//! A partition's log, as a pure state machine.

pub mod checkpoint;
pub mod epochs;
pub mod index;
pub mod meta;
pub mod producers;
pub mod segment;
pub mod tail;
