//! The virtual clock, and what is going to happen on it.
//!
//! The clock never goes back. Events of one moment come in the order in which they were put down,
//! and a message never overtakes an earlier one between the same two ends.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use aplomb_broker::ShardMessage;
use aplomb_broker::ports::{ConnectionId, ShardId};
use aplomb_disk_api::Completion;
use aplomb_model::Instant;
use bytes::Bytes;

use super::check::promptness::Expect;
use super::random::Dice;

/// Steps without the clock moving that make a loop of it.
const SPIN: u32 = 5_000;

/// Something that happens at its time.
#[derive(Debug)]
pub(crate) enum Event {
    Frame {
        connection: ConnectionId,
        sequence: u64,
        frame: Bytes,
        expect: Expect,
    },
    ClosedByClient {
        connection: ConnectionId,
    },
    Answer {
        connection: ConnectionId,
        frame: Vec<Bytes>,
    },
    ClosedByBroker {
        connection: ConnectionId,
    },
    Message {
        from: ShardId,
        to: ShardId,
        message: ShardMessage,
    },
    Completion {
        shard: ShardId,
        completion: Completion,
    },
    /// A fault, by its place in the plan.
    Fault(usize),
    Thaw {
        disk: usize,
    },
    Hasten {
        disk: usize,
    },
    /// The process looks at its tail's file.
    TailLook,
    /// The operator ends a process that lost a disk.
    GiveUp,
    /// A process that was told to stop has not.
    StopDeadline,
    Start,
}

/// The two ends of a line inside the broker: between shards, or from a disk to a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Line {
    Shards(ShardId, ShardId),
    Disk(u16, ShardId),
}

/// The clock, and what is due when.
pub(crate) struct Agenda {
    now: Instant,
    /// By time, then in the order of `next_event`.
    events: BTreeMap<(Instant, u64), Planned>,
    next_event: u64,
    /// When the last message on each line arrives.
    lines: BTreeMap<Line, Instant>,
    latency: Dice,
    /// Steps since the clock moved.
    spun: u32,
}

struct Planned {
    event: Event,
    /// It does not happen if the process ends before.
    of_process: bool,
}

impl Agenda {
    /// Nothing is to happen yet; `latency` says how long messages take.
    pub(crate) fn new(latency: Dice) -> Self {
        Self {
            now: Instant::START,
            events: BTreeMap::new(),
            next_event: 0,
            lines: BTreeMap::new(),
            latency,
            spun: 0,
        }
    }

    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// Puts down what happens whatever becomes of the process.
    pub(crate) fn at(&mut self, when: Instant, event: Event) {
        self.put(when, Planned { event, of_process: false });
    }

    /// Puts down what happens unless the process is gone by then.
    pub(crate) fn at_process(&mut self, when: Instant, event: Event) {
        self.put(when, Planned { event, of_process: true });
    }

    fn put(&mut self, when: Instant, planned: Planned) {
        self.events.insert((when.max(self.now), self.next_event), planned);
        self.next_event += 1;
    }

    /// When the next event is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.events.first_key_value().map(|((when, _), _)| *when)
    }

    /// Sets the clock to `when`, but never back. Fails where the clock has stood still for too
    /// long.
    pub(crate) fn advance(&mut self, when: Instant) -> Result<(), String> {
        self.spun = if when <= self.now { self.spun + 1 } else { 0 };
        if self.spun > SPIN {
            return Err("the clock does not move any more: something spins".to_owned());
        }
        self.now = self.now.max(when);
        Ok(())
    }

    /// Takes the next event that is due by now.
    pub(crate) fn take_due(&mut self) -> Option<Event> {
        let first = self.events.first_entry().filter(|first| first.key().0 <= self.now)?;
        Some(first.remove().event)
    }

    /// Whether answers are still on their way to clients.
    pub(crate) fn has_answers(&self) -> bool {
        self.events.values().any(|planned| matches!(planned.event, Event::Answer { .. }))
    }

    /// The process is gone, and with it all that was on its way to it.
    pub(crate) fn forget_process(&mut self) {
        self.events.retain(|_, planned| !planned.of_process);
        self.lines.clear();
    }

    /// When something that is sent now over `line` arrives.
    pub(crate) fn arrival(&mut self, line: Line) -> Instant {
        let micros = match self.latency.within(0..100) {
            0 => self.latency.within(500..4000),
            1..=19 => self.latency.within(60..500),
            _ => self.latency.within(5..60),
        };
        let last = self.lines.entry(line).or_insert(Instant::START);
        *last = (*last).max(self.now + Duration::from_micros(micros));
        *last
    }

    /// How long a frame is under way between a client and the broker.
    pub(crate) fn latency(&mut self, range: Range<Duration>) -> Duration {
        self.latency.time(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agenda() -> Agenda {
        Agenda::new(Dice::new(7))
    }

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    fn faults(agenda: &mut Agenda) -> Vec<usize> {
        let due = std::iter::from_fn(|| agenda.take_due());
        due.map(|event| if let Event::Fault(place) = event { place } else { panic!("{event:?}") }).collect()
    }

    #[test]
    fn events_come_in_time_and_those_of_one_moment_in_their_order() {
        let mut agenda = agenda();
        for (when, place) in [(5, 0), (3, 1), (5, 2), (9, 3)] {
            agenda.at(at(when), Event::Fault(place));
        }
        assert_eq!((agenda.next(), faults(&mut agenda)), (Some(at(3)), vec![]));
        agenda.advance(at(5)).expect("it moves");
        assert_eq!(faults(&mut agenda), [1, 0, 2]);
        // What is put down too late happens now.
        agenda.at(at(1), Event::Fault(4));
        assert_eq!(agenda.next(), Some(at(5)));
    }

    #[test]
    fn what_is_on_its_way_to_a_process_ends_with_it() {
        let mut agenda = agenda();
        agenda.at(at(1), Event::Fault(0));
        agenda.at_process(at(1), Event::Fault(1));
        agenda.forget_process();
        agenda.advance(at(1)).expect("it moves");
        assert_eq!(faults(&mut agenda), [0]);
    }

    #[test]
    fn a_line_keeps_the_order() {
        let mut agenda = agenda();
        let line = Line::Shards(ShardId(0), ShardId(1));
        let arrivals: Vec<Instant> = (0..500).map(|_| agenda.arrival(line)).collect();
        assert!(arrivals.is_sorted());
        assert!(agenda.arrival(Line::Disk(0, ShardId(1))) < arrivals[499]);
    }

    #[test]
    fn a_clock_that_stands_still_for_ever_is_an_error() {
        let mut agenda = agenda();
        assert!((0..SPIN).all(|_| agenda.advance(at(0)).is_ok()));
        assert!(agenda.advance(at(0)).is_err());
    }
}
