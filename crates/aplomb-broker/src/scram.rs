//! What is stored of a password for SCRAM, which clients derive by the same arithmetic.

pub use aplomb_security::scram::{MAX_ITERATIONS, MIN_ITERATIONS, ScramHash};
