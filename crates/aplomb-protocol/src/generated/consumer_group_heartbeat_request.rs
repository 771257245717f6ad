//! `ConsumerGroupHeartbeatRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ConsumerGroupHeartbeatRequest.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `ConsumerGroupHeartbeatRequest`: request, key 68, versions 0-1, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsumerGroupHeartbeatRequest {
    /// `GroupId`: string, versions 0+.
    pub group_id: String,
    /// `MemberId`: string, versions 0+.
    pub member_id: String,
    /// `MemberEpoch`: int32, versions 0+.
    pub member_epoch: i32,
    /// `InstanceId`: string, versions 0+, nullable in 0+, default null.
    pub instance_id: Option<String>,
    /// `RackId`: string, versions 0+, nullable in 0+, default null.
    pub rack_id: Option<String>,
    /// `RebalanceTimeoutMs`: int32, versions 0+, default -1.
    pub rebalance_timeout_ms: i32,
    /// `SubscribedTopicNames`: []string, versions 0+, nullable in 0+, default null.
    pub subscribed_topic_names: Option<Vec<String>>,
    /// `SubscribedTopicRegex`: string, versions 1+, nullable in 1+, default null.
    pub subscribed_topic_regex: Option<String>,
    /// `ServerAssignor`: string, versions 0+, nullable in 0+, default null.
    pub server_assignor: Option<String>,
    /// `TopicPartitions`: []TopicPartitions, versions 0+, nullable in 0+, default null.
    pub topic_partitions: Option<Vec<TopicPartitions>>,
}

impl Default for ConsumerGroupHeartbeatRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            member_id: String::new(),
            member_epoch: 0,
            instance_id: None,
            rack_id: None,
            rebalance_timeout_ms: -1,
            subscribed_topic_names: None,
            subscribed_topic_regex: None,
            server_assignor: None,
            topic_partitions: None,
        }
    }
}

impl Message for ConsumerGroupHeartbeatRequest {
    const NAME: &'static str = "ConsumerGroupHeartbeatRequest";
    const API_KEY: Option<i16> = Some(68);
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let group_id = r.string(true)?;
        let member_id = r.string(true)?;
        let member_epoch = r.i32()?;
        let instance_id = r.nullable_string(true)?;
        let rack_id = r.nullable_string(true)?;
        let rebalance_timeout_ms = r.i32()?;
        let subscribed_topic_names = r.nullable_array(true, |r| r.string(true))?;
        let subscribed_topic_regex = if v == 1 { r.nullable_string(true)? } else { None };
        let server_assignor = r.nullable_string(true)?;
        let topic_partitions = r.nullable_array(true, |r| TopicPartitions::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self {
            group_id,
            member_id,
            member_epoch,
            instance_id,
            rack_id,
            rebalance_timeout_ms,
            subscribed_topic_names,
            subscribed_topic_regex,
            server_assignor,
            topic_partitions,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.string(&self.group_id, true)?;
        w.string(&self.member_id, true)?;
        w.i32(self.member_epoch);
        w.nullable_string(self.instance_id.as_deref(), true)?;
        w.nullable_string(self.rack_id.as_deref(), true)?;
        w.i32(self.rebalance_timeout_ms);
        w.nullable_array(self.subscribed_topic_names.as_deref(), true, |w, it| w.string(it, true))?;
        if v == 1 {
            w.nullable_string(self.subscribed_topic_regex.as_deref(), true)?;
        } else if self.subscribed_topic_regex.is_some() {
            return Err(EncodeError::FieldNotInVersion {
                message: "ConsumerGroupHeartbeatRequest",
                field: "SubscribedTopicRegex",
                version: v,
            });
        }
        w.nullable_string(self.server_assignor.as_deref(), true)?;
        w.nullable_array(self.topic_partitions.as_deref(), true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `TopicPartitions` in `ConsumerGroupHeartbeatRequest`, versions 0-1.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopicPartitions {
    /// `TopicId`: uuid, versions 0+.
    pub topic_id: Uuid,
    /// `Partitions`: []int32, versions 0+.
    pub partitions: Vec<i32>,
}

impl TopicPartitions {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let topic_id = r.uuid()?;
        let partitions = r.array(true, Reader::i32)?;
        r.skip_tags()?;
        Ok(Self { topic_id, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.uuid(self.topic_id);
        w.array(&self.partitions, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.no_tags();
        Ok(())
    }
}

impl Request for ConsumerGroupHeartbeatRequest {
    const KEY: ApiKey = ApiKey::ConsumerGroupHeartbeat;
    type Response = super::ConsumerGroupHeartbeatResponse;
}
