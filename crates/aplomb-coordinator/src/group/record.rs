//! The records of `__consumer_offsets`, in Apache Kafka's bytes.
//!
//! A key begins with its type (int16), which is also the version of its schema's frame; a value
//! begins with its version (int16). Types 0 and 1 are both committed offsets; 0 has not been
//! written since Kafka 0.9 (`CoordinatorRecordSerde`, `GroupCoordinatorRecordSerde`).

use aplomb_model::ProducerId;
use aplomb_protocol::messages as m;
use aplomb_protocol::{DecodeError, EncodeError, Message, Reader, Writer};
use bytes::Bytes;

/// What an open transaction has written of an offset. `None`: it was written outside of any
/// transaction since, which holds whatever becomes of this.
pub(super) type Written = Option<m::OffsetCommitValue>;

/// What an offset was, where open transactions have to do with it.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetBefore {
    pub(super) key: m::OffsetCommitKey,
    /// What was committed; `None`: what still is.
    pub(super) stored: Option<Option<m::OffsetCommitValue>>,
    /// What open transactions had written; `None`: nothing.
    pub(super) open: Vec<(ProducerId, Option<Written>)>,
}

/// A key and its value, or a tombstone.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupRecord {
    /// Type 1, and 0: a committed offset.
    Offset(m::OffsetCommitKey, Option<m::OffsetCommitValue>),
    /// Type 2: a classic group with its members.
    Classic(m::GroupMetadataKey, Option<m::GroupMetadataValue>),
    /// Type 3: a consumer group's epoch.
    Epoch(m::ConsumerGroupMetadataKey, Option<m::ConsumerGroupMetadataValue>),
    /// Type 4: what a consumer group is subscribed to, as brokers before 4.1 wrote it. Only
    /// tombstones of it are written.
    Topics(m::ConsumerGroupPartitionMetadataKey, Option<m::ConsumerGroupPartitionMetadataValue>),
    /// Type 5: a member of a consumer group.
    Member(m::ConsumerGroupMemberMetadataKey, Option<m::ConsumerGroupMemberMetadataValue>),
    /// Type 6: the epoch of a target assignment.
    TargetEpoch(
        m::ConsumerGroupTargetAssignmentMetadataKey,
        Option<m::ConsumerGroupTargetAssignmentMetadataValue>,
    ),
    /// Type 7: what a member is to have.
    Target(m::ConsumerGroupTargetAssignmentMemberKey, Option<m::ConsumerGroupTargetAssignmentMemberValue>),
    /// Type 8: what a member has.
    Current(m::ConsumerGroupCurrentMemberAssignmentKey, Option<m::ConsumerGroupCurrentMemberAssignmentValue>),
    /// Type 16: the topics that a regular expression stands for.
    Expression(m::ConsumerGroupRegularExpressionKey, Option<m::ConsumerGroupRegularExpressionValue>),
    /// Another type that begins with a group id: of share and streams groups (10 to 15, 17, 19 to
    /// 23). What they say is not looked at; that they are there is.
    Foreign {
        /// The type.
        kind: i16,
        /// The key's bytes behind the type.
        key: Bytes,
        /// The group's id, with which the key begins.
        group: String,
        /// Whether it has a value.
        is_there: bool,
    },
    /// Takes a committed offset back with which open transactions have to do. Never written.
    TakesBack(Box<OffsetBefore>),
}

/// Versions in which values are written (`GroupCoordinatorRecordHelpers` of 4.4.0).
const CLASSIC_VERSION: i16 = 3;
const OFFSET_VERSION: i16 = 4;
/// Of an offset that says when it expires, as clients before 2.1 ask for.
const EXPIRING_OFFSET_VERSION: i16 = 1;

/// Record types of share and streams groups.
const FOREIGN: [std::ops::RangeInclusive<i16>; 3] = [10..=15, 17..=17, 19..=23];

impl GroupRecord {
    /// The group that it is about.
    #[must_use]
    pub fn group(&self) -> &str {
        match self {
            Self::Offset(key, _) => &key.group,
            Self::Classic(key, _) => &key.group,
            Self::Epoch(key, _) => &key.group_id,
            Self::Topics(key, _) => &key.group_id,
            Self::Member(key, _) => &key.group_id,
            Self::TargetEpoch(key, _) => &key.group_id,
            Self::Target(key, _) => &key.group_id,
            Self::Current(key, _) => &key.group_id,
            Self::Expression(key, _) => &key.group_id,
            Self::Foreign { group, .. } => group,
            Self::TakesBack(before) => &before.key.group,
        }
    }

    /// Whether it takes its key out.
    #[must_use]
    pub fn is_tombstone(&self) -> bool {
        match self {
            Self::Offset(_, value) => value.is_none(),
            Self::Classic(_, value) => value.is_none(),
            Self::Epoch(_, value) => value.is_none(),
            Self::Topics(_, value) => value.is_none(),
            Self::Member(_, value) => value.is_none(),
            Self::TargetEpoch(_, value) => value.is_none(),
            Self::Target(_, value) => value.is_none(),
            Self::Current(_, value) => value.is_none(),
            Self::Expression(_, value) => value.is_none(),
            Self::Foreign { is_there, .. } => !is_there,
            Self::TakesBack(_) => false,
        }
    }

    /// Key and value in bytes.
    ///
    /// # Errors
    /// When a field is too large for its format.
    ///
    /// # Panics
    /// For [`Self::Foreign`], which is not understood, and [`Self::TakesBack`]: neither is written.
    pub fn encode(&self) -> Result<(Bytes, Option<Bytes>), EncodeError> {
        match self {
            Self::Offset(key, value) => {
                let expires = value.as_ref().is_some_and(|value| value.expire_timestamp >= 0);
                pair(key, value, if expires { EXPIRING_OFFSET_VERSION } else { OFFSET_VERSION })
            }
            Self::Classic(key, value) => pair(key, value, CLASSIC_VERSION),
            Self::Epoch(key, value) => pair(key, value, 0),
            Self::Topics(key, value) => pair(key, value, 0),
            Self::Member(key, value) => pair(key, value, 0),
            Self::TargetEpoch(key, value) => pair(key, value, 0),
            Self::Target(key, value) => pair(key, value, 0),
            Self::Current(key, value) => pair(key, value, 0),
            Self::Expression(key, value) => pair(key, value, 0),
            Self::Foreign { kind, .. } => panic!("a record of type {kind} is read and not written"),
            Self::TakesBack(_) => panic!("what takes an offset back is not written"),
        }
    }

    /// Reads key and value. `Ok(None)`: a type that only later versions know.
    ///
    /// # Errors
    /// When the bytes are no record.
    pub fn decode(key: Bytes, value: Option<Bytes>) -> Result<Option<Self>, DecodeError> {
        let mut r = Reader::new(key);
        let kind = r.i16()?;
        Ok(Some(match kind {
            0 | 1 => Self::Offset(read_key(r)?, read_value(value)?),
            2 => Self::Classic(read_key(r)?, read_value(value)?),
            3 => Self::Epoch(read_key(r)?, read_value(value)?),
            4 => Self::Topics(read_key(r)?, read_value(value)?),
            5 => Self::Member(read_key(r)?, read_value(value)?),
            6 => Self::TargetEpoch(read_key(r)?, read_value(value)?),
            7 => Self::Target(read_key(r)?, read_value(value)?),
            8 => Self::Current(read_key(r)?, read_value(value)?),
            16 => Self::Expression(read_key(r)?, read_value(value)?),
            kind if FOREIGN.iter().any(|kinds| kinds.contains(&kind)) => {
                let key = r.rest();
                let group = r.string(false)?;
                Self::Foreign { kind, key, group, is_there: value.is_some() }
            }
            _ => return Ok(None),
        }))
    }
}

fn pair<K: Message, V: Message>(
    key: &K,
    value: &Option<V>,
    version: i16,
) -> Result<(Bytes, Option<Bytes>), EncodeError> {
    let kind = K::API_KEY.expect("keys of coordinators have a type");
    let mut w = Writer::new();
    w.i16(kind);
    key.encode(&mut w, 0)?;
    let key = w.freeze();
    let Some(value) = value else { return Ok((key, None)) };
    let mut w = Writer::new();
    w.i16(version);
    value.encode(&mut w, version)?;
    Ok((key, Some(w.freeze())))
}

fn read_key<K: Message>(mut r: Reader) -> Result<K, DecodeError> {
    let key = K::decode(&mut r, 0)?;
    r.finish()?;
    Ok(key)
}

fn read_value<V: Message>(value: Option<Bytes>) -> Result<Option<V>, DecodeError> {
    let Some(value) = value else { return Ok(None) };
    let mut r = Reader::new(value);
    let version = r.i16()?;
    V::decode(&mut r, version).map(Some)
}
