//! The JVM writes a line of a log while all threads stand, and the write waits.

use crate::diagnosis::evidence::{Evidence, Seen};
use crate::diagnosis::finding::{Finding, let_go, names, remedy, time, told};
use crate::diagnosis::spans::Spans;
use crate::diagnosis::verdict::Span;
use crate::recording::{Collection, PlaceOf, Role, WaitClass};

/// A pause whose unnamed part is so long was spent outside of the collector's work.
const OTHER_MS: f64 = 30.0;

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let in_a_file = |seen: &Seen<'_>| {
        matches!(
            seen.wait.class,
            WaitClass::Journal | WaitClass::Inode | WaitClass::DirtyLimit | WaitClass::Page
        ) || seen.fits(&[&["vfs_write", "ksys_write"]])
            || seen.is_below(&["LogFileOutput::write", "LogFileStreamOutput"])
    };
    let waits = evidence.waits(|seen| {
        seen.role() == Role::Collector && in_a_file(seen) && !seen.has(&["try_to_free_mem_cgroup_pages"])
    });
    let unnamed = collections(evidence, by_other);
    let stood = evidence.pauses(|pause| pause.total_ms >= 2.0 * pause.reaching_ms.unwrap_or(0.0));
    let felt = waits.spans().and(&unnamed);
    if felt.is_empty() {
        return None;
    }
    let logs = waits.that(|seen| {
        seen.path().is_none_or(|path| evidence.is_of(path, PlaceOf::JvmLog) || path.contains("gc"))
    });
    let mut evidence_for = Vec::new();
    if !waits.is_empty() {
        evidence_for.push(told(&waits, "of the JVM itself waited in a write"));
        let holders = waits.holders();
        if !holders.is_empty() {
            evidence_for.push(format!("held by {}", names(evidence, &holders)));
        }
        evidence_for.extend(let_go(evidence, &waits));
    }
    if !unnamed.is_empty() {
        evidence_for.push(format!(
            "by the collector's log {} of its pauses belong to no phase, and took no processor time",
            time(unnamed.total_ms())
        ));
    }
    let pauses = stood.within(&felt);
    if !pauses.is_empty() {
        evidence_for.push(format!("all threads stood for {} meanwhile", time(pauses.total_ms())));
    }
    let mut against = Vec::new();
    if logs.is_empty() && !waits.is_empty() {
        against.push("the file is not known to be a log of the JVM".to_owned());
    }
    if evidence.recording.process.jvm_flags.iter().any(|flag| flag == "-Xlog:async") {
        against.push("the JVM has -Xlog:async, and does not wait for its log".to_owned());
    }
    let place = evidence.recording.places.iter().find(|place| place.of == PlaceOf::JvmLog);
    let on = place.map_or_else(String::new, |place| format!(" ({} on {})", place.path, place.filesystem));
    Some(Finding {
        name: "gc-log",
        explained: felt.and(&stood.of_at_least(OTHER_MS)).within(&felt.and(&pauses)).and(&felt),
        ground: !waits.is_empty(),
        waited: true,
        summary: format!("A line of the JVM's own log{on} waited for the disk while all threads stood"),
        evidence: evidence_for,
        against,
        mechanism: "HotSpot writes a line of its log within the pause, while every thread stands. A plain \
            write updates the file's time stamp, and waits if its block belongs to the transaction that the \
            journal is committing. The pause lasts as long as that.",
        remedy: vec![
            remedy(
                "-Xlog:async (JDK 17 and later), in KAFKA_GC_LOG_OPTS",
                "lines may be dropped; a start of the broker",
            ),
            remedy(
                "the log on a tmpfs, for example -Xlog:gc*:file=/dev/shm/kafka-gc.log",
                "memory; gone after a reboot",
            ),
            remedy(
                "-XX:+PerfDisableSharedMem as well: the JVM's mapped counters are written within pauses too",
                "jstat and jcmd -l do not find it",
            ),
        ],
        threads: waits.threads(),
        absorbs: &["long-gc", "vm-operation"],
        ..Finding::default()
    })
}

/// Whether a pause was spent outside of the collector's phases.
fn by_other(one: &Collection) -> bool {
    let other = one.other_ms.or(one.phases_ms.map(|phases| one.pause_ms - phases)).unwrap_or(0.0);
    let idle = one.cpu_ms.is_none_or(|cpu| cpu < one.pause_ms / 2.0);
    other >= OTHER_MS && other > one.pause_ms / 2.0 && idle
}

/// Pauses of the collector that are so.
pub(super) fn collections(evidence: &Evidence<'_>, which: impl Fn(&Collection) -> bool) -> Spans {
    let so = evidence.recording.collections.iter().filter(|one| which(one));
    so.map(|one| Span { from_ms: one.at_ms, to_ms: one.at_ms + one.pause_ms }).collect()
}
