//! The signals that end a broker: the first asks, the second insists.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Waits for the signals that end a broker.
pub(super) struct EndSignals {
    signals: Signals,
    /// One that has come already.
    first: Option<i32>,
}

impl EndSignals {
    /// From now on these signals are ours.
    pub(super) fn take() -> std::io::Result<Self> {
        Ok(Self { signals: Signals::new([SIGTERM, SIGINT])?, first: None })
    }

    /// Whether one has come. [`Self::wait`] gives it.
    pub(super) fn has_come(&mut self) -> bool {
        self.first = self.first.or_else(|| self.signals.pending().next());
        self.first.is_some()
    }

    /// Waits for the first one. Gives its name.
    pub(super) fn wait(&mut self) -> &'static str {
        match self.first.or_else(|| self.signals.forever().next()) {
            Some(SIGINT) => "SIGINT",
            _ => "SIGTERM",
        }
    }

    /// A further signal ends the process at once, as if it had been killed: everything acknowledged
    /// is in the tail.
    pub(super) fn insist(mut self) -> std::io::Result<()> {
        std::thread::Builder::new().name("aplomb-signals".to_owned()).spawn(move || {
            if let Some(signal) = self.signals.forever().next() {
                eprintln!("aplomb: a second signal: ending at once");
                std::process::exit(128 + signal);
            }
        })?;
        Ok(())
    }
}
