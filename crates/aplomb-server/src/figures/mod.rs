//! Figures that loops and connections write and the pages read: counters, and times of requests.
//!
//! What always holds: counting is an addition to an atomic of the counter's own; no reader keeps a
//! writer waiting. Next: [`loops`] for what a shard's loop counts, [`requests`] for times.

mod histogram;
mod loops;
mod requests;

pub(crate) use histogram::Distribution;
pub(crate) use loops::LoopFigures;
pub(crate) use requests::{ApiTotals, Exchange, RequestFigures, Stage};
