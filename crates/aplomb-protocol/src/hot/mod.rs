//! Produce and Fetch by hand, on the same primitives as the generated codecs and byte for byte like
//! them (`tests/hot_produce.rs` and `tests/hot_fetch.rs` compare them in every version).
//!
//! What always holds here: no object per record, no allocation per partition that could be avoided,
//! no copy of record bytes in either direction.
//!
//! [`produce_request`] and [`fetch_request`] read, [`produce_response`] and [`fetch_response`]
//! write. [`described_tokens`] is no request of every moment, but can be as long.

pub mod described_tokens;
pub mod fetch_request;
pub mod fetch_response;
pub mod produce_request;
pub mod produce_response;
mod topic;

pub use topic::{TopicKey, TopicRef};
