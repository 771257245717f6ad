//! Reproduces disk-stall incidents; simulates brokers by seed.
//!
//! One of the [`incidents`] puts a broker ([`brokers`]) on a [`disk`] that is slow at will, under a load ([`workload`]) in certain [`conditions`], and gathers
//! [`evidence`]: the [`runner`] does. [`record`] is what a run has shown, as JSON. [`simulation`] runs a whole broker, its disks, its clients and what goes wrong with
//! them on a virtual clock.

pub mod brokers;
pub mod conditions;
pub mod disk;
pub mod evidence;
pub mod incidents;
pub mod record;
pub mod report;
pub mod runner;
pub mod scene;
pub mod simulation;
pub mod workload;
