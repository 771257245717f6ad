//! `WriteTxnMarkersRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/WriteTxnMarkersRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `WriteTxnMarkersRequest`: request, key 27, versions 1-2, flexible 1+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct WriteTxnMarkersRequest {
    /// `Markers`: []WritableTxnMarker, versions 0+.
    pub markers: Vec<WritableTxnMarker>,
}

impl Message for WriteTxnMarkersRequest {
    const NAME: &'static str = "WriteTxnMarkersRequest";
    const API_KEY: Option<i16> = Some(27);
    const VERSIONS: VersionRange = VersionRange::new(1, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(1);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let markers = r.array(true, |r| WritableTxnMarker::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { markers })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.array(&self.markers, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `WritableTxnMarker` in `WriteTxnMarkersRequest`, versions 1-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct WritableTxnMarker {
    /// `ProducerId`: int64, versions 0+.
    pub producer_id: i64,
    /// `ProducerEpoch`: int16, versions 0+.
    pub producer_epoch: i16,
    /// `TransactionResult`: bool, versions 0+.
    pub transaction_result: bool,
    /// `Topics`: []WritableTxnMarkerTopic, versions 0+.
    pub topics: Vec<WritableTxnMarkerTopic>,
    /// `CoordinatorEpoch`: int32, versions 0+.
    pub coordinator_epoch: i32,
    /// `TransactionVersion`: int8, versions 2+, default 0, dropped by versions without it.
    pub transaction_version: i8,
}

impl WritableTxnMarker {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let producer_id = r.i64()?;
        let producer_epoch = r.i16()?;
        let transaction_result = r.bool()?;
        let topics = r.array(true, |r| WritableTxnMarkerTopic::decode(r, v))?;
        let coordinator_epoch = r.i32()?;
        let transaction_version = if v == 2 { r.i8()? } else { 0 };
        r.skip_tags()?;
        Ok(Self {
            producer_id,
            producer_epoch,
            transaction_result,
            topics,
            coordinator_epoch,
            transaction_version,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.i64(self.producer_id);
        w.i16(self.producer_epoch);
        w.bool(self.transaction_result);
        w.array(&self.topics, true, |w, it| it.encode(w, v))?;
        w.i32(self.coordinator_epoch);
        if v == 2 {
            w.i8(self.transaction_version);
        }
        w.no_tags();
        Ok(())
    }
}

/// `WritableTxnMarkerTopic` in `WriteTxnMarkersRequest`, versions 1-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct WritableTxnMarkerTopic {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `PartitionIndexes`: []int32, versions 0+.
    pub partition_indexes: Vec<i32>,
}

impl WritableTxnMarkerTopic {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        let partition_indexes = r.array(true, Reader::i32)?;
        r.skip_tags()?;
        Ok(Self { name, partition_indexes })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, true)?;
        w.array(&self.partition_indexes, true, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        w.no_tags();
        Ok(())
    }
}

impl Request for WriteTxnMarkersRequest {
    const KEY: ApiKey = ApiKey::WriteTxnMarkers;
    type Response = super::WriteTxnMarkersResponse;
}
