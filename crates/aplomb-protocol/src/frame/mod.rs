//! Frames: on a connection, every request and every response is preceded by its length, a
//! big-endian int32. [`FrameCutter`] takes a stream apart; [`RequestHead`] and [`ResponseFrame`]
//! are what stands at a frame's beginning.

mod cutter;
mod request;
mod response;

pub use cutter::{FrameCutter, FrameError, PartialFrame};
pub use request::{RequestHead, encode_request, peek};
pub use response::ResponseFrame;

/// The bytes of a length.
const LENGTH: usize = 4;
