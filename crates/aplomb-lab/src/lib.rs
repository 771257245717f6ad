//! Reproduces disk-stall incidents; simulates brokers by seed.
//!
//! [`simulation`] runs a whole broker, its disks, its clients and what goes wrong with them on a virtual clock.

pub mod simulation;
