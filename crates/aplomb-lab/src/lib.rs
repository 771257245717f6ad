//! Reproduces disk-stall incidents.
//!
//! One of the [`incidents`] puts a broker ([`brokers`]) on a [`slow_disk`] that is slow at will,
//! under a load ([`workload`]) in certain [`conditions`], and gathers
//! [`evidence`]: the [`runner`] does. [`record`] is what a run has shown, as JSON, and [`report`] the pages made of it.

pub mod brokers;
mod clock;
mod conditions;
pub mod evidence;
pub mod incidents;
pub mod record;
pub mod report;
pub mod runner;
pub mod slow_disk;
mod standing;
mod workload;
