//! Looks at a process's threads, and takes the kernel stacks of those that sleep and cannot be
//! woken (state D).
//!
//! What always holds: a stack is read of a thread in D only. It is read a moment after the state,
//! so a thread that went on in between gives a stack that is no wait, or none: such a look does not
//! count. No tracer is needed, and a thread is not held up by being looked at.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use aplomb_doctor::kernel::stacks::functions;
use aplomb_doctor::kernel::state;

use super::SAMPLING_MS;
use super::stalls::{Folder, Sleeper};
use crate::record::Stall;
use crate::standing::Standing;

/// Samples from its start to [`Self::finish`].
#[derive(Debug)]
pub(crate) struct Sampler {
    thread: Option<JoinHandle<Vec<Stall>>>,
    shared: Arc<SamplerState>,
}

#[derive(Debug, Default)]
struct SamplerState {
    stop: AtomicBool,
    /// The process; 0 for none at present.
    pid: AtomicU32,
    looks: AtomicU64,
}

impl Sampler {
    /// Begins to look at process `pid` (`None`: nobody as yet). Threads in `names` have these
    /// names, and others those that the kernel has.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub(crate) fn start(
        pid: Option<u32>,
        names: HashMap<u32, String>,
        origin: Instant,
    ) -> std::io::Result<Self> {
        let shared =
            Arc::new(SamplerState { pid: AtomicU32::new(pid.unwrap_or(0)), ..SamplerState::default() });
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new().name("lab-sampler".to_owned());
        let thread = thread.spawn(move || sample(&theirs, names, origin))?;
        Ok(Self { thread: Some(thread), shared })
    }

    /// Looks at another process from now on (`None`: at nobody). Its threads have the names that
    /// the kernel has.
    pub(crate) fn follow(&self, pid: Option<u32>) {
        self.shared.pid.store(pid.unwrap_or(0), Ordering::Relaxed);
    }

    /// Ends, and tells.
    ///
    /// # Panics
    /// If the sampling thread has.
    #[must_use]
    pub(crate) fn finish(mut self) -> Vec<Stall> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it is taken here alone");
        thread.join().expect("the sampler does not panic")
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

fn sample(shared: &SamplerState, names: HashMap<u32, String>, origin: Instant) -> Vec<Stall> {
    // Hundreds of threads take it milliseconds, twenty times a second.
    Standing::StepsAside.take();
    let interval = Duration::from_millis(SAMPLING_MS.into());
    let mut folder = Folder::new(interval);
    let mut threads = Threads { names };
    let mut next = Instant::now();
    let mut before = shared.pid.load(Ordering::Relaxed);
    while !shared.stop.load(Ordering::Relaxed) {
        let pid = shared.pid.load(Ordering::Relaxed);
        if pid != before {
            // Numbers of threads may come again, and then they are others.
            threads.names.clear();
            before = pid;
        }
        let sleepers = if pid == 0 { Vec::new() } else { threads.asleep(pid) };
        folder.look(origin.elapsed(), sleepers);
        shared.looks.fetch_add(1, Ordering::Relaxed);
        // A look that came late is not made up for: two close together would count as a stall of
        // two.
        next = (next + interval).max(Instant::now());
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    folder.finish()
}

/// The threads of a process and their names.
#[derive(Debug)]
struct Threads {
    names: HashMap<u32, String>,
}

impl Threads {
    /// Those in uninterruptible sleep now.
    fn asleep(&mut self, pid: u32) -> Vec<Sleeper> {
        let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
        let sleepers = entries.filter_map(|entry| {
            let folder = entry.ok()?.path();
            let tid = folder.file_name()?.to_str()?.parse().ok()?;
            if state(&fs::read_to_string(folder.join("stat")).ok()?)? != 'D' {
                return None;
            }
            let stack = functions(&fs::read_to_string(folder.join("stack")).ok()?);
            if stack.is_empty() {
                return None;
            }
            Some(Sleeper { tid, name: self.name(tid, &folder), stack })
        });
        sleepers.collect()
    }

    fn name(&mut self, tid: u32, folder: &Path) -> String {
        let read = || fs::read_to_string(PathBuf::from(folder).join("comm")).unwrap_or_default();
        // A JVM names its threads a moment after they have begun, so a name is read again until it
        // is one of theirs.
        let name = self.names.entry(tid).or_insert_with(|| read().trim_end().to_owned());
        if name.is_empty() || name == "java" {
            read().trim_end().clone_into(name);
        }
        name.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_goes_on_until_the_end_and_finds_nobody_where_nobody_waits() {
        let sampler = Sampler::start(None, HashMap::new(), Instant::now()).expect("a thread");
        while sampler.shared.looks.load(Ordering::Relaxed) < 3 {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(sampler.finish(), []);
    }
}
