//! The server's own numbers: connections, memory of frames, loops, the guard, the log.

use std::sync::Arc;
use std::time::Duration;

use super::Page;
use crate::figures::LoopFigures;
use crate::guard::Guard;
use crate::log::Log;
use crate::net::{Connections, FrameBudget, ReplyBudget};

/// Where the numbers are.
#[derive(Clone, Debug)]
pub(crate) struct ServerFigures {
    pub(crate) connections: Arc<Connections>,
    pub(crate) budget: Arc<FrameBudget>,
    pub(crate) replies: Arc<ReplyBudget>,
    /// One a shard, in order.
    pub(crate) loops: Vec<Arc<LoopFigures>>,
    pub(crate) guard: Guard,
    pub(crate) log: Log,
}

impl ServerFigures {
    pub(crate) fn put_on(&self, page: &mut Page) {
        page.gauge("aplomb_connections", "Connections of clients.", &[], self.connections.total() as f64);
        page.counter(
            "aplomb_connections_accepted_total",
            "Connections accepted since the start.",
            &[],
            self.connections.accepted() as u64,
        );
        page.counter(
            "aplomb_connections_refused_total",
            "Connections refused because their address had too many.",
            &[],
            self.connections.refused() as u64,
        );
        page.counter(
            "aplomb_connections_throttled_total",
            "Connections refused because their address made too many in a second.",
            &[],
            self.connections.throttled() as u64,
        );
        page.gauge("aplomb_frames_bytes", "Memory of requests in flight.", &[], self.budget.used() as f64);
        page.gauge("aplomb_frames_limit_bytes", "The bound on it.", &[], self.budget.limit() as f64);
        page.counter(
            "aplomb_frames_refusals_total",
            "Times that a connection was not read from because that memory was used up.",
            &[],
            self.budget.refusals() as u64,
        );
        page.counter(
            "aplomb_frames_closed_total",
            "Connections closed because their request did not get on while that memory was used up.",
            &[],
            self.budget.closed() as u64,
        );
        let replies = &self.replies;
        let help = "Memory of replies that clients have not taken.";
        page.gauge("aplomb_replies_bytes", help, &[], replies.used() as f64);
        page.gauge("aplomb_replies_limit_bytes", "The bound on it.", &[], replies.limit() as f64);
        page.counter(
            "aplomb_replies_closed_total",
            "Connections closed because they took their replies the slowest while that memory was used up.",
            &[],
            replies.closed() as u64,
        );
        for (index, figures) in self.loops.iter().enumerate() {
            let shard = index.to_string();
            let labels = [("shard", shard.as_str())];
            page.gauge(
                "aplomb_shard_connections",
                "Connections by shard.",
                &labels,
                self.connections.of_shard(index) as f64,
            );
            page.counter(
                "aplomb_shard_requests_total",
                "Requests by shard.",
                &labels,
                figures.requests.get(),
            );
            page.gauge(
                "aplomb_shard_unwritten_bytes",
                "Replies that clients have not taken yet.",
                &labels,
                figures.unwritten.get() as f64,
            );
            page.gauge(
                "aplomb_shard_unauthenticated_bytes",
                "Memory of clients that have not authenticated.",
                &labels,
                figures.strangers.get() as f64,
            );
            page.counter(
                "aplomb_shard_unauthenticated_closed_total",
                "Clients that were closed because those that had not authenticated took too much memory.",
                &labels,
                figures.turned_out.get(),
            );
            page.counter(
                "aplomb_shard_turns_total",
                "Turns of the shard's loop.",
                &labels,
                figures.turns.get(),
            );
            page.gauge(
                "aplomb_shard_busy_seconds",
                "Time the shard was not waiting, since the start.",
                &labels,
                seconds(figures.busy_nanos.get()),
            );
            page.gauge(
                "aplomb_shard_longest_turn_seconds",
                "The longest time between two waits since the last look.",
                &labels,
                figures.take_longest_turn().as_secs_f64(),
            );
            page.counter(
                "aplomb_shard_congested_turns_total",
                "Turns in which mail waited because another shard's mailbox was full.",
                &labels,
                figures.congested_turns.get(),
            );
        }
        page.counter(
            "aplomb_guard_violations_total",
            "System calls of request threads that may wait for a file system.",
            &[],
            self.guard.counters().total(),
        );
        for (call, count) in self.guard.counters().by_call() {
            page.counter("aplomb_guard_calls_total", "The same by system call.", &[("call", &call)], count);
        }
        page.counter("aplomb_log_dropped_total", "Log lines dropped.", &[], self.log.dropped());
    }
}

fn seconds(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64()
}
