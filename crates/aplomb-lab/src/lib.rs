//! Reproduces disk-stall incidents; simulates brokers by seed.
//!
//! [`record`] is what a run has shown, as JSON. [`simulation`] runs a whole broker, its disks, its clients and what goes wrong with them on a virtual clock.

pub mod record;
pub mod simulation;
