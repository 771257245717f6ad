//! `ListTransactionsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ListTransactionsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `ListTransactionsRequest`: request, key 66, versions 0-2, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct ListTransactionsRequest {
    /// `StateFilters`: []string, versions 0+.
    pub state_filters: Vec<String>,
    /// `ProducerIdFilters`: []int64, versions 0+.
    pub producer_id_filters: Vec<i64>,
    /// `DurationFilter`: int64, versions 1+, default -1.
    pub duration_filter: i64,
    /// `TransactionalIdPattern`: string, versions 2+, nullable in 2+, default null.
    pub transactional_id_pattern: Option<String>,
}

impl Default for ListTransactionsRequest {
    fn default() -> Self {
        Self {
            state_filters: Vec::new(),
            producer_id_filters: Vec::new(),
            duration_filter: -1,
            transactional_id_pattern: None,
        }
    }
}

impl Message for ListTransactionsRequest {
    const NAME: &'static str = "ListTransactionsRequest";
    const API_KEY: Option<i16> = Some(66);
    const VERSIONS: VersionRange = VersionRange::new(0, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let state_filters = r.array(true, |r| r.string(true))?;
        let producer_id_filters = r.array(true, Reader::i64)?;
        let duration_filter = if v >= 1 { r.i64()? } else { -1 };
        let transactional_id_pattern = if v == 2 { r.nullable_string(true)? } else { None };
        r.skip_tags()?;
        Ok(Self { state_filters, producer_id_filters, duration_filter, transactional_id_pattern })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.array(&self.state_filters, true, |w, it| w.string(it, true))?;
        w.array(&self.producer_id_filters, true, |w, it| {
            w.i64(*it);
            Ok(())
        })?;
        if v >= 1 {
            w.i64(self.duration_filter);
        } else if self.duration_filter != -1 {
            return Err(EncodeError::FieldNotInVersion {
                message: "ListTransactionsRequest",
                field: "DurationFilter",
                version: v,
            });
        }
        if v == 2 {
            w.nullable_string(self.transactional_id_pattern.as_deref(), true)?;
        } else if self.transactional_id_pattern.is_some() {
            return Err(EncodeError::FieldNotInVersion {
                message: "ListTransactionsRequest",
                field: "TransactionalIdPattern",
                version: v,
            });
        }
        w.no_tags();
        Ok(())
    }
}

impl Request for ListTransactionsRequest {
    const KEY: ApiKey = ApiKey::ListTransactions;
    type Response = super::ListTransactionsResponse;
}
