//! A thread for each listener, which sees when the files of its stores change.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use aplomb_server::log::Log;

use super::files::look;
use super::{Guarded, InUse};

/// How often files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Starts it. It is at work until the process ends.
pub(super) fn start(guarded: Arc<Guarded>, log: Log) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("aplomb-stores".to_owned());
    let watch = move || {
        loop {
            std::thread::sleep(LOOK);
            look_after(&guarded, &log);
        }
    };
    thread.spawn(watch).map(drop)
}

fn look_after(guarded: &Guarded, log: &Log) {
    let InUse { config, seen } = guarded.in_use();
    let found = look(&config);
    if found == seen {
        return;
    }
    match guarded.make(&config) {
        Ok(made) => {
            if guarded.renew(made) {
                let text = format!(
                    "listener {}: its stores have changed; new connections are shown the certificate of {}",
                    guarded.listener,
                    guarded.subject()
                );
                log.info("wiring/stores", text);
            }
        }
        Err(fault) => {
            guarded.pass_over(&config, found);
            log.error("wiring/stores", format!("{fault}; what there was before stays in use"));
        }
    }
}
