//! Why a request was slow: of all that its time went to, what took the most of it.

use std::time::Duration;

use aplomb_broker::ports::WaitedFor;
use aplomb_disk_api::DiskIndex;

use crate::figures::{HeldBy, SlowRequest, Stage};

/// What a slow request waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// Room in a disk's share of the tail, or memory for what readers read from it.
    Memory,
    /// A disk: a sync that was promised, or old records.
    Disk,
    /// Nothing: its client is over its quota and was kept waiting.
    Quota,
    /// Its client, to take the reply, or earlier ones.
    Peer,
    /// Earlier requests of its connection.
    Order,
    /// Other requests that its shard was at work on.
    Queue,
    /// Partitions on other shards.
    Shard,
    /// A processor, which the threads of the shards did not have.
    Processor,
    /// The controller's decision, and that all have applied it.
    Controller,
    /// The coordinator of a group or of a transaction.
    Coordinator,
    /// Itself: there was so much to do for it.
    Work,
}

impl Cause {
    pub(super) const ALL: [Self; 11] = [
        Self::Memory,
        Self::Disk,
        Self::Quota,
        Self::Peer,
        Self::Order,
        Self::Queue,
        Self::Shard,
        Self::Processor,
        Self::Controller,
        Self::Coordinator,
        Self::Work,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Quota => "quota",
            Self::Peer => "peer",
            Self::Order => "order",
            Self::Queue => "queue",
            Self::Shard => "shard",
            Self::Processor => "processor",
            Self::Controller => "controller",
            Self::Coordinator => "coordinator",
            Self::Work => "work",
        }
    }

    /// Whether it may be but the look of threads that had no processor.
    pub(super) fn may_be_processor(self) -> bool {
        matches!(self, Self::Queue | Self::Shard | Self::Work)
    }
}

/// The cause of a request's slowness, and the part of its time that it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) cause: Cause,
    pub(super) disk: Option<DiskIndex>,
    pub(super) time: Duration,
}

/// Looks for the cause in what was noted of a request.
pub(super) fn find(request: &SlowRequest) -> Finding {
    let SlowRequest { exchange, sent, .. } = request;
    let took = |stage| exchange.took(stage, *sent);
    let mut times = [Duration::ZERO; Cause::ALL.len()];
    let mut add = |cause: Cause, time: Duration| times[cause as usize] += time;

    let held = match exchange.held_by {
        Some(HeldBy::Quota) => Cause::Quota,
        Some(HeldBy::Order) => Cause::Order,
        Some(HeldBy::Peer) => Cause::Peer,
        None => Cause::Queue,
    };
    add(held, took(Stage::RequestQueue));
    add(if exchange.turn.requests > 1 { Cause::Queue } else { Cause::Work }, took(Stage::Local));
    let remote = took(Stage::Remote).saturating_sub(exchange.waited.idle);
    let (waited, time) = exchange.waited.longest.unwrap_or((WaitedFor::Shard, Duration::ZERO));
    let (said, disk) = match waited {
        WaitedFor::Memory(disk) => (Cause::Memory, Some(disk)),
        WaitedFor::Disk(disk) => (Cause::Disk, Some(disk)),
        WaitedFor::Controller => (Cause::Controller, None),
        WaitedFor::Coordinator => (Cause::Coordinator, None),
        WaitedFor::Shard => (Cause::Shard, None),
        WaitedFor::Work => (Cause::Work, None),
    };
    let time = time.min(remote);
    add(said, time);
    add(Cause::Shard, remote.saturating_sub(time));
    // Until then earlier responses were not there; from then on the socket takes them.
    let due = exchange.due.or(exchange.sending).unwrap_or(*sent);
    add(Cause::Order, exchange.answered.map_or(Duration::ZERO, |answered| due.since(answered)));
    add(Cause::Peer, sent.since(due));
    add(Cause::Quota, exchange.throttle);

    let largest = Cause::ALL.into_iter().max_by_key(|cause| times[*cause as usize]).expect("there are some");
    Finding { cause: largest, disk: disk.filter(|_| largest == said), time: times[largest as usize] }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use aplomb_broker::ports::{ConnectionId, ShardId, Waited};
    use aplomb_model::Instant;

    use super::*;
    use crate::figures::{Caller, ClientName, Exchange, Turn};

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    /// A request that was taken up, settled, answered, due and sent at these times.
    fn request([begun, settled, answered, due, sent]: [u64; 5]) -> SlowRequest {
        let mut exchange = Exchange::new(&[0, 0, 0, 12, 0, 0, 0, 1], at(0), at(begun));
        exchange.settled = Some(at(settled));
        exchange.answered = Some(at(answered));
        (exchange.due, exchange.sending) = (Some(at(due)), Some(at(due)));
        exchange.turn = Turn { requests: 1, took: Duration::ZERO };
        let connection = ConnectionId { shard: ShardId(1), number: 7 };
        let caller = Caller { connection, peer: Ipv4Addr::LOCALHOST.into(), name: ClientName::NONE };
        SlowRequest { exchange, sent: at(sent), caller }
    }

    #[test]
    fn each_stage_that_is_long_has_its_cause() {
        let cause = |request: &SlowRequest| find(request).cause;
        assert_eq!(cause(&request([50, 51, 52, 52, 53])), Cause::Queue);
        assert_eq!(cause(&request([1, 51, 52, 52, 53])), Cause::Work);
        assert_eq!(cause(&request([1, 2, 52, 52, 53])), Cause::Shard);
        assert_eq!(cause(&request([1, 2, 3, 53, 54])), Cause::Order);
        assert_eq!(cause(&request([1, 2, 3, 3, 54])), Cause::Peer);

        let mut held = request([50, 51, 52, 52, 53]);
        for (by, expected) in
            [(HeldBy::Quota, Cause::Quota), (HeldBy::Order, Cause::Order), (HeldBy::Peer, Cause::Peer)]
        {
            held.exchange.held_by = Some(by);
            assert_eq!(cause(&held), expected);
        }
        let mut muted = request([1, 2, 3, 3, 4]);
        muted.exchange.throttle = Duration::from_millis(100);
        assert_eq!(cause(&muted), Cause::Quota);
        let mut crowded = request([1, 51, 52, 52, 53]);
        crowded.exchange.turn.requests = 9;
        assert_eq!(cause(&crowded), Cause::Queue);
    }

    #[test]
    fn what_the_shards_say_of_a_wait_is_the_cause_as_far_as_it_goes() {
        let mut slow = request([0, 1, 101, 101, 102]);
        let ms = Duration::from_millis;
        let wait = |what, millis, idle| Waited { longest: Some((what, ms(millis))), idle: ms(idle) };
        let disk = DiskIndex(3);
        slow.exchange.waited = wait(WaitedFor::Disk(disk), 101, 0);
        assert_eq!(find(&slow), Finding { cause: Cause::Disk, disk: Some(disk), time: ms(100) });
        slow.exchange.waited = wait(WaitedFor::Memory(disk), 60, 0);
        assert_eq!(find(&slow), Finding { cause: Cause::Memory, disk: Some(disk), time: ms(60) });
        slow.exchange.waited = wait(WaitedFor::Disk(disk), 2, 0);
        assert_eq!(find(&slow), Finding { cause: Cause::Shard, disk: None, time: ms(98) });
        slow.exchange.waited = wait(WaitedFor::Controller, 100, 0);
        assert_eq!(find(&slow).cause, Cause::Controller);
        slow.exchange.waited = wait(WaitedFor::Coordinator, 10, 95);
        assert_eq!(find(&slow), Finding { cause: Cause::Coordinator, disk: None, time: ms(5) });
    }

    #[test]
    fn causes_have_their_place_and_a_name_of_their_own() {
        for (place, cause) in Cause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, place);
        }
        let names: std::collections::BTreeSet<_> = Cause::ALL.iter().map(|cause| cause.name()).collect();
        assert_eq!(names.len(), Cause::ALL.len());
    }
}
