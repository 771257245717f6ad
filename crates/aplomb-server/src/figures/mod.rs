//! Figures that loops and connections write and the pages read: counters, and times of requests.
//!
//! What always holds: counting is an addition to an atomic of the counter's own; no reader keeps a
//! writer waiting. Next: [`loops`] for what a shard's loop counts, [`requests`] for times, [`slow`]
//! for the requests that took long.

mod exchange;
mod histogram;
mod loops;
mod requests;
mod slow;

pub(crate) use exchange::{Exchange, HeldBy, Stage, Turn};
pub(crate) use histogram::Distribution;
#[cfg(test)]
pub(crate) use histogram::Histogram;
pub(crate) use loops::LoopFigures;
pub(crate) use requests::{ApiTotals, RequestFigures};
pub(crate) use slow::{Caller, ClientName, SlowRequest};
