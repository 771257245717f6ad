//! A coordinator's log is read from its start to its end, a piece a turn, so that other clients of
//! the shard are served in between.

use std::time::Duration;

use aplomb_model::{Instant, Offset};

use super::{CoordinatorEffect, Coordinators, OFFSETS_TOPIC, of};
use crate::calls::{Asker, CoordinatorPart, PartitionKey, ReadCall, ReadRecords, ReadRefusal};
use crate::ports::{Event, Now, Severity};
use crate::view::View;

/// Bytes of a piece: what they stand for is replayed in a millisecond or less.
const PIECE: u32 = 64 << 10;

/// A coordinator waits for its log for as long as that takes: nothing of it can be had before.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// How far a log has been read.
#[derive(Debug)]
pub(super) struct Loading {
    next: Offset,
    is_asked: bool,
}

impl Loading {
    pub(super) fn new(log_start: Offset) -> Self {
        Self { next: log_start, is_asked: false }
    }

    /// Whether a piece is to be asked for.
    pub(super) fn wants_more(&self) -> bool {
        !self.is_asked
    }
}

impl Coordinators {
    /// Asks for the next piece of each log.
    pub(super) fn go_on_loading(&mut self) {
        for (key, coordinator) in &mut self.coordinators {
            let Some(loading) = coordinator.loading.as_mut().filter(|loading| loading.wants_more()) else {
                continue;
            };
            loading.is_asked = true;
            let call = ReadCall {
                from: loading.next.to_wire(),
                current_epoch: None,
                last_fetched_epoch: None,
                max_bytes: PIECE,
                committed_only: false,
                deadline: Instant::START + FOR_EVER,
            };
            let asker = Asker::Coordinator(*key, CoordinatorPart::Load(coordinator.number));
            self.effects.push(CoordinatorEffect::Read(asker, *key, call));
        }
    }

    /// A piece of a log has come, or cannot be read.
    pub(crate) fn on_piece(
        &mut self,
        key: PartitionKey,
        part: CoordinatorPart,
        piece: Result<ReadRecords, ReadRefusal>,
        view: &View,
        now: Now,
    ) {
        let CoordinatorPart::Load(number) = part else { unreachable!("{part:?} reads nothing") };
        let coordinator = self.coordinators.get_mut(&key).filter(|coordinator| coordinator.number == number);
        let Some(coordinator) = coordinator else { return }; // it has resigned
        let loading = coordinator.loading.as_mut().expect("a piece comes while it is loading");
        assert!(loading.is_asked, "a piece is asked for");
        loading.is_asked = false;
        let piece = match piece {
            Ok(piece) => piece,
            // The log start has moved on: deleted records need not be known.
            Err(ReadRefusal::Error { log_start: Some(start), .. }) if loading.next < start => {
                loading.next = start;
                return;
            }
            Err(refusal) => return self.fail(key, &format!("{refusal:?}")),
        };
        let slices: Vec<&[u8]> = piece.records.iter().map(AsRef::as_ref).collect();
        match coordinator.runtime.load(&slices) {
            Err(error) => self.fail(key, &error.to_string()),
            Ok(Some(next)) if next < piece.visible_end => loading.next = next,
            // The end, or records before it that compaction has taken.
            Ok(_) => {
                coordinator.loading = None;
                let end = piece.visible_end;
                self.run(key, view, |runtime, world, random| runtime.on_loaded(end, of(now), world, random));
            }
        }
    }

    fn fail(&mut self, key: PartitionKey, why: &str) {
        let coordinator = self.coordinators.get_mut(&key).expect("it is loading");
        coordinator.loading = None;
        coordinator.runtime.fail();
        let text = format!("groups of {OFFSETS_TOPIC}-{} cannot be loaded: {why}", key.partition);
        let event = Event { severity: Severity::Error, room: "broker/groups", text };
        self.effects.push(CoordinatorEffect::Event(event));
        let effects = coordinator.runtime.take_effects();
        self.take_over(key, effects);
    }
}
