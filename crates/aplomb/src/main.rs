//! The command line, and the place where everything is wired.
//!
//! What always holds: this crate alone knows both the server and the disks; it runs before the
//! first request and after the last, and may wait. Start at [`commands`]; [`config`] turns files
//! and flags into checked values, [`wiring`] hands each broker its disks, [`outgoing`] has what
//! commands need that connect to others.

mod commands;
mod config;
mod heap;
mod http;
mod outgoing;
mod wiring;

use std::process::ExitCode;

use clap::Parser as _;

/// The system's allocator opens `/proc/sys/vm/overcommit_memory` when it first gives memory back,
/// from whichever thread that is. This one looks at its surroundings once, at start, and then asks
/// the kernel for nothing but memory.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What was freed goes back to the kernel after two seconds, from a thread of the allocator's own:
/// a request thread would wait for the kernel's bookkeeping, and a broker that was busy once would
/// look large for ever. What a thread keeps at hand is looked through once a mebibyte and not once
/// in 64 KiB, which some seven small requests allocate.
#[expect(unsafe_code, reason = "the allocator reads its settings from a symbol of this name")]
#[unsafe(export_name = "malloc_conf")]
pub static ALLOCATOR_SETTINGS: Option<&'static std::ffi::c_char> = Some({
    const TEXT: &std::ffi::CStr =
        c"background_thread:true,max_background_threads:1,dirty_decay_ms:2000,muzzy_decay_ms:0,tcache_gc_incr_bytes:1048576";
    // SAFETY: the text has at least its terminating zero, and lives as long as the program.
    unsafe { &*TEXT.as_ptr() }
});

fn main() -> ExitCode {
    commands::Cli::parse().run()
}
