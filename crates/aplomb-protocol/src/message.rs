//! What every generated message can do. The implementations are in [`crate::messages`].

use std::fmt;

use bytes::Bytes;

use crate::{ApiKey, DecodeError, EncodeError, Reader, VersionRange, Writer};

/// A message of the protocol or a record of a log, with the fields of all its versions.
pub trait Message: Sized + Default + Clone + PartialEq + fmt::Debug {
    /// Kafka's name of the message, for example `ProduceRequest`.
    const NAME: &'static str;
    /// The key of its API, or of its record type in the metadata log; `None` where it has neither.
    const API_KEY: Option<i16>;
    /// The versions that can be read and written, unstable ones included.
    const VERSIONS: VersionRange;
    /// The first version with compact lengths and tagged fields, if any has them.
    const FLEXIBLE_FROM: Option<i16>;

    /// Reads one message. Fields that `version` lacks get the schema's default. Unknown
    /// tagged fields are skipped. Bytes behind the message are left in the reader.
    ///
    /// # Errors
    /// [`DecodeError::UnsupportedVersion`] outside of [`Self::VERSIONS`], any other when
    /// the bytes are not the message.
    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError>;

    /// Writes the message.
    ///
    /// # Errors
    /// When the version does not exist or cannot express the message. What was written
    /// until then stays in the writer.
    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError>;

    /// Reads a message that fills `bytes`.
    ///
    /// # Errors
    /// As [`Self::decode`], and [`DecodeError::TrailingBytes`].
    fn from_bytes(bytes: Bytes, version: i16) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let message = Self::decode(&mut reader, version)?;
        reader.finish()?;
        Ok(message)
    }

    /// The message alone, as bytes.
    ///
    /// # Errors
    /// As [`Self::encode`].
    fn to_bytes(&self, version: i16) -> Result<Bytes, EncodeError> {
        let mut writer = Writer::new();
        self.encode(&mut writer, version)?;
        Ok(writer.freeze())
    }
}

/// A request, which knows its key and its answer.
pub trait Request: Message {
    /// The API that it asks for.
    const KEY: ApiKey;
    /// What answers it.
    type Response: Message;
}

/// A message whose type is known at run time only: for tests, fuzzing and tools.
/// [`crate::messages::ALL`] lists them.
#[derive(Clone, Copy, Debug)]
pub struct Codec {
    /// See [`Message::NAME`].
    pub name: &'static str,
    /// See [`Message::VERSIONS`].
    pub versions: VersionRange,
    /// Reads a message that fills the bytes.
    pub read: fn(Bytes, i16) -> Result<Reread, DecodeError>,
}

/// A message that was read, shown and written again.
#[derive(Clone, Debug, PartialEq)]
pub struct Reread {
    /// Its `Debug` form.
    pub shown: String,
    /// Its bytes, in the version it was read in.
    pub written: Result<Bytes, EncodeError>,
}

impl Codec {
    pub(crate) const fn of<T: Message>() -> Self {
        Self { name: T::NAME, versions: T::VERSIONS, read: reread::<T> }
    }
}

fn reread<T: Message>(bytes: Bytes, version: i16) -> Result<Reread, DecodeError> {
    let message = T::from_bytes(bytes, version)?;
    Ok(Reread { shown: format!("{message:?}"), written: message.to_bytes(version) })
}
