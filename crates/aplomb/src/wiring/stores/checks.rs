//! Stores that a client wants a listener to have while the broker runs: each is read by a thread
//! of its own, so that a disk that stands still keeps nothing else, and kept as it was read until
//! it is decided on.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use aplomb_broker::config::TlsConfig;
use aplomb_broker::store_checks::{MOST_CHECKS, StoreChange, StoreChecks, StoreTask, TlsOfListeners};
use aplomb_server::log::Log;
use aplomb_server::security::OwnerRules;

use super::{Guarded, Made, StoreFault};

/// Looks at stores, and has them used that are decided on.
pub(super) struct Checker {
    all: BTreeMap<Arc<str>, Arc<Guarded>>,
    checks: Arc<StoreChecks>,
    /// Held by who takes a store apart: no more than one processor is taken from shards.
    taking_apart: Mutex<()>,
    /// What was read and can be used, the newest first.
    made: Mutex<VecDeque<(Arc<str>, Made)>>,
    log: Log,
}

impl Checker {
    /// Starts it. It is at work until the process ends.
    pub(super) fn start(
        all: BTreeMap<Arc<str>, Arc<Guarded>>,
        log: Log,
    ) -> io::Result<(Arc<StoreChecks>, Arc<Self>)> {
        let (call, calls) = sync_channel(1);
        // If one call waits already, it will see to this, too.
        let checks = Arc::new(StoreChecks::new(move || {
            let _ = call.try_send(());
        }));
        let (taking_apart, made) = (Mutex::default(), Mutex::default());
        let checker = Arc::new(Self { all, checks: Arc::clone(&checks), taking_apart, made, log });
        let work = Arc::clone(&checker);
        let thread = std::thread::Builder::new().name("aplomb-checks".to_owned());
        thread.spawn(move || work.run(&calls))?;
        Ok((checks, checker))
    }

    fn run(self: &Arc<Self>, calls: &Receiver<()>) {
        while calls.recv().is_ok() {
            while let Some(task) = self.checks.next() {
                match task {
                    StoreTask::PutInForce(all) => self.put_in_force(all),
                    StoreTask::Check(change) => self.begin(change),
                }
            }
        }
    }

    /// There are no more of these threads than checks at a time.
    fn begin(self: &Arc<Self>, change: StoreChange) {
        let (checker, asked) = (Arc::clone(self), change.clone());
        let look = move || checker.checks.tell(&asked, checker.check(&asked));
        let thread = std::thread::Builder::new().name("aplomb-check".to_owned());
        if let Err(error) = thread.spawn(look) {
            self.checks.tell(&change, Err(StoreFault::Thread(error).to_string()));
        }
    }

    fn check(&self, change: &StoreChange) -> Result<(), String> {
        let StoreChange { listener, tls, .. } = change;
        let Some(guarded) = self.all.get(listener) else {
            return Err(format!("there is no listener {listener} with TLS"));
        };
        let in_words = |fault: StoreFault| fault.to_string();
        let read = guarded.read(tls).map_err(in_words)?;
        let one = self.taking_apart.lock().unwrap_or_else(PoisonError::into_inner);
        let made = guarded.prepare(read).map_err(in_words)?;
        drop(one);
        let rules = OwnerRules {
            allows_other_owner: tls.allows_other_owner,
            allows_fewer_names: tls.allows_fewer_names,
        };
        let owner = guarded.gate.check_owner(&made.prepared, rules);
        owner.map_err(|error| StoreFault::Tls { listener: Arc::clone(listener), error }.to_string())?;
        let mut kept = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        kept.truncate(MOST_CHECKS - 1);
        kept.push_front((Arc::clone(listener), made));
        Ok(())
    }

    /// Has stores used that are decided on. What cannot be used was put in force by another
    /// program, or is no longer what it was.
    pub(super) fn put_in_force(&self, all: TlsOfListeners) {
        for (listener, tls) in all {
            let Some(guarded) = self.all.get(&listener) else { continue };
            if guarded.in_use().config == tls {
                continue;
            }
            match self.take_made(&listener, &tls).map_or_else(|| guarded.make(&tls), Ok) {
                Ok(made) => {
                    guarded.install(made);
                    let text = format!(
                        "listener {listener} has other stores; new connections are shown the certificate of {}",
                        guarded.subject()
                    );
                    self.log.info("wiring/stores", text);
                }
                Err(fault) => {
                    self.log.error("wiring/stores", format!("{fault}; what there was before stays in use"));
                }
            }
        }
    }

    /// What was read when it was looked at.
    fn take_made(&self, listener: &Arc<str>, tls: &Arc<TlsConfig>) -> Option<Made> {
        let mut kept = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|(of, made)| of == listener && made.of.config == *tls)?;
        kept.remove(place).map(|(_, made)| made)
    }
}
