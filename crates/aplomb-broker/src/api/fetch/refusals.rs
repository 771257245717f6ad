//! Fetches that are refused as a whole.

use aplomb_model::ErrorCode;
use aplomb_protocol::EncodeError;
use aplomb_protocol::hot::fetch_request::FetchBody;
use aplomb_protocol::hot::fetch_response::{FetchResponseHead, FetchResponseWriter, FetchedPartition};

use crate::ports::Reply;

/// From this version on, an error of the whole request is not said for each partition.
const SAID_ONCE_FROM: i16 = 13;

/// An error for all of a request that is not understood. From version 13 on it is only said once
/// (`FetchRequest#getErrorResponse` in Apache Kafka).
pub(super) fn refuse_each(
    body: &FetchBody,
    correlation_id: i32,
    error: ErrorCode,
) -> Result<Reply, EncodeError> {
    let head =
        FetchResponseHead { throttle_time_ms: 0, error_code: error.to_wire(), session_id: body.session_id };
    let mut response = FetchResponseWriter::new(body.version, correlation_id, head)?;
    let mut topic = None;
    for partition in body.partitions.iter().filter(|_| body.version < SAID_ONCE_FROM) {
        if topic.replace(partition.topic) != Some(partition.topic) {
            response.topic(body.topic_of(partition).as_ref())?;
        }
        response.partition(&FetchedPartition {
            aborted_transactions: Some(&[]),
            ..FetchedPartition::refused(partition.partition, error.to_wire())
        })?;
    }
    let (errors, throttle_at) = (response.take_errors(), response.throttle_at());
    Ok(Reply::of(response.finish(&[])?, errors, throttle_at))
}

/// A response that is nothing but an error.
pub(super) fn refuse(version: i16, correlation_id: i32, error: ErrorCode) -> Result<Reply, EncodeError> {
    // Sessions exist from version 7 on, and so does the field for their errors.
    let head = FetchResponseHead { throttle_time_ms: 0, error_code: error.to_wire(), session_id: 0 };
    let mut response = FetchResponseWriter::new(version, correlation_id, head)?;
    let (errors, throttle_at) = (response.take_errors(), response.throttle_at());
    Ok(Reply::of(response.finish(&[])?, errors, throttle_at))
}
