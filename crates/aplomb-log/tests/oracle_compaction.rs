//! The same dirty logs, compacted by Apache Kafka's Cleaner (`tests/oracle-formats`) and by ours,
//! pass by pass: the same segments with the same batches, and the same indexes.

#![expect(clippy::disallowed_methods, reason = "what Apache Kafka wrote is read from the source tree")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use aplomb_disk_api::sim::{SimDisk, SimOptions};
use aplomb_disk_api::{DiskIndex, FileName, PatientDisk, SmallFile};
use aplomb_log::compaction::{ActiveProducers, CompactionRules, Pass, PassStep, finish_swap};
use aplomb_log::index::IndexLimits;
use aplomb_log::recovery::{LoadRequest, load};
use aplomb_log::tail::{ArenaMemory, open_shares};
use aplomb_log::{CompactionConfig, Log, LogConfig};
use aplomb_model::batch::{Batches, HEADER_SIZE};
use aplomb_model::{Offset, PartitionIndex, Timestamp, Uuid};

const DIRECTORY: &str = "table-0";
const DELETE_RETENTION_MS: u64 = 100_000;

/// What Apache Kafka's cleaner was told, and where it has come to.
struct Told {
    first_dirty: Offset,
    uncleanable: Offset,
    now: Timestamp,
    map_bytes: usize,
    clean_end: Offset,
}

impl Told {
    fn parse(line: &str) -> Self {
        let mut numbers = line.split(' ').map(|number| number.parse::<u64>().expect("a number"));
        let mut next = || numbers.next().expect("five numbers");
        Self {
            first_dirty: Offset::new(next()),
            uncleanable: Offset::new(next()),
            now: Timestamp(next().cast_signed()),
            map_bytes: next() as usize,
            clean_end: Offset::new(next()),
        }
    }
}

fn config() -> LogConfig {
    LogConfig {
        segment_bytes: 3000,
        indexes: IndexLimits { interval_bytes: 400, max_bytes: 2000 },
        deletes: false,
        compacts: true,
        compaction: CompactionConfig {
            delete_retention_ms: DELETE_RETENTION_MS,
            ..CompactionConfig::KAFKA_DEFAULTS
        },
        producer_expiration_ms: i32::MAX as u64,
        ..LogConfig::kafka_defaults()
    }
}

fn files_in(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let file = |path: PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a plain name").to_owned();
        (name, fs::read(path).expect("a file"))
    };
    paths.map(file).collect()
}

fn open(disk: &SimDisk, told: &Told) -> Log {
    let share =
        open_shares(ArenaMemory::heap(1 << 20), 4096, &[Uuid::ONE], 1, None).expect("it fits").remove(0);
    let request = LoadRequest {
        directory: DIRECTORY.to_owned(),
        topic: Uuid::TWO,
        partition: PartitionIndex(0),
        config: config().into(),
        clean: true,
        recovery_point: Offset::ZERO,
        log_start: Offset::ZERO,
        cleaned: Some(told.first_dirty),
        high_watermark: None,
        share,
        now: told.now,
    };
    load(disk, &request).expect("it is a log").log
}

fn compact(log: &mut Log, disk: &SimDisk, told: &Told) {
    let mut producers = ActiveProducers::default();
    for (id, entry) in log.producers().producers_after(None) {
        producers.add(id, entry, told.uncleanable);
    }
    let rules = CompactionRules {
        delete_retention_ms: DELETE_RETENTION_MS,
        segment_bytes: 3000,
        indexes: config().indexes,
        map_bytes: told.map_bytes,
        map_load: 0.9,
        window: 1 << 16,
        decompressed: 1 << 20,
    };
    assert_eq!(log.first_dirty(), told.first_dirty);
    let plan = log.begin_compaction(told.uncleanable, producers, rules, told.now);
    let mut pass = Pass::new(plan.expect("there is something to compact"));
    loop {
        match pass.step(disk).expect("it is read and written") {
            PassStep::Again(_) => {}
            PassStep::Group(replacement, _) => {
                let (sources, base) = (replacement.sources.clone(), replacement.segment.base);
                log.replace_segments(replacement);
                for deleted in finish_swap(disk, DIRECTORY, &sources, base).expect("the disk is well") {
                    disk.remove(&deleted).expect("the disk is well");
                }
                log.on_swapped(base);
            }
            PassStep::Done(result) => {
                assert_eq!(result.clean_end, told.clean_end);
                return log.on_compacted(result.clean_end);
            }
        }
    }
}

/// Batches in words: header fields and uncompressed records. How well a codec compresses is its
/// own affair.
fn batches(log: &[u8]) -> Vec<String> {
    let mut walk = Batches::new(log).checked();
    let words = walk
        .by_ref()
        .map(|view| {
            let records = view.uncompressed(1 << 20).expect("it decompresses");
            let header = view.header;
            let rest = &header.as_bytes()[21..HEADER_SIZE];
            format!(
                "{}..{} epoch {:?} {rest:02x?} {records:02x?}",
                header.base_offset(),
                header.last_offset(),
                header.leader_epoch()
            )
        })
        .collect();
    assert_eq!(walk.end().expect("it has ended").position, log.len() as u64);
    words
}

fn check(disk: &SimDisk, expected: &Path, what: &str) {
    let theirs = files_in(expected);
    let image = disk.image();
    let ours: BTreeMap<String, Vec<u8>> = image
        .into_iter()
        .filter_map(|(name, bytes)| Some((name.strip_prefix("table-0/")?.to_owned(), bytes.to_vec())))
        .collect();
    let logs = |files: &BTreeMap<String, Vec<u8>>| -> Vec<String> {
        files.keys().filter(|name| name.ends_with(".log")).cloned().collect()
    };
    assert_eq!(logs(&ours), logs(&theirs), "{what}");
    let active = logs(&theirs).pop().expect("there is a segment");
    for name in logs(&theirs) {
        let (our, their) = (batches(&ours[&name]), batches(&theirs[&name]));
        assert_eq!(our, their, "{what}, {name}");
        let same_bytes = ours[&name] == theirs[&name];
        for extension in ["index", "timeindex", "txnindex"] {
            let index = name.replace(".log", &format!(".{extension}"));
            let (our, their) = (ours.get(&index), theirs.get(&index));
            let empty = Vec::new();
            // Positions are those of compressed batches.
            if extension == "txnindex" || name != active && same_bytes {
                assert_eq!(our.unwrap_or(&empty), their.unwrap_or(&empty), "{what}, {index}");
            }
        }
    }
}

#[test]
fn passes_leave_what_apache_kafkas_leave() {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cleaned");
    let folder = std::env::var_os("APLOMB_CLEANED_BY_KAFKA").map_or(golden, PathBuf::from);
    let mut passes = 0;
    for n in 0.. {
        let folder = folder.join(n.to_string());
        if !folder.exists() {
            break;
        }
        let told = fs::read_to_string(folder.join("passes.txt")).expect("a file");
        let mut before = folder.join("before");
        for (pass, told) in (1..).zip(told.lines().map(Told::parse)) {
            // Each pass goes on with the other's files, whose sizes decide what is joined.
            let disk = SimDisk::new(DiskIndex(0), SimOptions::default());
            let file = |(name, content): (String, Vec<u8>)| SmallFile {
                name: FileName::new(format!("{DIRECTORY}/{name}")),
                content: content.into(),
            };
            let files: Vec<SmallFile> = files_in(&before).into_iter().map(file).collect();
            disk.publish(&files).expect("the disk is well");
            compact(&mut open(&disk, &told), &disk, &told);
            let after = folder.join(format!("after-{pass}"));
            check(&disk, &after, &format!("log {n}, pass {pass}"));
            before = after;
            passes += 1;
        }
    }
    assert!(passes > 1, "there are logs to compact in {}", folder.display());
}
