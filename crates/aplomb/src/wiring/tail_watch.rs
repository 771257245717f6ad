//! Has the tail's file looked at while the broker runs ([`aplomb_broker::tail_watch`]), by a thread
//! of its own, which says what it sees in the log, at `/readyz` and on the metrics page.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aplomb_broker::ports::Event;
use aplomb_broker::tail_watch::{FileState, Look, TailWatch, WatchedTail};
use aplomb_disk::memory::{self, MemoryError};
use aplomb_log::tail::{Arena, TailShare};
use aplomb_server::clock;
use aplomb_server::log::Log;
use aplomb_server::metrics::{Health, Metrics, Phase};

use super::tail::Tail;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(2);

/// Watches until the broker stops.
pub(super) fn watch(tail: Arc<Tail>, metrics: &Metrics, health: &Health, log: &Log) -> io::Result<()> {
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
    let mut watch = TailWatch::default();
    let work = move || {
        // A clean stop removes the file.
        while health.phase() != Phase::Stopping {
            let Look { trouble, line } = watch.look(&*tail, clock::instant());
            is_lost.store(trouble.is_some(), Ordering::Relaxed);
            if let Some((severity, text)) = line {
                log.event(clock::wall(), Event { severity, room: "wiring/tail", text });
            }
            health.set_trouble(trouble);
            std::thread::sleep(LOOK);
        }
    };
    std::thread::Builder::new().name("aplomb-tail-watch".to_owned()).spawn(work).map(drop)
}

impl WatchedTail for Tail {
    type Failure = MemoryError;

    fn name(&self) -> String {
        self.path.as_ref().map_or_else(String::new, |path| path.display().to_string())
    }

    fn shares(&self) -> &[Arc<TailShare>] {
        &self.shares
    }

    fn state(&self) -> io::Result<FileState> {
        self.mapped().state().map(|state| match state {
            memory::FileState::Whole => FileState::Whole,
            memory::FileState::Unnamed => FileState::Unnamed,
            memory::FileState::Cut { len } => FileState::Cut { len },
        })
    }

    fn is_name_taken(&self) -> bool {
        self.path.as_ref().is_some_and(|path| path.exists())
    }

    fn give_up_name(&self) -> Result<(), MemoryError> {
        self.mapped().unlink()
    }

    fn renew(&self) -> Result<Arc<Arena>, MemoryError> {
        self.path
            .as_ref()
            .map_or_else(|| panic!("a tail without a file is not watched"), |path| Self::renew(self, path))
    }
}
