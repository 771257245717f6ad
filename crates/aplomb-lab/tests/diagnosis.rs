//! What the doctor says of the lab's own records, which are in `bench/results/lab`: full runs on a
//! machine that did little else.
//!
//! A record has no files, no locks of the program and no time line of the device, so some incidents
//! cannot be told from it; what is said in their place is in the table. None of these blames a disk
//! where the lab had not touched one, or where no request waited.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use aplomb_doctor::diagnosis::diagnose;
use aplomb_lab::record::{BrokerRun, Run};
use flate2::read::GzDecoder;

/// Incidents of which a record shows less than the lab has done, and what may be said then.
const LESS: &[(&str, &[&str])] = &[
    // Which segment is read is not known.
    ("inode-lock-ext4", &["network-thread"]),
    // Nor that there are two directories, where all producers are counted.
    ("one-of-two-dirs", &["freeze"]),
    // Nor how much clients have under way.
    ("crowd", &["one-of-two-dirs"]),
    ("long-crowd", &["one-of-two-dirs"]),
    // Nor who waits for a lock of the program.
    ("compaction", &[]),
    // It hurts in some runs, and then by the pages that a deletion reads.
    ("munmap", &["page-fault"]),
    // Apache Kafka has mended it.
    ("roll", &[]),
];

fn records() -> Vec<(String, Run)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results/lab");
    let files = |folder: &Path| -> Vec<_> {
        let entries = std::fs::read_dir(folder).expect("records are kept");
        entries.map(|entry| entry.expect("it can be listed").path()).collect()
    };
    let days = files(&folder).into_iter().filter(|path| path.is_dir());
    let records =
        days.flat_map(|day| files(&day)).filter(|path| path.to_string_lossy().ends_with(".json.gz"));
    let read = |path: std::path::PathBuf| {
        let mut json = Vec::new();
        let file = std::fs::File::open(&path).expect("it is there");
        GzDecoder::new(file).read_to_end(&mut json).expect("it is whole");
        (path.display().to_string(), Run::from_json(&json).expect("it is a record"))
    };
    records.map(read).collect()
}

fn causes(run: &BrokerRun) -> Vec<String> {
    diagnose(&run.recording()).causes.into_iter().map(|cause| cause.name).collect()
}

#[test]
fn each_incident_is_named_from_its_record_and_no_disk_is_blamed_for_nothing() {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for (path, run) in records() {
        let incident = run.incident.name.as_str();
        for broker in &run.brokers {
            let found = causes(broker);
            let what =
                format!("{incident} of {} {}: {found:?} ({path})", broker.broker.name, broker.broker.version);
            if run.incident.control || broker.broker.kind == "aplomb" {
                // A directory that is lost is lost to every broker.
                let lost = ["disk-full", "eio", "kill-9-recovery"].contains(&incident) && found == [incident];
                assert!(found.is_empty() || (lost && broker.broker.kind == "aplomb"), "{what}");
                *counts.entry("none").or_default() += 1;
                continue;
            }
            match LESS.iter().find(|(name, _)| *name == incident) {
                Some((_, instead)) => {
                    let first = found.first().map(String::as_str);
                    let fits = first.is_none_or(|first| first == incident || instead.contains(&first));
                    assert!(
                        fits && (first.is_some() || instead.is_empty() || incident == "munmap"),
                        "{what}"
                    );
                    *counts.entry("less").or_default() += 1;
                }
                None => {
                    assert_eq!(found.first().map(String::as_str), Some(incident), "{what}");
                    *counts.entry("named").or_default() += 1;
                }
            }
        }
    }
    assert!(counts["named"] >= 30 && counts["none"] >= 60, "{counts:?}");
}
