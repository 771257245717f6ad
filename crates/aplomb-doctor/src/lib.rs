//! Says who waited, where, for whom, and what to change, for any Kafka broker on Linux.
//!
//! Evidence of every kind becomes one [`recording::Recording`] on one clock: what `watch` saw in
//! `/proc`, what a JVM wrote into its logs, what a profiler has recorded.

pub mod diagnosis;
pub mod jvm;
pub mod recording;
