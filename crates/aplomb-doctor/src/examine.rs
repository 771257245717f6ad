//! Evidence from files: what was recorded, what a JVM has logged, what a profiler has seen, put
//! together on one clock.
//!
//! What always holds: a file is told by what it begins with, not by its name; one that cannot be
//! read is said with its reason, and the others count all the same. Memory is bounded, whatever a
//! file's size, by what is kept of it.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use crate::jfr::{JfrEvidence, JfrOptions};
use crate::jvm::{JvmLog, JvmLogReader, LogClock, LogStamp, ThreadDump, read_lines, rotated, span};
use crate::kernel::role_of;
use crate::own_log::telling;
use crate::recording::{Clock, FORMAT, LogLine, Recording, Role, Sighting, Thread, Wait, WaitClass};

/// What recordings and dumps may be long: they are read whole.
const MOST_WHOLE: u64 = 1 << 30;
/// Files of a folder, and folders in it.
const MOST_FILES: usize = 10_000;
const DEEPEST: usize = 6;
/// A wait or a pause that is shorter is not kept.
const SHORTEST_MS: f64 = 1.0;
/// What a file is told by.
const HEAD: usize = 64 << 10;
/// Lines of a broker's log that are kept.
const MOST_LINES: usize = 2_000;

/// What was found.
#[derive(Debug, Default)]
pub struct Examined {
    /// All that the files say; `None` if they say nothing of a broker.
    pub recording: Option<Recording>,
    /// Files, and parts of files, that could not be read, and why.
    pub unread: Vec<(PathBuf, String)>,
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Content {
    /// JSON, packed or not: a recording, or a lab's record.
    Json,
    /// A recording of the JDK's recorder or of async-profiler.
    Jfr,
    /// A log of a JVM.
    JvmLog,
    /// What `jcmd Thread.print` or `jstack` prints.
    ThreadDump,
    /// A broker's own log.
    OwnLog,
    /// None of these.
    Unknown,
}

/// Reads files, and those of folders. `other` is asked for a recording of JSON that is none of the
/// doctor's.
#[must_use]
pub fn examine(paths: &[PathBuf], other: &dyn Fn(&[u8]) -> Option<Recording>) -> Examined {
    let mut examined = Examined::default();
    let mut files: Vec<(Content, PathBuf)> = Vec::new();
    for path in paths {
        for file in listed(path, &mut examined.unread) {
            match content(&file) {
                Ok(content) => files.push((content, file)),
                Err(error) => examined.unread.push((file, error.to_string())),
            }
        }
    }
    // Recordings first: what else there is goes onto their clock.
    files.sort();
    let mut logs = Vec::new();
    for (content, file) in files {
        let done = match content {
            Content::Json => examined.json(&file, other),
            Content::Jfr => examined.jfr(&file),
            Content::JvmLog | Content::OwnLog if is_packed(&file).unwrap_or(false) => {
                Err("it is a packed log: unpack it first".to_owned())
            }
            Content::JvmLog => {
                logs.push(file);
                continue;
            }
            Content::ThreadDump => examined.dump(&file),
            Content::OwnLog => examined.own_log(&file),
            Content::Unknown => Err("it is no recording, log or dump that is known here".to_owned()),
        };
        if let Err(error) = done {
            examined.unread.push((file, error));
        }
    }
    examined.jvm_logs(logs);
    examined
}

impl Examined {
    fn json(&mut self, file: &Path, other: &dyn Fn(&[u8]) -> Option<Recording>) -> Result<(), String> {
        let json = whole(file).map_err(|error| error.to_string())?;
        let found = match Recording::from_json(&json) {
            Ok(recording) => recording,
            Err(error) => other(&json).ok_or_else(|| error.to_string())?,
        };
        if self.recording.is_some() {
            return Err(
                "there is another recording already, of which this one may not be the process".to_owned()
            );
        }
        self.recording = Some(found);
        Ok(())
    }

    fn jfr(&mut self, file: &Path) -> Result<(), String> {
        let options = JfrOptions { shortest_ms: SHORTEST_MS, role_of };
        let is_packed = is_packed(file).map_err(|error| error.to_string())?;
        let evidence = if is_packed {
            whole(file).map(|bytes| JfrEvidence::of_bytes(&bytes, &options))
        } else {
            JfrEvidence::read(file, &options)
        };
        let evidence = evidence.map_err(|error| error.to_string())?;
        self.unread.extend(evidence.faults.iter().map(|fault| (file.to_owned(), fault.to_string())));
        if evidence.more_faults > 0 {
            self.unread.push((file.to_owned(), format!("and {} more of that kind", evidence.more_faults)));
        }
        match &mut self.recording {
            Some(recording) => {
                let length_ms = end_ms(&evidence.recording) + evidence.recording.clock.began_unix_ms;
                let began_ms = recording.clock.began_unix_ms;
                evidence.add_to(recording);
                recording.clock.length_ms = recording.clock.length_ms.max(length_ms - began_ms);
            }
            None => self.recording = Some(Recording { format: FORMAT, ..evidence.recording }),
        }
        Ok(())
    }

    /// Names, and who waits for whom at that moment.
    fn dump(&mut self, file: &Path) -> Result<(), String> {
        let bytes = whole(file).map_err(|error| error.to_string())?;
        let dump = ThreadDump::read(&String::from_utf8_lossy(&bytes));
        let recording = self.recording.get_or_insert_with(empty);
        for one in &dump.threads {
            let role = role_of(&one.name);
            match recording.threads.iter_mut().find(|thread| thread.tid == one.tid) {
                Some(thread) => {
                    thread.name.clone_from(&one.name);
                    thread.role = if role == Role::Other { thread.role } else { role };
                }
                None => recording.threads.push(Thread {
                    tid: one.tid,
                    name: one.name.clone(),
                    role,
                    usage: Vec::new(),
                }),
            }
            if let Some(holder) = dump.holder_of(one) {
                // A moment, at the end of what else is known.
                let at_ms = recording.clock.length_ms;
                recording.waits.push(Wait {
                    tid: one.tid,
                    from_ms: at_ms,
                    to_ms: at_ms,
                    sighting: Sighting::One { looks: 1 },
                    class: WaitClass::Lock,
                    call: None,
                    kernel: Vec::new(),
                    frames: one.frames.clone(),
                    holders: vec![holder.tid],
                    holders_known: true,
                    woken_by: None,
                });
            }
        }
        recording.sight.sources.push("a thread dump".to_owned());
        Ok(())
    }

    fn own_log(&mut self, file: &Path) -> Result<(), String> {
        let mut lines = Vec::new();
        let keep = &mut |line: &str| {
            if lines.len() < MOST_LINES {
                lines.extend(telling(line).map(|text| LogLine { at_ms: None, text }));
            }
        };
        read_lines(&[file.to_owned()], keep).map_err(|error| error.to_string())?;
        let recording = self.recording.get_or_insert_with(empty);
        recording.log.extend(lines);
        recording.sight.sources.push("the broker's log".to_owned());
        Ok(())
    }

    /// Logs go onto the clock of what else there is, or make one of their own.
    fn jvm_logs(&mut self, files: Vec<PathBuf>) {
        let mut done: Vec<PathBuf> = Vec::new();
        let spans: Vec<(LogStamp, LogStamp)> =
            files.iter().filter_map(|file| span(file).ok().flatten()).collect();
        let mut started = spans.iter().flat_map(|(a, b)| [a, b]).find_map(LogStamp::jvm_started_unix_ms);
        if !spans.is_empty() && self.recording.is_none() {
            if least(&spans, wall).or_else(|| least(&spans, monotonic)).is_none() {
                // Nothing but the JVM's own time, as logs have by default: it began so long before.
                started = least(&spans, uptime).map(|first_ms| -first_ms);
            }
            self.recording = Some(Recording { clock: clock_of(&spans), ..empty() });
        }
        for file in files {
            if done.contains(&file) {
                continue;
            }
            let Some(recording) = &mut self.recording else {
                self.unread.push((file, "its lines have no time".to_owned()));
                continue;
            };
            let clock = LogClock::of(&recording.clock);
            let clock = started.map_or(clock.clone(), |started| clock.with_jvm_start(started));
            let mut reader = JvmLogReader::new(clock);
            let set = rotated(&file).unwrap_or_else(|_| vec![file.clone()]);
            let read = read_lines(&set, &mut |line| reader.line(line));
            done.extend(set);
            if let Err(error) = read {
                self.unread.push((file.clone(), error.to_string()));
            }
            let JvmLog { safepoints, collections, unplaced, left_out, precision_ms } = reader.finish();
            if unplaced + left_out > 0 {
                let why = format!("{unplaced} pauses have no time that compares, {left_out} were too many");
                self.unread.push((file, why));
            }
            recording.safepoints.extend(safepoints);
            recording.collections.extend(collections);
            recording.clock.uncertainty_ms = recording.clock.uncertainty_ms.max(precision_ms);
            recording.sight.sources.push("a log of the JVM".to_owned());
        }
        if let Some(recording) = &mut self.recording {
            recording.safepoints.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
            recording.collections.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
            recording.clock.length_ms = recording.clock.length_ms.max(end_ms(recording));
        }
    }
}

fn empty() -> Recording {
    Recording { format: FORMAT, ..Recording::default() }
}

/// A clock that begins with the earliest line.
fn clock_of(spans: &[(LogStamp, LogStamp)]) -> Clock {
    let most = |of: fn(&LogStamp) -> Option<f64>| {
        spans.iter().filter_map(|(_, last)| of(last)).max_by(f64::total_cmp)
    };
    let length = |of| Some(most(of)? - least(spans, of)?);
    Clock {
        began_unix_ms: least(spans, wall).unwrap_or(0.0),
        began_monotonic_ms: least(spans, monotonic),
        length_ms: length(wall).or_else(|| length(monotonic)).or_else(|| length(uptime)).unwrap_or(0.0),
        ..Clock::default()
    }
}

/// The earliest of these times of lines.
fn least(spans: &[(LogStamp, LogStamp)], of: fn(&LogStamp) -> Option<f64>) -> Option<f64> {
    spans.iter().filter_map(|(first, _)| of(first)).min_by(f64::total_cmp)
}

fn wall(stamp: &LogStamp) -> Option<f64> {
    Some(stamp.wall?.ms)
}

fn monotonic(stamp: &LogStamp) -> Option<f64> {
    Some(stamp.monotonic?.ms)
}

fn uptime(stamp: &LogStamp) -> Option<f64> {
    Some(stamp.uptime?.ms)
}

/// The end of the last that is known.
fn end_ms(recording: &Recording) -> f64 {
    let waits = recording.waits.iter().map(|wait| wait.to_ms);
    let pauses = recording.safepoints.iter().map(|pause| pause.at_ms + pause.total_ms);
    let collections = recording.collections.iter().map(|one| one.at_ms + one.pause_ms);
    waits.chain(pauses).chain(collections).fold(recording.clock.length_ms, f64::max)
}

/// A file, or those below a folder, in order.
fn listed(path: &Path, unread: &mut Vec<(PathBuf, String)>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![(path.to_owned(), 0)];
    while let Some((path, depth)) = folders.pop() {
        if !path.is_dir() {
            files.push(path);
            continue;
        }
        match fs::read_dir(&path) {
            Ok(entries) if depth < DEEPEST => {
                folders.extend(entries.flatten().map(|entry| (entry.path(), depth + 1)));
            }
            Ok(_) => unread.push((path.clone(), "it lies too deep".to_owned())),
            Err(error) => unread.push((path.clone(), error.to_string())),
        }
        if files.len() + folders.len() > MOST_FILES {
            unread.push((path, format!("more than {MOST_FILES} files are not looked at")));
            break;
        }
    }
    files.sort();
    files
}

/// The beginning of a file, unpacked.
fn beginning(file: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    opened(file)?.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// All of it, if it is not too long.
fn whole(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    opened(file)?.take(MOST_WHOLE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_WHOLE {
        return Err(io::Error::other(format!("it is longer than {} MiB", MOST_WHOLE >> 20)));
    }
    Ok(bytes)
}

/// A file's bytes, unpacked if they are packed.
fn opened(file: &Path) -> io::Result<Box<dyn io::Read>> {
    // A pipe would keep its reader.
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let opened = File::open(file)?;
    Ok(if is_packed(file)? { Box::new(GzDecoder::new(opened)) } else { Box::new(opened) })
}

/// Whether it is packed by gzip.
fn is_packed(file: &Path) -> io::Result<bool> {
    let mut magic = Vec::new();
    File::open(file)?.take(2).read_to_end(&mut magic)?;
    Ok(magic == [0x1f, 0x8b])
}

fn content(file: &Path) -> io::Result<Content> {
    Ok(told_by(&beginning(file)?))
}

fn told_by(head: &[u8]) -> Content {
    if head.starts_with(b"FLR\0") {
        return Content::Jfr;
    }
    let text = String::from_utf8_lossy(head);
    let first = text.trim_start();
    if first.starts_with('{') {
        return Content::Json;
    }
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&["Full thread dump"]) {
        Content::ThreadDump
    } else if has(&[
        "[gc",
        "Safepoint \"",
        "Pause Young",
        "[safepoint",
        "Total time for which application threads were stopped",
        "[GC",
        "[Full GC",
        "threads: total initially_running",
        "Using G1",
        "Using Parallel",
        "Using Serial",
        "Using The Z",
    ]) {
        Content::JvmLog
    } else if has(&["kafka", "aplomb", "INFO", "WARN", "ERROR"]) {
        Content::OwnLog
    } else {
        Content::Unknown
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const SAFEPOINTS: &str = "\
[2026-11-26T05:00:00.000+0000][safepoint] Safepoint \"G1CollectForAllocation\", Time since last: 9 ns, Reaching safepoint: 1 ns, At safepoint: 2 ns, Total: 1000000 ns
[2026-11-26T05:00:10.500+0000][safepoint] Safepoint \"G1CollectForAllocation\", Time since last: 9 ns, Reaching safepoint: 490000000 ns, At safepoint: 2 ns, Total: 500000000 ns
";

    fn none(_: &[u8]) -> Option<Recording> {
        None
    }

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, bytes) in files {
            fs::write(folder.path().join(name), bytes).expect("a file");
        }
        folder
    }

    #[test]
    fn files_are_told_by_what_is_in_them() {
        assert_eq!(told_by(b"FLR\0\0\x02"), Content::Jfr);
        assert_eq!(told_by(b"  {\"format\":1}"), Content::Json);
        assert_eq!(told_by(SAFEPOINTS.as_bytes()), Content::JvmLog);
        assert_eq!(told_by(b"2026-11-26 05:00:49\nFull thread dump OpenJDK\n"), Content::ThreadDump);
        assert_eq!(told_by(b"[2026-11-26 05:00:49,940] INFO started (kafka.server)"), Content::OwnLog);
        assert_eq!(told_by(&[0xff, 0xfe, 0]), Content::Unknown);
    }

    #[test]
    fn a_recording_and_logs_come_onto_one_clock() {
        let recording = Recording {
            format: FORMAT,
            clock: Clock { began_unix_ms: 1_795_669_205_000.0, length_ms: 20_000.0, ..Clock::default() },
            ..Recording::default()
        };
        let json = recording.to_json().expect("finite");
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(json.as_bytes()).expect("it is packed");
        let packed = packed.finish().expect("it is packed");
        let folder = folder(&[
            ("safepoints.log", SAFEPOINTS.as_bytes()),
            ("watch.json.gz", &packed),
            ("noise.bin", &[0xff; 100]),
            ("server.log", b"[x] ERROR Stopping serving logs in dir /data (kafka.log.LogManager)\n"),
        ]);
        let found = examine(&[folder.path().to_owned()], &none);
        let recording = found.recording.expect("there is one");
        assert_eq!(recording.safepoints.len(), 1, "of the time before there is one more");
        assert_eq!(recording.safepoints[0].at_ms, 5_000.0);
        assert_eq!(recording.log.len(), 1);
        assert_eq!(found.unread.len(), 1, "{:?}", found.unread);
        assert!(found.unread[0].0.ends_with("noise.bin"));
    }

    #[test]
    fn logs_alone_have_a_clock_and_nothing_is_no_recording() {
        let logs = folder(&[("gc.log", SAFEPOINTS.as_bytes())]);
        let recording = examine(&[logs.path().join("gc.log")], &none).recording.expect("there is one");
        assert_eq!((recording.safepoints.len(), recording.clock.length_ms), (2, 10_500.0));
        let bare =
            b"[7.100s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(96M) 3.000ms\n\
            [9.350s][info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(96M) 5.000ms\n";
        let logs = folder(&[("gc.log", bare)]);
        let found = examine(&[logs.path().join("gc.log")], &none);
        let recording = found.recording.expect("there is one");
        assert!(found.unread.is_empty(), "{:?}", found.unread);
        let [first, second] = &recording.collections[..] else { panic!("{:?}", recording.collections) };
        assert!((second.at_ms - first.at_ms - 2_248.0).abs() < 1e-6, "{first:?} {second:?}");
        assert_eq!((recording.clock.began_unix_ms, recording.clock.length_ms), (0.0, 2_250.0));
        let found = examine(&[PathBuf::from("/nowhere/at/all")], &none);
        assert!(found.recording.is_none());
        assert_eq!(found.unread.len(), 1);
    }

    #[test]
    fn what_is_not_the_doctors_is_asked_for_elsewhere() {
        let folder = folder(&[("a.json", b"{\"format\":9}"), ("b.json", b"{\"lab\":1}")]);
        let other = |json: &[u8]| json.starts_with(b"{\"lab\"").then(empty);
        let found = examine(&[folder.path().to_owned()], &other);
        assert!(found.recording.is_some());
        assert!(found.unread[0].1.contains("format 9"), "{:?}", found.unread);
    }
}
