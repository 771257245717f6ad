//! The engines that this machine has.

use std::time::Duration;

use aplomb_disk::{DiskEngine, EngineKind, EngineOptions};
use aplomb_disk_api::DiskIndex;

/// All of them; where the kernel has no io_uring for us, says so.
pub(crate) fn kinds() -> Vec<EngineKind> {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let options = EngineOptions { engine: EngineKind::IoUring, ..EngineOptions::default() };
    match DiskEngine::open(DiskIndex(0), directory.path(), options) {
        Ok(engine) => {
            // Its descriptors are free again, which some tests count.
            engine.stop(Duration::from_secs(60)).expect("nothing hangs");
            vec![EngineKind::Threads, EngineKind::Auto, EngineKind::IoUring]
        }
        Err(error) => {
            eprintln!("skipped, plain calls are what is tested: {error}");
            vec![EngineKind::Threads]
        }
    }
}
