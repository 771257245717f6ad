//! `DescribeTransactionsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeTransactionsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `DescribeTransactionsRequest`: request, key 65, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribeTransactionsRequest {
    /// `TransactionalIds`: []string, versions 0+.
    pub transactional_ids: Vec<String>,
}

impl Message for DescribeTransactionsRequest {
    const NAME: &'static str = "DescribeTransactionsRequest";
    const API_KEY: Option<i16> = Some(65);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let transactional_ids = r.array(true, |r| r.string(true))?;
        r.skip_tags()?;
        Ok(Self { transactional_ids })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.array(&self.transactional_ids, true, |w, it| w.string(it, true))?;
        w.no_tags();
        Ok(())
    }
}

impl Request for DescribeTransactionsRequest {
    const KEY: ApiKey = ApiKey::DescribeTransactions;
    type Response = super::DescribeTransactionsResponse;
}
