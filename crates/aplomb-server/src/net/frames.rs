//! From a connection's bytes to frames.
//!
//! What always holds: each frame ends up in one buffer of its own, charged to the [`FrameBudget`]
//! until its last slice is dropped. Small frames are cut out of one read of the shard's scratch
//! buffer (a copy of a few kilobytes is cheaper than a system call); the rest of a large one is
//! read straight into its buffer.

use std::collections::VecDeque;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use aplomb_broker::ports::{FrameCutter, FrameError, ShardId};
use bytes::Bytes;
use rustix::io::Errno;

use super::budget::{Account, Charge, FrameBudget, Want};
use super::low_water::LowWater;
use super::moved::Moved;
use super::transport::Transport;

/// The size of a shard's buffer that small frames are read into, in bytes.
pub(crate) const SCRATCH: usize = 32 * 1024;

/// What a frame costs besides its bytes, in bytes: tiny frames are not free.
pub(crate) const OVERHEAD: usize = 128;

/// Below so many missing bytes the rest of a frame is read through the scratch buffer, along with
/// what follows it.
const DIRECT: usize = 8 * 1024;

/// What a read came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Bytes came, and there may be more.
    More,
    /// Bytes came, and there are no more: the socket is empty, unless its end has come.
    Drained,
    /// The socket is empty for now.
    Empty,
    /// Memory for frames is used up: the shard will be woken.
    NoMemory,
    /// What has come is no whole frame, and as many are begun as may be: the shard will be woken.
    Crowded,
    /// The client has said its last.
    End,
    /// The connection is broken.
    Broken(Errno),
    /// These bytes are no frames.
    Malformed(FrameError),
}

impl Progress {
    fn of(received: Result<Moved, Errno>) -> Self {
        match received {
            Ok(Moved { bytes: 0, more: false }) => Self::End,
            Ok(Moved { more: true, .. }) => Self::More,
            Ok(Moved { more: false, .. }) => Self::Drained,
            Err(Errno::AGAIN) => Self::Empty,
            Err(errno) => Self::Broken(errno),
        }
    }
}

/// What a reader needs besides its transport.
pub(crate) struct ReadContext<'a> {
    pub(crate) shard: ShardId,
    pub(crate) budget: &'a Arc<FrameBudget>,
    pub(crate) scratch: &'a mut Vec<u8>,
}

/// One connection's frames, as they arrive.
#[derive(Debug)]
pub(crate) struct FrameReader {
    cutter: FrameCutter,
    /// The memory of the frame at hand.
    charge: Option<Charge>,
    /// The memory of what the transport has that is no byte of a frame yet.
    sealed: Option<Charge>,
    account: Arc<Account>,
    low_water: LowWater,
    /// Bytes that were ever read.
    received: u64,
}

/// A whole frame, with the memory that it is charged.
struct Frame {
    bytes: Vec<u8>,
    _charge: Charge,
}

impl AsRef<[u8]> for Frame {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl FrameReader {
    /// A reader at the start of a stream whose frames have up to `max` bytes
    /// (`socket.request.max.bytes`).
    pub(crate) fn new(max: usize) -> Self {
        Self {
            cutter: FrameCutter::new(max),
            charge: None,
            sealed: None,
            account: Arc::default(),
            low_water: LowWater::default(),
            received: 0,
        }
    }

    /// Frames may have up to so many bytes from here on.
    pub(crate) fn set_max(&mut self, max: usize) {
        self.cutter.set_limit(max);
    }

    /// Whether the stream stands within a frame, or a record of TLS.
    pub(crate) fn is_within_frame(&self) -> bool {
        self.cutter.held() > 0 || self.sealed.is_some()
    }

    /// Whether the stream stands within a frame of which much has yet to come.
    pub(crate) fn is_within_large_frame(&self) -> bool {
        self.cutter.missing() >= DIRECT
    }

    /// The memory of the frame at hand, in bytes.
    pub(crate) fn held(&self) -> usize {
        [&self.charge, &self.sealed].into_iter().flatten().map(Charge::bytes).sum()
    }

    /// Bytes that were ever read.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Reads once and appends the frames that are complete to `frames`.
    pub(crate) fn read(
        &mut self,
        transport: &mut Transport,
        context: &mut ReadContext<'_>,
        frames: &mut VecDeque<Bytes>,
    ) -> Progress {
        let progress = if self.is_within_large_frame() {
            self.read_directly(transport, context, frames)
        } else {
            self.read_through_scratch(transport, context, frames)
        };
        let unfinished = transport.unfinished();
        self.charge_sealed(unfinished, context.budget);
        // Whatever it waits for: the frame that the mark was set for may have come.
        if progress != Progress::More {
            // Some of what is missing may be here, in a record of TLS that is not.
            let missing = self.cutter.missing().saturating_sub(unfinished);
            self.low_water.expect(missing, transport.as_fd());
        }
        progress
    }

    /// It is here already, as a part of a frame is that was read along with others.
    fn charge_sealed(&mut self, bytes: usize, budget: &Arc<FrameBudget>) {
        if self.sealed.as_ref().map_or(0, Charge::bytes) == bytes {
            return;
        }
        self.sealed = (bytes > 0).then(|| {
            let mut charge = budget.charge(&self.account);
            charge.begin();
            charge.add(bytes);
            charge
        });
    }

    fn read_through_scratch(
        &mut self,
        transport: &mut Transport,
        context: &mut ReadContext<'_>,
        frames: &mut VecDeque<Bytes>,
    ) -> Progress {
        let mut charge = context.budget.charge(&self.account);
        if self.charge.is_none() && !context.budget.admits(context.shard, Want::Beginning, &mut charge) {
            return Progress::NoMemory;
        }
        context.scratch.clear();
        let has_begun = self.charge.is_some() || self.sealed.is_some() || charge.is_overdraft();
        if !has_begun && context.budget.is_crowded_for(context.shard) {
            return self.read_whole_frames(transport, context, charge, frames);
        }
        let progress = Progress::of(transport.receive(context.scratch));
        self.received += context.scratch.len() as u64;
        self.take(context.scratch, charge, frames).map_or_else(Progress::Malformed, |()| progress)
    }

    /// Reads frames that have come whole, and leaves the beginning of another where it is.
    fn read_whole_frames(
        &mut self,
        transport: &mut Transport,
        context: &mut ReadContext<'_>,
        charge: Charge,
        frames: &mut VecDeque<Bytes>,
    ) -> Progress {
        let progress = Progress::of(transport.peek(context.scratch));
        if !matches!(progress, Progress::More | Progress::Drained) {
            return progress;
        }
        match self.cutter.whole_frames(context.scratch) {
            Ok(0) => return Progress::Crowded,
            Ok(whole) => context.scratch.truncate(whole),
            Err(error) => return Progress::Malformed(error),
        }
        match transport.receive_peeked(context.scratch) {
            Ok(received) => context.scratch.truncate(received),
            Err(errno) => return Progress::Broken(errno),
        }
        self.received += context.scratch.len() as u64;
        self.take(context.scratch, charge, frames).map_or_else(Progress::Malformed, |()| Progress::More)
    }

    fn read_directly(
        &mut self,
        transport: &mut Transport,
        context: &mut ReadContext<'_>,
        frames: &mut VecDeque<Bytes>,
    ) -> Progress {
        let partial = self.cutter.partial().expect("a frame at hand is why we are here");
        let charge = self.charge.as_mut().expect("the frame at hand is charged");
        let growth = partial.growth();
        let had = partial.buffer().len();
        if growth > 0 {
            let want = Want::More { bytes: growth, frame: had + partial.missing() };
            if !context.budget.admits(context.shard, want, charge) {
                return Progress::NoMemory;
            }
            partial.grow(growth);
            charge.grow_to(partial.capacity() + OVERHEAD);
        }
        let progress = Progress::of(transport.receive(partial.buffer()));
        self.received += (partial.buffer().len() - had) as u64;
        let Some((frame, beyond)) = self.cutter.take_filled() else { return progress };
        let mut next = context.budget.charge(&self.account);
        self.push(frame, &mut next, frames);
        self.take(&beyond, next, frames).map_or_else(Progress::Malformed, |()| progress)
    }

    /// Cuts `bytes`, the next of the stream, into frames. `first` is what a first new frame is
    /// charged to: it may have the overdraft.
    fn take(
        &mut self,
        mut bytes: &[u8],
        mut first: Charge,
        frames: &mut VecDeque<Bytes>,
    ) -> Result<(), FrameError> {
        while let Some(frame) = self.cutter.next_frame(&mut bytes)? {
            self.push(frame, &mut first, frames);
        }
        if let Some(partial) = self.cutter.partial() {
            // The bytes are here already, and few: they are charged even if they exceed the limit.
            let charge = self.charge.get_or_insert_with(|| first.split());
            charge.begin();
            charge.grow_to(partial.capacity() + OVERHEAD);
        }
        Ok(())
    }

    fn push(&mut self, frame: Vec<u8>, first: &mut Charge, frames: &mut VecDeque<Bytes>) {
        let mut charge = self.charge.take().unwrap_or_else(|| first.split());
        charge.finish();
        charge.grow_to(frame.capacity() + OVERHEAD);
        frames.push_back(Bytes::from_owner(Frame { bytes: frame, _charge: charge }));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::mail::Waker;

    const HERE: ShardId = ShardId(0);
    const MAX: usize = 4 << 20;

    fn budget(limit: usize) -> Arc<FrameBudget> {
        FrameBudget::new(limit, [Arc::new(Waker::new().expect("an eventfd"))])
    }

    /// What one end is written, the other receives.
    fn pair() -> (UnixStream, Transport) {
        let (there, here) = UnixStream::pair().expect("a pair of sockets");
        here.set_nonblocking(true).expect("a socket");
        (there, Transport::Plain(here.into()))
    }

    fn framed(body: &[u8]) -> Vec<u8> {
        let length = i32::try_from(body.len()).expect("a test's frame is small");
        [&length.to_be_bytes()[..], body].concat()
    }

    /// Writes `stream` into one end of a pair, piece by piece, and reads it at the other.
    fn read_all(stream: &[u8], piece: usize, budget: &Arc<FrameBudget>) -> (Vec<Bytes>, Progress) {
        let (mut there, mut here) = pair();
        let mut reader = FrameReader::new(MAX);
        let mut scratch = Vec::with_capacity(SCRATCH);
        let mut context = ReadContext { shard: HERE, budget, scratch: &mut scratch };
        let mut frames = VecDeque::new();
        for part in stream.chunks(piece) {
            there.write_all(part).expect("the pair's buffer holds a piece");
            loop {
                match reader.read(&mut here, &mut context, &mut frames) {
                    Progress::More => {}
                    Progress::Drained | Progress::Empty => break,
                    other => return (frames.into(), other),
                }
            }
        }
        drop(there);
        let end = reader.read(&mut here, &mut context, &mut frames);
        (frames.into(), end)
    }

    #[test]
    fn frames_come_out_as_they_went_in_however_the_stream_is_cut() {
        let bodies: Vec<Vec<u8>> = [0, 1, 3, 700, 40_000, 5, 300_000, 8191, 8192, 12]
            .into_iter()
            .enumerate()
            .map(|(n, length): (usize, usize)| (0..length).map(|i| (i * 7 + n) as u8).collect())
            .collect();
        let stream: Vec<u8> = bodies.iter().flat_map(|body| framed(body)).collect();
        for piece in [1, 2, 3, 5, 1000, 32 * 1024, 32 * 1024 + 1, 100_000] {
            // One byte at a time is tried on the small frames only.
            let (stream, count) =
                if piece < 1000 { (&stream[..4 + 5 + 7 + 704], 4) } else { (&stream[..], bodies.len()) };
            let budget = budget(1 << 30);
            let (frames, end) = read_all(stream, piece, &budget);
            assert_eq!(end, Progress::End);
            assert!(
                frames.iter().map(|frame| &frame[..]).eq(bodies[..count].iter().map(|body| &body[..])),
                "{piece}"
            );
            drop(frames);
            assert_eq!(budget.used(), 0, "all memory was given back");
        }
    }

    #[test]
    fn a_length_that_is_negative_or_too_large_ends_the_connection() {
        let budget = budget(1 << 30);
        let (_, end) = read_all(&[0xff, 0xff, 0xff, 0xfe, 0], 5, &budget);
        assert_eq!(end, Progress::Malformed(FrameError::Negative(-2)));
        let too_long = u32::try_from(MAX + 1).expect("a small number").to_be_bytes();
        let (_, end) = read_all(&too_long, 4, &budget);
        assert_eq!(end, Progress::Malformed(FrameError::TooLarge { length: MAX + 1, limit: MAX }));
    }

    #[test]
    fn a_lying_length_costs_no_more_than_the_first_room() {
        let budget = budget(1 << 30);
        let announced = u32::try_from(MAX).expect("a small number").to_be_bytes();
        let (mut there, mut here) = pair();
        there.write_all(&announced).expect("four bytes fit");
        let mut reader = FrameReader::new(MAX);
        let mut scratch = Vec::with_capacity(SCRATCH);
        let mut context = ReadContext { shard: HERE, budget: &budget, scratch: &mut scratch };
        let mut frames = VecDeque::new();
        assert_eq!(reader.read(&mut here, &mut context, &mut frames), Progress::Drained);
        assert!(reader.is_within_frame());
        assert!(budget.used() <= SCRATCH + OVERHEAD, "{}", budget.used());
    }

    #[test]
    fn a_frame_waits_for_memory_and_goes_on_when_there_is_some() {
        let budget = budget(200_000);
        let (first, _) = read_all(&framed(&vec![1; 150_000]), 50_000, &budget);
        let mut overdraft = budget.charge(&Arc::default());
        let want = Want::More { bytes: 1 << 30, frame: 1 << 30 };
        assert!(budget.admits(HERE, want, &mut overdraft), "somebody else has the overdraft");

        let (mut there, mut here) = pair();
        let body = vec![2; 140_000];
        let stream = framed(&body);
        let mut reader = FrameReader::new(MAX);
        let mut scratch = Vec::with_capacity(SCRATCH);
        let mut context = ReadContext { shard: HERE, budget: &budget, scratch: &mut scratch };
        let mut frames = VecDeque::new();
        there.write_all(&stream[..30_000]).expect("the pair's buffer holds that");
        let waits = loop {
            match reader.read(&mut here, &mut context, &mut frames) {
                Progress::More => {}
                other => break other,
            }
        };
        assert_eq!(waits, Progress::Drained);
        there.write_all(&stream[30_000..]).expect("the pair's buffer holds that");
        let waits = loop {
            match reader.read(&mut here, &mut context, &mut frames) {
                Progress::More => {}
                other => break other,
            }
        };
        assert_eq!(waits, Progress::NoMemory);
        drop(first);
        while reader.read(&mut here, &mut context, &mut frames) == Progress::More {}
        assert_eq!(frames.len(), 1);
        assert_eq!(frames[0], body);
    }
}
