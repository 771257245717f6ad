//! A device answers nothing, and requests wait for it.

use crate::diagnosis::evidence::{Evidence, Seen, Waits};
use crate::diagnosis::finding::{Finding, count, remedy, time, told};
use crate::diagnosis::spans::Spans;
use crate::recording::{Device, PlaceOf, WaitClass};

/// A stall of this length is a long one: the page cache has no room for what comes meanwhile.
const LONG_MS: f64 = 4_500.0;
/// So many clients have to wait to be read from, each with so much on average, for large batches to
/// be what they send: four times what a client sends at once if it is not told otherwise.
const CROWD_CONNECTIONS: u64 = 10;
const CROWD_BYTES: u64 = 64 << 10;

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let waits = evidence.waits(|seen| {
        seen.carries_requests()
            && !matches!(seen.wait.class, WaitClass::Other | WaitClass::Socket | WaitClass::Lock)
    });
    let (device, frozen) = evidence
        .recording
        .devices
        .iter()
        .map(|device| (device, evidence.frozen(device)))
        .max_by(|a, b| a.1.total_ms().total_cmp(&b.1.total_ms()))?;
    // A wait that ends with the freeze belongs to it also where a row is late.
    let during = waits.that(|seen| {
        let span: Spans = [seen.span()].into_iter().collect();
        span.share_in(&frozen) > 0.5
    });
    if during.is_empty() || frozen.is_empty() {
        return None;
    }
    let name = name_of(evidence, device, &frozen, &during);
    let places = evidence.places_on(device);
    let place = places.first().map_or(device.name.as_str(), |place| place.path.as_str());
    Some(Finding {
        name,
        explained: during.spans(),
        ground: true,
        waited: true,
        summary: format!(
            "{} ({}, {place}) answered nothing for {} in all, and {} waited for it",
            device.name,
            device.number,
            time(frozen.total_ms()),
            count(during.threads().len(), "request thread")
        ),
        evidence: vec![
            format!(
                "the device had requests under way and completed none, for {} at the longest",
                time(frozen.longest_ms())
            ),
            told(&during, "waited meanwhile"),
        ],
        against: Vec::new(),
        mechanism: mechanism(name),
        remedy: remedies(name),
        threads: during.threads(),
        absorbs: &[
            "journal",
            "dirty-limit",
            "own-log",
            "gc-log",
            "roll",
            "cold-metadata",
            "inode-lock",
            "compaction",
            "client-quota",
            "cold-read",
            "page-fault",
            "munmap",
        ],
        ground_when: Some((frozen.clone(), "the device at a standstill")),
        ..Finding::default()
    })
}

/// What the lab calls it.
fn name_of(evidence: &Evidence<'_>, device: &Device, frozen: &Spans, waits: &Waits<'_>) -> &'static str {
    let of_logs =
        |device: &Device| evidence.places_on(device).iter().any(|place| place.of == PlaceOf::LogDirectory);
    let another = evidence.log_devices().iter().any(|other| other.number != device.number);
    let long = frozen.longest_ms() >= LONG_MS;
    if of_logs(device) && another {
        let crowd = evidence.traffic().any(|traffic| {
            let many = traffic.waiting_connections >= CROWD_CONNECTIONS;
            many && traffic.waiting_bytes >= CROWD_BYTES * traffic.waiting_connections
        });
        return match (crowd, long) {
            (true, true) => "long-crowd",
            (true, false) => "crowd",
            (false, _) => "one-of-two-dirs",
        };
    }
    // A page that is under writeback cannot be written to before that is over.
    let limit = waits.that(|seen: &Seen<'_>| {
        seen.is(WaitClass::DirtyLimit) || seen.has(&["iomap_page_mkwrite", "do_page_mkwrite"])
    });
    let at_limit = limit.spans().total_ms() > waits.spans().total_ms() / 4.0;
    match (at_limit, long) {
        (true, true) => "long-freeze",
        (true, false) => "dirty-limit",
        (false, _) => "freeze",
    }
}

fn mechanism(name: &str) -> &'static str {
    match name {
        "dirty-limit" | "long-freeze" => {
            "Appends go to the page cache, and as long as that has room they need no device. Once so many \
             pages are dirty that the kernel's limit is reached, whoever dirties another is put to sleep \
             until some have been written. A device that answers nothing writes none."
        }
        "one-of-two-dirs" | "crowd" | "long-crowd" => {
            "A request handler that appends to the log directory on this device waits for it. There are few \
             handlers, and while all of them wait nobody serves the other directories. Connections wait \
             behind their oldest request."
        }
        _ => {
            "An append goes to the page cache, but on a filesystem with a journal it also updates a time \
             stamp. If the journal is committing, that waits for the commit, and the commit for the device. \
             Every handler that appends stands until the device answers."
        }
    }
}

fn remedies(name: &str) -> Vec<crate::diagnosis::verdict::Remedy> {
    let mut all = vec![remedy(
        "the storage below: failover times, controller resets, a cloud volume's limits of operations and bytes",
        "money, mostly",
    )];
    match name {
        "dirty-limit" | "long-freeze" => all.push(remedy(
            "vm.dirty_bytes up and vm.dirty_background_bytes down, so that more fits in and less is dirty when it stalls",
            "more is lost in a power cut that replication does not cover",
        )),
        "one-of-two-dirs" | "crowd" | "long-crowd" => all.push(remedy(
            "num.io.threads up, or one broker for each disk",
            "threads, or brokers",
        )),
        _ => all.push(remedy("XFS for log directories: it logs a time stamp without waiting", "a new filesystem")),
    }
    all
}
