//! What a JVM records for the doctor, if it is asked to: a log of its safepoints, a recording of
//! its own, and how long requests spent in each of their stages. Nothing of this module is used
//! unless it was asked for.
//!
//! Start at [`Attached`]. [`protocol`] carries a command to a JVM, [`stages`] asks Apache
//! Kafka's beans.
//!
//! What always holds: files are in a folder of their own that only the JVM's user may read, in
//! memory where it has such a place, and bounded; what was begun ends with [`Attached::finish`], or
//! by [`let_go`], which a process that outlives this one can call. The recording also ends by
//! itself.

mod protocol;
mod stages;

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use protocol::{AttachError, command};
pub use stages::{RequestStages, rows};

use crate::jfr::{JfrEvidence, JfrOptions, add_unknown_safepoints};
use crate::jvm::{JvmLog, JvmLogReader, LogClock, read_lines, rotated};
use crate::kernel::role_of;
use crate::recording::{Recording, StageSample};
use crate::watch::{pid_inside, shares_our_files};
use stages::Asking;

/// What the recording has: little, and nothing that is sampled.
const SETTINGS: &str = include_str!("doctor.jfc");
/// Its name in the JVM.
const NAME: &str = "aplomb-doctor";
/// Files of the folder. None ends as a log does: the broker's own logs are found by that.
const SAFEPOINTS: &str = "safepoints.txt";
const RECORDED: &str = "recording.jfr";
const CONFIGURED: &str = "doctor.jfc";
/// Where folders are made, the best first: memory, then what every machine has.
const PLACES: [&str; 2] = ["dev/shm", "tmp"];
/// A recording ends by itself so much after it should have been ended.
const SPARE: Duration = Duration::from_secs(120);
/// And after so long where it is not known how long it is to be.
const LONGEST: Duration = Duration::from_secs(3600);
/// Waits and pauses that took less are not kept.
const SHORTEST_MS: f64 = 1.0;

/// What is said before a JVM is asked for anything.
pub const COST: &str = "attaching: the JVM writes a log of its safepoints and a flight recording (events of 10 ms \
    and more, no samples) into a folder in memory, at most 70 MB. To begin that stops its threads once for some 50 ms, \
    and takes some 100 KB of its memory. Both end with this watch.";

/// A JVM that records. What has begun ends when this is dropped.
#[derive(Debug)]
pub struct Attached {
    pid: u32,
    folder: PathBuf,
    stages: Option<Asking>,
    missing: Vec<String>,
}

impl Attached {
    /// Makes the folder, and has the JVM of process `pid` do nothing yet.
    ///
    /// # Errors
    /// When it is no JVM, or there is no place for a folder.
    pub fn prepare(pid: u32) -> Result<Self, AttachError> {
        protocol::is_jvm(pid)?;
        Ok(Self { pid, folder: make_folder(pid)?, stages: None, missing: Vec::new() })
    }

    /// Has it begin. `length` is how long it is to be watched. From before this on another process
    /// has to call [`let_go`] if this one cannot end it.
    ///
    /// # Errors
    /// When it lets no process attach, or does not answer.
    pub fn begin(&mut self, length: Option<Duration>) -> Result<(), AttachError> {
        self.start(length)?;
        match Asking::begin(self.pid) {
            Ok(asking) => self.stages = Some(asking),
            Err(why) => self.missing.push(format!("the stages of requests, by JMX: {why}")),
        }
        Ok(())
    }

    /// The folder, for who has to end it when this process cannot.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn start(&mut self, length: Option<Duration>) -> Result<(), AttachError> {
        let write = |name: &str, text: &str| fs::write(self.folder.join(name), text);
        write(CONFIGURED, SETTINGS)?;
        let [safepoints, recorded, settings] =
            [SAFEPOINTS, RECORDED, CONFIGURED].map(|name| self.as_the_jvm_sees(name));
        // The file rotates so that it stays small should nothing ever end it.
        command(
            self.pid,
            &format!(
                "VM.log output=file={safepoints} what=safepoint=info decorators=timenanos \
                 output_options=filecount=1,filesize=10M"
            ),
        )?;
        let seconds = length.map_or(LONGEST, |length| length + SPARE).as_secs().max(1);
        let started = command(
            self.pid,
            &format!(
                "JFR.start name={NAME} settings={settings} filename={recorded} duration={seconds}s maxsize=50m"
            ),
        );
        // A JVM without a recorder still has its log.
        if let Err(error) = started {
            self.missing.push(format!("a recording of the JVM: {error}"));
        }
        Ok(())
    }

    /// Ends what was begun, and adds what was recorded to `recording`, which is of the same
    /// process.
    pub fn finish(mut self, recording: &mut Recording) {
        if let Some(asking) = self.stages.take() {
            let began_ms = recording.clock.began_unix_ms;
            let asked = asking.finish();
            let on_its_clock =
                asked.into_iter().map(|row| StageSample { at_ms: row.at_ms - began_ms, ..row });
            recording.stages = on_its_clock.filter(|row| row.at_ms >= 0.0).collect();
            if !recording.stages.is_empty() {
                recording.sight.sources.push("the stages of requests, by JMX".to_owned());
            }
        }
        self.missing.extend(end(self.pid, &self.folder));
        self.take_safepoints(recording);
        self.take_recording(recording);
        recording.sight.missing.append(&mut self.missing);
        remove(&self.folder);
    }

    fn take_safepoints(&mut self, recording: &mut Recording) {
        let path = self.folder.join(SAFEPOINTS);
        let mut reader = JvmLogReader::new(LogClock::of(&recording.clock));
        let read = rotated(&path).and_then(|files| read_lines(&files, &mut |line| reader.line(line)));
        if let Err(error) = read {
            self.missing.push(format!("the log of safepoints: {error}"));
        }
        let JvmLog { safepoints, .. } = reader.finish();
        // Counters say no reason, and count as one what a log tells apart.
        if !safepoints.is_empty() {
            recording.safepoints.retain(|known| !known.reason.is_empty());
        }
        add_unknown_safepoints(&mut recording.safepoints, safepoints);
        recording.sight.sources.push("a log of the JVM's safepoints".to_owned());
    }

    fn take_recording(&mut self, recording: &mut Recording) {
        let options = JfrOptions { shortest_ms: SHORTEST_MS, role_of };
        match JfrEvidence::read(&self.folder.join(RECORDED), &options) {
            Ok(evidence) => {
                let length_ms = recording.clock.length_ms;
                evidence.add_to(recording);
                // It began before the watching and ended after it.
                recording.waits.retain(|wait| wait.to_ms > 0.0 && wait.from_ms < length_ms);
                recording.safepoints.retain(|one| one.at_ms + one.total_ms > 0.0 && one.at_ms < length_ms);
                recording.collections.retain(|one| one.at_ms + one.pause_ms > 0.0 && one.at_ms < length_ms);
            }
            Err(error) => self.missing.push(format!("the recording of the JVM: {error}")),
        }
    }

    fn as_the_jvm_sees(&self, name: &str) -> String {
        let root = format!("/proc/{}/root", self.pid);
        let inside = self.folder.strip_prefix(&root).unwrap_or(&self.folder);
        Path::new("/").join(inside).join(name).display().to_string()
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let_go(self.pid, &self.folder);
    }
}

/// Ends what a JVM records for a doctor that is no more, and removes its folder. What has ended
/// already is no fault.
pub fn let_go(pid: u32, folder: &Path) {
    end(pid, folder);
    remove(folder);
}

/// Ends both, and says what could not be.
fn end(pid: u32, folder: &Path) -> Vec<String> {
    if !folder.is_dir() {
        return Vec::new();
    }
    let root = format!("/proc/{pid}/root");
    let seen = Path::new("/").join(folder.strip_prefix(&root).unwrap_or(folder)).join(SAFEPOINTS);
    let off = format!("VM.log output=file={} what=all=off", seen.display());
    let commands = [off, format!("JFR.stop name={NAME}")];
    let ends = commands.iter().map(|words| (words, command(pid, words)));
    let failed = ends.filter_map(|(words, done)| Some((words, done.err()?)));
    failed
        .map(|(words, error)| format!("an end of what the JVM records (jcmd {pid} {words}): {error}"))
        .collect()
}

fn remove(folder: &Path) {
    // It is small and in memory; a JVM that has gone has taken its root with it.
    let _ = fs::remove_dir_all(folder);
}

/// A folder that the JVM may write to, and only its user and root may read, as seen from here.
fn make_folder(pid: u32) -> Result<PathBuf, AttachError> {
    let process = fs::metadata(format!("/proc/{pid}")).map_err(|_| AttachError::NoProcess(pid))?;
    // What a JVM has left can be read and removed after its end, but by our own name of it alone.
    let root = if shares_our_files(pid) { "/".to_owned() } else { format!("/proc/{pid}/root") };
    let root = PathBuf::from(root);
    let name = format!("aplomb-doctor-{}-{}", pid_inside(pid), std::process::id());
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    for place in PLACES {
        let folder = root.join(place).join(&name);
        let made = fs::DirBuilder::new().mode(0o700).create(&folder);
        let made = made.and_then(|()| chown(&folder, Some(process.uid()), Some(process.gid())));
        match made {
            Ok(()) => return Ok(folder),
            Err(error) => failed = error,
        }
    }
    Err(failed.into())
}

/// The JVM's own `java`, where this process sees what that one sees; else why not.
fn java_of(pid: u32) -> Result<PathBuf, String> {
    if !shares_our_files(pid) {
        return Err("it is in a container, whose java cannot be started from here".to_owned());
    }
    fs::read_link(format!("/proc/{pid}/exe")).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_jvm_is_left_alone_and_leaves_nothing() {
        let pid = std::process::id();
        let before = folders();
        assert!(matches!(Attached::prepare(pid), Err(AttachError::NoJvm)));
        assert!(matches!(Attached::prepare(u32::MAX), Err(AttachError::NoProcess(_))));
        let_go(pid, Path::new("/dev/shm/aplomb-doctor-nothing"));
        assert_eq!(folders(), before);
    }

    fn folders() -> usize {
        let name = format!("-{}", std::process::id());
        let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(&name)).count()
    }

    #[test]
    fn what_the_recorder_is_told_names_each_event_once() {
        let events: Vec<&str> =
            SETTINGS.split("<event name=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let mut once = events.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(events.len(), once.len());
        assert!(events.contains(&"jdk.SafepointBegin") && events.contains(&"jdk.FileWrite"));
        assert!(!events.iter().any(|event| event.ends_with("Sample") || event.ends_with("ThreadDump")));
    }
}
