//! How far the broker is, and whether its loops turn: `/readyz`, `/healthz`, and the `BrokerState`
//! of Kafka's dashboards.
//!
//! What always holds: a start says here how far it is, at the cost of an atomic store, and never
//! waits for a reader.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aplomb_model::Instant;

use super::Page;
use crate::figures::LoopFigures;

/// A loop that has not ended a turn for so long is stuck: when idle it turns every second.
const STUCK: Duration = Duration::from_secs(10);

/// What the broker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Directories are locked, listeners bound.
    Starting,
    /// What an earlier process had only in memory is written to the files, and the metadata log is
    /// read.
    Restoring,
    /// Partitions are loaded.
    Recovering,
    /// Clients are served.
    Ready,
    /// What is under way is being finished.
    Stopping,
}

/// How far the broker is. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    phase: AtomicU8,
    loaded: AtomicUsize,
    partitions: AtomicUsize,
    loops: Mutex<Vec<Arc<LoopFigures>>>,
    /// Why an operator should look at a broker that serves.
    trouble: Mutex<Option<String>>,
}

impl Health {
    /// The broker enters a phase.
    pub fn enter(&self, phase: Phase) {
        self.0.phase.store(phase as u8, Ordering::Release);
    }

    /// `partitions` are to be loaded.
    pub fn begin_recovery(&self, partitions: usize) {
        self.0.partitions.store(partitions, Ordering::Release);
        self.enter(Phase::Recovering);
    }

    /// So many partitions are loaded.
    pub fn loaded(&self, partitions: usize) {
        self.0.loaded.store(partitions, Ordering::Relaxed);
    }

    /// The broker serves, and does not keep all that it promises: a sentence that says what; `None`
    /// when all is well again.
    pub fn set_trouble(&self, trouble: Option<String>) {
        *self.0.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    /// These loops have to turn from now on.
    pub(crate) fn watch(&self, loops: Vec<Arc<LoopFigures>>) {
        *self.0.loops.lock().unwrap_or_else(PoisonError::into_inner) = loops;
    }

    /// What the broker is doing.
    #[must_use]
    pub fn phase(&self) -> Phase {
        const PHASES: [Phase; 5] =
            [Phase::Starting, Phase::Restoring, Phase::Recovering, Phase::Ready, Phase::Stopping];
        PHASES[usize::from(self.0.phase.load(Ordering::Acquire))]
    }

    /// Partitions that are loaded, and all that there are to load.
    fn progress(&self) -> (usize, usize) {
        (self.0.loaded.load(Ordering::Relaxed), self.0.partitions.load(Ordering::Acquire))
    }

    /// Whether clients are served, and a line that says how far it is otherwise.
    pub(crate) fn readiness(&self, now: Instant) -> Result<String, String> {
        match self.phase() {
            Phase::Starting => Err("starting".to_owned()),
            Phase::Restoring => Err("restoring: reading back what an earlier process left".to_owned()),
            Phase::Recovering => {
                let (loaded, partitions) = self.progress();
                Err(format!("recovering: {loaded} of {partitions} partitions"))
            }
            Phase::Ready => {
                self.liveness(now)?;
                let trouble = self.0.trouble.lock().unwrap_or_else(PoisonError::into_inner);
                trouble.clone().map_or(Ok("ready".to_owned()), Err)
            }
            Phase::Stopping => Err("stopping".to_owned()),
        }
    }

    /// Whether the process is of use or has to be started again: all loops turn.
    pub(crate) fn liveness(&self, now: Instant) -> Result<String, String> {
        // Loops end one after the other when the broker stops.
        if self.phase() == Phase::Stopping {
            return Ok("stopping".to_owned());
        }
        let loops = self.0.loops.lock().unwrap_or_else(PoisonError::into_inner);
        for (n, figures) in loops.iter().enumerate() {
            let still = figures.last_turn().map(|at| now.since(at)).filter(|still| *still >= STUCK);
            if let Some(still) = still {
                return Err(format!("shard {n} has not turned for {} s", still.as_secs()));
            }
        }
        Ok("alive".to_owned())
    }

    /// Puts phase and progress on the page.
    pub fn put_on(&self, page: &mut Page) {
        // The numbers of Apache Kafka's `BrokerState`.
        let state = match self.phase() {
            Phase::Starting => 1.0,
            Phase::Restoring | Phase::Recovering => 2.0,
            Phase::Ready => 3.0,
            Phase::Stopping => 7.0,
        };
        let help = "1 starting, 2 recovering, 3 running, 7 stopping.";
        page.gauge("kafka_server_kafkaserver_brokerstate", help, &[], state);
        let (loaded, partitions) = self.progress();
        let help = "Partitions that this start had to load.";
        page.gauge("aplomb_recovery_partitions", help, &[], partitions as f64);
        let help = "Partitions that this start has loaded.";
        page.gauge("aplomb_recovery_partitions_loaded", help, &[], loaded as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_tells_how_far_recovery_is() {
        let health = Health::default();
        let at = Instant::from_nanos(1 << 40);
        assert_eq!(health.readiness(at), Err("starting".to_owned()));
        health.enter(Phase::Restoring);
        assert!(health.readiness(at).is_err());
        health.begin_recovery(1000);
        health.loaded(412);
        assert_eq!(health.readiness(at), Err("recovering: 412 of 1000 partitions".to_owned()));
        assert_eq!(health.liveness(at), Ok("alive".to_owned()));
        health.enter(Phase::Ready);
        assert_eq!(health.readiness(at), Ok("ready".to_owned()));
        health.enter(Phase::Stopping);
        assert_eq!(health.readiness(at), Err("stopping".to_owned()));
    }

    #[test]
    fn trouble_is_a_matter_of_readiness_and_not_of_life() {
        let health = Health::default();
        let at = Instant::from_nanos(1 << 40);
        health.set_trouble(Some("the tail is gone".to_owned()));
        assert_eq!(health.readiness(at), Err("starting".to_owned()));
        health.enter(Phase::Ready);
        assert_eq!(health.readiness(at), Err("the tail is gone".to_owned()));
        assert_eq!(health.liveness(at), Ok("alive".to_owned()));
        health.set_trouble(None);
        assert_eq!(health.readiness(at), Ok("ready".to_owned()));
    }

    #[test]
    fn a_loop_that_stands_still_is_told() {
        let health = Health::default();
        health.enter(Phase::Ready);
        let stats = Arc::new(LoopFigures::new(std::iter::empty()));
        health.watch(vec![Arc::clone(&stats)]);
        let at = Instant::from_nanos(1 << 40);
        assert!(health.readiness(at).is_ok(), "it has not begun to turn");
        stats.on_turn(at, at, false);
        assert!(health.readiness(at + Duration::from_secs(9)).is_ok());
        let said = health.liveness(at + Duration::from_secs(12));
        assert_eq!(said, Err("shard 0 has not turned for 12 s".to_owned()));
        assert_eq!(health.readiness(at + Duration::from_secs(12)), said);
    }
}
