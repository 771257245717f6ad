//! What a shard's mailbox carries.

use aplomb_broker::ShardMessage;
use aplomb_broker::ports::{ConnectionId, Reply, RequestId, ShardId};

use crate::net::Accepted;

/// One piece of mail.
#[derive(Debug)]
pub(crate) enum Mail {
    /// A shard speaks to a shard.
    Message { from: ShardId, message: ShardMessage },
    /// A reply to a request that came in by a connection of the receiver.
    Reply { id: RequestId, reply: Reply },
    /// What a connection of the receiver has waited for on its way in is there.
    TakeUp(ConnectionId),
    /// A connection that the receiver serves from now on.
    Connection(Box<Accepted>),
}
