//! `ConsumerGroupDescribeRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ConsumerGroupDescribeRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `ConsumerGroupDescribeRequest`: request, key 69, versions 0-1, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ConsumerGroupDescribeRequest {
    /// `GroupIds`: []string, versions 0+.
    pub group_ids: Vec<String>,
    /// `IncludeAuthorizedOperations`: bool, versions 0+.
    pub include_authorized_operations: bool,
}

impl Message for ConsumerGroupDescribeRequest {
    const NAME: &'static str = "ConsumerGroupDescribeRequest";
    const API_KEY: Option<i16> = Some(69);
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let group_ids = r.array(true, |r| r.string(true))?;
        let include_authorized_operations = r.bool()?;
        r.skip_tags()?;
        Ok(Self { group_ids, include_authorized_operations })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.array(&self.group_ids, true, |w, it| w.string(it, true))?;
        w.bool(self.include_authorized_operations);
        w.no_tags();
        Ok(())
    }
}

impl Request for ConsumerGroupDescribeRequest {
    const KEY: ApiKey = ApiKey::ConsumerGroupDescribe;
    type Response = super::ConsumerGroupDescribeResponse;
}
