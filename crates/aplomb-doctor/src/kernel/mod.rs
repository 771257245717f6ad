//! What `/proc` and `/sys` show of a process without touching it, and what programs in the kernel
//! tell of its waits where that is allowed ([`trace`]).
//!
//! What always holds: only files of these two filesystems are read, and of those none that waits
//! for a lock which a stalled process may hold; nothing is written, no signal is sent. What is put
//! into the kernel looks on, and goes with us.

mod calls;
mod cgroup;
mod descriptors;
mod devices;
pub(crate) mod files;
mod host;
mod mounts;
mod others;
mod roles;
mod socket_diag;
mod sockets;
pub mod stacks;
mod threads;
mod trace;
mod waits;
mod watcher;

pub use roles::role_of;
pub use sockets::listening;
pub use threads::state;
pub use trace::{Bpf, TraceFault};
pub use watcher::{BUDGET, WatchError, Watcher};
