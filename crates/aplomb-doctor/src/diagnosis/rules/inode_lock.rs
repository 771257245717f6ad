//! Appends wait for the lock of the inode that a reader holds: XFS takes it for both.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, count, let_go, names, remedy, time, told};
use crate::diagnosis::lift::EndsTogether;
use crate::kernel::stacks::has;
use crate::recording::{Sighting, WaitClass};

/// A file's lock is let go of in these, after its pages were read.
const READS: [&str; 4] =
    ["xfs_file_buffered_read", "xfs_file_splice_read", "xfs_file_read_iter", "xfs_file_dio_read"];

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let waits = evidence.waits(|seen| seen.carries_requests() && seen.is(WaitClass::Inode));
    if waits.is_empty() {
        return by_samples(evidence);
    }
    let held = waits.that(|seen| !seen.wait.holders.is_empty());
    let holders = waits.holders();
    let paths = waits.paths();
    let file = paths.first().copied().unwrap_or("a file");
    let reads = evidence.waits(|seen| {
        holders.contains(&seen.thread.tid) && (seen.is(WaitClass::Page) || seen.is(WaitClass::Metadata))
    });
    let queued = evidence.waits(|seen| seen.carries_requests() && seen.is(WaitClass::Lock));
    let behind = queued.spans().within(&waits.spans()).total_ms();
    let mut evidence_for = vec![told(&waits, "waited for the lock of a file")];
    if !held.is_empty() {
        evidence_for.push(format!(
            "in {} of the time another thread was in a call on the same file: {}",
            super::super::finding::percent(held.spans().total_ms() / waits.spans().total_ms()),
            names(evidence, &holders)
        ));
    }
    // Those who wait in a line for it hand it on to each other; the reader is the one to name.
    let by_reader = waits.that(|seen| seen.let_go_by().is_some_and(|(_, stack)| has(stack, &READS)));
    // A holder that neither reads nor lets go after a read is a writer that had no processor.
    if !held.is_empty() && reads.is_empty() && by_reader.is_empty() {
        return None;
    }
    evidence_for.extend(let_go(evidence, &by_reader).or_else(|| let_go(evidence, &waits)));
    if !reads.is_empty() {
        evidence_for.push(told(&reads, "read pages of it from the device meanwhile"));
    }
    if behind > 0.0 {
        evidence_for
            .push(format!("request handlers queued for a lock of the program behind it: {}", time(behind)));
    }
    let writers = waits.that(|seen| seen.path().is_some_and(|path| path.ends_with(".log")));
    let mut against = Vec::new();
    if held.is_empty() {
        against.push("no holder was seen".to_owned());
    }
    if paths.is_empty() {
        against.push("which file it is was not seen".to_owned());
    } else if writers.is_empty() {
        against.push("the files are no segments".to_owned());
    }
    Some(Finding {
        explained: waits.spans().and(&reads.that(super::super::evidence::Seen::carries_requests).spans()),
        ground: !held.is_empty(),
        waited: true,
        summary: format!(
            "{} waited for the inode of {file}, which a reader holds while it reads from the device",
            count(waits.threads().len(), "request thread")
        ),
        evidence: evidence_for,
        against,
        threads: waits.threads(),
        ground_when: (!reads.is_empty()).then(|| (reads.spans(), "a read of the holder")),
        ground_known: waits.waits().any(|wait| wait.holders_known),
        ..common()
    })
}

/// What a profiler's samples show of it: they have no kernel stacks, and so neither the lock nor
/// the file; but appends that wait for it end together with the reads that hold it.
fn by_samples(evidence: &Evidence<'_>) -> Option<Finding> {
    let interval_ms = evidence.recording.sight.look_interval_ms?;
    let sampled = evidence.waits(|seen| seen.wait.sighting == Sighting::Gap);
    let appends = sampled.that(|seen| {
        seen.carries_requests()
            && seen.is(WaitClass::Other)
            && seen.is_below(&["FileRecords.append", "UnifiedLog.append"])
    });
    let reads = sampled.that(|seen| seen.is(WaitClass::Page));
    let ends = EndsTogether::of(&appends, &reads, interval_ms);
    let is_ext4 = appends.paths().first().is_some_and(|path| evidence.filesystem_of(path) == "ext4");
    if !ends.is_enough() || is_ext4 {
        return None;
    }
    Some(Finding {
        explained: appends.spans(),
        ground: true,
        waited: true,
        summary: format!(
            "{} waited in appends that end when a read from a file does",
            count(appends.threads().len(), "request thread")
        ),
        evidence: vec![
            told(&appends, "waited in appends"),
            told(&reads, "read cold pages meanwhile"),
            format!("appends and such reads: {}", ends.said()),
        ],
        against: vec![
            "samples do not show what an append waits for: aplomb doctor watch sees the lock, the file and its \
             holder"
                .to_owned(),
        ],
        threads: appends.threads(),
        ground_when: Some((reads.spans(), "a cold read")),
        ..common()
    })
}

/// What is the same however it is seen.
fn common() -> Finding {
    Finding {
        name: "inode-lock",
        mechanism: "XFS takes a file's lock shared for a buffered read or sendfile, and exclusively for a \
            buffered write. A consumer that reads old records of the segment which is appended to holds it \
            until its page has come from the device. The append waits for that, and every request behind \
            the partition's own lock waits for the append.",
        remedy: vec![
            remedy(
                "segment.bytes=134217728 (or segment.ms) on the topic, so that what is read cold is another file than what is appended to",
                "more files: mind nofile and vm.max_map_count",
            ),
            remedy(
                "kafka-configs.sh --alter --entity-type clients --entity-name CLIENT --add-config consumer_byte_rate=10485760 for the lagging consumer",
                "it catches up more slowly",
            ),
            remedy("more memory for the page cache, so that old records are still in it", "memory"),
        ],
        absorbs: &["network-thread", "inode-lock-ext4", "cold-read"],
        ..Finding::default()
    }
}
