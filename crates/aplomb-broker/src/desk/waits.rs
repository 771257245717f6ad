//! What a request waits for, as its parts say when they begin to: for the flight recorder.
//!
//! What always holds: it is [`MOST`] parts at most that are followed; who waits for nothing that is
//! said costs nothing here.

use std::time::Duration;

use aplomb_model::Instant;

use crate::calls::Slot;
use crate::ports::{Waited, WaitedFor};

/// Parts of a request that are followed at a time. Those that begin to wait later are like them.
const MOST: usize = 8;

/// The waits of a request.
#[derive(Debug, Default)]
pub(super) struct Waits {
    under_way: Vec<(Slot, WaitedFor, Instant)>,
    longest: Option<(WaitedFor, Duration)>,
    idle: Duration,
    idle_since: Option<Instant>,
}

impl Waits {
    /// A part begins to wait.
    pub(super) fn begin(&mut self, slot: Slot, what: WaitedFor, now: Instant) {
        if self.under_way.iter().any(|(of, same, _)| (*of, *same) == (slot, what)) {
            return;
        }
        self.end(slot, now);
        if self.under_way.len() < MOST {
            self.under_way.push((slot, what, now));
        }
    }

    /// A part has what it waited for, if it did.
    pub(super) fn end(&mut self, slot: Slot, now: Instant) {
        if let Some(place) = self.under_way.iter().position(|(of, ..)| *of == slot) {
            let (_, what, since) = self.under_way.swap_remove(place);
            self.keep(what, now.since(since));
        }
    }

    /// Whether it waits now for what its client asked it to wait for.
    pub(super) fn set_idle(&mut self, is_idle: bool, now: Instant) {
        if is_idle {
            self.idle_since.get_or_insert(now);
        } else if let Some(since) = self.idle_since.take() {
            self.idle += now.since(since);
        }
    }

    /// The request is answered: the longest of its waits, which is for `otherwise` where no part
    /// has said anything and it was parked at `parked`.
    pub(super) fn finish(mut self, otherwise: WaitedFor, parked: Instant, now: Instant) -> Waited {
        self.set_idle(false, now);
        for (_, what, since) in std::mem::take(&mut self.under_way) {
            self.keep(what, now.since(since));
        }
        let unsaid = now.since(parked).saturating_sub(self.idle);
        let longest = self.longest.or((!unsaid.is_zero()).then_some((otherwise, unsaid)));
        Waited { longest, idle: self.idle }
    }

    fn keep(&mut self, what: WaitedFor, time: Duration) {
        if self.longest.is_none_or(|(_, longest)| time >= longest) {
            self.longest = Some((what, time));
        }
    }
}

#[cfg(test)]
mod tests {
    use aplomb_disk_api::DiskIndex;

    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    const MEMORY: WaitedFor = WaitedFor::Memory(DiskIndex(1));
    const DISK: WaitedFor = WaitedFor::Disk(DiskIndex(1));

    #[test]
    fn the_longest_wait_is_told_whether_it_has_ended_or_not() {
        let mut waits = Waits::default();
        waits.begin(0, MEMORY, at(0));
        waits.begin(1, WaitedFor::Disk(DiskIndex(0)), at(0));
        waits.end(1, at(5));
        waits.begin(0, DISK, at(40));
        let told = waits.finish(WaitedFor::Shard, at(0), at(50));
        assert_eq!(told, Waited { longest: Some((MEMORY, ms(40))), idle: Duration::ZERO });

        let mut waits = Waits::default();
        waits.begin(0, MEMORY, at(0));
        waits.begin(0, MEMORY, at(10));
        let told = waits.finish(WaitedFor::Shard, at(0), at(5000));
        assert_eq!(told.longest, Some((MEMORY, ms(5000))), "its time was up");
    }

    #[test]
    fn what_a_client_asked_to_wait_for_is_no_wait() {
        let mut waits = Waits::default();
        waits.set_idle(true, at(0));
        waits.set_idle(true, at(100));
        waits.set_idle(false, at(300));
        waits.set_idle(true, at(400));
        let told = waits.finish(WaitedFor::Shard, at(0), at(500));
        assert_eq!(told, Waited { longest: Some((WaitedFor::Shard, ms(100))), idle: ms(400) });
        assert_eq!(Waits::default().finish(WaitedFor::Shard, at(7), at(7)), Waited::default());
    }

    #[test]
    fn so_many_parts_are_followed_at_most() {
        let mut waits = Waits::default();
        (0..1000).for_each(|slot| waits.begin(slot, DISK, at(u64::from(slot))));
        assert_eq!(waits.under_way.len(), MOST);
        assert_eq!(waits.finish(WaitedFor::Shard, at(0), at(1000)).longest, Some((DISK, ms(1000))));
    }
}
