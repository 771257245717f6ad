//! From looks to waits.
//!
//! What always holds: a thread that has not run between two looks has waited once; one that has,
//! and is found in the same place again, has waited several times. The two are never mixed: reads
//! of 20 ms that looks of 25 ms find again and again are no wait of a second.

use std::collections::HashMap;

use super::threads::Sleeper;
use crate::recording::{FileId, Sighting, Wait, WaitClass};

/// No more waits than this are kept: those that were shortest go first.
const MOST: usize = 200_000;
/// A lock that is waited for in one look only is how every lock looks at times.
const LOOKS_OF_A_LOCK: u64 = 2;

/// Folds looks into waits.
#[derive(Debug)]
pub(super) struct Folder {
    open: HashMap<u32, Open>,
    done: Vec<Wait>,
    dropped: u64,
}

#[derive(Debug)]
struct Open {
    wait: Wait,
    slices: Option<u64>,
}

impl Folder {
    pub(super) fn new() -> Self {
        Self { open: HashMap::new(), done: Vec::new(), dropped: 0 }
    }

    /// One look at all threads, `since` milliseconds after the one before.
    pub(super) fn look(&mut self, at_ms: f64, since_ms: f64, sleepers: &[Sleeper]) {
        let mut before = std::mem::take(&mut self.open);
        let holders = Holders::among(sleepers);
        for sleeper in sleepers {
            let open = match before.remove(&sleeper.tid) {
                Some(mut open) if open.goes_on_with(sleeper) => {
                    open.extend(at_ms + since_ms, sleeper);
                    open
                }
                other => {
                    self.done_with(other, at_ms);
                    Open::new(at_ms, since_ms, sleeper)
                }
            };
            let open = self.open.entry(sleeper.tid).or_insert(open);
            holders.of(sleeper, &mut open.wait);
        }
        for open in before.into_values() {
            self.done_with(Some(open), at_ms);
        }
    }

    /// How many were dropped, and all others in the order of their beginning.
    pub(super) fn finish(mut self, at_ms: f64) -> (u64, Vec<Wait>) {
        for open in std::mem::take(&mut self.open).into_values() {
            self.done_with(Some(open), at_ms);
        }
        self.done.sort_by(|a, b| a.from_ms.total_cmp(&b.from_ms).then_with(|| a.tid.cmp(&b.tid)));
        (self.dropped, self.done)
    }

    fn done_with(&mut self, open: Option<Open>, at_ms: f64) {
        let Some(Open { mut wait, .. }) = open else { return };
        let looks = match wait.sighting {
            Sighting::One { looks } | Sighting::Several { looks } => looks,
            Sighting::Exact | Sighting::Gap => u64::MAX,
        };
        if wait.class == WaitClass::Lock && looks < LOOKS_OF_A_LOCK {
            return;
        }
        // It was over by the look that did not find it.
        wait.to_ms = wait.to_ms.min(at_ms).max(wait.from_ms);
        self.done.push(wait);
        if self.done.len() > MOST {
            let half = MOST / 2;
            self.done.sort_by(|a, b| (b.to_ms - b.from_ms).total_cmp(&(a.to_ms - a.from_ms)));
            self.dropped += (self.done.len() - half) as u64;
            self.done.truncate(half);
        }
    }
}

impl Open {
    fn new(at_ms: f64, since_ms: f64, sleeper: &Sleeper) -> Self {
        let Sleeper { tid, slices, class, call, kernel } = sleeper.clone();
        let wait = Wait {
            tid,
            from_ms: at_ms,
            to_ms: at_ms + since_ms,
            sighting: Sighting::One { looks: 1 },
            class,
            call,
            kernel,
            frames: Vec::new(),
            holders: Vec::new(),
            holders_known: false,
            woken_by: None,
        };
        Self { wait, slices }
    }

    /// Whether a look finds it in the same wait, or in the same place again.
    fn goes_on_with(&self, sleeper: &Sleeper) -> bool {
        let same_place = self.wait.class == sleeper.class && self.wait.kernel == sleeper.kernel;
        let has_not_run = self.slices.is_some() && self.slices == sleeper.slices;
        has_not_run || same_place
    }

    fn extend(&mut self, to_ms: f64, sleeper: &Sleeper) {
        let has_not_run = self.slices.is_some() && self.slices == sleeper.slices;
        self.slices = sleeper.slices;
        self.wait.to_ms = to_ms;
        self.wait.sighting = match self.wait.sighting {
            Sighting::One { looks } if has_not_run => Sighting::One { looks: looks + 1 },
            Sighting::One { looks } | Sighting::Several { looks } => Sighting::Several { looks: looks + 1 },
            other => other,
        };
    }
}

/// Who uses which file in one look, and does not wait for its lock.
struct Holders {
    by_file: HashMap<FileId, Vec<u32>>,
    committing: Vec<u32>,
    syncing: Vec<u32>,
}

impl Holders {
    fn among(sleepers: &[Sleeper]) -> Self {
        let mut holders = Self { by_file: HashMap::new(), committing: Vec::new(), syncing: Vec::new() };
        for sleeper in sleepers {
            let file = sleeper.call.as_ref().and_then(|call| call.file);
            if let Some(file) = file
                && sleeper.class != WaitClass::Inode
            {
                holders.by_file.entry(file).or_default().push(sleeper.tid);
            }
            if sleeper.kernel.iter().any(|frame| frame.starts_with("jbd2_journal_commit_transaction")) {
                holders.committing.push(sleeper.tid);
            } else if sleeper.class == WaitClass::Sync {
                holders.syncing.push(sleeper.tid);
            }
        }
        holders
    }

    fn of(&self, sleeper: &Sleeper, wait: &mut Wait) {
        let (found, known) = match sleeper.class {
            WaitClass::Inode => {
                let file = sleeper.call.as_ref().and_then(|call| call.file);
                (file.and_then(|file| self.by_file.get(&file)), true)
            }
            WaitClass::Journal => (Some(&self.committing), true),
            // A thread that syncs a file holds locks of its program meanwhile, or not.
            WaitClass::Lock => (Some(&self.syncing), false),
            _ => (None, false),
        };
        let Some(found) = found else { return };
        for tid in found.iter().filter(|tid| **tid != sleeper.tid) {
            if !wait.holders.contains(tid) {
                wait.holders.push(*tid);
                wait.holders_known = known;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Call;

    const FILE: FileId = FileId { device: 1, inode: 2 };

    fn sleeper(tid: u32, slices: u64, class: WaitClass) -> Sleeper {
        let call = Call { name: "pwrite64".to_owned(), file: Some(FILE), ..Call::default() };
        Sleeper { tid, slices: Some(slices), class, call: Some(call), kernel: vec![format!("{class:?}")] }
    }

    fn folded(looks: &[&[Sleeper]]) -> Vec<Wait> {
        let mut folder = Folder::new();
        for (number, look) in looks.iter().enumerate() {
            folder.look(number as f64 * 50.0, 50.0, look);
        }
        folder.finish(looks.len() as f64 * 50.0).1
    }

    #[test]
    fn a_thread_that_has_not_run_has_waited_once() {
        let one = sleeper(1, 7, WaitClass::Page);
        let once = std::slice::from_ref(&one);
        let waits = folded(&[once, once, once, &[]]);
        assert_eq!(waits.len(), 1);
        assert_eq!((waits[0].from_ms, waits[0].to_ms), (0.0, 150.0));
        assert_eq!(waits[0].sighting, Sighting::One { looks: 3 });
    }

    #[test]
    fn a_thread_that_ran_in_between_has_waited_several_times() {
        let at = |slices| [sleeper(1, slices, WaitClass::Page)];
        let waits = folded(&[&at(7), &at(9), &at(9), &[], &at(12)]);
        assert_eq!(waits[0].sighting, Sighting::Several { looks: 3 });
        assert_eq!(waits.len(), 2);
        let other = [sleeper(1, 9, WaitClass::Sync)];
        assert_eq!(folded(&[&at(7), &other]).len(), 2, "another place is another wait");
    }

    #[test]
    fn who_uses_the_file_holds_its_lock_and_a_fellow_does_not() {
        let reader = sleeper(3, 1, WaitClass::Page);
        let look = [sleeper(1, 1, WaitClass::Inode), sleeper(2, 1, WaitClass::Inode), reader];
        let waits = folded(&[&look, &look]);
        let of = |tid: u32| waits.iter().find(|wait| wait.tid == tid).expect("it waits");
        assert_eq!((of(1).holders.as_slice(), of(1).holders_known), ([3].as_slice(), true));
        assert_eq!(of(2).holders, [3]);
        assert_eq!(of(3).holders, [0; 0]);
    }

    #[test]
    fn a_lock_that_is_seen_once_is_none() {
        let lock = [sleeper(1, 1, WaitClass::Lock)];
        assert_eq!(folded(&[&lock, &[]]).len(), 0);
        assert_eq!(folded(&[&lock, &lock]).len(), 1);
    }
}
