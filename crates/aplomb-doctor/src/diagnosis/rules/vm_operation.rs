//! A tool has the JVM stop all threads: a histogram of classes, a dump, a change of classes.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, remedy, time};

/// Operations that no collector asks for, and what asks for them.
const OPERATIONS: &[(&str, &str)] = &[
    ("GC_HeapInspection", "jmap -histo or jcmd GC.class_histogram"),
    ("HeapDumper", "a heap dump"),
    ("PrintThreads", "a thread dump (jstack, jcmd Thread.print)"),
    ("PrintJNI", "a thread dump"),
    ("FindDeadlocks", "a thread dump, or a monitoring agent"),
    ("ThreadDump", "a monitoring agent or a recording that dumps threads"),
    ("GetAllStackTraces", "an agent"),
    ("RedefineClasses", "an agent, or the start of a JFR recording"),
    ("ChangeBreakpoints", "a debugger"),
    ("FullGC", "System.gc() or jcmd GC.run"),
    ("HandshakeAllThreads", "the JVM itself"),
    ("DumpHashtable", "jcmd"),
    ("JFRCheckpoint", "a JFR recording"),
];

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let known = |reason: &str| OPERATIONS.iter().find(|(name, _)| reason.contains(name));
    let explained = evidence.pauses(|pause| known(&pause.reason).is_some());
    if explained.is_empty() {
        return None;
    }
    let all = evidence.recording.safepoints.iter().filter(|pause| known(&pause.reason).is_some());
    let longest = all.max_by(|a, b| a.total_ms.total_cmp(&b.total_ms))?;
    let (_, by) = known(&longest.reason)?;
    Some(Finding {
        name: "vm-operation",
        explained,
        ground: true,
        waited: true,
        summary: format!("The JVM stopped all threads for {}: {by}", longest.reason),
        evidence: vec![format!(
            "the longest {} stopped all threads for {}",
            longest.reason,
            time(longest.total_ms)
        )],
        against: Vec::new(),
        mechanism: "Some questions of tools can only be answered while no thread runs. The JVM stops them all, \
            walks its heap or its threads, and lets them go on. The larger the heap the longer that takes.",
        remedy: vec![remedy(
            "whatever asks for it: a cron job, a monitoring agent, a person; ask it of a replica that leads nothing",
            "what it told",
        )],
        threads: Vec::new(),
        absorbs: &[],
        ..Finding::default()
    })
}
