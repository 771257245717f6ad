//! `ConsumerGroupMemberMetadataValue` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ConsumerGroupMemberMetadataValue.schema`; not edited by hand.

use bytes::Bytes;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ConsumerGroupMemberMetadataValue`: coordinator-value, key 5, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsumerGroupMemberMetadataValue {
    /// `InstanceId`: string, versions 0+, nullable in 0+.
    pub instance_id: Option<String>,
    /// `RackId`: string, versions 0+, nullable in 0+.
    pub rack_id: Option<String>,
    /// `ClientId`: string, versions 0+.
    pub client_id: String,
    /// `ClientHost`: string, versions 0+.
    pub client_host: String,
    /// `SubscribedTopicNames`: []string, versions 0+.
    pub subscribed_topic_names: Vec<String>,
    /// `SubscribedTopicRegex`: string, versions 0+, nullable in 0+.
    pub subscribed_topic_regex: Option<String>,
    /// `RebalanceTimeoutMs`: int32, versions 0+, default -1.
    pub rebalance_timeout_ms: i32,
    /// `ServerAssignor`: string, versions 0+, nullable in 0+.
    pub server_assignor: Option<String>,
    /// `ClassicMemberMetadata`: ClassicMemberMetadata, versions 0+, nullable in 0+, tag 0 in 0+.
    pub classic_member_metadata: Option<ClassicMemberMetadata>,
}

impl Default for ConsumerGroupMemberMetadataValue {
    fn default() -> Self {
        Self {
            instance_id: Some(String::new()),
            rack_id: Some(String::new()),
            client_id: String::new(),
            client_host: String::new(),
            subscribed_topic_names: Vec::new(),
            subscribed_topic_regex: Some(String::new()),
            rebalance_timeout_ms: -1,
            server_assignor: Some(String::new()),
            classic_member_metadata: Some(ClassicMemberMetadata::default()),
        }
    }
}

impl Message for ConsumerGroupMemberMetadataValue {
    const NAME: &'static str = "ConsumerGroupMemberMetadataValue";
    const API_KEY: Option<i16> = Some(5);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let instance_id = r.nullable_string(true)?;
        let rack_id = r.nullable_string(true)?;
        let client_id = r.string(true)?;
        let client_host = r.string(true)?;
        let subscribed_topic_names = r.array(true, |r| r.string(true))?;
        let subscribed_topic_regex = r.nullable_string(true)?;
        let rebalance_timeout_ms = r.i32()?;
        let server_assignor = r.nullable_string(true)?;
        let mut classic_member_metadata = Some(ClassicMemberMetadata::default());
        for _ in 0..r.tag_count()? {
            let (tag, outer) = r.enter_tag()?;
            match tag {
                0 => {
                    classic_member_metadata =
                        r.tagged_nullable_struct(|r| ClassicMemberMetadata::decode(r, v))?
                }
                _ => r.skip_tag(),
            }
            r.leave_tag(outer)?;
        }
        Ok(Self {
            instance_id,
            rack_id,
            client_id,
            client_host,
            subscribed_topic_names,
            subscribed_topic_regex,
            rebalance_timeout_ms,
            server_assignor,
            classic_member_metadata,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.nullable_string(self.instance_id.as_deref(), true)?;
        w.nullable_string(self.rack_id.as_deref(), true)?;
        w.string(&self.client_id, true)?;
        w.string(&self.client_host, true)?;
        w.array(&self.subscribed_topic_names, true, |w, it| w.string(it, true))?;
        w.nullable_string(self.subscribed_topic_regex.as_deref(), true)?;
        w.i32(self.rebalance_timeout_ms);
        w.nullable_string(self.server_assignor.as_deref(), true)?;
        let mut tags = w.open_tags();
        if self.classic_member_metadata != Some(ClassicMemberMetadata::default()) {
            w.tagged(&mut tags, 0, |w| {
                w.tagged_nullable_struct(self.classic_member_metadata.as_ref(), |w, it| it.encode(w, v))
            })?;
        }
        Ok(())
    }
}

/// `ClassicMemberMetadata` in `ConsumerGroupMemberMetadataValue`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ClassicMemberMetadata {
    /// `SessionTimeoutMs`: int32, versions 0+.
    pub session_timeout_ms: i32,
    /// `SupportedProtocols`: []ClassicProtocol, versions 0+.
    pub supported_protocols: Vec<ClassicProtocol>,
}

impl ClassicMemberMetadata {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let session_timeout_ms = r.i32()?;
        let supported_protocols = r.array(true, |r| ClassicProtocol::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { session_timeout_ms, supported_protocols })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.i32(self.session_timeout_ms);
        w.array(&self.supported_protocols, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `ClassicProtocol` in `ConsumerGroupMemberMetadataValue`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ClassicProtocol {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Metadata`: bytes, versions 0+.
    pub metadata: Bytes,
}

impl ClassicProtocol {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        let metadata = r.bytes(true)?;
        r.skip_tags()?;
        Ok(Self { name, metadata })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, true)?;
        w.bytes(&self.metadata, true)?;
        w.no_tags();
        Ok(())
    }
}
