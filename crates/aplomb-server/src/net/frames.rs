//! From a socket's bytes to frames: a length of four bytes, then as many bytes.
//!
//! What always holds: each frame ends up in one buffer of its own, charged to the [`FrameBudget`] until its last slice is dropped. A buffer
//! grows as bytes really arrive, so a lying length costs its sender more than us. Small frames are cut out of one read of the
//! shard's scratch buffer (a copy of a few kilobytes is cheaper than a system call); the rest of a large one is read straight into
//! its buffer.

use std::collections::VecDeque;
use std::sync::Arc;

use aplomb_broker::ports::ShardId;
use bytes::Bytes;
use rustix::io::Errno;

use super::budget::{Charge, FrameBudget};
use super::transport::{Moved, Transport};

/// A shard's buffer for what a socket has to say, in bytes.
pub(crate) const SCRATCH: usize = 32 * 1024;

/// What a large frame's buffer begins with, in bytes, before any more of it has arrived.
const FIRST_ROOM: usize = 32 * 1024;

/// What a frame costs besides its bytes, in bytes: tiny frames are not free.
const OVERHEAD: usize = 128;

/// Below so many missing bytes the rest of a frame is read through the scratch buffer, along with what follows it.
const DIRECT: usize = 8 * 1024;

/// Why a connection cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("a frame of {0} bytes was announced")]
    Negative(i32),
    #[error("a frame of {length} bytes was announced; socket.request.max.bytes is {max}")]
    TooLarge { length: usize, max: usize },
}

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
    /// The client has said its last.
    End,
    /// The connection is broken.
    Broken(Errno),
    /// The client does not speak our language.
    Malformed(FrameError),
}

impl Progress {
    fn of(received: Result<Moved, Errno>) -> Self {
        match received {
            Ok(Moved { bytes: 0, .. }) => Self::End,
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

/// One connection's place in its stream of frames.
#[derive(Debug)]
pub(crate) struct FrameReader {
    max: usize,
    head: [u8; 4],
    head_len: usize,
    partial: Option<Partial>,
}

/// A frame that has not arrived in full.
#[derive(Debug)]
struct Partial {
    bytes: Vec<u8>,
    length: usize,
    charge: Charge,
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
    /// A reader at the start of a stream whose frames have up to `max` bytes (`socket.request.max.bytes`).
    pub(crate) fn new(max: usize) -> Self {
        Self { max, head: [0; 4], head_len: 0, partial: None }
    }

    /// Whether the stream stands within a frame.
    pub(crate) fn is_within_frame(&self) -> bool {
        self.partial.is_some() || self.head_len > 0
    }

    /// Reads once and appends the frames that are complete to `frames`.
    pub(crate) fn read(
        &mut self,
        transport: &mut Transport,
        context: &mut ReadContext<'_>,
        frames: &mut VecDeque<Bytes>,
    ) -> Progress {
        if self.partial.as_ref().is_some_and(|partial| partial.missing() >= DIRECT) {
            self.read_directly(transport, context, frames)
        } else {
            self.read_through_scratch(transport, context, frames)
        }
    }

    fn read_through_scratch(
        &mut self,
        transport: &mut Transport,
        context: &mut ReadContext<'_>,
        frames: &mut VecDeque<Bytes>,
    ) -> Progress {
        let mut charge = context.budget.charge();
        if self.partial.is_none() && !context.budget.admits(context.shard, 0, &mut charge) {
            return Progress::NoMemory;
        }
        context.scratch.clear();
        let progress = Progress::of(transport.receive(context.scratch));
        self.take(context.scratch, charge, frames).map_or_else(Progress::Malformed, |()| progress)
    }

    fn read_directly(
        &mut self,
        transport: &mut Transport,
        context: &mut ReadContext<'_>,
        frames: &mut VecDeque<Bytes>,
    ) -> Progress {
        let partial = self.partial.as_mut().expect("a partial frame is why we are here");
        if !partial.make_room(context) {
            return Progress::NoMemory;
        }
        let progress = Progress::of(transport.receive(&mut partial.bytes));
        self.finish_direct(frames).map_or_else(Progress::Malformed, |()| progress)
    }

    /// Looks whether the partial frame is complete. Its buffer may be larger than the frame and then holds the start of the next.
    fn finish_direct(&mut self, frames: &mut VecDeque<Bytes>) -> Result<(), FrameError> {
        let Some(mut partial) = self.partial.take_if(|partial| partial.bytes.len() >= partial.length) else {
            return Ok(());
        };
        let beyond = partial.bytes.split_off(partial.length);
        let rest = partial.charge.split(0);
        frames.push_back(partial.into_frame());
        self.take(&beyond, rest, frames)
    }

    /// Cuts `bytes`, the next of the stream, into frames. `charge` is what a first new frame starts from: it may have the overdraft.
    fn take(
        &mut self,
        mut bytes: &[u8],
        mut charge: Charge,
        frames: &mut VecDeque<Bytes>,
    ) -> Result<(), FrameError> {
        while !bytes.is_empty() {
            if let Some(mut partial) = self.partial.take() {
                let (now, later) = bytes.split_at(bytes.len().min(partial.missing()));
                partial.append(now);
                bytes = later;
                if partial.missing() == 0 {
                    frames.push_back(partial.into_frame());
                } else {
                    self.partial = Some(partial);
                }
                continue;
            }
            let (now, later) = bytes.split_at(bytes.len().min(4 - self.head_len));
            self.head[self.head_len..self.head_len + now.len()].copy_from_slice(now);
            self.head_len += now.len();
            bytes = later;
            if self.head_len == 4 {
                self.head_len = 0;
                let length = self.announced()?;
                let room = length.min(bytes.len().max(FIRST_ROOM));
                let partial = Partial {
                    bytes: Vec::with_capacity(room),
                    length,
                    charge: charge.split(room + OVERHEAD),
                };
                if length == 0 {
                    frames.push_back(partial.into_frame());
                } else {
                    self.partial = Some(partial);
                }
            }
        }
        Ok(())
    }

    fn announced(&self) -> Result<usize, FrameError> {
        let length = i32::from_be_bytes(self.head);
        let Ok(length) = usize::try_from(length) else { return Err(FrameError::Negative(length)) };
        if length > self.max {
            return Err(FrameError::TooLarge { length, max: self.max });
        }
        Ok(length)
    }
}

impl Partial {
    fn missing(&self) -> usize {
        self.length - self.bytes.len()
    }

    /// Appends bytes that have arrived, in memory that is charged even if it exceeds the limit: they are here already, and few.
    fn append(&mut self, bytes: &[u8]) {
        let before = self.bytes.capacity();
        self.bytes.extend_from_slice(bytes);
        self.charge.add(self.bytes.capacity() - before);
    }

    /// Doubles a full buffer, up to the frame's length. False if memory for frames is used up.
    fn make_room(&mut self, context: &mut ReadContext<'_>) -> bool {
        let capacity = self.bytes.capacity();
        if self.bytes.len() < capacity {
            return true;
        }
        let more = self.missing().min(capacity.max(FIRST_ROOM));
        if !context.budget.admits(context.shard, more, &mut self.charge) {
            return false;
        }
        self.bytes.reserve_exact(more);
        self.charge.add(self.bytes.capacity() - capacity);
        true
    }

    fn into_frame(self) -> Bytes {
        Bytes::from_owner(Frame { bytes: self.bytes, _charge: self.charge })
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
        assert_eq!(end, Progress::Malformed(FrameError::TooLarge { length: MAX + 1, max: MAX }));
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
        assert!(budget.used() <= FIRST_ROOM + OVERHEAD, "{}", budget.used());
    }

    #[test]
    fn a_frame_waits_for_memory_and_goes_on_when_there_is_some() {
        let budget = budget(200_000);
        let (first, _) = read_all(&framed(&vec![1; 150_000]), 50_000, &budget);
        let mut overdraft = budget.charge();
        assert!(budget.admits(HERE, 1 << 30, &mut overdraft), "somebody else has the overdraft");

        let (mut there, mut here) = pair();
        let body = vec![2; 190_000];
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
