//! What a broker finds of the machine: how warm its files are, how near the limit of dirty pages
//! is, how much memory and how much of the processors a process may have, how full a JVM's heap is.
//!
//! What always holds: what is changed for the whole machine is put back in every ending, also when
//! the lab is killed ([`Undo`]).

mod cache;
mod control_group;
mod dirty_limit;
mod live_set;
mod memory_group;
mod paged_out;
mod processor_quota;
mod quiet_console;
mod squeeze;
mod undo;
mod warm_memory;

pub(crate) use cache::{Caches, drop_caches, evict, sync};
pub(crate) use dirty_limit::DirtyLimit;
pub(crate) use live_set::LiveSet;
pub(crate) use memory_group::MemoryGroup;
pub(crate) use paged_out::page_out;
pub(crate) use processor_quota::ProcessorQuota;
pub(crate) use quiet_console::QuietConsole;
pub(crate) use squeeze::Squeeze;
pub(crate) use undo::Undo;
pub(crate) use warm_memory::WarmMemory;

use std::io;

/// A condition that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {error}")]
pub(crate) struct ConditionError {
    what: String,
    error: io::Error,
}

impl ConditionError {
    fn new(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        |error| Self { what: what.into(), error }
    }
}
