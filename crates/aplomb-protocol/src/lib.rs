//! The wire: bytes to requests, responses to bytes.
//!
//! What always holds: decoding never panics and never allocates more than the bytes present
//! justify; records are slices of the frame they came in and are never copied; whatever is encoded
//! is, byte for byte, what Apache Kafka 4.4.0 would have written.
//!
//! Start at [`request`] (a frame becomes a request), then [`messages`] (every message, generated
//! from `schema/` by `cargo xtask codegen`), then [`hot`] (Produce and Fetch, by hand, on the same
//! primitives).

mod api;
mod error;
pub mod frame;
mod generated;
pub mod hot;
mod message;
mod metadata;
mod primitives;
pub mod request;
mod versions;

pub use api::{ApiKey, Listeners};
pub use error::{DecodeError, EncodeError};
pub use generated::any::{AnyRequest, AnyResponse};
pub use generated::metadata_record::MetadataRecord;
pub use message::{Codec, Message, Request, Reread};
pub use primitives::{ErrorTally, Reader, Tags, Writer};
pub use versions::VersionRange;

/// Every message in use, each in a module with the structs it nests, for example
/// [`messages::create_topics_request::CreatableTopic`].
pub mod messages {
    pub use crate::generated::*;
}
