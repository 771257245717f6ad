//! The simulated disk keeps the promises of every disk, and a crash of it is a power cut.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aplomb_disk_api::conformance::Harness;
use aplomb_disk_api::sim::{SimDisk, SimOptions};
use aplomb_disk_api::stats::DiskStats;
use aplomb_disk_api::{CompletionSink, DiskIndex, DiskQueue, disk_conformance};
use aplomb_model::Instant;
use bytes::Bytes;

struct Simulated {
    disk: SimDisk,
    now: Instant,
}

impl Simulated {
    fn fresh() -> Self {
        let options = SimOptions { seed: 20_261_121, lane_depth: 64, ..SimOptions::default() };
        Self { disk: SimDisk::new(DiskIndex(0), options), now: Instant::START }
    }
}

impl Harness for Simulated {
    fn queue(&mut self, sink: Arc<dyn CompletionSink>) -> Box<dyn DiskQueue> {
        Box::new(self.disk.queue(sink))
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn turn(&mut self) {
        self.now = self.now + Duration::from_millis(1);
        self.disk.advance(self.now);
    }

    fn stop(&mut self) {
        while let Some(next) = self.disk.next_event() {
            self.now = next;
            self.disk.advance(next);
        }
    }

    fn crash(&mut self) {
        self.disk.power_cut();
    }

    fn vanish(&mut self, name: Option<&str>) {
        self.disk.vanish(name);
    }

    fn files(&self) -> BTreeMap<String, Bytes> {
        // A publication that was cut short leaves its temporary file behind.
        let whole = |(name, _): &(String, Bytes)| !name.ends_with(".tmp");
        self.disk.image().into_iter().filter(whole).collect()
    }

    fn stats(&self) -> Arc<DiskStats> {
        self.disk.stats()
    }
}

disk_conformance!(Simulated::fresh());
