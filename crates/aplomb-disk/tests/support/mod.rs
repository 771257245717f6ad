//! A real engine as the conformance suite and the other tests want it: a temporary directory, small
//! bounds.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aplomb_disk::{DiskEngine, EngineKind, EngineOptions, clock};
use aplomb_disk_api::conformance::Harness;
use aplomb_disk_api::stats::DiskStats;
use aplomb_disk_api::{CompletionSink, DiskIndex, DiskQueue};
use aplomb_model::Instant;
use bytes::Bytes;

const DEADLINE: Duration = Duration::from_secs(60);

/// Options whose bounds a small test can reach.
pub(crate) fn small(engine: EngineKind) -> EngineOptions {
    EngineOptions {
        engine,
        queue_depth: 64,
        window_bytes: 256 << 10,
        readahead_budget: 2 << 20,
        slice_bytes: 1 << 20,
        slice_pause: Duration::from_millis(1),
        open_files: Some(32),
        ..EngineOptions::default()
    }
}

/// An engine on a temporary directory.
pub(crate) struct Real {
    directory: tempfile::TempDir,
    options: EngineOptions,
    engine: Option<DiskEngine>,
    stats: Arc<DiskStats>,
}

impl Real {
    pub(crate) fn fresh(options: EngineOptions) -> Self {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let engine = DiskEngine::open(DiskIndex(0), directory.path(), options.clone()).expect("it opens");
        let stats = engine.stats();
        Self { directory, options, engine: Some(engine), stats }
    }

    fn engine(&self) -> &DiskEngine {
        self.engine.as_ref().expect("it was not stopped")
    }
}

impl Harness for Real {
    fn queue(&mut self, sink: Arc<dyn CompletionSink>) -> Box<dyn DiskQueue> {
        self.engine().queue(sink)
    }

    fn now(&self) -> Instant {
        clock::now()
    }

    fn turn(&mut self) {
        std::thread::sleep(Duration::from_millis(1));
    }

    fn stop(&mut self) {
        self.engine.take().expect("it was not stopped").stop(DEADLINE).expect("the disk is well");
    }

    /// A process cannot be killed from within; the next best is to end it without waiting for
    /// anything but its threads.
    fn crash(&mut self) {
        self.stop();
        let engine = DiskEngine::open(DiskIndex(0), self.directory.path(), self.options.clone());
        self.engine = Some(engine.expect("it opens"));
        self.stats = self.engine().stats();
    }

    fn vanish(&mut self, name: Option<&str>) {
        let path = self.directory.path().join(name.unwrap_or_default());
        if path.is_dir() {
            std::fs::remove_dir_all(path).expect("it is there");
        } else {
            std::fs::remove_file(path).expect("it is there");
        }
    }

    fn files(&self) -> BTreeMap<String, Bytes> {
        let mut found = BTreeMap::new();
        collect(self.directory.path(), "", &mut found);
        found
    }

    fn stats(&self) -> Arc<DiskStats> {
        Arc::clone(&self.stats)
    }
}

fn collect(directory: &Path, prefix: &str, found: &mut BTreeMap<String, Bytes>) {
    for entry in std::fs::read_dir(directory).expect("it is there") {
        let entry = entry.expect("it is there");
        let name = format!("{prefix}{}", entry.file_name().into_string().expect("tests use plain names"));
        if entry.file_type().expect("it is there").is_dir() {
            collect(&entry.path(), &format!("{name}/"), found);
        } else {
            found.insert(name, Bytes::from(std::fs::read(entry.path()).expect("it is there")));
        }
    }
}
