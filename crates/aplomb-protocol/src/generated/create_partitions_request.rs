//! `CreatePartitionsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/CreatePartitionsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `CreatePartitionsRequest`: request, key 37, versions 0-3, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CreatePartitionsRequest {
    /// `Topics`: []CreatePartitionsTopic, versions 0+.
    pub topics: Vec<CreatePartitionsTopic>,
    /// `TimeoutMs`: int32, versions 0+.
    pub timeout_ms: i32,
    /// `ValidateOnly`: bool, versions 0+.
    pub validate_only: bool,
}

impl Message for CreatePartitionsRequest {
    const NAME: &'static str = "CreatePartitionsRequest";
    const API_KEY: Option<i16> = Some(37);
    const VERSIONS: VersionRange = VersionRange::new(0, 3);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        let topics = r.array(flexible, |r| CreatePartitionsTopic::decode(r, v))?;
        let timeout_ms = r.i32()?;
        let validate_only = r.bool()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { topics, timeout_ms, validate_only })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        w.i32(self.timeout_ms);
        w.bool(self.validate_only);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `CreatePartitionsTopic` in `CreatePartitionsRequest`, versions 0-3.
#[derive(Clone, Debug, PartialEq)]
pub struct CreatePartitionsTopic {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Count`: int32, versions 0+.
    pub count: i32,
    /// `Assignments`: []CreatePartitionsAssignment, versions 0+, nullable in 0+.
    pub assignments: Option<Vec<CreatePartitionsAssignment>>,
}

impl Default for CreatePartitionsTopic {
    fn default() -> Self {
        Self { name: String::new(), count: 0, assignments: Some(Vec::new()) }
    }
}

impl CreatePartitionsTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 2;
        let name = r.string(flexible)?;
        let count = r.i32()?;
        let assignments = r.nullable_array(flexible, |r| CreatePartitionsAssignment::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, count, assignments })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 2;
        w.string(&self.name, flexible)?;
        w.i32(self.count);
        w.nullable_array(self.assignments.as_deref(), flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `CreatePartitionsAssignment` in `CreatePartitionsRequest`, versions 0-3.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CreatePartitionsAssignment {
    /// `BrokerIds`: []int32, versions 0+.
    pub broker_ids: Vec<i32>,
}

impl CreatePartitionsAssignment {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 2;
        let broker_ids = r.array(flexible, Reader::i32)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { broker_ids })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 2;
        w.array(&self.broker_ids, flexible, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for CreatePartitionsRequest {
    const KEY: ApiKey = ApiKey::CreatePartitions;
    type Response = super::CreatePartitionsResponse;
}
