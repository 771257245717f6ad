//! A frame becomes a request: header, then body.

use bytes::Bytes;

use crate::{AnyRequest, AnyResponse, ApiKey, DecodeError, Reader, Request};

/// Reads the body of a request that one knows the type of. `body` reads behind the header. What is
/// left over behind the message is ignored, as by Apache Kafka: librdkafka (2.3 to 2.16) writes the
/// null topics of Metadata 12 and 13 in one byte, into a field that it has made four bytes long.
///
/// # Errors
/// Those of the message.
pub fn decode_request<T: Request>(body: &mut Reader, version: i16) -> Result<T, DecodeError> {
    T::decode(body, version)
}

/// Reads the body of any request; nothing may be left over.
///
/// # Errors
/// [`DecodeError::UnknownApiKey`] when this build does not speak the API, those of the message, and
/// [`DecodeError::TrailingBytes`].
pub fn decode_any_request(api_key: i16, version: i16, body: Bytes) -> Result<AnyRequest, DecodeError> {
    let api = ApiKey::from_i16(api_key).ok_or(DecodeError::UnknownApiKey(api_key))?;
    let mut r = Reader::new(body);
    let request = AnyRequest::decode(api, &mut r, version)?;
    r.finish()?;
    Ok(request)
}

/// Reads the body of any response; nothing may be left over.
///
/// # Errors
/// As [`decode_any_request`].
pub fn decode_any_response(api_key: i16, version: i16, body: Bytes) -> Result<AnyResponse, DecodeError> {
    let api = ApiKey::from_i16(api_key).ok_or(DecodeError::UnknownApiKey(api_key))?;
    let mut r = Reader::new(body);
    let response = AnyResponse::decode(api, &mut r, version)?;
    r.finish()?;
    Ok(response)
}
