//! From a stream's bytes to frames.
//!
//! What always holds: each frame ends up in a buffer of its own, which grows as bytes really
//! arrive, so a lying length costs its sender more than us. A cutter knows no socket: small frames
//! are cut out of bytes that were read elsewhere, the rest of a large one is read straight into its
//! buffer ([`FrameCutter::partial`]).

use super::LENGTH;

/// What a frame's buffer begins with, in bytes, before any more of it has arrived.
const FIRST_ROOM: usize = 32 * 1024;

/// A length that ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A length below zero.
    #[error("a frame of {0} bytes was announced")]
    Negative(i32),
    /// A length over the limit (`socket.request.max.bytes`).
    #[error("a frame of {length} bytes was announced; the limit is {limit}")]
    TooLarge {
        /// In bytes.
        length: usize,
        /// In bytes.
        limit: usize,
    },
}

/// One connection's place in its stream of frames.
#[derive(Debug)]
pub struct FrameCutter {
    limit: usize,
    /// The length of the next frame, as far as it has arrived.
    head: [u8; LENGTH],
    head_len: usize,
    partial: Option<PartialFrame>,
}

/// A frame that has not arrived in full.
#[derive(Debug)]
pub struct PartialFrame {
    bytes: Vec<u8>,
    length: usize,
}

impl FrameCutter {
    /// A cutter at the start of a stream whose frames have up to `limit` bytes, the length itself
    /// not counted.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, head: [0; LENGTH], head_len: 0, partial: None }
    }

    /// Frames may have up to so many bytes from here on.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Takes bytes off the front of `bytes`, the next of the stream, up to the end of a frame, and
    /// gives that frame without its length. `None` when all were taken and more are needed.
    ///
    /// # Errors
    /// When the length is negative or over the limit. The stream has lost its frames then: every
    /// later call says the same, and the connection is to be closed.
    pub fn next_frame(&mut self, bytes: &mut &[u8]) -> Result<Option<Vec<u8>>, FrameError> {
        let partial = match &mut self.partial {
            Some(partial) => partial,
            None => {
                let head = take(bytes, LENGTH - self.head_len);
                self.head[self.head_len..self.head_len + head.len()].copy_from_slice(head);
                self.head_len += head.len();
                if self.head_len < LENGTH {
                    return Ok(None);
                }
                let length = announced(self.head, self.limit)?;
                self.head_len = 0;
                let room = length.min(bytes.len().max(FIRST_ROOM));
                self.partial.insert(PartialFrame { bytes: Vec::with_capacity(room), length })
            }
        };
        partial.bytes.extend_from_slice(take(bytes, partial.missing()));
        Ok(self.partial.take_if(|partial| partial.missing() == 0).map(|whole| whole.bytes))
    }

    /// How many of `bytes`, the next of the stream, whole frames take, where no more of the first
    /// is here than of its length.
    ///
    /// # Errors
    /// As [`Self::next_frame`].
    pub fn whole_frames(&self, bytes: &[u8]) -> Result<usize, FrameError> {
        let (mut at, mut held) = (0, self.head_len);
        while let Some(rest) = bytes[at..].get(..LENGTH - held) {
            let mut head = self.head;
            head[held..].copy_from_slice(rest);
            let end = at + rest.len() + announced(head, self.limit)?;
            if end > bytes.len() {
                break;
            }
            (at, held) = (end, 0);
        }
        Ok(at)
    }

    /// The frame at hand, to be read into: the stream's next bytes are appended to its buffer, then
    /// [`Self::take_filled`] is asked whether that was all of it.
    pub fn partial(&mut self) -> Option<&mut PartialFrame> {
        self.partial.as_mut()
    }

    /// The frame at hand, if it is complete, and bytes that lie beyond its end: the start of the
    /// next.
    pub fn take_filled(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut whole = self.partial.take_if(|partial| partial.missing() == 0)?;
        let beyond = whole.bytes.split_off(whole.length);
        Some((whole.bytes, beyond))
    }

    /// How many bytes of the frame at hand have yet to arrive. Zero between frames, and while its
    /// length is not known.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.partial.as_ref().map_or(0, PartialFrame::missing)
    }

    /// Bytes of a frame that has not arrived in full, its length included.
    #[must_use]
    pub fn held(&self) -> usize {
        self.head_len + self.partial.as_ref().map_or(0, |partial| LENGTH + partial.bytes.len())
    }
}

impl PartialFrame {
    /// How many bytes have yet to arrive.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.length.saturating_sub(self.bytes.len())
    }

    /// Bytes that the buffer has room for, full or not.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// How much the buffer has to grow before more can be read into it: by as much as it has, at
    /// the most to the frame's end; by nothing while it is not full.
    #[must_use]
    pub fn growth(&self) -> usize {
        if self.bytes.len() < self.bytes.capacity() {
            return 0;
        }
        self.missing().min(self.bytes.capacity().max(FIRST_ROOM))
    }

    /// Makes room for `more` bytes.
    pub fn grow(&mut self, more: usize) {
        self.bytes.reserve_exact(more);
    }

    /// The frame's bytes; the stream's next are to be appended.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

/// Takes up to `most` bytes off the front.
fn take<'a>(bytes: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(bytes.len().min(most));
    *bytes = rest;
    taken
}

fn announced(head: [u8; LENGTH], limit: usize) -> Result<usize, FrameError> {
    let length = i32::from_be_bytes(head);
    let length = usize::try_from(length).map_err(|_| FrameError::Negative(length))?;
    if length > limit {
        return Err(FrameError::TooLarge { length, limit });
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All frames of `bytes`.
    fn cut(cutter: &mut FrameCutter, mut bytes: &[u8]) -> Result<Vec<Vec<u8>>, FrameError> {
        let mut frames = Vec::new();
        while let Some(frame) = cutter.next_frame(&mut bytes)? {
            frames.push(frame);
        }
        assert!(bytes.is_empty(), "all bytes were taken");
        Ok(frames)
    }

    #[test]
    fn frames_come_out_whole_however_the_bytes_came_in() {
        let stream = [0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 1, 9];
        for step in 1..=stream.len() {
            let mut cutter = FrameCutter::new(3);
            let mut frames = Vec::new();
            for chunk in stream.chunks(step) {
                frames.extend(cut(&mut cutter, chunk).unwrap());
            }
            assert_eq!(frames, [&[1, 2, 3][..], &[], &[9]]);
            assert_eq!(cutter.held(), 0);
        }
    }

    #[test]
    fn a_length_that_cannot_be_ends_the_stream() {
        let mut cutter = FrameCutter::new(1000);
        let error = FrameError::TooLarge { length: 1001, limit: 1000 };
        assert_eq!(cut(&mut cutter, &[0, 0, 3, 0xe9, 1]), Err(error));
        assert_eq!(cut(&mut cutter, &[0; 2000]), Err(error));
        assert_eq!(cut(&mut FrameCutter::new(1000), &[0xff; 4]), Err(FrameError::Negative(-1)));
    }

    #[test]
    fn whole_frames_are_told_from_the_beginning_of_another() {
        let stream = [0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 1, 9];
        let cutter = FrameCutter::new(3);
        let whole: Vec<usize> =
            (0..=stream.len()).map(|len| cutter.whole_frames(&stream[..len]).unwrap()).collect();
        assert_eq!(whole, [0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7, 11, 11, 11, 11, 11, 16]);
        let error = FrameError::TooLarge { length: 4, limit: 3 };
        assert_eq!(cutter.whole_frames(&[0, 0, 0, 0, 0, 0, 0, 4]), Err(error));
        let mut cutter = FrameCutter::new(3);
        assert_eq!(cut(&mut cutter, &[0, 0]), Ok(vec![]));
        let whole: Vec<usize> =
            (0..5).map(|len| cutter.whole_frames(&[0, 2, 7, 7][..len.min(4)]).unwrap()).collect();
        assert_eq!(whole, [0, 0, 0, 0, 4], "its length was begun");
    }

    #[test]
    fn a_length_alone_reserves_little() {
        let mut cutter = FrameCutter::new(100 << 20);
        assert_eq!(cut(&mut cutter, &(100_i32 << 20).to_be_bytes()), Ok(Vec::new()));
        let partial = cutter.partial().unwrap();
        assert_eq!((partial.capacity(), partial.missing()), (FIRST_ROOM, 100 << 20));
        assert_eq!(partial.growth(), 0, "there is room");
    }

    #[test]
    fn a_large_frame_is_read_into_its_buffer_which_doubles_up_to_its_end() {
        let body: Vec<u8> = (0..5 * FIRST_ROOM).map(|n| n as u8).collect();
        let stream = [&(body.len() as i32).to_be_bytes()[..], &body[..100]].concat();
        let mut cutter = FrameCutter::new(body.len());
        assert_eq!(cut(&mut cutter, &stream), Ok(Vec::new()));
        let (mut at, mut rooms) = (100, Vec::new());
        while at < body.len() {
            assert_eq!(cutter.take_filled(), None);
            let partial = cutter.partial().unwrap();
            let growth = partial.growth();
            partial.grow(growth);
            rooms.push(partial.capacity());
            let room = partial.capacity() - at;
            partial.buffer().extend_from_slice(&body[at..at + room]);
            at += room;
        }
        assert_eq!(rooms, [1, 2, 4, 5].map(|times| times * FIRST_ROOM));
        assert_eq!(cutter.take_filled(), Some((body, Vec::new())));
        assert_eq!(cutter.held(), 0);
    }

    #[test]
    fn what_was_read_beyond_a_frame_is_given_back() {
        let mut cutter = FrameCutter::new(1000);
        assert_eq!(cut(&mut cutter, &[0, 0, 0, 2, 7]), Ok(Vec::new()));
        assert_eq!(cutter.held(), 5);
        cutter.partial().unwrap().buffer().extend([8, 0, 0]);
        assert_eq!(cutter.take_filled(), Some((vec![7, 8], vec![0, 0])));
        assert_eq!(cut(&mut cutter, &[0, 0, 0, 1, 9]), Ok(vec![vec![9]]));
    }
}
