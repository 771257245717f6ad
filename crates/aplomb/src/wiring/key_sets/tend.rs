//! The thread of one place: when keys are fetched, and again.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::{park_timeout, sleep};
use std::time::{Duration, Instant, SystemTime};

use aplomb_broker::config::{KeySource, KeyUrl};
use aplomb_broker::sasl::oauth::JwksCache;
use aplomb_server::log::Log;

use super::fetch::{FetchFault, fetch};

/// How often a file is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Two fetches that strangers have caused are so far apart at least, whatever ids they name.
const PAUSE: Duration = Duration::from_secs(1);

/// Looks after the keys of one place.
pub(super) struct Tender {
    source: KeySource,
    cache: Arc<JwksCache>,
    log: Log,
}

impl Tender {
    pub(super) const fn new(source: KeySource, cache: Arc<JwksCache>, log: Log) -> Self {
        Self { source, cache, log }
    }

    /// Until the process ends, or the first fetch fails, of which `first` is told.
    pub(super) fn run(self, first: &SyncSender<Result<(), FetchFault>>) {
        let mut seen = self.look();
        let begun = self.renew();
        let is_there = begun.is_ok();
        // The start has given up otherwise, and ends the process.
        if first.send(begun).is_err() || !is_there {
            return;
        }
        loop {
            if matches!(self.source.url, KeyUrl::File(_)) {
                sleep(LOOK);
                let now = self.look();
                if now == seen {
                    continue;
                }
                seen = now;
            } else {
                self.wait();
            }
            if let Err(fault) = self.renew() {
                let text = format!("{fault}; the keys that there were before stay in use");
                self.log.error("wiring/keys", text);
            }
        }
    }

    /// Until it is time for newer keys, or they are asked for.
    fn wait(&self) {
        let began = Instant::now();
        let due = began.checked_add(self.source.refresh);
        sleep(PAUSE.min(self.source.refresh));
        while !self.cache.take_wish() {
            // A year, where no time is so late.
            let left = due
                .map_or(Duration::from_secs(31_536_000), |due| due.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return;
            }
            park_timeout(left);
        }
    }

    /// Fetches keys, more often than once if that fails, with longer and longer waits between
    /// (`Retry`).
    fn renew(&self) -> Result<(), FetchFault> {
        let until = Instant::now() + self.source.backoff_max.min(Duration::from_secs(86_400));
        let mut wait = self.source.backoff;
        loop {
            let fault = match fetch(&self.source) {
                Ok(keys) => {
                    let (there, unused) = (keys.len(), keys.unused());
                    if *self.cache.keys() != keys {
                        let place = &self.source.url;
                        let text = format!(
                            "{there} keys for tokens from {place}, {unused} more that are of no use here"
                        );
                        self.log.info("wiring/keys", text);
                        self.cache.put(keys);
                    }
                    return Ok(());
                }
                Err(fault) => fault,
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || matches!(self.source.url, KeyUrl::File(_)) {
                return Err(fault);
            }
            sleep(wait.max(Duration::from_millis(1)).min(left));
            wait = wait.saturating_mul(2);
        }
    }

    /// When the file changed last, and how large it is.
    fn look(&self) -> Option<(SystemTime, u64)> {
        let KeyUrl::File(path) = &self.source.url else { return None };
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    }
}
