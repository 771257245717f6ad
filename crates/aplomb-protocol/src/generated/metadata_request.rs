//! `MetadataRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/MetadataRequest.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `MetadataRequest`: request, key 3, versions 0-13, flexible 9+.
#[derive(Clone, Debug, PartialEq)]
pub struct MetadataRequest {
    /// `Topics`: []MetadataRequestTopic, versions 0+, nullable in 1+.
    pub topics: Option<Vec<MetadataRequestTopic>>,
    /// `AllowAutoTopicCreation`: bool, versions 4+, default true.
    pub allow_auto_topic_creation: bool,
    /// `IncludeClusterAuthorizedOperations`: bool, versions 8-10.
    pub include_cluster_authorized_operations: bool,
    /// `IncludeTopicAuthorizedOperations`: bool, versions 8+.
    pub include_topic_authorized_operations: bool,
}

impl Default for MetadataRequest {
    fn default() -> Self {
        Self {
            topics: Some(Vec::new()),
            allow_auto_topic_creation: true,
            include_cluster_authorized_operations: false,
            include_topic_authorized_operations: false,
        }
    }
}

impl Message for MetadataRequest {
    const NAME: &'static str = "MetadataRequest";
    const API_KEY: Option<i16> = Some(3);
    const VERSIONS: VersionRange = VersionRange::new(0, 13);
    const FLEXIBLE_FROM: Option<i16> = Some(9);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 9;
        let topics = if v >= 1 {
            r.nullable_array(flexible, |r| MetadataRequestTopic::decode(r, v))?
        } else {
            Some(r.array(flexible, |r| MetadataRequestTopic::decode(r, v))?)
        };
        let allow_auto_topic_creation = if v >= 4 { r.bool()? } else { true };
        let include_cluster_authorized_operations = if (8..=10).contains(&v) { r.bool()? } else { false };
        let include_topic_authorized_operations = if v >= 8 { r.bool()? } else { false };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self {
            topics,
            allow_auto_topic_creation,
            include_cluster_authorized_operations,
            include_topic_authorized_operations,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 9;
        if v >= 1 {
            w.nullable_array(self.topics.as_deref(), flexible, |w, it| it.encode(w, v))?;
        } else {
            let it = self.topics.as_ref().ok_or(EncodeError::UnexpectedNull {
                message: "MetadataRequest",
                field: "Topics",
                version: v,
            })?;
            w.array(it, flexible, |w, it| it.encode(w, v))?;
        }
        if v >= 4 {
            w.bool(self.allow_auto_topic_creation);
        } else if !self.allow_auto_topic_creation {
            return Err(EncodeError::FieldNotInVersion {
                message: "MetadataRequest",
                field: "AllowAutoTopicCreation",
                version: v,
            });
        }
        if (8..=10).contains(&v) {
            w.bool(self.include_cluster_authorized_operations);
        } else if self.include_cluster_authorized_operations {
            return Err(EncodeError::FieldNotInVersion {
                message: "MetadataRequest",
                field: "IncludeClusterAuthorizedOperations",
                version: v,
            });
        }
        if v >= 8 {
            w.bool(self.include_topic_authorized_operations);
        } else if self.include_topic_authorized_operations {
            return Err(EncodeError::FieldNotInVersion {
                message: "MetadataRequest",
                field: "IncludeTopicAuthorizedOperations",
                version: v,
            });
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `MetadataRequestTopic` in `MetadataRequest`, versions 0-13.
#[derive(Clone, Debug, PartialEq)]
pub struct MetadataRequestTopic {
    /// `TopicId`: uuid, versions 10+, dropped by versions without it.
    pub topic_id: Uuid,
    /// `Name`: string, versions 0+, nullable in 10+.
    pub name: Option<String>,
}

impl Default for MetadataRequestTopic {
    fn default() -> Self {
        Self { topic_id: Uuid::ZERO, name: Some(String::new()) }
    }
}

impl MetadataRequestTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 9;
        let topic_id = if v >= 10 { r.uuid()? } else { Uuid::ZERO };
        let name = if v >= 10 { r.nullable_string(flexible)? } else { Some(r.string(flexible)?) };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { topic_id, name })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 9;
        if v >= 10 {
            w.uuid(self.topic_id);
        }
        if v >= 10 {
            w.nullable_string(self.name.as_deref(), flexible)?;
        } else {
            let it = self.name.as_ref().ok_or(EncodeError::UnexpectedNull {
                message: "MetadataRequestTopic",
                field: "Name",
                version: v,
            })?;
            w.string(it, flexible)?;
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for MetadataRequest {
    const KEY: ApiKey = ApiKey::Metadata;
    type Response = super::MetadataResponse;
}
