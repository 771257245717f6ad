//! What can be seen of disks and the tail on the metrics page.

use std::sync::Arc;

use aplomb_disk_api::Lane;
use aplomb_disk_api::stats::DiskStats;
use aplomb_log::tail::TailShare;
use aplomb_server::metrics::{Metrics, Page};
use aplomb_server::{TailFigures, TailSource};

/// One log directory, to be watched.
pub(super) struct Watched {
    pub(super) directory: String,
    pub(super) stats: Arc<DiskStats>,
    pub(super) share: Arc<TailShare>,
}

/// Puts the log directories on the page.
pub(super) fn observe(metrics: &Metrics, watched: Vec<Watched>) {
    metrics.add(move |page| {
        for disk in &watched {
            disk.put_disk_on(page);
            disk.put_tail_on(page);
        }
    });
}

/// Says how a disk's share of the tail is, for the console.
pub(super) fn tail(share: &Arc<TailShare>) -> TailSource {
    let share = Arc::clone(share);
    Box::new(move || {
        let stats = share.stats();
        let bytes = |chunks: usize| chunks as u64 * u64::from(stats.chunk_size);
        TailFigures {
            bytes: bytes(stats.chunks),
            free: bytes(stats.free),
            fewest_free: bytes(stats.fewest_free),
            held: bytes(stats.held),
            cached: bytes(stats.cached),
            pinned: bytes(stats.reader_pinned),
            waiting: stats.waiting,
            producing: share.producing().used() as u64,
            reading: share.reading().used() as u64,
        }
    })
}

impl Watched {
    fn put_disk_on(&self, page: &mut Page) {
        let now = aplomb_server::clock::instant();
        let age =
            |oldest: Option<aplomb_model::Instant>| oldest.map_or(0.0, |at| now.since(at).as_secs_f64());
        let directory = ("directory", self.directory.as_str());
        page.gauge(
            "aplomb_disk_age_seconds",
            "How long the disk's oldest command has waited.",
            &[directory],
            age(self.stats.oldest()),
        );
        page.counter(
            "aplomb_disk_syncs_total",
            "System calls that waited for stable storage.",
            &[directory],
            self.stats.syncs(),
        );
        page.counter(
            "aplomb_disk_shortages_total",
            "Operations that had to wait for a descriptor or for memory.",
            &[directory],
            self.stats.shortages(),
        );
        for lane in Lane::ALL {
            let labels = [directory, ("lane", lane.name())];
            let lane = self.stats.lane(lane);
            page.gauge(
                "aplomb_disk_lane_age_seconds",
                "How long the lane's oldest command has waited.",
                &labels,
                age(lane.oldest()),
            );
            page.gauge("aplomb_disk_queue_depth", "Commands of the lane.", &labels, lane.depth() as f64);
            page.counter("aplomb_disk_commands_total", "Commands completed.", &labels, lane.completed());
            page.counter("aplomb_disk_bytes_total", "Bytes written or read.", &labels, lane.bytes());
            page.times(
                "aplomb_disk_service_seconds",
                "Time from a command's submission to its end.",
                &labels,
                lane.service_times(),
            );
        }
    }

    fn put_tail_on(&self, page: &mut Page) {
        let stats = self.share.stats();
        let directory = [("directory", self.directory.as_str())];
        let bytes = |chunks: usize| chunks as f64 * f64::from(stats.chunk_size);
        page.gauge("aplomb_tail_bytes", "The disk's share of the tail.", &directory, bytes(stats.chunks));
        page.gauge("aplomb_tail_free_bytes", "Free memory of it.", &directory, bytes(stats.free));
        page.gauge(
            "aplomb_tail_fewest_free_bytes",
            "The least that was ever free.",
            &directory,
            bytes(stats.fewest_free),
        );
        page.gauge("aplomb_tail_held_bytes", "Memory that logs hold.", &directory, bytes(stats.held));
        page.gauge(
            "aplomb_tail_cached_bytes",
            "Memory among it that the disk has wholly.",
            &directory,
            bytes(stats.cached),
        );
        page.gauge(
            "aplomb_tail_reader_pinned_bytes",
            "Memory of which readers hold slices.",
            &directory,
            bytes(stats.reader_pinned),
        );
        page.gauge(
            "aplomb_tail_waiting_bytes",
            "Bytes that the disk does not have yet.",
            &directory,
            stats.waiting as f64,
        );
        page.gauge(
            "aplomb_fetch_memory_bytes",
            "Memory for records on their way to readers that the tail does not hold for them.",
            &directory,
            self.share.reading().used() as f64,
        );
        page.gauge(
            "aplomb_produce_waiting_bytes",
            "Batches that wait for room in the tail.",
            &directory,
            self.share.producing().used() as f64,
        );
        page.gauge("aplomb_tail_batches", "Batches that logs remember.", &directory, stats.batches as f64);
    }
}
