//! `ConsumerGroupDescribeResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ConsumerGroupDescribeResponse.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ConsumerGroupDescribeResponse`: response, key 69, versions 0-1, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ConsumerGroupDescribeResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `Groups`: []DescribedGroup, versions 0+.
    pub groups: Vec<DescribedGroup>,
}

impl Message for ConsumerGroupDescribeResponse {
    const NAME: &'static str = "ConsumerGroupDescribeResponse";
    const API_KEY: Option<i16> = Some(69);
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let throttle_time_ms = r.i32()?;
        let groups = r.array(true, |r| DescribedGroup::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { throttle_time_ms, groups })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.throttle_time(self.throttle_time_ms);
        w.array(&self.groups, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `DescribedGroup` in `ConsumerGroupDescribeResponse`, versions 0-1.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribedGroup {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+, default null.
    pub error_message: Option<String>,
    /// `GroupId`: string, versions 0+.
    pub group_id: String,
    /// `GroupState`: string, versions 0+.
    pub group_state: String,
    /// `GroupEpoch`: int32, versions 0+.
    pub group_epoch: i32,
    /// `AssignmentEpoch`: int32, versions 0+.
    pub assignment_epoch: i32,
    /// `AssignorName`: string, versions 0+.
    pub assignor_name: String,
    /// `Members`: []Member, versions 0+.
    pub members: Vec<Member>,
    /// `AuthorizedOperations`: int32, versions 0+, default -2147483648.
    pub authorized_operations: i32,
}

impl Default for DescribedGroup {
    fn default() -> Self {
        Self {
            error_code: 0,
            error_message: None,
            group_id: String::new(),
            group_state: String::new(),
            group_epoch: 0,
            assignment_epoch: 0,
            assignor_name: String::new(),
            members: Vec::new(),
            authorized_operations: -2_147_483_648,
        }
    }
}

impl DescribedGroup {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let error_code = r.i16()?;
        let error_message = r.nullable_string(true)?;
        let group_id = r.string(true)?;
        let group_state = r.string(true)?;
        let group_epoch = r.i32()?;
        let assignment_epoch = r.i32()?;
        let assignor_name = r.string(true)?;
        let members = r.array(true, |r| Member::decode(r, v))?;
        let authorized_operations = r.i32()?;
        r.skip_tags()?;
        Ok(Self {
            error_code,
            error_message,
            group_id,
            group_state,
            group_epoch,
            assignment_epoch,
            assignor_name,
            members,
            authorized_operations,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), true)?;
        w.string(&self.group_id, true)?;
        w.string(&self.group_state, true)?;
        w.i32(self.group_epoch);
        w.i32(self.assignment_epoch);
        w.string(&self.assignor_name, true)?;
        w.array(&self.members, true, |w, it| it.encode(w, v))?;
        w.i32(self.authorized_operations);
        w.no_tags();
        Ok(())
    }
}

/// `Member` in `ConsumerGroupDescribeResponse`, versions 0-1.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// `MemberId`: string, versions 0+.
    pub member_id: String,
    /// `InstanceId`: string, versions 0+, nullable in 0+, default null.
    pub instance_id: Option<String>,
    /// `RackId`: string, versions 0+, nullable in 0+, default null.
    pub rack_id: Option<String>,
    /// `MemberEpoch`: int32, versions 0+.
    pub member_epoch: i32,
    /// `ClientId`: string, versions 0+.
    pub client_id: String,
    /// `ClientHost`: string, versions 0+.
    pub client_host: String,
    /// `SubscribedTopicNames`: []string, versions 0+.
    pub subscribed_topic_names: Vec<String>,
    /// `SubscribedTopicRegex`: string, versions 0+, nullable in 0+, default null.
    pub subscribed_topic_regex: Option<String>,
    /// `Assignment`: Assignment, versions 0+.
    pub assignment: Assignment,
    /// `TargetAssignment`: Assignment, versions 0+.
    pub target_assignment: Assignment,
    /// `MemberType`: int8, versions 1+, default -1, dropped by versions without it.
    pub member_type: i8,
}

impl Default for Member {
    fn default() -> Self {
        Self {
            member_id: String::new(),
            instance_id: None,
            rack_id: None,
            member_epoch: 0,
            client_id: String::new(),
            client_host: String::new(),
            subscribed_topic_names: Vec::new(),
            subscribed_topic_regex: None,
            assignment: Assignment::default(),
            target_assignment: Assignment::default(),
            member_type: -1,
        }
    }
}

impl Member {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let member_id = r.string(true)?;
        let instance_id = r.nullable_string(true)?;
        let rack_id = r.nullable_string(true)?;
        let member_epoch = r.i32()?;
        let client_id = r.string(true)?;
        let client_host = r.string(true)?;
        let subscribed_topic_names = r.array(true, |r| r.string(true))?;
        let subscribed_topic_regex = r.nullable_string(true)?;
        let assignment = Assignment::decode(r, v)?;
        let target_assignment = Assignment::decode(r, v)?;
        let member_type = if v == 1 { r.i8()? } else { -1 };
        r.skip_tags()?;
        Ok(Self {
            member_id,
            instance_id,
            rack_id,
            member_epoch,
            client_id,
            client_host,
            subscribed_topic_names,
            subscribed_topic_regex,
            assignment,
            target_assignment,
            member_type,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.string(&self.member_id, true)?;
        w.nullable_string(self.instance_id.as_deref(), true)?;
        w.nullable_string(self.rack_id.as_deref(), true)?;
        w.i32(self.member_epoch);
        w.string(&self.client_id, true)?;
        w.string(&self.client_host, true)?;
        w.array(&self.subscribed_topic_names, true, |w, it| w.string(it, true))?;
        w.nullable_string(self.subscribed_topic_regex.as_deref(), true)?;
        self.assignment.encode(w, v)?;
        self.target_assignment.encode(w, v)?;
        if v == 1 {
            w.i8(self.member_type);
        }
        w.no_tags();
        Ok(())
    }
}

/// `TopicPartitions` in `ConsumerGroupDescribeResponse`, versions 0-1.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopicPartitions {
    /// `TopicId`: uuid, versions 0+.
    pub topic_id: Uuid,
    /// `TopicName`: string, versions 0+.
    pub topic_name: String,
    /// `Partitions`: []int32, versions 0+.
    pub partitions: Vec<i32>,
}

impl TopicPartitions {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let topic_id = r.uuid()?;
        let topic_name = r.string(true)?;
        let partitions = r.array(true, Reader::i32)?;
        r.skip_tags()?;
        Ok(Self { topic_id, topic_name, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.uuid(self.topic_id);
        w.string(&self.topic_name, true)?;
        w.array(&self.partitions, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.no_tags();
        Ok(())
    }
}

/// `Assignment` in `ConsumerGroupDescribeResponse`, versions 0-1.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Assignment {
    /// `TopicPartitions`: []TopicPartitions, versions 0+.
    pub topic_partitions: Vec<TopicPartitions>,
}

impl Assignment {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let topic_partitions = r.array(true, |r| TopicPartitions::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { topic_partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.array(&self.topic_partitions, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}
