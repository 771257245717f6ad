//! Batches that take longer to validate than the turn in which they come may last: compressed ones
//! that stand for much more than they are.
//!
//! What validating costs is counted in decompressed bytes. A batch is validated at once if that
//! costs no more than [`Allowance::at_once`]; otherwise it stands here, and its shard validates it in
//! slices, one of [`SLICE`] a lane and turn, between which everyone else is served:
//! - in the **near** lane while it costs no more than [`Allowance::near`], 256 times what its
//!   client sent;
//! - in the **far** lane from then on, behind others of its kind. It begins anew there, so that one
//!   batch a lane is all that is held half validated.
//!
//! So a turn of the shard decompresses 1 MiB a request that it takes up, and two slices, whatever
//! clients send; a slice can be one block of a codec where that is more (4 MiB of lz4, 22 times the
//! batch of snappy).
//!
//! What always holds: batches of one connection are appended in the order in which they came; those
//! of others pass.
//!
//! [`Allowance::at_once`]: crate::calls::Allowance::at_once
//! [`Allowance::near`]: crate::calls::Allowance::near

use std::collections::{BTreeMap, HashMap};

use aplomb_model::batch::{BatchError, ProduceRejection, ProduceRules, Validated, Validation};

use super::waiting::Batch;
use super::{Effects, Partition};
use crate::calls::{Answer, Asker, Produced};
use crate::limits::LimitHit;
use crate::ports::{ConnectionId, Now};

/// What a lane may decompress in a turn, in bytes: a few milliseconds at worst.
pub(super) const SLICE: usize = 1 << 20;

/// What a batch costs besides what it stands for: its checksum, and a step however small.
const STEP: usize = 4096;

/// Which batches a slice is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Near,
    Far,
}

/// What came of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sliced {
    /// The batch is validated or refused, or waits no longer.
    Over,
    /// The slice is used up.
    Paused,
    /// It is for the far lane.
    Far,
}

/// The batches of a partition that are being validated, or stand behind one that is.
#[derive(Debug, Default)]
pub(super) struct Checks {
    by_asker: BTreeMap<Asker, Checking>,
    by_connection: HashMap<ConnectionId, Standing>,
}

#[derive(Debug)]
struct Checking {
    produced: Produced,
    lane: Lane,
    /// What was done of it.
    validation: Option<Box<Validation>>,
}

/// How many batches of a connection there are.
#[derive(Debug, Default)]
struct Standing {
    all: usize,
    far: usize,
}

impl Checks {
    pub(super) fn is_empty(&self) -> bool {
        self.by_asker.is_empty()
    }

    fn has_of(&self, connection: ConnectionId) -> bool {
        self.by_connection.contains_key(&connection)
    }

    fn has_far_of(&self, connection: ConnectionId) -> bool {
        self.by_connection.get(&connection).is_some_and(|standing| standing.far > 0)
    }

    fn push(&mut self, asker: Asker, produced: Produced) {
        self.by_connection.entry(produced.from).or_default().all += 1;
        let checking = Checking { produced, lane: Lane::Near, validation: None };
        let before = self.by_asker.insert(asker, checking);
        assert!(before.is_none(), "{asker:?} waits already");
    }

    fn move_to_far(&mut self, asker: Asker) {
        let checking = self.by_asker.get_mut(&asker).expect("it stands here");
        assert!(checking.lane == Lane::Near, "it is far already");
        (checking.lane, checking.validation) = (Lane::Far, None);
        self.by_connection.entry(checking.produced.from).or_default().far += 1;
    }

    /// Takes a batch out, wherever it stands.
    pub(super) fn remove(&mut self, asker: Asker) -> Option<Produced> {
        let Checking { produced, lane, .. } = self.by_asker.remove(&asker)?;
        let standing = self.by_connection.get_mut(&produced.from).expect("both tables have it");
        standing.all -= 1;
        standing.far -= usize::from(lane == Lane::Far);
        if standing.all == 0 {
            self.by_connection.remove(&produced.from);
        }
        Some(produced)
    }

    /// Takes the one out that asked first.
    pub(super) fn pop(&mut self) -> Option<Asker> {
        let (asker, _) = self.by_asker.first_key_value()?;
        let asker = *asker;
        self.remove(asker);
        Some(asker)
    }
}

impl Partition {
    /// Validates a produced batch, now or in turns, and has it appended then.
    pub(super) fn check(&mut self, asker: Asker, produced: Produced, now: Now, fx: &mut Effects) {
        if self.checks.has_of(produced.from) {
            return self.check_later(asker, produced, fx);
        }
        let validated = self.begin_validation(&produced, now).and_then(|mut validation| {
            let validated = validation.work(produced.allowance.at_once);
            fx.decompressed += validation.cost() as u64;
            validated
        });
        match validated {
            Ok(Some(validated)) => self.admit_validated(asker, validated, now, fx),
            Ok(None) => self.check_later(asker, produced, fx),
            Err(rejection) => self.refuse_produced(asker, &produced, &rejection, fx),
        }
    }

    fn check_later(&mut self, asker: Asker, produced: Produced, fx: &mut Effects) {
        self.checks.push(asker, produced);
        fx.checking.push((self.key, asker));
    }

    /// Goes on with a batch, for what is left of a slice.
    pub(super) fn check_on(
        &mut self,
        asker: Asker,
        slice: &mut usize,
        lane: Lane,
        now: Now,
        fx: &mut Effects,
    ) -> Sliced {
        // Cancelled meanwhile, or the partition went offline.
        let Some(checking) = self.checks.by_asker.get_mut(&asker) else { return Sliced::Over };
        let produced = checking.produced.clone();
        let mut validation = match checking.validation.take() {
            Some(validation) => validation,
            None if lane == Lane::Near && self.checks.has_far_of(produced.from) => {
                self.checks.move_to_far(asker); // behind the one before it
                return Sliced::Far;
            }
            None => {
                *slice = slice.saturating_sub(STEP + produced.records.len() / 8);
                match self.begin_validation(&produced, now) {
                    Ok(validation) => Box::new(validation),
                    Err(rejection) => return self.end_check(asker, Err(rejection), now, fx),
                }
            }
        };
        let before = validation.cost();
        let mut turn = (*slice).max(validation.least_step());
        if lane == Lane::Near {
            let left = produced.allowance.near.saturating_sub(before);
            if left < validation.least_step() {
                self.checks.move_to_far(asker);
                return Sliced::Far;
            }
            turn = turn.min(left);
        }
        let worked = validation.work(turn);
        let cost = validation.cost() - before;
        fx.decompressed += cost as u64;
        *slice = slice.saturating_sub(cost);
        match worked {
            Ok(None) if lane == Lane::Near && *slice > 0 => {
                let left = produced.allowance.near.saturating_sub(validation.cost());
                if left < validation.least_step() {
                    self.checks.move_to_far(asker);
                    return Sliced::Far;
                }
                self.keep(asker, validation)
            }
            Ok(None) => self.keep(asker, validation),
            Ok(Some(validated)) => self.end_check(asker, Ok(validated), now, fx),
            Err(rejection) => self.end_check(asker, Err(rejection), now, fx),
        }
    }

    /// Keeps what was done of a batch for the next slice.
    fn keep(&mut self, asker: Asker, validation: Box<Validation>) -> Sliced {
        let checking = self.checks.by_asker.get_mut(&asker).expect("it stands here");
        checking.validation = Some(validation);
        Sliced::Paused
    }

    fn end_check(
        &mut self,
        asker: Asker,
        checked: Result<Validated, ProduceRejection>,
        now: Now,
        fx: &mut Effects,
    ) -> Sliced {
        let produced = self.checks.remove(asker).expect("it stands here");
        match checked {
            Ok(validated) => self.admit_validated(asker, validated, now, fx),
            Err(rejection) => self.refuse_produced(asker, &produced, &rejection, fx),
        }
        Sliced::Over
    }

    fn begin_validation(&self, produced: &Produced, now: Now) -> Result<Validation, ProduceRejection> {
        let rules =
            ProduceRules { max_decompressed_batch_bytes: produced.allowance.in_all, ..self.settings.rules };
        Validation::new(&produced.records, &rules, now.wall)
    }

    fn admit_validated(&mut self, asker: Asker, validated: Validated, now: Now, fx: &mut Effects) {
        self.admit(asker, Batch::Produced(Box::new(validated)), now, fx);
    }

    fn refuse_produced(
        &mut self,
        asker: Asker,
        produced: &Produced,
        rejection: &ProduceRejection,
        fx: &mut Effects,
    ) {
        if let ProduceRejection::Batch(BatchError::TooLarge { limit }) = rejection {
            fx.limits.push(LimitHit::Decompressed { partition: self.name.clone(), limit: *limit });
        }
        let refused = self.rejected(rejection);
        self.count_refusal(refused.error, produced.records.len());
        fx.answer(asker, Answer::Append(Err(refused)));
    }
}
