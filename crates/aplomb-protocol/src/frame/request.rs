//! What stands at the beginning of a request.

use bytes::Bytes;

use super::LENGTH;
use crate::messages::RequestHeader;
use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, Writer};

/// API key and version of a request's frame, without a look at the rest; -1 for what is not there.
#[must_use]
pub fn peek(frame: &[u8]) -> (i16, i16) {
    let at = |at: usize| frame.get(at..at + 2).map_or(-1, |raw| i16::from_be_bytes([raw[0], raw[1]]));
    (at(0), at(2))
}

/// What a request says before its body, whichever API it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// Which request it is.
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
    /// [`DecodeError::UnknownApiKey`] for a key that no API has, any other when the header
    /// is broken. Kafka closes the connection in both cases.
    pub fn decode(frame: &mut Reader) -> Result<Self, DecodeError> {
        // The header's own version depends on the first two of its fields, so these are looked at
        // first.
        let (key, version) = frame.ahead(|frame| Ok((frame.i16()?, frame.i16()?)))?;
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

#[cfg(test)]
mod tests {
    use super::super::FrameCutter;
    use super::*;
    use crate::messages::ApiVersionsRequest;
    use crate::request::decode_request;

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
        assert_eq!(decode_request(&mut frame, 3), Ok(ApiVersionsRequest::default()));
    }

    #[test]
    fn a_request_is_a_frame_that_reads_back() {
        let request = ApiVersionsRequest { client_software_name: "me".to_owned(), ..Default::default() };
        let bytes = encode_request(&request, 3, 42, "us").unwrap();
        let mut stream = &bytes[..];
        let frame = FrameCutter::new(1000).next_frame(&mut stream).unwrap().unwrap();
        assert!(stream.is_empty());
        assert_eq!(peek(&frame), (ApiKey::ApiVersions.key(), 3));
        let mut frame = Reader::new(frame.into());
        let head = RequestHead::decode(&mut frame).unwrap();
        assert_eq!((head.api, head.version, head.correlation_id), (ApiKey::ApiVersions, 3, 42));
        assert_eq!(head.client_id.as_deref(), Some("us"));
        assert_eq!(decode_request(&mut frame, 3), Ok(request));
    }

    #[test]
    fn a_frame_that_ends_early_can_be_looked_at() {
        assert_eq!(peek(&[0, 3, 0, 12, 0]), (3, 12));
        assert_eq!(peek(&[0, 3, 0]), (3, -1));
        assert_eq!(peek(&[0]), (-1, -1));
    }
}
