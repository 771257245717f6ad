//! Says who waited, where, for whom, and what to change, for any Kafka broker on Linux.
//!
//! Evidence of every kind becomes one [`recording::Recording`] on one clock: what `watch` saw in
//! `/proc`, what a JVM wrote into its logs, what a profiler has recorded.

pub mod attach;
pub mod diagnosis;
pub mod examine;
pub mod html;
pub mod jfr;
pub mod jvm;
pub mod kernel;
mod own_log;
pub mod page;
pub mod recording;
pub mod units;
pub mod watch;
