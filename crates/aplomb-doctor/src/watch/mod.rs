//! Watches a live broker: what `/proc` and programs in the kernel show of it, and what its JVM
//! writes meanwhile.
//!
//! What always holds: the answer comes when it was due. The watching is done by a thread of its
//! own; should something that it reads never answer, the recording is given up and that is said.

mod find;
mod logs;
mod process;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

pub use find::{FindError, by_cgroup, by_port};
use logs::Logs;
pub(crate) use process::{pid_inside, shares_our_files};

pub use crate::kernel::Bpf;
use crate::kernel::{WatchError, Watcher};
use crate::recording::{PlaceOf, Recording};

/// How long the end of a recording may take: what has to be read for it comes from memory.
const PATIENCE: Duration = Duration::from_secs(10);
/// The stop is looked for this often.
const LOOK_FOR_STOP: Duration = Duration::from_millis(50);

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The process cannot be watched.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// There is no thread to watch with.
    #[error("no thread could be started: {0}")]
    Thread(#[from] std::io::Error),
    /// A read did not come back.
    #[error("something that was read of the process did not answer within {} s", PATIENCE.as_secs())]
    Hangs,
}

/// Watches process `pid` for `length` (`None`: until told), until `stop` is set, or until it ends.
///
/// # Errors
/// When the process cannot be watched.
pub fn watch(
    pid: u32,
    length: Option<Duration>,
    bpf: Bpf,
    stop: &Arc<AtomicBool>,
) -> Result<Recording, Failure> {
    let (sender, answer) = channel();
    let (stop_sent, theirs) = (Arc::clone(stop), Arc::clone(stop));
    let until = length.map(|length| Instant::now() + length);
    thread::Builder::new().name("doctor-watch".to_owned()).spawn(move || {
        // Nothing to send it to any more is no fault here: the asker has given up.
        let _ = sender.send(watched(pid, until, bpf, &theirs));
    })?;
    let mut deadline = None;
    loop {
        let over = stop_sent.load(Ordering::Relaxed) || until.is_some_and(|until| Instant::now() >= until);
        if over && deadline.is_none() {
            deadline = Some(Instant::now() + PATIENCE);
        }
        match answer.recv_timeout(LOOK_FOR_STOP) {
            Ok(recording) => return Ok(recording?),
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::Hangs),
            Err(RecvTimeoutError::Timeout) if deadline.is_some_and(|at| Instant::now() >= at) => {
                return Err(Failure::Hangs);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn watched(pid: u32, until: Option<Instant>, bpf: Bpf, stop: &AtomicBool) -> Result<Recording, WatchError> {
    let mut watcher = Watcher::start(pid, bpf)?;
    let mut logs = Logs::new(watcher.clock());
    let described = process::of(pid);
    for path in &described.jvm_logs {
        logs.follow_jvm_log(path);
        watcher.add_place(&as_it_sees(pid, path), PlaceOf::JvmLog);
    }
    if let Some(counters) = &described.counters {
        logs.follow_counters(counters);
        watcher.add_place(&as_it_sees(pid, counters), PlaceOf::PerfData);
    }
    while !stop.load(Ordering::Relaxed) && until.is_none_or(|until| Instant::now() < until) {
        let Some(next) = watcher.step() else { break };
        for path in watcher.own_logs() {
            logs.follow_own_log(&Path::new(&format!("/proc/{pid}/root")).join(path.trim_start_matches('/')));
        }
        let next = until.map_or(next, |until| next.min(until));
        // A stop is not kept waiting for a rare look.
        thread::sleep(next.saturating_duration_since(Instant::now()).min(LOOK_FOR_STOP));
    }
    let mut recording = Recording { process: described.process, ..watcher.finish() };
    logs.finish(&mut recording);
    Ok(recording)
}

/// A path without the way to it from here.
fn as_it_sees(pid: u32, path: &Path) -> String {
    let root = format!("/proc/{pid}/root");
    let inside = path.strip_prefix(&root).map_or(path.to_owned(), |rest| Path::new("/").join(rest));
    inside.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watching_ends_when_it_is_due_and_when_it_is_told_to() {
        let stop = Arc::new(AtomicBool::new(false));
        let recording = watch(std::process::id(), Some(Duration::from_millis(300)), Bpf::Auto, &stop);
        assert!(recording.expect("it is ours").clock.length_ms >= 200.0);
        stop.store(true, Ordering::Relaxed);
        let recording = watch(std::process::id(), None, Bpf::Auto, &stop).expect("it is ours");
        assert_eq!(recording.process.pid, Some(std::process::id()));
        assert!(matches!(watch(u32::MAX, None, Bpf::Auto, &stop), Err(Failure::Watch(_))));
    }
}
