//! Which response answers which request.

use aplomb_protocol::frame::ResponseFrame;
use aplomb_protocol::{ApiKey, EncodeError, Message};

use crate::ports::Reply;

/// What a response has to say of the request that it answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyTo {
    pub(crate) api: ApiKey,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
}

impl ReplyTo {
    /// The reply with this body.
    pub(crate) fn with(self, body: &impl Message) -> Result<Reply, EncodeError> {
        let mut frame = ResponseFrame::open(self.api, self.version, self.correlation_id)?;
        body.encode(frame.writer(), self.version)?;
        let (errors, throttle_at) = (frame.writer().take_errors(), frame.writer().throttle_at());
        let parts = vec![frame.close(0)?];
        Ok(Reply::of(parts, errors, throttle_at))
    }
}
