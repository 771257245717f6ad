//! What can happen to a tail's file, and when.

use std::time::Duration;

use super::random::Dice;

const MS: Duration = Duration::from_millis(1);
/// How often a process looks at its tail's file (`aplomb` does as often), at the least.
const LOOK: Duration = Duration::from_secs(2);

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Harm {
    /// It loses its name.
    Deleted,
    /// What says where things are in it is overwritten.
    Overwritten,
    /// All of it is zeros, and the process is killed at once.
    Zeroed,
    /// Only its first part, in thousandths, is left. The process dies of it.
    Cut { thousandths: u64 },
}

/// A tail's file goes.
#[derive(Clone, Debug)]
pub(crate) struct TailFault {
    pub(crate) harm: Harm,
    /// After so long the process looks at it, and again and again in this interval.
    pub(crate) seen: Duration,
    pub(crate) again: Duration,
    /// After so long the process is killed, if it is.
    pub(crate) killed: Option<Duration>,
}

impl TailFault {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let harm = match dice.within(0..10) {
            0..=4 => Harm::Deleted,
            5..=6 => Harm::Overwritten,
            7 => Harm::Zeroed,
            _ => Harm::Cut { thousandths: dice.within(0..1000) },
        };
        let seen = dice.time(Duration::ZERO..LOOK);
        let again = if dice.percent(50) { dice.time(MS * 5..MS * 60) } else { dice.time(MS * 60..LOOK) };
        // Some time, or while what was in the old file is on its way to the disks.
        let some_time = dice.time(Duration::ZERO..LOOK * 2);
        let soon = seen + dice.time(Duration::ZERO..MS * 400);
        let killed = if dice.percent(50) { some_time } else { soon };
        let killed = match harm {
            Harm::Zeroed => Some(Duration::ZERO),
            Harm::Cut { .. } => Some(killed),
            Harm::Deleted | Harm::Overwritten => dice.percent(60).then_some(killed),
        };
        Self { harm, seen, again, killed }
    }
}
