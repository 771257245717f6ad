//! `DescribeLogDirsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeLogDirsResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `DescribeLogDirsResponse`: response, key 35, versions 1-5, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribeLogDirsResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 3+, dropped by versions without it.
    pub error_code: i16,
    /// `Results`: []DescribeLogDirsResult, versions 0+.
    pub results: Vec<DescribeLogDirsResult>,
}

impl Message for DescribeLogDirsResponse {
    const NAME: &'static str = "DescribeLogDirsResponse";
    const API_KEY: Option<i16> = Some(35);
    const VERSIONS: VersionRange = VersionRange::new(1, 5);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        let throttle_time_ms = r.i32()?;
        let error_code = if v >= 3 { r.i16()? } else { 0 };
        let results = r.array(flexible, |r| DescribeLogDirsResult::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, error_code, results })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 2;
        w.throttle_time(self.throttle_time_ms);
        if v >= 3 {
            w.error_code(self.error_code);
        }
        w.array(&self.results, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DescribeLogDirsResult` in `DescribeLogDirsResponse`, versions 1-5.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeLogDirsResult {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `LogDir`: string, versions 0+.
    pub log_dir: String,
    /// `Topics`: []DescribeLogDirsTopic, versions 0+.
    pub topics: Vec<DescribeLogDirsTopic>,
    /// `TotalBytes`: int64, versions 4+, default -1, dropped by versions without it.
    pub total_bytes: i64,
    /// `UsableBytes`: int64, versions 4+, default -1, dropped by versions without it.
    pub usable_bytes: i64,
    /// `IsCordoned`: bool, versions 5+, default false, dropped by versions without it.
    pub is_cordoned: bool,
}

impl Default for DescribeLogDirsResult {
    fn default() -> Self {
        Self {
            error_code: 0,
            log_dir: String::new(),
            topics: Vec::new(),
            total_bytes: -1,
            usable_bytes: -1,
            is_cordoned: false,
        }
    }
}

impl DescribeLogDirsResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 2;
        let error_code = r.i16()?;
        let log_dir = r.string(flexible)?;
        let topics = r.array(flexible, |r| DescribeLogDirsTopic::decode(r, v))?;
        let total_bytes = if v >= 4 { r.i64()? } else { -1 };
        let usable_bytes = if v >= 4 { r.i64()? } else { -1 };
        let is_cordoned = if v == 5 { r.bool()? } else { false };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { error_code, log_dir, topics, total_bytes, usable_bytes, is_cordoned })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 2;
        w.error_code(self.error_code);
        w.string(&self.log_dir, flexible)?;
        w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        if v >= 4 {
            w.i64(self.total_bytes);
        }
        if v >= 4 {
            w.i64(self.usable_bytes);
        }
        if v == 5 {
            w.bool(self.is_cordoned);
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DescribeLogDirsTopic` in `DescribeLogDirsResponse`, versions 1-5.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribeLogDirsTopic {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Partitions`: []DescribeLogDirsPartition, versions 0+.
    pub partitions: Vec<DescribeLogDirsPartition>,
}

impl DescribeLogDirsTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 2;
        let name = r.string(flexible)?;
        let partitions = r.array(flexible, |r| DescribeLogDirsPartition::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 2;
        w.string(&self.name, flexible)?;
        w.array(&self.partitions, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DescribeLogDirsPartition` in `DescribeLogDirsResponse`, versions 1-5.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DescribeLogDirsPartition {
    /// `PartitionIndex`: int32, versions 0+.
    pub partition_index: i32,
    /// `PartitionSize`: int64, versions 0+.
    pub partition_size: i64,
    /// `OffsetLag`: int64, versions 0+.
    pub offset_lag: i64,
    /// `IsFutureKey`: bool, versions 0+.
    pub is_future_key: bool,
}

impl DescribeLogDirsPartition {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 2;
        let partition_index = r.i32()?;
        let partition_size = r.i64()?;
        let offset_lag = r.i64()?;
        let is_future_key = r.bool()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { partition_index, partition_size, offset_lag, is_future_key })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 2;
        w.i32(self.partition_index);
        w.i64(self.partition_size);
        w.i64(self.offset_lag);
        w.bool(self.is_future_key);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
