//! The command line, and the place where everything is wired.
//!
//! What always holds: this crate alone knows both the server and the disks; it runs before the first request and after the last, and may
//! wait. Start at [`commands`]; [`config`] turns files and flags into checked values, [`wiring`] hands each broker its disks.

mod commands;
mod config;
mod wiring;

use std::process::ExitCode;

use clap::Parser as _;

/// The system's allocator opens `/proc/sys/vm/overcommit_memory` when it first gives memory back, from whichever thread that is. This
/// one looks at its surroundings once, at start, and then asks the kernel for nothing but memory.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    commands::Cli::parse().run()
}
