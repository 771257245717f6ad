//! Record batches, version 2.
