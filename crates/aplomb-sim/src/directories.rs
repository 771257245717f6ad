//! Which log directories a process is given: some stay away, their order changes, and operators
//! start copies of them.
//!
//! What must hold: a start in another order finds the metadata log where the settings name it, and
//! goes on; where it would begin a new one, it refuses, and has changed nothing. A broker on copies
//! says that it is one, comes up, and leaves the original's tail to the original.

use std::sync::Arc;

use aplomb_broker::ports::Severity;
use aplomb_broker::startup::{Directory, TailRecord, examine};
use aplomb_disk_api::DiskIndex;
use aplomb_disk_api::sim::SimDisk;
use aplomb_log::layout::top_level::CLEAN_SHUTDOWN;
use aplomb_log::tail::CrashSwitch;

use super::machine::Machine;
use super::mortal::Life;
use super::process::{CLUSTER, LogDir, NODE, Shape, Start, Started};
use super::random::Dice;
use super::scenario::path_of;
use super::world::World;

/// Seeds whose starts have an order of their own each, in percent.
const REORDERED: u64 = 30;
/// Starts before which the settings are wrong once, and those before which copies are started.
const MISTAKEN: u64 = 30;

/// The log directories of a start, by the numbers of their disks, in the order of `log.dirs`.
pub(crate) struct Given {
    pub(crate) order: Vec<usize>,
    pub(crate) disks: Vec<SimDisk>,
    pub(crate) places: Vec<LogDir>,
}

impl Given {
    /// The disks of `world` in this order: each knows its place from now on.
    fn of(order: Vec<usize>, world: &mut World) -> Self {
        for (position, disk) in order.iter().enumerate() {
            world.disks[*disk] = world.disks[*disk].at(DiskIndex(position as u16));
        }
        let disks = order.iter().map(|disk| world.disks[*disk].clone()).collect();
        let places = order.iter().map(|disk| LogDir::of(*disk)).collect();
        Self { order, disks, places }
    }

    /// The place of the directory with the metadata log: the first disk has it.
    pub(crate) fn metadata(&self) -> usize {
        self.order.iter().position(|disk| *disk == 0).expect("no process is without the first disk")
    }
}

/// What the start of this number has. `may_lack`: the last disk may stay away. The first may not,
/// since it has the metadata log.
pub(crate) fn draw(may_lack: bool, start: u64, world: &mut World) -> Given {
    let all = world.disks.len();
    let mut away = Dice::of(world.seed, "away", start);
    if may_lack && all > 1 && !away.percent(40) && !world.is_moving_to_last_disk() {
        world.say(|| format!("  {} stays away", path_of(all - 1)));
        return Given::of((0..all - 1).collect(), world);
    }
    let mut order: Vec<usize> = (0..all).collect();
    if Dice::of(world.seed, "order", 0).percent(REORDERED) {
        shuffle(&mut order, &mut Dice::of(world.seed, "order", start));
        world.say(|| format!("  log.dirs in the order {order:?}"));
    }
    Given::of(order, world)
}

fn shuffle(order: &mut [usize], dice: &mut Dice) {
    for left in (1..=order.len()).rev() {
        order.swap(left - 1, dice.place(left));
    }
}

/// What operators do before a start: they change the order and name no directory for the metadata
/// log, or try a copy of everything.
pub(crate) fn mistake(start: u64, machine: &Machine, world: &mut World) {
    let mut dice = Dice::of(world.seed, "mistakes", start);
    if dice.percent(MISTAKEN) && world.disks.len() > 1 && world.oracle.cluster.has_had_topics() {
        refuse_another_first(&mut dice, world);
    }
    if dice.percent(MISTAKEN) {
        start_copies(&mut dice, machine, world);
    }
}

/// The metadata log is in the first disk's directory, where every decision that was told of is
/// durable: a start that looks for it elsewhere must refuse.
fn refuse_another_first(dice: &mut Dice, world: &mut World) {
    let mut order: Vec<usize> = (0..world.disks.len()).collect();
    while order[0] == 0 {
        shuffle(&mut order, dice);
    }
    let copies: Vec<SimDisk> = order.iter().map(|disk| world.disks[*disk].copy(dice.bits())).collect();
    let directory = |(position, disk): (usize, &usize)| {
        let LogDir { id, path } = LogDir::of(*disk);
        Directory { index: DiskIndex(position as u16), id, path, disk: Arc::new(copies[position].clone()) }
    };
    let known: Vec<Directory> = order.iter().enumerate().map(directory).collect();
    let refused = examine(&known, 0, CLUSTER, NODE);
    match &refused {
        Ok(_) => {
            let text =
                format!("with log.dirs in the order {order:?} a broker starts, and has no metadata log");
            world.oracle.violated(text);
        }
        Err(why) => world.say(|| format!("  in the order {order:?}: {why}")),
    }
    let is_as_it_was = |(copy, disk): (&SimDisk, &usize)| copy.image() == world.disks[*disk].image();
    if !copies.iter().zip(&order).all(is_as_it_was) {
        world.oracle.violated("a start that is refused has changed something");
    }
}

/// Copies of all directories are started as a broker of their own, on the machine of the original,
/// which runs, or has left its tail, or none.
pub(crate) fn start_copies(dice: &mut Dice, machine: &Machine, world: &mut World) {
    let number = dice.bits();
    let before = machine.files();
    let disks: Vec<SimDisk> = world
        .disks
        .iter()
        .enumerate()
        .map(|(n, disk)| disk.copy(dice.bits()).at(DiskIndex(n as u16)))
        .collect();
    let place = |disk| LogDir { path: format!("/copy-{number:x}{}", path_of(disk)), ..LogDir::of(disk) };
    let places: Vec<LogDir> = (0..disks.len()).map(place).collect();
    let names_a_tail = |disk: &SimDisk| {
        let record = TailRecord::read(disk).ok().flatten();
        record.is_some_and(|record| before.contains_key(&record.path)) && disk.file(CLEAN_SHUTDOWN).is_none()
    };
    let has_to_warn = world.oracle.cluster.has_had_topics() && disks.iter().any(names_a_tail);
    let plan = world.plan.clone();
    let shape = Shape {
        disks: &disks,
        order: (0..disks.len()).collect(),
        places: &places,
        metadata: 0,
        lost: Vec::new(),
        machine,
        properties: &plan.properties,
        shards: 1 + dice.place(3) as u16,
        partitions_a_turn: plan.partitions_a_turn,
        chunks: *dice.pick(&[24, 32, 64]),
        life: Life::new(CrashSwitch::armed(), None),
        now: world.clocks(),
        dice: dice.clone(),
    };
    let Started { how, said } = shape.start();
    for (severity, text) in &said {
        world.say(|| format!("  a copy: {severity:?}: {text}"));
    }
    match how {
        Start::Up(_) => {
            let is_told = |(severity, text): &(Severity, String)| {
                *severity == Severity::Warn && text.contains("copy of")
            };
            if has_to_warn && !said.iter().any(is_told) {
                world.oracle.violated("a copy beside the original's tail has not said that it is one");
            }
        }
        Start::Died => panic!("nobody kills it"),
        Start::Refused(why) => world.oracle.violated(format!("a copy does not start: {why}")),
    }
    let mut after = machine.files();
    if before.iter().any(|(path, file)| after.remove(path).as_ref() != Some(file)) {
        world.oracle.violated("a copy has touched a tail that is not its own");
    }
    after.keys().for_each(|path| machine.delete(path));
}
