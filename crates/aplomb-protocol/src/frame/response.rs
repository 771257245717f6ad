//! What stands at the beginning of a response.

use bytes::Bytes;

use super::LENGTH;
use crate::messages::ResponseHeader;
use crate::{ApiKey, EncodeError, Message, Writer};

/// Most responses are no longer.
const ROOM: usize = 128;

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
        let mut writer = Writer::with_capacity(ROOM);
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

    #[test]
    fn a_response_begins_with_its_length() {
        let response = ResponseFrame::open(ApiKey::Metadata, 9, 7).unwrap().close(5).unwrap();
        assert_eq!(response[..], [0, 0, 0, 10, 0, 0, 0, 7, 0]);
    }
}
