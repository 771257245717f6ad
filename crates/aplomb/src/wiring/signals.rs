//! The signals that end a broker: the first asks, the second insists.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Waits for the signals that end a broker.
pub(super) struct EndSignals(Signals);

impl EndSignals {
    /// From now on these signals are ours.
    pub(super) fn take() -> std::io::Result<Self> {
        Signals::new([SIGTERM, SIGINT]).map(Self)
    }

    /// Waits for the next one. Gives its name.
    pub(super) fn wait(&mut self) -> &'static str {
        match self.0.forever().next() {
            Some(SIGINT) => "SIGINT",
            _ => "SIGTERM",
        }
    }

    /// A further signal ends the process at once, as if it had been killed: everything acknowledged is in the tail.
    pub(super) fn insist(mut self) -> std::io::Result<()> {
        std::thread::Builder::new().name("aplomb-signals".to_owned()).spawn(move || {
            if let Some(signal) = self.0.forever().next() {
                eprintln!("aplomb: a second signal: ending at once");
                std::process::exit(128 + signal);
            }
        })?;
        Ok(())
    }
}
