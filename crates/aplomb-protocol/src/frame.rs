//! Frames: on a connection, every request and every response is preceded by its length, a big-endian int32.
//!
//! [`FrameSplitter`] is told bytes and gives back frames; it knows no socket. Memory grows with the bytes that arrive: a
//! length alone costs little. Frames are cut off the buffer without a copy, so one that is kept keeps the buffer it
//! came in.

use bytes::{Buf as _, Bytes, BytesMut};

use crate::messages::{RequestHeader, ResponseHeader};
use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, Writer};

/// The bytes of a length.
const LENGTH: usize = 4;

/// There is room for at least this much when a socket is read, in bytes.
const LEAST_ROOM: usize = 4 * 1024;

/// Of a frame that has yet to arrive, there is room for this much at first, in bytes; it grows as the frame does.
const FIRST_ROOM: usize = 256 * 1024;

/// A length that ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A length below zero.
    #[error("frame length {0} is negative")]
    Negative(i32),
    /// A length over the limit (`socket.request.max.bytes`).
    #[error("frame of {len} bytes is over the limit of {limit}")]
    TooLarge {
        /// The frame's length in bytes.
        len: usize,
        /// The limit in bytes.
        limit: usize,
    },
}

/// Cuts a stream of bytes into frames.
#[derive(Debug)]
pub struct FrameSplitter {
    limit: usize,
    buffer: BytesMut,
}

impl FrameSplitter {
    /// Accepts frames of up to `limit` bytes, the length itself not counted.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, buffer: BytesMut::new() }
    }

    /// Takes bytes from the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Where a socket may read into; what is appended counts as pushed. There is room for what the frame at hand
    /// still lacks, in steps that grow with what has arrived.
    pub fn buffer(&mut self) -> &mut BytesMut {
        let held = self.buffer.len();
        let lacking = self.announced().map_or(0, |len| (LENGTH + len).saturating_sub(held));
        self.buffer.reserve(lacking.min(held.max(FIRST_ROOM)).max(LEAST_ROOM));
        &mut self.buffer
    }

    /// Bytes held that are not a complete frame yet (or were not asked for yet).
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// The next complete frame without its length; `None` when more bytes are needed.
    ///
    /// # Errors
    /// When the length is negative or over the limit. The stream has lost its frames then: every later call
    /// says the same, and the connection is to be closed.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, FrameError> {
        let Some(raw) = self.raw_length() else { return Ok(None) };
        let len = usize::try_from(raw).map_err(|_| FrameError::Negative(raw))?;
        if len > self.limit {
            return Err(FrameError::TooLarge { len, limit: self.limit });
        }
        if self.buffer.len() - LENGTH < len {
            return Ok(None);
        }
        self.buffer.advance(LENGTH);
        Ok(Some(self.buffer.split_to(len).freeze()))
    }

    fn raw_length(&self) -> Option<i32> {
        self.buffer.first_chunk::<LENGTH>().map(|raw| i32::from_be_bytes(*raw))
    }

    /// The length of the frame at hand, if it is one that will be accepted.
    fn announced(&self) -> Option<usize> {
        usize::try_from(self.raw_length()?).ok().filter(|len| *len <= self.limit)
    }
}

/// What a request says before its body, whichever API it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// The API.
    pub api: ApiKey,
    /// The version the body is in. The API need not have it: ask [`ApiKey::versions`].
    pub version: i16,
    /// Comes back in the response.
    pub correlation_id: i32,
    /// What the client calls itself.
    pub client_id: Option<String>,
}

impl RequestHead {
    /// Reads the header off the front of a frame and leaves the reader at the body.
    ///
    /// # Errors
    /// [`DecodeError::UnknownApiKey`] for a key that no API has, any other when the header is broken. Kafka closes
    /// the connection in both cases.
    pub fn decode(frame: &mut Reader) -> Result<Self, DecodeError> {
        // The header's own version depends on the first two of its fields, so these are looked at first.
        let mut ahead = frame.clone();
        let key = ahead.i16()?;
        let version = ahead.i16()?;
        let api = ApiKey::from_i16(key).ok_or(DecodeError::UnknownApiKey(key))?;
        let header = RequestHeader::decode(frame, api.request_header_version(version))?;
        Ok(Self { api, version, correlation_id: header.correlation_id, client_id: header.client_id })
    }
}

/// A complete request, length included, with this header and body: what clients send.
///
/// # Errors
/// Those of the message, and [`EncodeError::TooLong`].
pub fn encode_request<T: Request>(
    request: &T,
    version: i16,
    correlation_id: i32,
    client_id: &str,
) -> Result<Bytes, EncodeError> {
    let header = RequestHeader {
        request_api_key: T::KEY.key(),
        request_api_version: version,
        correlation_id,
        client_id: Some(client_id.to_owned()),
    };
    let mut writer = Writer::new();
    writer.i32(0);
    header.encode(&mut writer, T::KEY.request_header_version(version))?;
    request.encode(&mut writer, version)?;
    let len = writer.len() - LENGTH;
    writer.patch_i32(0, i32::try_from(len).map_err(|_| EncodeError::TooLong(len))?);
    Ok(writer.freeze())
}

/// A response that is being written: its length is left open until the end.
#[derive(Debug)]
pub struct ResponseFrame {
    writer: Writer,
}

impl ResponseFrame {
    /// Opens a response of `version`; the body follows in [`Self::writer`].
    ///
    /// # Errors
    /// Never for a version that the API has.
    pub fn open(api: ApiKey, version: i16, correlation_id: i32) -> Result<Self, EncodeError> {
        let mut writer = Writer::new();
        writer.i32(0);
        ResponseHeader { correlation_id }.encode(&mut writer, api.response_header_version(version))?;
        Ok(Self { writer })
    }

    /// A complete response with this body.
    ///
    /// # Errors
    /// Those of the message.
    pub fn encode(
        api: ApiKey,
        version: i16,
        correlation_id: i32,
        body: &impl Message,
    ) -> Result<Bytes, EncodeError> {
        let mut frame = Self::open(api, version, correlation_id)?;
        body.encode(frame.writer(), version)?;
        frame.close(0)
    }

    /// Where the body is written.
    pub fn writer(&mut self) -> &mut Writer {
        &mut self.writer
    }

    /// Fills in the length. `elsewhere` counts bytes of the response that are not in the writer.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`] when the response has more bytes than a length can say.
    pub fn close(mut self, elsewhere: usize) -> Result<Bytes, EncodeError> {
        let len = self.writer.len() - LENGTH + elsewhere;
        let raw = i32::try_from(len).map_err(|_| EncodeError::TooLong(len))?;
        self.writer.patch_i32(0, raw);
        Ok(self.writer.freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::ApiVersionsRequest;

    #[test]
    fn frames_come_out_whole_however_the_bytes_came_in() {
        let stream = [0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 1, 9];
        for step in 1..=stream.len() {
            let mut splitter = FrameSplitter::new(3);
            let mut frames = Vec::new();
            for chunk in stream.chunks(step) {
                splitter.push(chunk);
                while let Some(frame) = splitter.next_frame().unwrap() {
                    frames.push(frame);
                }
            }
            assert_eq!(frames, [&[1, 2, 3][..], &[], &[9]]);
            assert_eq!(splitter.buffered(), 0);
        }
    }

    #[test]
    fn a_length_that_cannot_be_ends_the_stream() {
        let mut splitter = FrameSplitter::new(1000);
        splitter.push(&[0, 0, 3, 0xe9, 1]);
        let error = FrameError::TooLarge { len: 1001, limit: 1000 };
        assert_eq!(splitter.next_frame(), Err(error));
        splitter.push(&[0; 2000]);
        assert_eq!(splitter.next_frame(), Err(error));

        let mut splitter = FrameSplitter::new(1000);
        splitter.push(&[0xff; 4]);
        assert_eq!(splitter.next_frame(), Err(FrameError::Negative(-1)));
    }

    #[test]
    fn a_length_alone_reserves_little() {
        let mut splitter = FrameSplitter::new(100 << 20);
        splitter.push(&(100_i32 << 20).to_be_bytes());
        let capacity = splitter.buffer().capacity();
        assert!((FIRST_ROOM..=2 * FIRST_ROOM).contains(&capacity), "{capacity}");
        assert!(FrameSplitter::new(0).buffer().capacity() < 2 * LEAST_ROOM);
    }

    #[test]
    fn the_header_says_how_to_read_itself() {
        let mut w = Writer::new();
        let header = RequestHeader {
            request_api_key: ApiKey::ApiVersions.key(),
            request_api_version: 3,
            correlation_id: 42,
            client_id: Some("me".to_owned()),
        };
        header.encode(&mut w, 2).unwrap();
        ApiVersionsRequest::default().encode(&mut w, 3).unwrap();
        let mut frame = Reader::new(w.freeze());
        let head = RequestHead::decode(&mut frame).unwrap();
        assert_eq!((head.api, head.version, head.correlation_id), (ApiKey::ApiVersions, 3, 42));
        assert_eq!(head.client_id.as_deref(), Some("me"));
        assert_eq!(crate::request::decode_request(&mut frame, 3), Ok(ApiVersionsRequest::default()));
    }

    #[test]
    fn a_request_is_a_frame_that_reads_back() {
        let request = ApiVersionsRequest { client_software_name: "me".to_owned(), ..Default::default() };
        let mut splitter = FrameSplitter::new(1000);
        splitter.push(&encode_request(&request, 3, 42, "us").unwrap());
        let mut frame = Reader::new(splitter.next_frame().unwrap().unwrap());
        let head = RequestHead::decode(&mut frame).unwrap();
        assert_eq!((head.api, head.version, head.correlation_id), (ApiKey::ApiVersions, 3, 42));
        assert_eq!(head.client_id.as_deref(), Some("us"));
        assert_eq!(crate::request::decode_request(&mut frame, 3), Ok(request));
        assert_eq!(splitter.buffered(), 0);
    }

    #[test]
    fn a_response_begins_with_its_length() {
        let response = ResponseFrame::open(ApiKey::Metadata, 9, 7).unwrap().close(5).unwrap();
        assert_eq!(response[..], [0, 0, 0, 10, 0, 0, 0, 7, 0]);
    }
}
