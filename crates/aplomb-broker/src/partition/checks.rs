//! Batches that take longer to validate than the turn in which they come may last: compressed ones
//! that stand for much more than they are.
//!
//! What validating costs is counted in decompressed bytes. A batch is validated at once if that
//! costs no more than [`Allowance::at_once`]; otherwise it stands here, and its shard validates it
//! in slices, one of [`SLICE`] a lane and turn, between which all others are served:
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
//! of others pass. Next: `produce` for how it is done.
//!
//! [`Allowance::at_once`]: crate::calls::Allowance::at_once
//! [`Allowance::near`]: crate::calls::Allowance::near

use std::collections::{BTreeMap, HashMap};

use aplomb_model::batch::Validation;

use crate::calls::{Asker, Produced};
use crate::ports::ConnectionId;
use crate::seldom::{Emptiable, Seldom};

/// What a lane may decompress in a turn, in bytes: a few milliseconds at worst.
pub(super) const SLICE: usize = 1 << 20;

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
    tables: Seldom<Tables>,
}

/// What always holds: both tables have the same batches.
#[derive(Debug, Default)]
struct Tables {
    by_asker: BTreeMap<Asker, Checking>,
    by_connection: HashMap<ConnectionId, Standing>,
}

impl Emptiable for Tables {
    fn is_empty(&self) -> bool {
        self.by_asker.is_empty()
    }
}

/// A batch that is being validated, or stands behind one that is.
#[derive(Debug)]
pub(super) struct Checking {
    pub(super) produced: Produced,
    lane: Lane,
    /// What was done of it.
    pub(super) validation: Option<Box<Validation>>,
}

/// How many batches of a connection there are.
#[derive(Debug, Default)]
struct Standing {
    all: usize,
    far: usize,
}

impl Checks {
    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    pub(super) fn has_of(&self, connection: ConnectionId) -> bool {
        self.standing_of(connection).is_some()
    }

    pub(super) fn has_far_of(&self, connection: ConnectionId) -> bool {
        self.standing_of(connection).is_some_and(|standing| standing.far > 0)
    }

    fn standing_of(&self, connection: ConnectionId) -> Option<&Standing> {
        self.tables.get()?.by_connection.get(&connection)
    }

    pub(super) fn push(&mut self, asker: Asker, produced: Produced) {
        self.tables.put(|tables| {
            tables.by_connection.entry(produced.from).or_default().all += 1;
            let checking = Checking { produced, lane: Lane::Near, validation: None };
            let before = tables.by_asker.insert(asker, checking);
            assert!(before.is_none(), "{asker:?} waits already");
        });
    }

    pub(super) fn move_to_far(&mut self, asker: Asker) {
        let tables = self.tables.get_mut().expect("it stands here");
        let checking = tables.by_asker.get_mut(&asker).expect("it stands here");
        assert!(checking.lane == Lane::Near, "it is far already");
        (checking.lane, checking.validation) = (Lane::Far, None);
        tables.by_connection.entry(checking.produced.from).or_default().far += 1;
    }

    pub(super) fn get_mut(&mut self, asker: Asker) -> Option<&mut Checking> {
        self.tables.get_mut()?.by_asker.get_mut(&asker)
    }

    /// Takes a batch out, wherever it stands.
    pub(super) fn remove(&mut self, asker: Asker) -> Option<Produced> {
        self.tables.take(|tables| tables.remove(asker))
    }

    /// Takes the one out that asked first.
    pub(super) fn pop(&mut self) -> Option<Asker> {
        let (asker, _) = self.tables.get()?.by_asker.first_key_value()?;
        let asker = *asker;
        self.remove(asker);
        Some(asker)
    }
}

impl Tables {
    fn remove(&mut self, asker: Asker) -> Option<Produced> {
        let Checking { produced, lane, .. } = self.by_asker.remove(&asker)?;
        let standing = self.by_connection.get_mut(&produced.from).expect("both tables have it");
        standing.all -= 1;
        standing.far -= usize::from(lane == Lane::Far);
        if standing.all == 0 {
            self.by_connection.remove(&produced.from);
        }
        Some(produced)
    }
}
