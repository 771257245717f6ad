//! Watches over the tail's file while the broker runs: its name is all that the next process finds
//! it by, and others can delete, cut or overwrite it.
//!
//! What always holds: a file that has lost its name, or its beginning, is followed by a new one.
//! The memory itself stays until no log has anything in it that its disk lacks, so that a clean
//! stop loses nothing, whatever became of the name.

use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use aplomb_log::tail::{Arena, TailShare};
use aplomb_model::Instant;

use crate::ports::Severity;

/// How often the log repeats what has not changed.
const SAID_AGAIN: Duration = Duration::from_secs(60);

/// What killing the broker costs now, and what does not.
const ADVICE: &str = "what is acknowledged now does not survive the broker if it is killed; a clean stop (SIGTERM) loses nothing";

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// A later process will find the memory by its name.
    Whole,
    /// The name is gone, or leads to another file.
    Unnamed,
    /// It was cut to this length. Touching what was behind ends the process.
    Cut {
        /// In bytes.
        len: u64,
    },
}

/// A tail in a file.
pub trait WatchedTail {
    /// Why there is no new file.
    type Failure: Display;

    /// The file's name, for messages.
    fn name(&self) -> String;

    /// The log directories' shares of the tail.
    fn shares(&self) -> &[Arc<TailShare>];

    /// What became of the file.
    ///
    /// # Errors
    /// When it cannot be looked at.
    fn state(&self) -> io::Result<FileState>;

    /// Whether any file has its name.
    fn is_name_taken(&self) -> bool;

    /// Takes the name from the file, which has it.
    ///
    /// # Errors
    /// When that cannot be done.
    fn give_up_name(&self) -> Result<(), Self::Failure>;

    /// Goes on in a new file of the same name ([`aplomb_log::tail::renew_shares`]). Gives the arena
    /// before.
    ///
    /// # Errors
    /// When there is no memory for it.
    fn renew(&self) -> Result<Arc<Arena>, Self::Failure>;
}

/// What a look has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// What is wrong with the file, and what that means.
    pub trouble: Option<String>,
    /// A line for the log.
    pub line: Option<(Severity, String)>,
}

/// The tail's file, watched. To be asked every few seconds.
#[derive(Debug, Default)]
pub struct TailWatch {
    /// An arena whose file has lost its name.
    before: Option<Arc<Arena>>,
    said: Option<Instant>,
}

impl TailWatch {
    /// Looks at the file, and does about it what can be done.
    pub fn look<T: WatchedTail>(&mut self, tail: &T, now: Instant) -> Look {
        let trouble = self.trouble(tail).map(|what| format!("{what}; {ADVICE}"));
        let line = match &trouble {
            Some(what) if self.said.is_none_or(|at| now.since(at) >= SAID_AGAIN) => {
                self.said = Some(now);
                Some((Severity::Error, what.clone()))
            }
            None if self.said.take().is_some() => {
                let text = "the tail is whole again: what is acknowledged survives the broker";
                Some((Severity::Info, text.to_owned()))
            }
            Some(_) | None => None,
        };
        Look { trouble, line }
    }

    /// What is wrong with the file, after what could be done about it.
    fn trouble<T: WatchedTail>(&mut self, tail: &T) -> Option<String> {
        if self.before.is_some() {
            tail.shares().iter().for_each(|share| share.exchange_free());
        }
        // Its memory goes with the last holder, which should be no request's thread.
        self.before.take_if(|before| Arc::strong_count(before) == 1);
        let name = tail.name();
        match tail.state() {
            Ok(FileState::Whole) if !tail.shares()[0].arena().is_sealed() => {
                let what = format!("the tail's file {name} was overwritten");
                Some(format!("{what}; {}", self.go_on_without(tail)))
            }
            Ok(FileState::Whole) => self.left_behind(),
            Ok(FileState::Unnamed) => {
                let what = format!(
                    "the tail's file {name} is gone: it was deleted (systemd-logind does so when a user logs out, unless RemoveIPC=no) or replaced"
                );
                Some(format!("{what}; {}", self.go_on_in_a_new_file(tail)))
            }
            Ok(FileState::Cut { len }) => Some(format!(
                "the tail's file {name} was cut to {len} bytes, and the broker ends when it needs what was behind: start it again"
            )),
            Err(error) => Some(format!("the tail's file {name} cannot be looked at: {error}")),
        }
    }

    /// What the arena before has that no disk has.
    fn left_behind(&self) -> Option<String> {
        let before = self.before.as_ref()?;
        if !before.is_sealed() {
            // What it says of itself is not to be believed.
            return Some(
                "the tail's file was overwritten, and what was in it may be on no disk yet".to_owned(),
            );
        }
        let waiting = before.waiting();
        (waiting > 0)
            .then(|| format!("the tail's file was deleted, and {waiting} bytes of it are on no disk yet"))
    }

    /// The file has its name, and the next process could not read it. Says what came of it.
    fn go_on_without<T: WatchedTail>(&mut self, tail: &T) -> String {
        if self.before.is_some() {
            return "a new one is made when what was in the one before is on the disks".to_owned();
        }
        match tail.give_up_name() {
            Ok(()) => self.go_on_in_a_new_file(tail),
            Err(error) => format!("and it cannot be deleted, so that there is no new one: {error}"),
        }
    }

    /// Says what came of it.
    fn go_on_in_a_new_file<T: WatchedTail>(&mut self, tail: &T) -> String {
        if self.before.is_some() {
            return "a new one is made when what was in the one before is on the disks".to_owned();
        }
        if tail.is_name_taken() {
            return "another file has its name, so that there is no new one: start the broker again"
                .to_owned();
        }
        match tail.renew() {
            Ok(before) => {
                self.before = Some(before);
                "a new one is in its place, and what was in the old one goes to the disks".to_owned()
            }
            Err(error) => format!("and there is no new one: {error}"),
        }
    }
}
