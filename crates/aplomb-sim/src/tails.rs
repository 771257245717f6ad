//! Tails that go: their file is deleted, overwritten, zeroed or cut while a process runs, and must
//! be missed.
//!
//! What must hold: a look at the file says what is wrong with it, and once a look finds nothing
//! wrong, a kill loses nothing. Before that a kill loses what was acknowledged from memory, and
//! neither what was synced nor a word: the next start says that the tail was not there.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::ports::Severity;
use aplomb_broker::tail_watch::{FileState, Look, TailWatch, WatchedTail};
use aplomb_log::tail::{Arena, ArenaMemory, CrashSwitch, TailShare, renew_shares};

use super::harm::{Harm, TailFault};
use super::machine::{Held, Machine};
use super::world::World;

/// A process's tail.
pub(crate) struct SimTail {
    shares: Vec<Arc<TailShare>>,
    machine: Machine,
    file: RefCell<Held>,
    size: usize,
    switch: Arc<CrashSwitch>,
    /// What is left of the file, in bytes.
    cut: Cell<Option<usize>>,
    is_zeroed: Cell<bool>,
}

impl SimTail {
    pub(crate) fn new(
        shares: Vec<Arc<TailShare>>,
        machine: Machine,
        file: Held,
        size: usize,
        switch: Arc<CrashSwitch>,
    ) -> Self {
        let (cut, is_zeroed) = (Cell::new(None), Cell::new(false));
        Self { shares, machine, file: RefCell::new(file), size, switch, cut, is_zeroed }
    }

    fn suffer(&self, harm: Harm) {
        match harm {
            Harm::Deleted => self.file.borrow().unname(),
            Harm::Overwritten => self.shares[0].arena().overwrite_beginning(),
            Harm::Zeroed => self.is_zeroed.set(true),
            Harm::Cut { thousandths } => {
                let left = self.size as u64 * thousandths / 1000;
                self.cut.set(Some((left as usize).max(4096)));
            }
        }
    }

    /// The process ends. `needed`: the next one has to read back what is in memory.
    pub(crate) fn leave(&self, needed: bool) {
        let file = self.file.borrow();
        if !needed {
            return file.unname();
        }
        let image = self.shares[0].arena().image().expect("an arena with a switch has an image");
        file.leave(match self.cut.get() {
            Some(len) => ArenaMemory::copy_of(&image.as_slice()[..len]),
            None if self.is_zeroed.get() => ArenaMemory::heap(self.size),
            None => image,
        });
    }
}

impl WatchedTail for SimTail {
    type Failure = &'static str;

    fn name(&self) -> String {
        self.file.borrow().path().display().to_string()
    }

    fn shares(&self) -> &[Arc<TailShare>] {
        &self.shares
    }

    fn state(&self) -> io::Result<FileState> {
        Ok(match self.cut.get() {
            Some(len) => FileState::Cut { len: len as u64 },
            None if self.file.borrow().is_named() => FileState::Whole,
            None => FileState::Unnamed,
        })
    }

    fn is_name_taken(&self) -> bool {
        use aplomb_broker::startup::TailFiles as _;
        self.machine.exists(self.file.borrow().path())
    }

    fn give_up_name(&self) -> Result<(), &'static str> {
        self.file.borrow().unname();
        Ok(())
    }

    fn renew(&self) -> Result<Arc<Arena>, &'static str> {
        let path = self.file.borrow().path().to_owned();
        *self.file.borrow_mut() = self.machine.make(&path, self.size);
        Ok(renew_shares(&self.shares, ArenaMemory::heap(self.size), Some(self.switch.clone())))
    }
}

/// What has become of the tail, as far as it can be known from outside.
#[derive(Default)]
pub(crate) struct Tails {
    watch: TailWatch,
    /// Something happened to the file, and no look has found it well since.
    is_harmed: bool,
    /// The process has seen that, and has said so.
    is_seen: bool,
    /// What a process had in memory is gone: the next start has to say so.
    is_missing: bool,
    is_cut: bool,
    /// Tails that processes have left cut: they cannot be read, and an operator has to give them
    /// up.
    unreadable: BTreeSet<PathBuf>,
    /// How often the process looks.
    again: Duration,
}

impl Tails {
    /// Something happens to the tail's file of the process; false if something has happened to it
    /// already.
    pub(crate) fn strike(&mut self, fault: &TailFault, tail: &SimTail, world: &mut World) -> bool {
        if self.is_harmed {
            return false;
        }
        world.say(|| format!("  the tail's file {}: {:?}", tail.name(), fault.harm));
        tail.suffer(fault.harm);
        (self.is_harmed, self.is_seen, self.again) = (true, false, fault.again);
        self.is_cut = matches!(fault.harm, Harm::Cut { .. });
        true
    }

    /// The process looks at its tail's file. When it looks again, if it has to.
    pub(crate) fn look(&mut self, tail: &SimTail, world: &mut World) -> Option<Duration> {
        let Look { trouble, line } = self.watch.look(tail, world.now());
        world.note("tail looked at", &[u64::from(trouble.is_some())]);
        if let Some((severity, text)) = &line {
            world.say(|| format!("wiring/tail: {severity:?}: {text}"));
        }
        if self.is_harmed && !self.is_seen {
            let is_said = matches!(&line, Some((Severity::Error, _)));
            if trouble.is_none() || !is_said {
                world.oracle.violated(format!("the tail's file is harmed, and a look finds {trouble:?}"));
            }
            self.is_seen = true;
        }
        if trouble.is_none() && !self.is_cut {
            self.is_harmed = false;
        }
        self.is_harmed.then_some(self.again)
    }

    /// A process has begun.
    pub(crate) fn begin(&mut self) {
        (self.watch, self.is_harmed, self.is_seen, self.is_cut) = Default::default();
    }

    /// The process ends, and what it leaves in memory is `needed`, or not. Whether that is gone.
    pub(crate) fn end(&mut self, tail: &SimTail, needed: bool) -> bool {
        let is_there = tail.file.borrow().is_named() && tail.shares[0].arena().is_sealed();
        tail.leave(needed);
        if needed && is_there && self.is_cut {
            self.unreadable.insert(tail.file.borrow().path().to_owned());
        }
        let is_lost = needed && self.is_harmed;
        let owes = tail.shares.iter().any(|share| share.stats().waiting > 0);
        self.is_missing |= is_lost && owes && (!is_there || self.is_cut || tail.is_zeroed.get());
        is_lost
    }

    /// The power is gone, and memory is expected to be.
    pub(crate) fn power_is_gone(&mut self) {
        *self = Self::default();
    }

    /// A start has said something.
    pub(crate) fn hear(&mut self, severity: Severity, text: &str) {
        if severity == Severity::Error && (text.contains(" is gone, ") || text.contains(" is blank: ")) {
            self.is_missing = false;
        }
    }

    /// Whether a start was right not to read a tail. An operator gives it up then.
    pub(crate) fn give_up_what_is_cut(&mut self, machine: &Machine) -> bool {
        let unreadable = std::mem::take(&mut self.unreadable);
        unreadable.iter().for_each(|path| machine.delete(path));
        !unreadable.is_empty()
    }

    /// A start with all its disks has come to its end: what was missing must have been said.
    pub(crate) fn check_told(&self, world: &mut World) {
        if self.is_missing {
            world.oracle.violated("the tail was not there, and the start has not said so");
        }
    }
}
