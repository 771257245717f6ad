//! Both real engines keep the promises of every disk.

mod support;

mod threads {
    use super::support::{Real, small};
    use aplomb_disk::EngineKind;

    aplomb_disk_api::disk_conformance!(Real::fresh(small(EngineKind::Threads)));
}

mod io_uring {
    use super::support::{Real, small};
    use aplomb_disk::EngineKind;

    /// Where the kernel has no io_uring for us, the other engine is what runs; say so, once a test.
    fn kind() -> EngineKind {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let options = small(EngineKind::IoUring);
        match aplomb_disk::DiskEngine::open(aplomb_disk_api::DiskIndex(0), directory.path(), options) {
            Ok(_) => EngineKind::IoUring,
            Err(error) => {
                eprintln!("skipped, plain calls are tested again instead: {error}");
                EngineKind::Threads
            }
        }
    }

    aplomb_disk_api::disk_conformance!(Real::fresh(small(kind())));
}
