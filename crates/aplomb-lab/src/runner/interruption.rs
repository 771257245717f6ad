//! A broker that is killed in the middle of a run and started again: when that was, when it was
//! back, and whether everything is there.
//!
//! What always holds: the first acknowledgement counts from the new process on. What the old one
//! had sent and a client had not read yet is read long before: the records are dropped from the
//! page cache in between.

use std::time::Instant;

use aplomb_bench::Report;

use super::Trouble;
use super::scene::{Scene, SceneError};
use crate::evidence::threads::Sampler;
use crate::incidents::{Action, LOAD};
use crate::record::Recovery;
use crate::workload::WorkloadError;

/// When things happened to the broker.
#[derive(Debug, Default)]
pub(super) struct Interruption {
    killed: Option<Instant>,
    started: Option<Instant>,
    answers: Option<Instant>,
}

impl Interruption {
    /// Does what an incident does; looks at the threads of whichever process there is, and
    /// remembers when.
    pub(super) fn act(
        &mut self,
        action: &Action,
        scene: &mut Scene,
        sampler: &Sampler,
    ) -> Result<(), SceneError> {
        match action {
            Action::Kill => {
                self.killed = Some(Instant::now());
                scene.act(action)?;
                sampler.follow(None);
            }
            Action::StartAgain => {
                self.started = Some(Instant::now());
                scene.act(action)?;
                sampler.follow(scene.broker.pid());
                scene.broker.wait_until_it_answers()?;
                self.answers = Some(Instant::now());
            }
            other => scene.act(other)?,
        }
        Ok(())
    }

    /// How the broker came back, if it was away. Reads everything back from it. `begin` is when
    /// measuring began.
    pub(super) fn account(
        &self,
        report: &Report,
        scene: &Scene,
        begin: Instant,
    ) -> Result<Option<Recovery>, Trouble> {
        let (Some(killed), Some(started), Some(answers), Some(ledger)) =
            (self.killed, self.started, self.answers, &report.ledger)
        else {
            return Ok(None);
        };
        let ms = |moment: Instant| moment.saturating_duration_since(begin).as_secs_f64() * 1e3;
        let what = "reading everything back";
        let there = ledger
            .read_back(scene.broker.address(), LOAD)
            .map_err(|error| Trouble::Scene(WorkloadError::Bench { what, error }.into()))?;
        let first = ledger.first_after((ms(started) * 1e3) as i64);
        Ok(Some(Recovery {
            killed_ms: ms(killed),
            started_ms: ms(started),
            answers_ms: ms(answers),
            acknowledged_ms: first.map(|at_us| at_us as f64 / 1e3),
            acknowledged: ledger.len() as u64,
            missing: there.missing,
            repeated: there.repeated,
        }))
    }
}
