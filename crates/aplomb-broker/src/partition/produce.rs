//! A batch comes: it is validated, at once or in turns (`checks`), and goes on to be appended
//! (`append`).

use aplomb_model::ErrorCode;
use aplomb_model::batch::{BatchError, ProduceRejection, ProduceRules, Validated, Validation};

use super::checks::{Lane, Sliced};
use super::waiting::{Appending, ValidBatch};
use super::{Effects, Partition};
use crate::calls::{Answer, AppendCall, AppendRefusal, Asker, Produced};
use crate::figures::Count;
use crate::limits::LimitHit;
use crate::ports::{Now, WaitedFor};

/// What a batch costs besides what it stands for: its checksum, and a step however small.
const STEP: usize = 4096;

impl Partition {
    /// Appends a batch, or lets it wait: to be validated, or for memory behind those that do.
    pub(crate) fn append(&mut self, asker: Asker, call: AppendCall, now: Now, fx: &mut Effects) {
        if matches!(call, AppendCall::Produced(_)) {
            self.figures.add(Count::ProduceRequests, 1);
        }
        // The only replica is in sync: `min.insync.replicas` asks for no more replicas than there
        // are (KIP-966).
        if self.is_offline() {
            return fx.answer(asker, Answer::Append(Err(AppendRefusal::new(ErrorCode::KafkaStorageError))));
        }
        match call {
            AppendCall::Produced(produced) => {
                if !self.send_to_coordinator(asker, &produced, fx) {
                    self.check(asker, produced, now, fx);
                }
            }
            AppendCall::Own(own) => self.admit(asker, Appending::Own(own), now, fx),
            AppendCall::Marker(marker) => self.admit(asker, Appending::Marker(marker), now, fx),
        }
    }

    /// Validates a produced batch, now or in turns, and has it appended then.
    fn check(&mut self, asker: Asker, produced: Produced, now: Now, fx: &mut Effects) {
        if self.checks.has_of(produced.from) {
            return self.check_later(asker, produced, fx);
        }
        let validated = self.begin_validation(&produced, now).and_then(|mut validation| {
            let validated = validation.work(produced.allowance.at_once);
            fx.decompressed += validation.cost() as u64;
            validated
        });
        match validated {
            Ok(Some(validated)) => self.admit_validated(asker, validated, &produced, now, fx),
            Ok(None) => self.check_later(asker, produced, fx),
            Err(rejection) => self.refuse_produced(asker, &produced, &rejection, fx),
        }
    }

    fn check_later(&mut self, asker: Asker, produced: Produced, fx: &mut Effects) {
        self.checks.push(asker, produced);
        fx.checking.push((self.key, asker));
        fx.waits(asker, WaitedFor::Work);
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
        let Some(checking) = self.checks.get_mut(asker) else { return Sliced::Over };
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
        let most = if lane == Lane::Near { produced.allowance.near } else { usize::MAX };
        let turn = (*slice).max(validation.least_step()).min(most.saturating_sub(before));
        let worked = validation.work(turn);
        let cost = validation.cost() - before;
        fx.decompressed += cost as u64;
        *slice = slice.saturating_sub(cost);
        match worked {
            Ok(None) if most.saturating_sub(validation.cost()) < validation.least_step() => {
                self.checks.move_to_far(asker);
                Sliced::Far
            }
            Ok(None) => self.keep(asker, validation),
            Ok(Some(validated)) => self.end_check(asker, Ok(validated), now, fx),
            Err(rejection) => self.end_check(asker, Err(rejection), now, fx),
        }
    }

    /// Keeps what was done of a batch for the next slice.
    fn keep(&mut self, asker: Asker, validation: Box<Validation>) -> Sliced {
        let checking = self.checks.get_mut(asker).expect("it stands here");
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
            Ok(validated) => self.admit_validated(asker, validated, &produced, now, fx),
            Err(rejection) => self.refuse_produced(asker, &produced, &rejection, fx),
        }
        Sliced::Over
    }

    fn begin_validation(&self, produced: &Produced, now: Now) -> Result<Validation, ProduceRejection> {
        let rules =
            ProduceRules { max_decompressed_batch_bytes: produced.allowance.in_all, ..self.settings.rules };
        Validation::new(&produced.records, &rules, now.wall)
    }

    fn admit_validated(
        &mut self,
        asker: Asker,
        validated: Validated,
        produced: &Produced,
        now: Now,
        fx: &mut Effects,
    ) {
        let Produced { transaction, claim, .. } = *produced;
        let valid = ValidBatch { batch: Box::new(validated), transaction, claim };
        self.admit(asker, Appending::Produced(valid), now, fx);
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
