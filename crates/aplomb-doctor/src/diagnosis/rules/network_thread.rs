//! A network thread reads from the disk for one connection, and its others wait.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, count, device_said, remedy, told};
use crate::recording::{Role, WaitClass};

/// What a network thread reads cold pages in.
const CALLS: [&str; 4] = ["sendfile", "splice", "pread64", "read"];

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let waits = evidence.waits(|seen| {
        let reads = seen.wait.call.as_ref().is_none_or(|call| CALLS.contains(&call.name.as_str()));
        seen.role() == Role::Network && seen.is(WaitClass::Page) && reads
    });
    if waits.is_empty() {
        return None;
    }
    let paths = waits.paths();
    let active = waits.that(|seen| {
        seen.wait.call.as_ref().and_then(|call| call.active_segment) == Some(true)
            && seen.path().is_some_and(|path| evidence.filesystem_of(path) == "ext4")
    });
    // The same reader that holds up appends on XFS: on ext4 it holds up its network thread alone.
    let on_ext4 = active.spans().total_ms() > waits.spans().total_ms() / 2.0;
    let device = paths.first().and_then(|path| device_said(evidence, path, &waits.spans()));
    let mut evidence_for = vec![told(&waits, "read old records from the device to send them")];
    let ground = device.is_some() || !paths.is_empty();
    evidence_for.extend(device);
    if on_ext4 {
        evidence_for.push(
            "the segment that is read is the one that is appended to; ext4 takes no lock of it for a read, so appends go on"
                .to_owned(),
        );
    }
    Some(Finding {
        name: if on_ext4 { "inode-lock-ext4" } else { "network-thread" },
        explained: waits.spans(),
        ground,
        waited: true,
        summary: format!(
            "{} read from the disk for a lagging consumer, and all other connections of theirs waited",
            count(waits.threads().len(), "network thread")
        ),
        evidence: evidence_for,
        against: Vec::new(),
        mechanism: "One network thread serves many connections. It hands old records to a consumer by \
            sendfile, which waits for the device where the page cache has not got them. Until then no other \
            connection of the thread is read or answered (KAFKA-7504).",
        remedy: vec![
            remedy(
                "num.network.threads=16 (it can be changed while the broker runs), so that fewer connections share a thread",
                "threads; the reader's neighbours still wait",
            ),
            remedy(
                "consumer_byte_rate for the lagging client (kafka-configs.sh --entity-type clients)",
                "it catches up more slowly",
            ),
            remedy(
                "a listener of its own for consumers that read old records",
                "configuration of those clients",
            ),
        ],
        threads: waits.threads(),
        absorbs: &["cold-read"],
        ..Finding::default()
    })
}
