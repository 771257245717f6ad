//! Watches over the tail's file while the broker runs: its name is all that the next process finds
//! it by, and others can delete, cut or overwrite it.
//!
//! What always holds: a thread of its own looks, and says what it sees in the log, at `/readyz` and
//! on the metrics page. A file that has lost its name is followed by a new one. The memory itself
//! stays until no log has anything in it that its disk lacks, so that a clean stop loses nothing,
//! whatever became of the name.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aplomb_disk::memory::FileState;
use aplomb_log::tail::Arena;
use aplomb_model::Instant;
use aplomb_server::clock;
use aplomb_server::log::Log;
use aplomb_server::metrics::{Health, Metrics, Phase};

use super::tail::Tail;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(2);

/// How often the log repeats what has not changed.
const SAID_AGAIN: Duration = Duration::from_secs(60);

/// What killing the broker costs now, and what does not.
const ADVICE: &str = "what is acknowledged now does not survive the broker if it is killed; a clean stop (SIGTERM) loses nothing";

/// The tail's file, watched.
struct TailWatch {
    tail: Arc<Tail>,
    /// An arena whose file has lost its name.
    before: Option<Arc<Arena>>,
    is_lost: Arc<AtomicBool>,
    said: Option<Instant>,
    health: Health,
    log: Log,
}

/// Watches, on a thread of its own, until the broker stops.
pub(super) fn watch(tail: Arc<Tail>, metrics: &Metrics, health: &Health, log: &Log) -> std::io::Result<()> {
    if tail.path.is_none() {
        return Ok(());
    }
    let is_lost = Arc::new(AtomicBool::new(false));
    let shown = Arc::clone(&is_lost);
    metrics.add(move |page| {
        let help = "1: what is acknowledged does not survive the process, since the tail's file was deleted or overwritten.";
        page.gauge("aplomb_tail_file_lost", help, &[], f64::from(u8::from(shown.load(Ordering::Relaxed))));
    });
    let (health, log) = (health.clone(), log.clone());
    let mut watch = TailWatch { tail, before: None, is_lost, said: None, health, log };
    let work = move || {
        // A clean stop removes the file.
        while watch.health.phase() != Phase::Stopping {
            watch.look(clock::instant());
            std::thread::sleep(LOOK);
        }
    };
    std::thread::Builder::new().name("aplomb-tail-watch".to_owned()).spawn(work).map(drop)
}

impl TailWatch {
    fn look(&mut self, now: Instant) {
        let trouble = self.trouble().map(|what| format!("{what}; {ADVICE}"));
        self.is_lost.store(trouble.is_some(), Ordering::Relaxed);
        match &trouble {
            Some(what) if self.said.is_none_or(|at| now.since(at) >= SAID_AGAIN) => {
                self.said = Some(now);
                self.log.error("wiring/tail", what.clone());
            }
            None if self.said.take().is_some() => {
                self.log
                    .info("wiring/tail", "the tail is whole again: what is acknowledged survives the broker");
            }
            Some(_) | None => {}
        }
        self.health.set_trouble(trouble);
    }

    /// What is wrong with the file, after what could be done about it.
    fn trouble(&mut self) -> Option<String> {
        if self.before.is_some() {
            self.tail.shares.iter().for_each(|share| share.exchange_free());
        }
        // Its memory goes with the last holder, which should be no request's thread.
        self.before.take_if(|before| Arc::strong_count(before) == 1);
        let path = self.tail.path.clone()?;
        let name = path.display();
        match self.tail.mapped().state() {
            Ok(FileState::Whole) if !self.tail.shares[0].arena().is_sealed() => {
                Some(format!("the tail's file {name} was overwritten: start the broker again"))
            }
            Ok(FileState::Whole) => {
                let waiting = self.before.as_ref().map_or(0, |before| before.waiting());
                (waiting > 0).then(|| {
                    format!("the tail's file was deleted, and {waiting} bytes of it are on no disk yet")
                })
            }
            Ok(FileState::Unnamed) => {
                let what = format!(
                    "the tail's file {name} is gone: it was deleted (systemd-logind does so when a user logs out, unless RemoveIPC=no) or replaced"
                );
                Some(format!("{what}; {}", self.go_on_in_a_new_file(&path)))
            }
            Ok(FileState::Cut { len }) => Some(format!(
                "the tail's file {name} was cut to {len} bytes, and the broker ends when it needs what was behind: start it again"
            )),
            Err(error) => Some(format!("the tail's file {name} cannot be looked at: {error}")),
        }
    }

    /// Says what came of it.
    fn go_on_in_a_new_file(&mut self, path: &std::path::Path) -> String {
        if self.before.is_some() {
            return "a new one is made when what was in the one before is on the disks".to_owned();
        }
        if path.exists() {
            return "another file has its name, so that there is no new one: start the broker again"
                .to_owned();
        }
        match self.tail.renew(path) {
            Ok(before) => {
                self.before = Some(before);
                "a new one is in its place, and what was in the old one goes to the disks".to_owned()
            }
            Err(error) => format!("and there is no new one: {error}"),
        }
    }
}
