//! What keeps the disks from their work: freezes, slowness, shortages, loss.
//!
//! What always holds: each trouble of a disk that is under way has disturbed the oracle's calm
//! once, and settles it once when it is over.

use std::collections::BTreeSet;
use std::time::Duration;

use aplomb_disk_api::sim::Fault as DiskFault;
use aplomb_model::Instant;

use super::check::calm::Calm;
use super::world::World;

/// Which troubles are under way, disk by disk.
pub(crate) struct Troubles {
    /// Disks that answer nothing.
    frozen: Vec<bool>,
    /// Disks that take longer.
    slow: Vec<bool>,
    /// Disks whose operations may find no descriptor, until the process ends.
    short: Vec<bool>,
    /// Disks that this process has lost.
    lost: Vec<bool>,
}

/// Notes that a trouble begins, if it is not under way already.
fn begin(flag: &mut bool, calm: &mut Calm, now: Instant) -> bool {
    if std::mem::replace(flag, true) {
        return false;
    }
    calm.disturb(now);
    true
}

fn end(flag: &mut bool, calm: &mut Calm, now: Instant) {
    if std::mem::take(flag) {
        calm.settle(now);
    }
}

impl Troubles {
    pub(crate) fn none(disks: usize) -> Self {
        let none = vec![false; disks];
        Self { frozen: none.clone(), slow: none.clone(), short: none.clone(), lost: none }
    }

    /// The disks that this process has lost.
    pub(crate) fn lost(&self) -> &[bool] {
        &self.lost
    }

    /// Freezes a disk; false if it is frozen.
    pub(crate) fn freeze(&mut self, disk: usize, world: &mut World) -> bool {
        let begins = begin(&mut self.frozen[disk], &mut world.oracle.calm, world.agenda.now());
        if begins {
            world.disks[disk].freeze();
        }
        begins
    }

    pub(crate) fn thaw(&mut self, disk: usize, world: &mut World) {
        world.note("thaw", &[disk as u64]);
        world.disks[disk].thaw();
        end(&mut self.frozen[disk], &mut world.oracle.calm, world.agenda.now());
    }

    /// Makes everything that a disk does take longer; false if it is slow.
    pub(crate) fn slow_down(&mut self, disk: usize, extra: Duration, world: &mut World) -> bool {
        let begins = begin(&mut self.slow[disk], &mut world.oracle.calm, world.agenda.now());
        if begins {
            world.disks[disk].set_service(world.plan.service.clone().slower_by(extra));
        }
        begins
    }

    pub(crate) fn hasten(&mut self, disk: usize, world: &mut World) {
        world.disks[disk].set_service(world.plan.service.clone());
        end(&mut self.slow[disk], &mut world.oracle.calm, world.agenda.now());
    }

    /// Operations of a disk are going to find no descriptor: what waits for one keeps others
    /// waiting.
    pub(crate) fn run_short(&mut self, disk: usize, shortage: DiskFault, world: &mut World) {
        begin(&mut self.short[disk], &mut world.oracle.calm, world.agenda.now());
        world.disks[disk].run_short(shortage);
    }

    /// Takes a partition's directory away. From now on the disk counts as lost: it is when the
    /// process misses the directory. False if there is none, or the disk is lost already.
    pub(crate) fn take_away(&mut self, disk: usize, which: u64, world: &mut World) -> bool {
        let files = world.disks[disk].image().into_keys();
        let directories: BTreeSet<String> =
            files.filter_map(|file| Some(file.split_once('/')?.0.to_owned())).collect();
        let Some(place) = which.checked_rem(directories.len() as u64) else { return false };
        let Some(name) = directories.iter().nth(usize::try_from(place).unwrap_or(0)) else { return false };
        if self.lost[disk] || !world.disks[disk].take_away(name) {
            return false;
        }
        world.say(|| format!("  {name} is taken away"));
        begin(&mut self.lost[disk], &mut world.oracle.calm, world.agenda.now());
        world.oracle.disk_lost = true;
        true
    }

    /// The process has begun without a disk.
    pub(crate) fn stays_away(&mut self, disk: usize, world: &mut World) {
        begin(&mut self.lost[disk], &mut world.oracle.calm, world.agenda.now());
    }

    /// Whether the process has lost a disk, or is to miss something of one.
    pub(crate) fn is_any_lost(&self) -> bool {
        self.lost.contains(&true)
    }

    /// Notes the disks that the process has lost by now; true if one was not noted before.
    pub(crate) fn note_lost(&mut self, world: &mut World) -> bool {
        let mut is_new = false;
        for disk in 0..world.disks.len() {
            if world.disks[disk].lost().is_some() {
                is_new |= begin(&mut self.lost[disk], &mut world.oracle.calm, world.agenda.now());
                world.oracle.disk_lost = true;
            }
        }
        is_new
    }

    /// All disks that are frozen or slow get well.
    pub(crate) fn heal(&mut self, world: &mut World) {
        for disk in 0..self.frozen.len() {
            if self.frozen[disk] {
                self.thaw(disk, world);
            }
            self.hasten(disk, world);
        }
    }

    /// The process is gone, and with it everything that kept its disks from their work.
    pub(crate) fn end_with_process(&mut self, world: &mut World) {
        let (calm, now) = (&mut world.oracle.calm, world.agenda.now());
        for disk in 0..self.frozen.len() {
            end(&mut self.frozen[disk], calm, now);
            end(&mut self.slow[disk], calm, now);
            end(&mut self.short[disk], calm, now);
            end(&mut self.lost[disk], calm, now);
            world.disks[disk].set_service(world.plan.service.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scenario, Syncs};

    #[test]
    fn calm_comes_back_when_the_last_trouble_is_over_however_often_it_began() {
        let mut world = World::new(&Scenario::of_seed(0), Syncs::Kept, false);
        let mut troubles = Troubles::none(world.disks.len());
        world.oracle.calm.settle(world.now()); // the broker is up
        assert!(troubles.freeze(0, &mut world));
        assert!(!troubles.freeze(0, &mut world));
        assert!(troubles.slow_down(0, Duration::from_millis(1), &mut world));
        troubles.thaw(0, &mut world);
        troubles.thaw(0, &mut world);
        assert_eq!(world.oracle.calm.since(), None);
        troubles.hasten(0, &mut world);
        assert_eq!(world.oracle.calm.since(), Some(world.now()));

        assert!(troubles.freeze(0, &mut world));
        troubles.end_with_process(&mut world);
        assert_eq!(world.oracle.calm.since(), Some(world.now()));
    }
}
