//! What can go wrong, and when it does.

use std::time::Duration;

use aplomb_disk_api::sim::SimOperation;

use super::harm::TailFault;
use super::random::Dice;

const MS: Duration = Duration::from_millis(1);

/// One thing that goes wrong.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// The process is killed, or told to stop, or the power goes. It comes back after a while.
    Down(Down),
    /// A disk answers nothing.
    Freeze { disk: usize, time: Duration },
    /// Everything that a disk does takes longer.
    Slow { disk: usize, extra: Duration, time: Duration },
    /// An operation of a disk fails, and with it the disk, until the process is started anew.
    Fail { disk: usize, operation: Option<SimOperation>, after: u64, until: Duration },
    /// A disk has so many bytes left, until the process is started anew.
    Full { disk: usize, left: u64, until: Duration },
    /// Operations of a disk find no descriptor, each once: so many others come before each.
    Short { disk: usize, operation: Option<SimOperation>, after: Vec<u64> },
    /// A partition's directory of a disk, one of so many, is taken away under the process, and is
    /// back when it is started anew.
    Away { disk: usize, which: u64, until: Duration },
    /// The tail's file goes.
    Tail(TailFault),
    /// Copies of the log directories are started beside the process; `dice` says how.
    Copied { dice: u64 },
}

/// The end of a process, and the way back.
#[derive(Clone, Debug)]
pub(crate) struct Down {
    pub(crate) how: HowDown,
    pub(crate) time: Duration,
    /// Starts that are cut short, one after the other.
    pub(crate) cut_starts: Vec<CutStart>,
}

/// How a process ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HowDown {
    /// Killed at the store into the tail's memory that comes after so many others.
    Killed { stores: u64 },
    /// The power goes.
    PowerCut,
    /// It is told to stop.
    Stopped,
}

/// A start that does not get far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CutStart {
    /// Killed at this operation of a disk.
    pub(crate) operations: Option<u64>,
    /// Killed at this store into the tail's memory.
    pub(crate) stores: Option<u64>,
    /// The power goes, too.
    pub(crate) power: bool,
}

/// Draws what goes wrong, in the order of time.
pub(crate) fn draw_faults(dice: &mut Dice, length: Duration, disks: usize) -> Vec<(usize, Duration, Fault)> {
    let count = 1 + dice.place(5);
    let mut faults: Vec<(Duration, Fault)> =
        (0..count).map(|_| (dice.time(MS * 50..length), Fault::draw(dice, disks, length))).collect();
    faults.sort_by_key(|(at, _)| *at);
    faults.into_iter().enumerate().map(|(number, (at, fault))| (number, at, fault)).collect()
}

/// Draws shortages of descriptors, and directories that are taken away, in the order of time,
/// numbered from `first` on. They have dice of their own: what else a seed stands for is what it
/// was before there were these.
pub(crate) fn draw_accidents(
    dice: &mut Dice,
    length: Duration,
    disks: usize,
    first: usize,
) -> Vec<(usize, Duration, Fault)> {
    use SimOperation as Op;
    let kinds = [
        None,
        Some(Op::Write),
        Some(Op::Sync),
        Some(Op::Read),
        Some(Op::Read),
        Some(Op::List),
        Some(Op::Rename),
    ];
    let mut drawn: Vec<(Duration, Fault)> = Vec::new();
    for _ in 0..if dice.percent(40) { 1 + dice.place(4) } else { 0 } {
        let (disk, operation) = (dice.place(disks), *dice.pick(&kinds));
        let after = (0..1 + dice.place(5)).map(|_| dice.within(0..30)).collect();
        drawn.push((dice.time(MS * 50..length), Fault::Short { disk, operation, after }));
    }
    if dice.percent(15) {
        let (disk, which) = (dice.place(disks), dice.bits());
        let until = dice.time(MS * 100..MS * 2000);
        drawn.push((dice.time(MS * 50..length), Fault::Away { disk, which, until }));
    }
    drawn.sort_by_key(|(at, _)| *at);
    (first..).zip(drawn).map(|(number, (at, fault))| (number, at, fault)).collect()
}

/// Draws tails that go, in the order of time, numbered from `first` on, with dice of their own.
pub(crate) fn draw_tail_faults(
    dice: &mut Dice,
    length: Duration,
    first: usize,
) -> Vec<(usize, Duration, Fault)> {
    let count = if dice.percent(30) { 1 + dice.place(3) } else { 0 };
    let mut drawn: Vec<(Duration, Fault)> =
        (0..count).map(|_| (dice.time(MS * 50..length), Fault::Tail(TailFault::draw(dice)))).collect();
    drawn.sort_by_key(|(at, _)| *at);
    (first..).zip(drawn).map(|(number, (at, fault))| (number, at, fault)).collect()
}

/// Draws when copies of the log directories are started, in the order of time, numbered from
/// `first` on, with dice of their own.
pub(crate) fn draw_copies(dice: &mut Dice, length: Duration, first: usize) -> Vec<(usize, Duration, Fault)> {
    let count = if dice.percent(20) { 1 + dice.place(2) } else { 0 };
    let mut drawn: Vec<(Duration, Fault)> =
        (0..count).map(|_| (dice.time(MS * 50..length), Fault::Copied { dice: dice.bits() })).collect();
    drawn.sort_by_key(|(at, _)| *at);
    (first..).zip(drawn).map(|(number, (at, fault))| (number, at, fault)).collect()
}

impl Fault {
    fn draw(dice: &mut Dice, disks: usize, length: Duration) -> Self {
        let disk = dice.place(disks);
        match dice.within(0..100) {
            0..=44 => Self::Down(Down::draw(dice, HowDown::Killed { stores: 0 })),
            45..=59 => Self::Down(Down::draw(dice, HowDown::PowerCut)),
            60..=69 => Self::Down(Down::draw(dice, HowDown::Stopped)),
            70..=83 => {
                let longest = if length > MS * 10_000 { MS * 30_000 } else { MS * 4_000 };
                Self::Freeze { disk, time: dice.time(MS * 5..longest) }
            }
            84..=90 => {
                let (extra, time) = (dice.time(MS..MS * 60), dice.time(MS * 100..MS * 3000));
                Self::Slow { disk, extra, time }
            }
            91..=96 => {
                use SimOperation as Op;
                let kinds = [
                    None,
                    Some(Op::Write),
                    Some(Op::Sync),
                    Some(Op::Read),
                    Some(Op::Rename),
                    Some(Op::Remove),
                ];
                let (operation, after) = (*dice.pick(&kinds), dice.within(0..40));
                Self::Fail { disk, operation, after, until: dice.time(MS * 100..MS * 2000) }
            }
            _ => Self::Full { disk, left: dice.within(0..20_000), until: dice.time(MS * 100..MS * 2000) },
        }
    }
}

impl Down {
    /// A kill right away: how processes end whose disk was lost.
    pub(crate) fn killed_now(time: Duration) -> Self {
        Self { how: HowDown::Killed { stores: 0 }, time, cut_starts: Vec::new() }
    }

    fn draw(dice: &mut Dice, how: HowDown) -> Self {
        let how = match how {
            // Half of the kills come between two calls, the others at any store.
            HowDown::Killed { .. } if dice.percent(50) => HowDown::Killed { stores: dice.within(1..400) },
            other => other,
        };
        let time = dice.time(MS..MS * 300);
        let cuts = if dice.percent(30) { 1 + dice.place(3) } else { 0 };
        Self { how, time, cut_starts: (0..cuts).map(|_| CutStart::draw(dice)).collect() }
    }
}

impl CutStart {
    fn draw(dice: &mut Dice) -> Self {
        let power = dice.percent(20);
        if dice.percent(75) {
            Self { operations: Some(dice.within(1..80)), stores: None, power }
        } else {
            Self { operations: None, stores: Some(dice.within(0..300)), power }
        }
    }
}
