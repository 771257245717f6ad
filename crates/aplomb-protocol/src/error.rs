//! What can be wrong with bytes from outside ([`DecodeError`]) and with a message that ought to
//! become bytes ([`EncodeError`]). Both are plain values: a hostile peer cannot make them allocate.

/// Bytes that are not the message they claim to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end inside a value.
    #[error("{wanted} bytes wanted, {left} left")]
    Truncated {
        /// Bytes that the value needs.
        wanted: usize,
        /// Bytes that are there.
        left: usize,
    },
    /// More elements announced than there are bytes: each takes at least one.
    #[error("{count} elements announced, {left} bytes left")]
    CountTooLarge {
        /// Elements announced.
        count: usize,
        /// Bytes that are there.
        left: usize,
    },
    /// The frame's elements would take far more memory than the frame itself.
    #[error("a frame of {frame} bytes unfolds into too much")]
    OverAllowance {
        /// The frame's size in bytes.
        frame: usize,
    },
    /// Null in a version that does not allow it.
    #[error("null where this version allows none")]
    UnexpectedNull,
    /// A string over 32767 bytes, the longest that Kafka allows in any form.
    #[error("string of {0} bytes is over 32767")]
    StringTooLong(usize),
    /// A string that is not UTF-8.
    #[error("string is not UTF-8")]
    NotUtf8,
    /// A varint of more than 32 bits.
    #[error("varint of more than 32 bits")]
    VarintTooLong,
    /// A tagged field whose value does not fill the size it announced.
    #[error("{0} bytes left over in a tagged field")]
    TagNotFilled(usize),
    /// Bytes left over behind a complete message.
    #[error("{0} bytes left over behind the message")]
    TrailingBytes(usize),
    /// The message has no such version.
    #[error("{message} has no version {version}")]
    UnsupportedVersion {
        /// The message's name.
        message: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// No API has this key, or this build does not speak it.
    #[error("API key {0} is unknown")]
    UnknownApiKey(i16),
    /// A record of the metadata log in a frame other than version 1.
    #[error("metadata record frame version {0} is unknown")]
    UnknownFrameVersion(u32),
    /// A number that stands for one of a few things, and for none of those.
    #[error("{name} is not {value}")]
    UnknownValue {
        /// The field's name.
        name: &'static str,
        /// The number in its place.
        value: i64,
    },
    /// A record type of the metadata log that this build does not know.
    #[error("metadata record type {0} is unknown")]
    UnknownRecordType(u32),
}

/// A message that cannot be written in the version asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A field is set that this version lacks and that the schema does not allow to be dropped.
    #[error("{message} version {version} has no field {field}")]
    FieldNotInVersion {
        /// The message's or nested struct's name.
        message: &'static str,
        /// The field's name.
        field: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// A field is null in a version that does not allow it.
    #[error("{message} version {version} does not allow a null {field}")]
    UnexpectedNull {
        /// The message's or nested struct's name.
        message: &'static str,
        /// The field's name.
        field: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// A string over 32767 bytes.
    #[error("string of {0} bytes is over 32767")]
    StringTooLong(usize),
    /// Something of more bytes or elements than a 32-bit length can say.
    #[error("length {0} does not fit in 31 bits")]
    TooLong(usize),
    /// The message has no such version.
    #[error("{message} has no version {version}")]
    UnsupportedVersion {
        /// The message's name.
        message: &'static str,
        /// The version asked for.
        version: i16,
    },
}
