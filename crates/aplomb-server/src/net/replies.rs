//! A connection's replies: in the order of its requests, then onto the socket.
//!
//! What always holds: replies go out in the order in which requests came in, whatever order they
//! are made in; their bytes are handed to the socket as they are, many pieces with one system call,
//! never joined.

use std::collections::VecDeque;
use std::io::IoSlice;

use aplomb_broker::ports::{CloseReason, Reply};
use aplomb_model::Instant;
use bytes::{Buf, Bytes};
use rustix::io::Errno;
use smallvec::SmallVec;

use super::debt::Debt;
use super::transport::Transport;
use crate::figures::{Caller, Exchange, RequestFigures, Turn};

/// What one `sendmsg` takes (`UIO_MAXIOV`).
const IOV_MAX: usize = 1024;

/// What a piece takes beside its bytes: a place in the queue, which may have as many free ones, and
/// who holds the bytes. Fifty megabytes out of memory are some eight hundred pieces: a thousand
/// such replies that are not taken are a hundred megabytes of which no other budget knows.
pub(crate) const PIECE_BYTES: usize = 128;

/// How many calls one connection gets before the others have their turn.
const WRITES_A_TURN: usize = 4;

/// What a write came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// Nothing is left.
    All,
    /// The socket takes no more for now.
    Blocked,
    /// More could be written; the others have their turn first.
    Yield,
    /// The connection is broken.
    Broken(Errno),
}

/// The replies that one connection owes.
#[derive(Debug)]
pub(crate) struct Replies {
    /// The sequence of the first slot.
    first: u64,
    slots: VecDeque<Slot>,
    pieces: VecDeque<Bytes>,
    /// Bytes in `pieces` and in replies that wait for an earlier one.
    unwritten: usize,
    close: Option<CloseReason>,
    /// Responses in `pieces`.
    sending: VecDeque<Sending>,
    /// Bytes that were ever put into `pieces`, and that the socket has taken of them.
    queued: u64,
    written: u64,
    /// The memory of all of it, but for what has a budget of its own.
    debt: Debt,
}

/// A response on its way.
#[derive(Debug)]
struct Sending {
    /// The place of its end in the stream.
    end: u64,
    exchange: Exchange,
    owed: usize,
}

/// A request in flight.
#[derive(Debug)]
struct Slot {
    exchange: Exchange,
    reply: Option<Reply>,
}

impl Replies {
    pub(crate) fn new(debt: Debt) -> Self {
        Self {
            first: 0,
            slots: VecDeque::new(),
            pieces: VecDeque::new(),
            unwritten: 0,
            close: None,
            sending: VecDeque::new(),
            queued: 0,
            written: 0,
            debt,
        }
    }

    /// Gives the next request its place.
    pub(crate) fn admit(&mut self, exchange: Exchange) -> u64 {
        self.slots.push_back(Slot { exchange, reply: None });
        self.first + (self.slots.len() as u64 - 1)
    }

    /// The shard has done by `at` what it could do at once for all requests that were admitted, in
    /// this turn.
    pub(crate) fn settled(&mut self, at: Instant, turn: Turn) {
        for slot in self.slots.iter_mut().rev() {
            if slot.exchange.settled.is_some() {
                break;
            }
            (slot.exchange.settled, slot.exchange.turn) = (Some(at), turn);
        }
    }

    /// Takes the reply to a request. Those that are next in line go to the end of the bytes to
    /// write.
    ///
    /// # Panics
    /// If the request was answered before, or never admitted.
    pub(crate) fn complete(
        &mut self,
        sequence: u64,
        reply: Reply,
        at: Instant,
        figures: &RequestFigures,
        caller: &Caller,
    ) {
        if let Reply::Frame { parts, lent, .. } = &reply {
            let bytes = size(parts);
            self.unwritten += bytes;
            self.debt.add(cost(bytes, *lent, parts.len()));
        }
        let slot = self.slot(sequence).expect("a reply belongs to a request in flight");
        assert!(slot.reply.is_none(), "a request is answered once");
        (slot.exchange.throttle, slot.exchange.waited) = (reply.throttle(), reply.waited());
        slot.reply = Some(reply);
        slot.exchange.answered = Some(at);
        while let Some(Slot { mut exchange, reply }) = self.slots.pop_front_if(|slot| slot.reply.is_some()) {
            let reply = reply.expect("that is why it was taken");
            self.first += 1;
            exchange.due = Some(at);
            match reply {
                // Behind a close nothing is sent any more.
                Reply::Frame { parts, lent, .. } if self.close.is_some() => {
                    self.debt.settle(cost(size(&parts), lent, parts.len()));
                }
                Reply::Nothing { .. } | Reply::Close { .. } if self.close.is_some() => {}
                Reply::Frame { parts, lent, errors, .. } => {
                    figures.on_errors(exchange.api_key, &errors);
                    let bytes = size(&parts);
                    self.queued += bytes as u64;
                    let owed = cost(bytes, lent, parts.len());
                    self.pieces.extend(parts.into_iter().filter(|piece| !piece.is_empty()));
                    self.sending.push_back(Sending { end: self.queued, exchange, owed });
                }
                Reply::Nothing { .. } => figures.on_sent(&exchange, at, caller),
                Reply::Close { reason } => self.close = Some(reason),
            }
        }
    }

    /// Requests without a reply, or with one that waits for an earlier one.
    pub(crate) fn in_flight(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of replies that are made and not written.
    pub(crate) fn unwritten(&self) -> usize {
        self.unwritten
    }

    /// Bytes of them for which this connection is charged.
    pub(crate) fn owed(&self) -> usize {
        self.debt.bytes()
    }

    /// Bytes that the socket has ever taken.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Whether all connections together owe as much as they may.
    pub(crate) fn are_too_many(&self) -> bool {
        self.debt.is_full()
    }

    /// Whether there is something to hand to the socket now.
    pub(crate) fn has_pieces(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// Why the connection is to be closed when the pieces have been written.
    pub(crate) fn close_reason(&self) -> Option<&CloseReason> {
        self.close.as_ref()
    }

    /// The attempt to write all pieces begins at `at`.
    pub(crate) fn begin_sending(&mut self, at: Instant) {
        for Sending { exchange, .. } in self.sending.iter_mut().rev() {
            if exchange.sending.is_some() {
                break;
            }
            exchange.sending = Some(at);
        }
    }

    /// Counts the responses that the socket has taken whole by `at`.
    pub(crate) fn count_sent(&mut self, at: Instant, figures: &RequestFigures, caller: &Caller) {
        let written = self.written;
        while let Some(sent) = self.sending.pop_front_if(|sending| sending.end <= written) {
            figures.on_sent(&sent.exchange, at, caller);
            self.debt.settle(sent.owed);
        }
    }

    fn slot(&mut self, sequence: u64) -> Option<&mut Slot> {
        let index = sequence.checked_sub(self.first)?;
        self.slots.get_mut(usize::try_from(index).ok()?)
    }

    /// Sends pieces as far as the socket takes them.
    pub(crate) fn write(&mut self, transport: &mut Transport) -> Written {
        for _ in 0..WRITES_A_TURN {
            if self.pieces.is_empty() {
                return match transport.flush() {
                    Ok(true) => Written::All,
                    Ok(false) => Written::Blocked,
                    Err(errno) => Written::Broken(errno),
                };
            }
            let slices: SmallVec<[IoSlice<'_>; 64]> =
                self.pieces.iter().take(IOV_MAX).map(|piece| IoSlice::new(piece)).collect();
            let sent = transport.send(&slices);
            drop(slices);
            match sent {
                Ok(moved) => {
                    self.on_written(moved.bytes);
                    if !moved.more {
                        return Written::Blocked;
                    }
                }
                Err(Errno::AGAIN) => return Written::Blocked,
                Err(errno) => return Written::Broken(errno),
            }
        }
        if self.pieces.is_empty() && !transport.has_unsent() { Written::All } else { Written::Yield }
    }

    fn on_written(&mut self, mut count: usize) {
        self.unwritten -= count;
        self.written += count as u64;
        while count > 0 {
            let piece = self.pieces.front_mut().expect("no more is written than there is");
            if piece.len() > count {
                piece.advance(count);
                return;
            }
            count -= piece.len();
            self.pieces.pop_front();
        }
    }
}

fn size(parts: &[Bytes]) -> usize {
    parts.iter().map(Bytes::len).sum()
}

/// What a reply takes of the memory for replies: its bytes but for those that are lent, and what
/// each piece takes in any case.
fn cost(bytes: usize, lent: usize, pieces: usize) -> usize {
    bytes.saturating_sub(lent) + pieces * PIECE_BYTES
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{IpAddr, Ipv4Addr};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use aplomb_broker::ports::{ConnectionId, ErrorTally, ShardId, Waited};

    use super::super::debt::ReplyBudget;
    use super::*;
    use crate::figures::{ApiTotals, ClientName, Stage};

    const CALLER: Caller = Caller {
        connection: ConnectionId { shard: ShardId(1), number: 7 },
        peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
        name: ClientName::NONE,
    };

    fn pair() -> (Transport, UnixStream) {
        let (here, there) = UnixStream::pair().expect("a pair of sockets");
        (Transport::Plain(here.into()), there)
    }

    fn exchange() -> Exchange {
        Exchange::new(&[0, 3, 0, 12], Instant::START, Instant::START)
    }

    fn complete(replies: &mut Replies, sequence: u64, reply: Reply) {
        replies.complete(sequence, reply, Instant::START, &RequestFigures::default(), &CALLER);
    }

    fn frame(text: &'static str) -> Reply {
        made_of(vec![Bytes::from_static(text.as_bytes()), Bytes::new()])
    }

    fn made_of(parts: Vec<Bytes>) -> Reply {
        lending(parts, 0)
    }

    fn lending(parts: Vec<Bytes>, lent: usize) -> Reply {
        Reply::Frame {
            parts,
            lent,
            errors: ErrorTally::default(),
            throttle: Duration::ZERO,
            throttle_at: None,
            waited: Waited::default(),
        }
    }

    fn replies() -> Replies {
        Replies::new(ReplyBudget::new(usize::MAX).debt())
    }

    #[test]
    fn what_is_owed_is_what_no_other_budget_has_until_it_is_taken_or_dropped() {
        let (mut here, mut there) = pair();
        let budget = ReplyBudget::new(1000);
        let mut replies = Replies::new(budget.debt());
        let sequences: Vec<u64> = (0..4).map(|_| replies.admit(exchange())).collect();
        let records = Bytes::from(vec![7; 5000]);
        complete(&mut replies, sequences[1], frame("a reply that waits for an earlier one"));
        assert_eq!(budget.used(), 37 + 2 * PIECE_BYTES);
        complete(&mut replies, sequences[0], lending(vec![Bytes::from_static(b"head"), records], 5000));
        let owed = 41 + 4 * PIECE_BYTES;
        assert_eq!((budget.used(), replies.owed(), budget.is_full()), (owed, owed, false));
        assert_eq!(replies.write(&mut here), Written::All);
        replies.count_sent(Instant::START, &RequestFigures::default(), &CALLER);
        assert_eq!((budget.used(), replies.written()), (0, 5041));
        assert_eq!(there.read(&mut [0; 10_000]).expect("it was sent"), 5041);

        complete(&mut replies, sequences[2], Reply::Close { reason: CloseReason::ProduceFailed });
        complete(&mut replies, sequences[3], frame("never sent"));
        assert_eq!(budget.used(), 0);
        let (mut other, full) = (Replies::new(budget.debt()), made_of(vec![Bytes::from(vec![0; 2000])]));
        let sequence = other.admit(exchange());
        complete(&mut other, sequence, full);
        assert!(replies.are_too_many() && budget.is_overfull());
        drop(other);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn replies_wait_for_earlier_ones_and_leave_in_order() {
        let (mut here, mut there) = pair();
        let mut replies = replies();
        let sequences: Vec<u64> = (0..4).map(|_| replies.admit(exchange())).collect();
        complete(&mut replies, sequences[2], frame("three"));
        complete(
            &mut replies,
            sequences[1],
            Reply::Nothing { throttle: Duration::ZERO, waited: Waited::default() },
        );
        assert!(!replies.has_pieces());
        assert_eq!(replies.unwritten(), 5);
        complete(&mut replies, sequences[0], frame("one"));
        assert_eq!(replies.in_flight(), 1);
        complete(&mut replies, sequences[3], Reply::Close { reason: CloseReason::ProduceFailed });
        let late = replies.admit(exchange());
        complete(&mut replies, late, frame("never sent"));

        assert_eq!(replies.write(&mut here), Written::All);
        assert_eq!(replies.close_reason(), Some(&CloseReason::ProduceFailed));
        drop(here);
        let mut text = String::new();
        there.read_to_string(&mut text).expect("the other end was closed");
        assert_eq!(text, "onethree");
    }

    #[test]
    fn what_the_socket_does_not_take_is_kept() {
        let (mut here, mut there) = pair();
        let body: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
        let body = Bytes::from(body);
        let pieces: Vec<Bytes> =
            (0..body.len()).step_by(999).map(|at| body.slice(at..body.len().min(at + 999))).collect();
        let mut replies = replies();
        let sequence = replies.admit(exchange());
        complete(&mut replies, sequence, made_of(pieces));

        let mut seen = Vec::new();
        let mut blocked = 0;
        loop {
            match replies.write(&mut here) {
                Written::All => break,
                Written::Yield => {}
                Written::Blocked => {
                    blocked += 1;
                    let mut buffer = [0; 100_000];
                    let count = there.read(&mut buffer).expect("there is something");
                    seen.extend_from_slice(&buffer[..count]);
                }
                Written::Broken(errno) => panic!("{errno}"),
            }
        }
        assert!(blocked > 0, "the test wants a socket that fills up");
        assert_eq!(replies.unwritten(), 0);
        drop(here);
        there.read_to_end(&mut seen).expect("the other end was closed");
        assert_eq!(seen, body);
    }

    #[test]
    fn a_response_is_counted_when_the_socket_has_taken_its_last_byte() {
        let (mut here, mut there) = pair();
        let figures = RequestFigures::default();
        let at = |millis| Instant::START + Duration::from_millis(millis);
        let mut replies = replies();
        let (small, large) = (replies.admit(exchange()), replies.admit(exchange()));
        replies.settled(at(1), Turn::default());
        replies.complete(small, frame("small"), at(2), &figures, &CALLER);
        let body = Bytes::from(vec![7; 3_000_000]);
        replies.complete(large, made_of(vec![body]), at(4), &figures, &CALLER);
        let count = |figures: &RequestFigures| {
            let mut totals = ApiTotals::default();
            figures.add_to(3, &mut totals);
            totals
        };

        replies.begin_sending(at(8));
        assert_eq!(replies.write(&mut here), Written::Blocked);
        replies.count_sent(at(9), &figures, &CALLER);
        assert_eq!(count(&figures).versions[12], 1, "the small one");
        let mut buffer = vec![0; 100_000];
        let mut left = 3_000_005;
        while left > 0 {
            left -= there.read(&mut buffer).expect("there is something");
            replies.begin_sending(at(100));
            replies.write(&mut here);
        }
        replies.count_sent(at(200), &figures, &CALLER);
        let totals = count(&figures);
        assert_eq!(totals.versions[12], 2);
        let send = &totals.stages[Stage::ResponseSend as usize];
        assert!((180_000..=200_000).contains(&send.quantile(1.0)), "from 8 to 200: {}", send.quantile(1.0));
    }
}
