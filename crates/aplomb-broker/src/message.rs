//! What shards say to each other.

use crate::ports::Request;

/// One message from shard to shard.
#[derive(Debug)]
pub enum ShardMessage {
    /// Answer this request: it is for the controller, which lives where you are.
    Request(Request),
}
