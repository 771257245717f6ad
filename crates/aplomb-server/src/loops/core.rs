//! What a shard's loop carries: a state machine that is told what happened and says what it wants
//! done.

use aplomb_broker::Shard;
use aplomb_broker::ports::{ConnectionId, Now, Request, ShardId};
use aplomb_broker::{Output, ShardMessage};
use aplomb_disk_api::Completion;
use aplomb_model::Instant;

/// One shard's decisions. A turn hands in everything that has come, then settles once. Every call
/// gets the time and may append to `out` what it wants done; none of them waits.
pub trait Core: Send + 'static {
    /// A client asks.
    fn on_request(&mut self, request: Request, now: Now, out: &mut Vec<Output>);

    /// Another shard speaks.
    fn on_message(&mut self, from: ShardId, message: ShardMessage, now: Now, out: &mut Vec<Output>);

    /// A disk has ended a command of ours.
    fn on_completion(&mut self, completion: Completion, now: Now, out: &mut Vec<Output>);

    /// A connection of this shard is gone; replies to it are dropped.
    fn on_connection_closed(&mut self, connection: ConnectionId, now: Now, out: &mut Vec<Output>);

    /// Whether what the core has for others waits, since a mailbox is full. Said when it is
    /// otherwise than before; at first nothing waits.
    fn set_congested(&mut self, is_congested: bool);

    /// When the core wants to be called even if nothing happens. It is another only after something
    /// was handed in or said.
    fn wake_at(&mut self) -> Option<Instant>;

    /// The time that [`Self::wake_at`] asked for has come.
    fn on_wake(&mut self, now: Now, out: &mut Vec<Output>);

    /// Carries out what the turn has left to do. Called once a turn in which anything was handed
    /// in, after all of it.
    fn settle(&mut self, now: Now, out: &mut Vec<Output>);

    /// Whether requests wait for memory that replies hold.
    fn is_short_of_memory(&self) -> bool;

    /// The process is to end: no more requests will come. The core answers what is parked and
    /// finishes with its disks.
    fn begin_stop(&mut self, now: Now, out: &mut Vec<Output>);

    /// Whether the core has finished.
    fn is_stopped(&self) -> bool;
}

impl Core for Shard {
    fn on_request(&mut self, request: Request, now: Now, _: &mut Vec<Output>) {
        Self::on_request(self, request, now);
    }

    fn on_message(&mut self, from: ShardId, message: ShardMessage, now: Now, _: &mut Vec<Output>) {
        Self::on_message(self, from, message, now);
    }

    fn on_completion(&mut self, completion: Completion, now: Now, _: &mut Vec<Output>) {
        Self::on_completion(self, completion, now);
    }

    fn on_connection_closed(&mut self, connection: ConnectionId, now: Now, _: &mut Vec<Output>) {
        Self::on_connection_closed(self, connection, now);
    }

    fn set_congested(&mut self, is_congested: bool) {
        Self::set_congested(self, is_congested);
    }

    fn wake_at(&mut self) -> Option<Instant> {
        Self::wake_at(self)
    }

    fn on_wake(&mut self, now: Now, _: &mut Vec<Output>) {
        Self::on_wake(self, now);
    }

    fn settle(&mut self, now: Now, out: &mut Vec<Output>) {
        Self::settle(self, now, out);
    }

    fn is_short_of_memory(&self) -> bool {
        Self::is_short_of_memory(self)
    }

    fn begin_stop(&mut self, now: Now, _: &mut Vec<Output>) {
        Self::begin_stop(self, now);
    }

    fn is_stopped(&self) -> bool {
        Self::is_stopped(self)
    }
}
