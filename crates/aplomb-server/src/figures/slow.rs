//! The flight recorder's tape: the last slow requests of a shard, as its loop leaves them for the
//! thread that makes the numbers.
//!
//! What always holds: a loop never waits here. Each place of the tape has a lock of its own, and
//! both sides only try it: where the reader has a place at that moment, even if it lost its
//! processor there, the loop counts the request as missed and goes on; it asks no kernel and takes
//! no memory. The oldest are overwritten, so that the newest are there however fast they come. What
//! is here is bounded by [`PLACES`].

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, TryLockError};

use aplomb_broker::ports::ConnectionId;
use aplomb_model::Instant;

use super::exchange::Exchange;

/// Slow requests of a shard that are kept until they are looked at: a few times a second.
pub(crate) const PLACES: usize = 256;

/// Bytes of a client's id that are kept.
const NAME: usize = 46;

/// How a client calls itself, as far as there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientName {
    bytes: [u8; NAME],
    len: u8,
}

/// Who sends the requests of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) connection: ConnectionId,
    pub(crate) peer: IpAddr,
    pub(crate) name: ClientName,
}

/// A request that took long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowRequest {
    pub(crate) exchange: Exchange,
    pub(crate) sent: Instant,
    pub(crate) caller: Caller,
}

/// A request with its number, when there is one.
type Place = Mutex<Option<(u64, SlowRequest)>>;

/// What one loop writes and one thread reads.
#[derive(Debug)]
pub(crate) struct Tape {
    places: Box<[Place]>,
    /// How many were ever written.
    written: AtomicU64,
    /// Those that found their place taken.
    missed: AtomicU64,
}

impl ClientName {
    /// A client that has not said.
    pub(crate) const NONE: Self = Self { bytes: [0; NAME], len: 0 };

    /// Takes the name from a request's frame: behind key, version and correlation id, with its
    /// length. A null one is empty, and what is no text is shown as such later.
    pub(crate) fn learn(&mut self, frame: &[u8]) {
        let said = frame.get(8..10).map_or(-1, |len| i16::from_be_bytes([len[0], len[1]]));
        let len = usize::try_from(said).unwrap_or(0).min(NAME);
        let Some(name) = frame.get(10..10 + len) else { return };
        if self.as_bytes() != name {
            self.bytes[..len].copy_from_slice(name);
            self.len = len as u8;
        }
    }

    /// As it was sent.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl Default for Tape {
    fn default() -> Self {
        Self {
            places: (0..PLACES).map(|_| Mutex::new(None)).collect(),
            written: AtomicU64::new(0),
            missed: AtomicU64::new(0),
        }
    }
}

impl Tape {
    /// Keeps a request in place of the oldest.
    pub(crate) fn keep(&self, request: SlowRequest) {
        let number = self.written.load(Ordering::Relaxed);
        match self.places[number as usize % PLACES].try_lock() {
            Ok(mut place) => *place = Some((number, request)),
            Err(TryLockError::Poisoned(_)) => {}
            Err(TryLockError::WouldBlock) => {
                self.missed.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
        self.written.store(number + 1, Ordering::Release);
    }

    /// Gives those that were written from number `from` on, in order; the number to go on from, and
    /// how many were overwritten before they were seen.
    pub(crate) fn read(&self, from: u64, mut take: impl FnMut(SlowRequest)) -> (u64, u64) {
        let written = self.written.load(Ordering::Acquire);
        let first = from.max(written.saturating_sub(PLACES as u64));
        let mut lost = first - from;
        for number in first..written {
            // A place that cannot be had, or has another, is overwritten.
            match self.places[number as usize % PLACES].try_lock().map(|place| *place) {
                Ok(Some((of, request))) if of == number => take(request),
                Ok(_) | Err(_) => lost += 1,
            }
        }
        (written, lost)
    }

    /// Those that found their place taken.
    pub(crate) fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use aplomb_broker::ports::ShardId;

    use super::*;

    fn request(bytes: usize) -> SlowRequest {
        let connection = ConnectionId { shard: ShardId(1), number: 7 };
        let caller = Caller { connection, peer: Ipv4Addr::LOCALHOST.into(), name: ClientName::NONE };
        let frame = vec![0; bytes];
        let exchange = Exchange::new(&frame, Instant::START, Instant::START);
        SlowRequest { exchange, sent: Instant::START, caller }
    }

    fn read(tape: &Tape, from: u64) -> (Vec<usize>, (u64, u64)) {
        let mut seen = Vec::new();
        let told = tape.read(from, |request| seen.push(request.exchange.bytes));
        (seen, told)
    }

    #[test]
    fn the_newest_are_read_once_and_in_order() {
        let tape = Tape::default();
        assert_eq!(read(&tape, 0), (vec![], (0, 0)));
        (10..13).for_each(|bytes| tape.keep(request(bytes)));
        assert_eq!(read(&tape, 0), (vec![10, 11, 12], (3, 0)));
        assert_eq!(read(&tape, 3), (vec![], (3, 0)));

        (0..PLACES + 5).for_each(|bytes| tape.keep(request(bytes)));
        let (seen, (next, lost)) = read(&tape, 3);
        assert_eq!((next, lost), (PLACES as u64 + 8, 5));
        assert_eq!((seen.len(), seen[0], seen[PLACES - 1]), (PLACES, 5, PLACES + 4));
    }

    #[test]
    fn who_reads_a_place_holds_up_nobody() {
        let tape = Tape::default();
        tape.keep(request(1));
        let place = tape.places[1].lock().expect("it is free");
        tape.keep(request(2));
        assert_eq!((tape.missed(), read(&tape, 0)), (1, (vec![1], (1, 0))));
        drop(place);
        tape.keep(request(3));
        assert_eq!(read(&tape, 1), (vec![3], (2, 0)));
    }

    #[test]
    fn a_name_is_learned_from_each_frame() {
        let mut name = ClientName::NONE;
        let frame = |said: &[u8]| {
            let len = (said.len() as u16).to_be_bytes();
            [&[0, 3, 0, 12, 0, 0, 0, 1][..], &len, said, &[9; 3]].concat()
        };
        name.learn(&frame(b"orders-7"));
        assert_eq!(name.as_bytes(), b"orders-7");
        name.learn(&frame(&[b'x'; 300]));
        assert_eq!(name.as_bytes(), [b'x'; NAME]);
        name.learn(&[0, 3, 0, 12, 0, 0, 0, 1, 0, 200, 1]);
        assert_eq!(name.as_bytes(), [b'x'; NAME], "a frame that ends too early says nothing");
        name.learn(&[0, 3, 0, 12, 0, 0, 0, 1, 0xff, 0xff]);
        assert_eq!(name.as_bytes(), b"");
    }
}
