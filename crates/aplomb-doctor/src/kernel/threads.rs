//! The threads of a process: which of them wait in the kernel, and where.
//!
//! What always holds: a thread is not held up by being looked at, and looking waits for nothing.
//! What is kept open for each thread says whether it has run since the last look; only of one that
//! has is more read, so that a look at a thousand idle threads is a thousand reads of one line. A
//! stack is read of a thread in state D only, and what the thread did a moment later says whether
//! the pair fits.

use std::collections::HashMap;

use super::calls::{Doing, doing};
use super::descriptors::Descriptors;
use super::files::{Kept, micro, nth, read};
use super::roles::{is_either, is_handler, role_of, told_by};
use super::stacks::{class_of, functions};
use crate::recording::{Call, Role, Thread, Usage, WaitClass};

/// Threads that have ended and are remembered, at least: a process may start some all the time.
const MOST_GONE: usize = 5_000;

/// A thread that waits, in one look.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sleeper {
    pub(super) tid: u32,
    /// How often it has run so far; the same in two looks is the same wait.
    pub(super) slices: Option<u64>,
    pub(super) class: WaitClass,
    pub(super) call: Option<Call>,
    pub(super) kernel: Vec<String>,
}

/// What may be read of a process's threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rights {
    /// Whole stacks: root's alone.
    pub(super) stacks: bool,
    /// System calls and their arguments.
    pub(super) calls: bool,
}

/// The threads of one process, or some threads of the kernel.
#[derive(Debug)]
pub(super) struct Threads {
    pid: u32,
    rights: Rights,
    known: HashMap<u32, Followed>,
    /// Those that have ended.
    gone: Vec<Thread>,
}

#[derive(Debug)]
struct Followed {
    /// Its process: of a thread that is not of the one that is watched, another.
    pid: u32,
    name: String,
    role: Role,
    stat: Kept,
    schedstat: Option<Kept>,
    last: Clocks,
    /// What the last look found.
    state: State,
    /// At the last row of the host.
    row: Clocks,
    usage: Vec<Usage>,
}

/// What `schedstat` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Clocks {
    ran_ns: u64,
    runnable_ns: u64,
    slices: u64,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    /// It has not been looked at, or ran.
    Unknown,
    /// It sleeps where it has nothing to do, or nothing that is followed.
    Idle,
    /// It waits, and this is where.
    Waits(Sleeper),
}

impl Rights {
    /// Tries it out.
    pub(super) fn of(pid: u32) -> Self {
        let may = |file: &str| read(format!("/proc/{pid}/task/{pid}/{file}")).is_some();
        Self { stacks: may("stack"), calls: may("syscall") }
    }
}

impl Threads {
    pub(super) fn of(pid: u32, rights: Rights) -> Self {
        Self { pid, rights, known: HashMap::new(), gone: Vec::new() }
    }

    /// Finds threads that have begun, with `rows` rows of the host behind them. `false` when the
    /// process is gone.
    pub(super) fn find(&mut self, rows: usize) -> bool {
        let Ok(entries) = std::fs::read_dir(format!("/proc/{}/task", self.pid)) else { return false };
        let tids: Vec<u32> =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
        for &tid in &tids {
            self.add(self.pid, tid, rows);
        }
        let ended: Vec<u32> = self.known.keys().copied().filter(|tid| !tids.contains(tid)).collect();
        for tid in ended {
            self.end(tid);
        }
        !tids.is_empty()
    }

    /// Takes a thread in, also one that is not of the process.
    pub(super) fn add(&mut self, pid: u32, tid: u32, rows: usize) {
        let name = || read(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default().trim_end().to_owned();
        if let Some(known) = self.known.get_mut(&tid) {
            // A JVM names its threads a moment after they have begun, and a worker of the kernel
            // has another name for each kind of work.
            if known.role == Role::Other || known.role == Role::Kernel {
                known.rename(name(), pid == self.pid);
            }
            return;
        }
        let file = |name: &str| Kept::open(&format!("/proc/{pid}/task/{tid}/{name}"));
        // It has ended since it was listed.
        let Ok(stat) = file("stat") else { return };
        let mut known = Followed {
            pid,
            name: String::new(),
            role: Role::Other,
            stat,
            schedstat: file("schedstat").ok(),
            last: Clocks::default(),
            state: State::Unknown,
            row: Clocks::default(),
            usage: vec![Usage::default(); rows],
        };
        known.rename(name(), pid == self.pid);
        known.last = known.clocks().unwrap_or_default();
        known.row = known.last;
        self.known.insert(tid, known);
    }

    fn end(&mut self, tid: u32) {
        if let Some(known) = self.known.remove(&tid) {
            let mut thread = known.told(tid);
            // A broker that ends has ended its threads before. Of others, which come and go by the
            // thousand, rows would only take memory; the JVM's own have few names.
            if matches!(thread.role, Role::Machinery | Role::Collector) {
                let alike = |gone: &&mut Thread| gone.name == thread.name && !gone.usage.is_empty();
                if let Some(before) = self.gone.iter_mut().find(alike) {
                    add_rows(&mut before.usage, &std::mem::take(&mut thread.usage));
                }
            } else if !thread.role.carries_requests() {
                thread.usage = Vec::new();
            }
            self.gone.push(thread);
            if self.gone.len() > 2 * MOST_GONE {
                self.gone.drain(..MOST_GONE);
            }
        }
    }

    /// Forgets the oldest rows.
    pub(super) fn forget(&mut self, rows: usize) {
        let all = self.known.values_mut().map(|known| &mut known.usage);
        for usage in all.chain(self.gone.iter_mut().map(|gone| &mut gone.usage)) {
            usage.drain(..rows.min(usage.len()));
        }
    }

    /// One look: those that wait.
    pub(super) fn look(&mut self, descriptors: &mut Descriptors) -> Vec<Sleeper> {
        let rights = self.rights;
        let mut ended = Vec::new();
        let mut sleepers = Vec::new();
        for (&tid, known) in &mut self.known {
            let Some(clocks) = known.clocks() else {
                ended.push(tid);
                continue;
            };
            let has_run = clocks != known.last || clocks == Clocks::default();
            known.last = clocks;
            if has_run || known.state == State::Unknown {
                known.state = known.seen(tid, rights, descriptors);
            }
            if let State::Waits(sleeper) = &known.state {
                sleepers.push(sleeper.clone());
            }
        }
        for tid in ended {
            self.end(tid);
        }
        sleepers
    }

    /// A row of the host is over.
    pub(super) fn row(&mut self) {
        for known in self.known.values_mut() {
            // As the last look has read it: another reading of all of them would cost as much.
            let clocks = known.last;
            let ms = |now: u64, before: u64| micro(now.saturating_sub(before) as f64 / 1e6);
            known.usage.push(Usage {
                ran_ms: ms(clocks.ran_ns, known.row.ran_ns),
                runnable_ms: ms(clocks.runnable_ns, known.row.runnable_ns),
                turns: clocks.slices.saturating_sub(known.row.slices),
            });
            known.row = clocks;
        }
    }

    /// What a thread is there for, as far as that is known by now.
    pub(super) fn role(&self, tid: u32) -> Role {
        self.known.get(&tid).map_or(Role::Other, |known| known.role)
    }

    /// All that there were.
    pub(super) fn finish(mut self) -> Vec<Thread> {
        self.gone.extend(self.known.into_iter().map(|(tid, known)| known.told(tid)));
        self.gone.sort_by_key(|thread| thread.tid);
        self.gone
    }
}

impl Followed {
    fn rename(&mut self, name: String, ours: bool) {
        // What its sleep has told is not forgotten.
        if self.name == name {
            return;
        }
        self.role = if ours { role_of(&name) } else { Role::Kernel };
        self.name = name;
    }

    fn clocks(&mut self) -> Option<Clocks> {
        let Some(schedstat) = &mut self.schedstat else { return Some(Clocks::default()) };
        let text = schedstat.read()?;
        let mut numbers = text.split_ascii_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Clocks { ran_ns: next()?, runnable_ns: next()?, slices: next()? })
    }

    /// What it does, now that it has run.
    fn seen(&mut self, tid: u32, rights: Rights, descriptors: &mut Descriptors) -> State {
        let folder = format!("/proc/{}/task/{tid}", self.pid);
        let Some(state) = self.stat.read().and_then(state) else { return State::Unknown };
        match state {
            // A thread that ran in between is not known to be where its stack is read.
            'D' => self.waits(&folder, tid, rights, descriptors).map_or(State::Unknown, State::Waits),
            'S' if is_either(&self.name) && self.role == Role::Other => {
                let place = read(format!("{folder}/wchan")).unwrap_or_default();
                let call = read(format!("{folder}/syscall")).and_then(|line| doing(&line));
                let told = told_by(&place).or(match call {
                    Some(Doing::Call { name, .. }) => told_by(name),
                    _ => None,
                });
                self.role = told.unwrap_or(self.role);
                State::Unknown
            }
            'S' if self.role == Role::Request && rights.calls && is_handler(&self.name) => {
                match read(format!("{folder}/syscall")).and_then(|line| doing(&line)) {
                    Some(Doing::Call { untimed_futex: true, .. }) => State::Waits(Sleeper {
                        tid,
                        slices: self.slices(),
                        class: WaitClass::Lock,
                        call: Some(Call { name: "futex".to_owned(), ..Call::default() }),
                        kernel: Vec::new(),
                    }),
                    _ => State::Idle,
                }
            }
            'S' | 'I' => State::Idle,
            _ => State::Unknown,
        }
    }

    fn slices(&self) -> Option<u64> {
        self.schedstat.as_ref().map(|_| self.last.slices)
    }

    fn waits(
        &mut self,
        folder: &str,
        tid: u32,
        rights: Rights,
        descriptors: &mut Descriptors,
    ) -> Option<Sleeper> {
        let kernel = if rights.stacks {
            functions(&read(format!("{folder}/stack"))?)
        } else {
            read(format!("{folder}/wchan")).filter(|symbol| symbol != "0").into_iter().collect()
        };
        // A thread of the kernel is in no call, whatever the file says.
        let in_call = rights.calls && self.role != Role::Kernel;
        let found = if in_call { doing(&read(format!("{folder}/syscall"))?) } else { None };
        let call = match found {
            // It goes on already, and the stack may be of anything.
            Some(Doing::Running) => return None,
            Some(Doing::Fault) => Some(Call { name: "fault".to_owned(), ..Call::default() }),
            Some(Doing::Call { name, descriptor, .. }) => {
                if is_either(&self.name) && self.role == Role::Other {
                    self.role = told_by(name).unwrap_or(self.role);
                }
                let file = descriptor.and_then(|number| descriptors.file(number));
                Some(file.map_or_else(
                    || Call { name: name.to_owned(), ..Call::default() },
                    |known| Call {
                        name: name.to_owned(),
                        path: Some(known.path),
                        file: known.file,
                        active_segment: known.active_segment,
                    },
                ))
            }
            None => None,
        };
        if kernel.is_empty() && call.is_none() {
            return None;
        }
        let class = match (&call, class_of(&kernel)) {
            (Some(call), WaitClass::Other | WaitClass::Page) if call.name == "fault" => WaitClass::Fault,
            (_, class) => class,
        };
        Some(Sleeper { tid, slices: self.slices(), class, call, kernel })
    }

    fn told(self, tid: u32) -> Thread {
        Thread { tid, name: self.name, role: self.role, usage: self.usage }
    }
}

/// Rows of two threads as if they were one's.
fn add_rows(rows: &mut Vec<Usage>, others: &[Usage]) {
    rows.resize(rows.len().max(others.len()), Usage::default());
    for (row, other) in rows.iter_mut().zip(others) {
        row.ran_ms += other.ran_ms;
        row.runnable_ms += other.runnable_ms;
        row.turns += other.turns;
    }
}

/// The state in `/proc/PID/stat`: the word behind the name, which is in parentheses and may hold
/// anything.
#[must_use]
pub fn state(stat: &str) -> Option<char> {
    stat.rsplit_once(") ")?.1.chars().next()
}

/// When a process began, in ticks since the boot: with its number the same process, and no other
/// that has been given the number since.
pub(super) fn began(pid: u32) -> Option<u64> {
    let stat = read(format!("/proc/{pid}/stat"))?;
    nth(stat.rsplit_once(") ")?.1, 19)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_found_behind_any_name() {
        assert_eq!(state("12 (data-pl..dler-0) D 1 2 3"), Some('D'));
        assert_eq!(state("12 (a) R (b) S 1 2"), Some('S'));
        assert_eq!(state(""), None);
    }

    #[test]
    fn threads_are_found_named_and_followed_until_they_end() {
        let pid = std::process::id();
        let mut threads = Threads::of(pid, Rights::of(pid));
        let (stop, told) = std::sync::mpsc::channel::<()>();
        let (begun, begins) = std::sync::mpsc::channel();
        let told = std::sync::Arc::new(std::sync::Mutex::new(told));
        let [scheduler, shard] = ["kafka-scheduler-7", "aplomb-shard-7"].map(|name| {
            let (begun, told) = (begun.clone(), std::sync::Arc::clone(&told));
            let thread = std::thread::Builder::new().name(name.to_owned());
            let thread = thread.spawn(move || {
                begun.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).expect("it is waited for");
                told.lock().expect("nobody panics").recv().expect_err("it is closed");
            });
            (begins.recv().expect("it says its number"), thread.expect("it is started"))
        });
        assert!(threads.find(0));
        threads.look(&mut Descriptors::of(pid));
        threads.row();
        assert_eq!((threads.role(scheduler.0), threads.role(shard.0)), (Role::Disk, Role::Request));
        drop(stop);
        let [scheduler, shard] = [scheduler, shard].map(|(tid, thread)| {
            thread.join().expect("it ends");
            tid
        });
        assert!(threads.find(1));
        threads.row();
        let all = threads.finish();
        let rows_of = |tid: u32| {
            let ours = all.iter().find(|thread| thread.tid == tid).expect("it was seen");
            (ours.name.as_str(), ours.usage.len())
        };
        // The kernel keeps fifteen bytes. Who carried requests keeps the rows that it had.
        assert_eq!((rows_of(scheduler), rows_of(shard)), (("kafka-scheduler", 0), ("aplomb-shard-7", 1)));
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let living = all.iter().find(|thread| thread.tid == own).expect("it runs");
        assert_eq!(living.usage.len(), 2);
        assert!(!Threads::of(u32::MAX, Rights { stacks: false, calls: false }).find(0));
    }

    #[test]
    fn threads_of_the_jvm_that_come_and_go_share_their_rows() {
        let pid = std::process::id();
        let mut threads = Threads::of(pid, Rights::of(pid));
        assert!(threads.find(0));
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let usage = |rows| vec![Usage { ran_ms: 2.0, runnable_ms: 1.0, turns: 3 }; rows];
        for rows in [2, 3, 1] {
            let known = threads.known.get_mut(&own).expect("it runs");
            known.rename("C2 CompilerThre".to_owned(), true);
            known.usage = usage(rows);
            threads.end(own);
            threads.add(pid, own, 0);
        }
        let of_gone = |gone: &Thread| gone.usage.iter().map(|row| row.turns).collect::<Vec<u64>>();
        let rows: Vec<Vec<u64>> = threads.gone.iter().map(of_gone).collect();
        assert_eq!(rows, [vec![9, 6, 3], vec![], vec![]]);
    }

    #[test]
    fn a_process_is_known_by_when_it_began() {
        let ours = began(std::process::id());
        assert!(ours.is_some());
        assert_eq!(ours, began(std::process::id()));
        assert_ne!(ours, began(1));
        assert_eq!(began(u32::MAX), None);
    }
}
