//! A partition's log, as a pure state machine.

pub mod checkpoint;
pub mod index;
pub mod producers;
pub mod segment;
pub mod tail;
