//! `OffsetFetchRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/OffsetFetchRequest.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `OffsetFetchRequest`: request, key 9, versions 1-10, flexible 6+.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetFetchRequest {
    /// `GroupId`: string, versions 0-7.
    pub group_id: String,
    /// `Topics`: []OffsetFetchRequestTopic, versions 0-7, nullable in 2-7.
    pub topics: Option<Vec<OffsetFetchRequestTopic>>,
    /// `Groups`: []OffsetFetchRequestGroup, versions 8+.
    pub groups: Vec<OffsetFetchRequestGroup>,
    /// `RequireStable`: bool, versions 7+, default false.
    pub require_stable: bool,
}

impl Default for OffsetFetchRequest {
    fn default() -> Self {
        Self { group_id: String::new(), topics: Some(Vec::new()), groups: Vec::new(), require_stable: false }
    }
}

impl Message for OffsetFetchRequest {
    const NAME: &'static str = "OffsetFetchRequest";
    const API_KEY: Option<i16> = Some(9);
    const VERSIONS: VersionRange = VersionRange::new(1, 10);
    const FLEXIBLE_FROM: Option<i16> = Some(6);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 6;
        let group_id = if v <= 7 { r.string(flexible)? } else { String::new() };
        let topics = if v <= 7 {
            if v >= 2 {
                r.nullable_array(flexible, |r| OffsetFetchRequestTopic::decode(r, v))?
            } else {
                Some(r.array(flexible, |r| OffsetFetchRequestTopic::decode(r, v))?)
            }
        } else {
            Some(Vec::new())
        };
        let groups =
            if v >= 8 { r.array(flexible, |r| OffsetFetchRequestGroup::decode(r, v))? } else { Vec::new() };
        let require_stable = if v >= 7 { r.bool()? } else { false };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { group_id, topics, groups, require_stable })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 6;
        if v <= 7 {
            w.string(&self.group_id, flexible)?;
        } else if !self.group_id.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "OffsetFetchRequest",
                field: "GroupId",
                version: v,
            });
        }
        if v <= 7 {
            if v >= 2 {
                w.nullable_array(self.topics.as_deref(), flexible, |w, it| it.encode(w, v))?;
            } else {
                let it = self.topics.as_ref().ok_or(EncodeError::UnexpectedNull {
                    message: "OffsetFetchRequest",
                    field: "Topics",
                    version: v,
                })?;
                w.array(it, flexible, |w, it| it.encode(w, v))?;
            }
        } else if self.topics.as_ref().is_none_or(|it| !it.is_empty()) {
            return Err(EncodeError::FieldNotInVersion {
                message: "OffsetFetchRequest",
                field: "Topics",
                version: v,
            });
        }
        if v >= 8 {
            w.array(&self.groups, flexible, |w, it| it.encode(w, v))?;
        } else if !self.groups.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "OffsetFetchRequest",
                field: "Groups",
                version: v,
            });
        }
        if v >= 7 {
            w.bool(self.require_stable);
        } else if self.require_stable {
            return Err(EncodeError::FieldNotInVersion {
                message: "OffsetFetchRequest",
                field: "RequireStable",
                version: v,
            });
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `OffsetFetchRequestTopic` in `OffsetFetchRequest`, versions 1-7.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetFetchRequestTopic {
    /// `Name`: string, versions 0-7.
    pub name: String,
    /// `PartitionIndexes`: []int32, versions 0-7.
    pub partition_indexes: Vec<i32>,
}

impl OffsetFetchRequestTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 6;
        let name = r.string(flexible)?;
        let partition_indexes = r.array(flexible, Reader::i32)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, partition_indexes })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 6;
        w.string(&self.name, flexible)?;
        w.array(&self.partition_indexes, flexible, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `OffsetFetchRequestGroup` in `OffsetFetchRequest`, versions 8-10.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetFetchRequestGroup {
    /// `GroupId`: string, versions 8+.
    pub group_id: String,
    /// `MemberId`: string, versions 9+, nullable in 9+, default null, dropped by versions without it.
    pub member_id: Option<String>,
    /// `MemberEpoch`: int32, versions 9+, default -1, dropped by versions without it.
    pub member_epoch: i32,
    /// `Topics`: []OffsetFetchRequestTopics, versions 8+, nullable in 8+.
    pub topics: Option<Vec<OffsetFetchRequestTopics>>,
}

impl Default for OffsetFetchRequestGroup {
    fn default() -> Self {
        Self { group_id: String::new(), member_id: None, member_epoch: -1, topics: Some(Vec::new()) }
    }
}

impl OffsetFetchRequestGroup {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let group_id = r.string(true)?;
        let member_id = if v >= 9 { r.nullable_string(true)? } else { None };
        let member_epoch = if v >= 9 { r.i32()? } else { -1 };
        let topics = r.nullable_array(true, |r| OffsetFetchRequestTopics::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { group_id, member_id, member_epoch, topics })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.string(&self.group_id, true)?;
        if v >= 9 {
            w.nullable_string(self.member_id.as_deref(), true)?;
        }
        if v >= 9 {
            w.i32(self.member_epoch);
        }
        w.nullable_array(self.topics.as_deref(), true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `OffsetFetchRequestTopics` in `OffsetFetchRequest`, versions 8-10.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OffsetFetchRequestTopics {
    /// `Name`: string, versions 8-9, dropped by versions without it.
    pub name: String,
    /// `TopicId`: uuid, versions 10+, dropped by versions without it.
    pub topic_id: Uuid,
    /// `PartitionIndexes`: []int32, versions 8+.
    pub partition_indexes: Vec<i32>,
}

impl OffsetFetchRequestTopics {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let name = if v <= 9 { r.string(true)? } else { String::new() };
        let topic_id = if v == 10 { r.uuid()? } else { Uuid::ZERO };
        let partition_indexes = r.array(true, Reader::i32)?;
        r.skip_tags()?;
        Ok(Self { name, topic_id, partition_indexes })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if v <= 9 {
            w.string(&self.name, true)?;
        }
        if v == 10 {
            w.uuid(self.topic_id);
        }
        w.array(&self.partition_indexes, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.no_tags();
        Ok(())
    }
}

impl Request for OffsetFetchRequest {
    const KEY: ApiKey = ApiKey::OffsetFetch;
    type Response = super::OffsetFetchResponse;
}
