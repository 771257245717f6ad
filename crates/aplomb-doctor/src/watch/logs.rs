//! What a broker writes while it is watched: its JVM's logs and counters, and its own log.
//!
//! What always holds: each file is read by a thread of its own, since the disk that it is on may be
//! the one that stands still; the recording takes what was read until then. There are no more
//! than [`MOST_FILES`].

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::jvm::{FollowFrom, Follower, JvmLog, JvmLogReader, LogClock, PerfData};
use crate::own_log::telling;
use crate::recording::{Clock, Collection, LogLine, Recording, Safepoint};

/// Between two looks at a file.
const INTERVAL: Duration = Duration::from_millis(200);
/// Files that are followed at once.
const MOST_FILES: usize = 16;
/// Pauses that are kept, at least.
const MOST_PAUSES: usize = 50_000;
/// Lines of the broker's own log that are kept.
const MOST_LINES: usize = 2_000;
/// Safepoints between two looks that took less together are no row.
const LEAST_MS: f64 = 5.0;

/// Follows files.
#[derive(Debug)]
pub(super) struct Logs {
    clock: Clock,
    origin: Instant,
    followed: Vec<PathBuf>,
    gathered: Arc<Gathered>,
}

/// What was read so far.
#[derive(Debug, Default)]
struct Gathered {
    stop: AtomicBool,
    rows: Mutex<Rows>,
}

#[derive(Debug, Default)]
struct Rows {
    safepoints: Vec<Safepoint>,
    counted: Vec<Safepoint>,
    collections: Vec<Collection>,
    lines: Vec<LogLine>,
    sources: Vec<String>,
}

impl Logs {
    /// For a recording that began with this clock, just now.
    pub(super) fn new(clock: &Clock) -> Self {
        let clock = Clock { length_ms: f64::INFINITY, ..clock.clone() };
        Self { clock, origin: Instant::now(), followed: Vec::new(), gathered: Arc::default() }
    }

    /// Follows a log of the JVM from its end.
    pub(super) fn follow_jvm_log(&mut self, path: &Path) {
        let reader = JvmLogReader::new(LogClock::of(&self.clock));
        let gathered = Arc::clone(&self.gathered);
        self.follow(path, "a log of the JVM", move |path| jvm_log(&gathered, &path, reader));
    }

    /// Reads the JVM's counters.
    pub(super) fn follow_counters(&mut self, path: &Path) {
        let (gathered, origin) = (Arc::clone(&self.gathered), self.origin);
        self.follow(path, "the JVM's counters", move |path| counters(&gathered, &path, origin));
    }

    /// Follows the broker's own log from its end.
    pub(super) fn follow_own_log(&mut self, path: &Path) {
        let (gathered, origin) = (Arc::clone(&self.gathered), self.origin);
        self.follow(path, "the broker's log", move |path| own_log(&gathered, &path, origin));
    }

    fn follow(&mut self, path: &Path, what: &str, read: impl FnOnce(PathBuf) + Send + 'static) {
        let known = self.followed.iter().any(|followed| followed == path);
        if known || self.followed.len() >= MOST_FILES {
            return;
        }
        self.followed.push(path.to_owned());
        let theirs = path.to_owned();
        // Without a thread the file is not read, and is no source.
        if thread::Builder::new().name("doctor-logs".to_owned()).spawn(move || read(theirs)).is_ok() {
            self.gathered.rows().sources.push(what.to_owned());
        }
    }

    /// Ends, and adds what was read.
    pub(super) fn finish(self, recording: &mut Recording) {
        self.gathered.stop.store(true, Ordering::Relaxed);
        let rows = std::mem::take(&mut *self.gathered.rows());
        // A log says when each was, the counters only that there were some.
        recording.safepoints = if rows.safepoints.is_empty() { rows.counted } else { rows.safepoints };
        recording.safepoints.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
        recording.collections = rows.collections;
        recording.collections.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
        recording.log = rows.lines;
        recording.log.sort_by_key(|line| line.at_ms);
        let mut sources = rows.sources;
        sources.dedup();
        recording.sight.sources.extend(sources);
    }
}

impl Rows {
    /// Keeps the newest.
    fn forget(&mut self) {
        fn newest<T>(rows: &mut Vec<T>) {
            if rows.len() > 2 * MOST_PAUSES {
                rows.drain(..MOST_PAUSES);
            }
        }
        newest(&mut self.safepoints);
        newest(&mut self.counted);
        newest(&mut self.collections);
    }
}

impl Gathered {
    fn rows(&self) -> MutexGuard<'_, Rows> {
        // A reader that has panicked has left whole rows behind.
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn goes_on(&self) -> bool {
        let goes_on = !self.stop.load(Ordering::Relaxed);
        if goes_on {
            thread::sleep(INTERVAL);
        }
        goes_on
    }
}

fn jvm_log(gathered: &Gathered, path: &Path, mut reader: JvmLogReader) {
    let mut follower = Follower::new(path, FollowFrom::End);
    loop {
        // What cannot be read now may be there at the next look.
        let _ = follower.poll(&mut |line| reader.line(line));
        let JvmLog { safepoints, collections, .. } = reader.take();
        let mut rows = gathered.rows();
        rows.safepoints.extend(safepoints);
        rows.collections.extend(collections);
        rows.forget();
        drop(rows);
        if !gathered.goes_on() {
            return;
        }
    }
}

fn counters(gathered: &Gathered, path: &Path, origin: Instant) {
    let mut before: Option<PerfData> = None;
    loop {
        if let Ok(now) = PerfData::open(path) {
            let at_ms = (origin.elapsed().as_secs_f64() * 1e6).round() / 1e3;
            let row = before.as_ref().and_then(|before| now.safepoints_since(before, at_ms));
            if let Some(row) = &row
                && row.total_ms >= LEAST_MS
            {
                let mut rows = gathered.rows();
                rows.counted.push(row.clone());
                rows.forget();
            }
            // Of a safepoint that is under way only a part has been counted.
            if row.is_some() || before.is_none() {
                before = Some(now);
            }
        }
        if !gathered.goes_on() {
            return;
        }
    }
}

fn own_log(gathered: &Gathered, path: &Path, origin: Instant) {
    let mut follower = Follower::new(path, FollowFrom::End);
    loop {
        let at_ms = i64::try_from(origin.elapsed().as_millis()).ok();
        let mut lines = Vec::new();
        // As above.
        let _ = follower.poll(&mut |line| lines.extend(telling(line)));
        let mut rows = gathered.rows();
        let room = MOST_LINES.saturating_sub(rows.lines.len());
        rows.lines.extend(lines.into_iter().take(room).map(|text| LogLine { at_ms, text }));
        drop(rows);
        if !gathered.goes_on() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn lines_that_come_while_it_is_watched_are_read_and_earlier_ones_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let (own, jvm) = (folder.path().join("server.log"), folder.path().join("safepoints.log"));
        let mut own_file = std::fs::File::create(&own).expect("a file");
        writeln!(own_file, "Stopping serving logs in dir /before").expect("it is written");
        let mut jvm_file = std::fs::File::create(&jvm).expect("a file");
        let began = Clock { began_monotonic_ms: Some(1_000.0), ..Clock::default() };
        let mut logs = Logs::new(&began);
        logs.follow_own_log(&own);
        logs.follow_own_log(&own);
        logs.follow_jvm_log(&jvm);
        assert_eq!(logs.followed.len(), 2);
        thread::sleep(2 * INTERVAL);
        writeln!(own_file, "Stopping serving logs in dir /data\nINFO nothing").expect("it is written");
        writeln!(
            jvm_file,
            "[2000000000ns] Safepoint \"G1CollectForAllocation\", Time since last: 1 ns, Reaching safepoint: \
             400000000 ns, At safepoint: 1000000 ns, Total: 401000000 ns"
        )
        .expect("it is written");
        thread::sleep(4 * INTERVAL);
        let mut recording = Recording::default();
        logs.finish(&mut recording);
        let texts: Vec<&str> = recording.log.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["Stopping serving logs in dir /data"]);
        assert_eq!(recording.safepoints.len(), 1);
        assert_eq!(recording.safepoints[0].reaching_ms, Some(400.0));
        assert_eq!(recording.sight.sources.len(), 2);
    }
}
