//! tests of the runtime
