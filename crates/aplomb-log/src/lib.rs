//! A partition's log, as a pure state machine.
