//! Why a heartbeat is not taken.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;

use crate::group::sentence;

/// An error's code, and what the client is told in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: ErrorCode,
    pub(super) message: Option<String>,
}

impl Refusal {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: Some(sentence(message.into())) }
    }

    pub(super) fn response(self) -> m::ConsumerGroupHeartbeatResponse {
        m::ConsumerGroupHeartbeatResponse {
            error_code: self.code.to_wire(),
            error_message: self.message,
            ..Default::default()
        }
    }
}
