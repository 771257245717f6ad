//! How Produce and Fetch name a topic: by its name up to version 12 of either, by its id from
//! version 13 (KIP-516).

use std::sync::Arc;

use aplomb_model::TopicId;

use crate::{EncodeError, Writer};

/// The first version of Produce, and of Fetch, that names topics by id.
pub(super) const IDS_FROM: i16 = 13;

/// A topic, as one message names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TopicRef<'a> {
    /// Up to version 12.
    Name(&'a str),
    /// From version 13 on.
    Id(TopicId),
}

impl TopicRef<'_> {
    /// The topic, to be kept.
    #[must_use]
    pub fn to_key(self) -> TopicKey {
        match self {
            Self::Name(name) => TopicKey::Name(name.into()),
            Self::Id(id) => TopicKey::Id(id),
        }
    }
}

/// A topic, kept beyond the message that named it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TopicKey {
    /// Up to version 12.
    Name(Arc<str>),
    /// From version 13 on.
    Id(TopicId),
}

impl TopicKey {
    /// The same topic, borrowed.
    #[must_use]
    pub fn as_ref(&self) -> TopicRef<'_> {
        match self {
            Self::Name(name) => TopicRef::Name(name),
            Self::Id(id) => TopicRef::Id(*id),
        }
    }
}

impl TopicRef<'_> {
    /// Writes the topic in the form that `version` of `message` uses.
    pub(super) fn encode(
        self,
        w: &mut Writer,
        message: &'static str,
        version: i16,
        flexible: bool,
    ) -> Result<(), EncodeError> {
        match self {
            Self::Name(name) if version < IDS_FROM => w.string(name, flexible),
            Self::Id(id) if version >= IDS_FROM => {
                w.uuid(id);
                Ok(())
            }
            Self::Name(_) => Err(EncodeError::UnexpectedNull { message, field: "TopicId", version }),
            Self::Id(_) => Err(EncodeError::UnexpectedNull { message, field: "Name", version }),
        }
    }
}
