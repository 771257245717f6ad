//! Decisions: everything a request can ask for, as state machines without sockets, clocks, threads or files.

pub mod config;
pub mod message;
pub mod metadata;
pub mod ports;
