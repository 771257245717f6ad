//! A switch that lets a process "die" between any two stores into the arena, for simulation and
//! tests.
//!
//! From the store on at which it trips, everything that would reach the arena is silently dropped,
//! as if the process had been killed there; [`super::Arena::image`] then gives the memory as the
//! next process would find it. A copy counts as one store for every 64 bytes, so it can end in the
//! middle. In production there is no switch.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a copy that count as one store.
const STORE_BYTES: usize = 64;

/// Counts the stores into an arena and drops those from a given one on.
#[derive(Debug)]
pub struct CrashSwitch(Mutex<Fuel>);

#[derive(Debug)]
struct Fuel {
    done: u64,
    last: u64,
    dropped: bool,
}

impl CrashSwitch {
    /// A switch that trips only by [`CrashSwitch::trip`].
    #[must_use]
    pub fn armed() -> Arc<Self> {
        Self::after(u64::MAX)
    }

    /// A switch that lets `stores` stores through.
    #[must_use]
    pub fn after(stores: u64) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Fuel { done: 0, last: stores, dropped: false })))
    }

    /// Drops every store from now on.
    pub fn trip(&self) {
        let mut fuel = self.hold();
        fuel.last = fuel.done;
    }

    /// Lets `stores` more stores through and drops every one after them.
    pub fn trip_after(&self, stores: u64) {
        let mut fuel = self.hold();
        fuel.last = fuel.done.saturating_add(stores);
    }

    /// Whether a store was dropped. As long as none was, everything that returned is in the arena.
    #[must_use]
    pub fn has_dropped(&self) -> bool {
        self.hold().dropped
    }

    /// How many stores reached the arena.
    #[must_use]
    pub fn stores(&self) -> u64 {
        self.hold().done
    }

    /// Carries out one store, or not. No other store happens meanwhile.
    pub(super) fn store(&self, store: impl FnOnce()) {
        let mut fuel = self.hold();
        if fuel.done == fuel.last {
            fuel.dropped = true;
            return;
        }
        fuel.done += 1;
        store();
    }

    /// Carries out a copy of `len` bytes as far as it gets: `copy` is told how many bytes that is.
    pub(super) fn copy(&self, len: usize, copy: impl FnOnce(usize)) {
        let mut fuel = self.hold();
        let wanted = len.div_ceil(STORE_BYTES) as u64;
        let granted = wanted.min(fuel.last - fuel.done);
        fuel.done += granted;
        fuel.dropped |= granted < wanted;
        copy(len.min(granted as usize * STORE_BYTES));
    }

    /// Looks at the arena while no store happens.
    pub(super) fn between_stores<T>(&self, look: impl FnOnce() -> T) -> T {
        let _fuel = self.hold();
        look()
    }

    fn hold(&self) -> MutexGuard<'_, Fuel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
