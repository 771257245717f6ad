//! All real engines keep the promises of every disk.

#[path = "support/kinds.rs"]
mod kinds;
mod support;

use aplomb_disk::EngineKind;
use kinds::kinds;
use support::{Real, small};

/// A disk with this engine, or, where there is none, with another once more.
fn real(kind: EngineKind) -> Real {
    let kinds = kinds();
    Real::fresh(small(if kinds.contains(&kind) { kind } else { kinds[0] }))
}

mod threads {
    use aplomb_disk::EngineKind;

    aplomb_disk_api::disk_conformance!(super::real(EngineKind::Threads));
}

mod io_uring {
    use aplomb_disk::EngineKind;

    aplomb_disk_api::disk_conformance!(super::real(EngineKind::IoUring));
}

mod either {
    use aplomb_disk::EngineKind;

    aplomb_disk_api::disk_conformance!(super::real(EngineKind::Auto));
}
