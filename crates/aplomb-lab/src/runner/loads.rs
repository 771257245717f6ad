//! The loads of a run: one that is counted, and, where a log directory is to be lost or crowded,
//! one beside it to the partitions of that directory.
//!
//! What always holds: the figures of a run are those of the counted one alone.

use std::time::{Duration, Instant};

use aplomb_bench::Report;

use super::scene::{Scene, SceneError};
use super::{Plan, Trouble, own};
use crate::incidents::{Aim, Incident, LOAD};
use crate::record::{Counted, Others};
use crate::standing::Standing;
use crate::workload::load::{DRAIN, Load, RunningLoad};
use crate::workload::placement::place;
use crate::workload::{WorkloadError, new_topic};

/// Connections of producers.
const CONNECTIONS: usize = 6;
/// Partitions of the load's topic.
const PARTITIONS: i32 = 8;
/// Bytes of an ordinary record.
const RECORD: usize = 1024;
/// What an ordinary producer holds.
const BUFFER: usize = 64 << 20;
/// Producers that crowd a directory, with batches nearly as large as a topic takes.
const CROWD: usize = 80;
const LARGE: usize = 1_000_000;
/// Of all of the crowd together, a second.
const LARGE_RATE: u64 = 40;
/// Five requests on their way and one that waits for its turn.
const LARGE_BUFFER: usize = 6 * LARGE;
/// How long answers are waited for at the end from a broker that was killed: it may still be on its
/// way back.
const UNTIL_IT_IS_BACK: Duration = Duration::from_secs(60);
/// How long answers are waited for that are not counted, and will not come.
const NOT_LONG: Duration = Duration::from_secs(1);

/// What runs.
pub(super) struct Loads {
    counted: RunningLoad,
    beside: Option<Beside>,
}

/// The load to the directory that is disturbed, and the partitions of the other.
struct Beside {
    running: RunningLoad,
    counted: Vec<usize>,
}

/// What came of it.
pub(super) struct Outcome {
    /// Of the counted load.
    pub(super) report: Report,
    /// Whose that was, if it was not everybody's.
    pub(super) counted: Option<Counted>,
}

impl Loads {
    pub(super) fn start(incident: &Incident, plan: Plan, scene: &Scene) -> Result<Self, Trouble> {
        let address = scene.broker.address();
        let whole = Load {
            topic: LOAD.to_owned(),
            partitions: PARTITIONS,
            configs: own(incident.configs),
            keys: incident.keys,
            rate: plan.rate,
            record_size: RECORD,
            buffer: BUFFER,
            connections: CONNECTIONS,
            warm_up: plan.warm_up,
            duration: plan.length(),
            only: None,
            consumed: true,
            drain: if incident.aim == Aim::Recovery { UNTIL_IT_IS_BACK } else { DRAIN },
            ledger: incident.aim == Aim::Recovery,
            standing: Standing::First,
        };
        if matches!(incident.aim, Aim::Latency | Aim::Recovery) {
            return Ok(Self { counted: whole.start(address).map_err(failed)?, beside: None });
        }
        let new = new_topic(PARTITIONS, &whole.configs);
        let places = place(address, LOAD, &new, scene.disk.mount_point()).map_err(failed)?;
        let half = Load { rate: plan.rate / 2, connections: CONNECTIONS / 2, ..whole };
        let mut other = Load { only: Some(places.slow), consumed: false, drain: NOT_LONG, ..half.clone() };
        if incident.aim == Aim::Neighbours {
            other.record_size = LARGE;
            other.buffer = LARGE_BUFFER;
            other.connections = CROWD;
            other.rate = LARGE_RATE;
            other.standing = Standing::GivesWay;
        }
        let counted = Load { only: Some(places.elsewhere.clone()), ..half };
        let beside = Beside { running: other.start(address).map_err(failed)?, counted: places.elsewhere };
        Ok(Self { counted: counted.start(address).map_err(failed)?, beside: Some(beside) })
    }

    /// The moment from which the counted load is measured; `None` if one has ended before.
    pub(super) fn measured_from(&self) -> Option<Instant> {
        let begins = self.counted.measured_from()?;
        match &self.beside {
            Some(beside) => beside.running.measured_from().map(|_| begins),
            None => Some(begins),
        }
    }

    /// Why [`Self::measured_from`] knew no moment.
    pub(super) fn why_not(self) -> Trouble {
        let beside = self.beside.map(|beside| beside.running.finish(true));
        match (self.counted.finish(true), beside) {
            (Err(error), _) | (_, Some(Err(error))) => Trouble::Load(error.to_string()),
            (Ok(_), _) => Trouble::Load("it never began".to_owned()),
        }
    }

    /// Waits for their end.
    pub(super) fn finish(self, plan: Plan) -> Result<Outcome, Trouble> {
        let report = self.counted.finish(false).map_err(failed)?;
        let Some(Beside { running, counted }) = self.beside else {
            return Ok(Outcome { report, counted: None });
        };
        let others = running.finish(true).map_err(failed)?;
        let counted = Counted {
            who: "producers of the other log directory".to_owned(),
            partitions: counted.into_iter().filter_map(|one| i32::try_from(one).ok()).collect(),
            others: others_of(&others, plan),
        };
        Ok(Outcome { report, counted: Some(counted) })
    }
}

/// Of records due during the disturbance.
fn others_of(report: &Report, plan: Plan) -> Others {
    let during = plan.calm.as_secs()..(plan.calm + plan.during).as_secs();
    let rows = || report.rows.iter().filter(|row| during.contains(&(row.second as u64)));
    Others {
        acknowledged: rows().map(|row| row.answered).sum(),
        failed: rows().map(|row| row.given_up).sum(),
    }
}

fn failed(error: WorkloadError) -> Trouble {
    Trouble::Scene(SceneError::from(error))
}
