//! What a run leaves to be looked at: who waited where, what the broker and its JVM say of
//! themselves.
//!
//! Start at [`threads`], which samples; `stalls` makes of samples what a thread did, [`signatures`]
//! what an incident is known by, [`Witness`]'s making is in [`witness`]. What a thread is there
//! for, what a stack says and what a JVM logs are the doctor's. Latencies are the workload's, the
//! device's times the disk's, and [`metronome`] says how late the machine itself was.
//!
//! [`Witness`]: crate::record::Witness

pub mod machine;
pub(crate) mod metrics;
pub mod metronome;
pub(crate) mod numbers;
pub(crate) mod safepoints;
pub(crate) mod signatures;
mod stalls;
pub(crate) mod threads;
pub(crate) mod witness;

/// How often is looked at the broker's threads, in milliseconds.
pub const SAMPLING_MS: u32 = 50;
