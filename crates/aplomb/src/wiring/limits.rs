//! What the operating system allows the process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the number of descriptors that may be open to the hard limit: connections and files need
/// many, and the soft limit is for programs that use `select`. Gives the number; `None` is without
/// limit.
pub(super) fn raise_descriptors() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        // The soft limit stays, which is reported with its number.
        Err(_) => limit.current,
    }
}
