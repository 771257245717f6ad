//! Produce responses, written partition by partition.
//!
//! The numbers of topics and partitions need not be known beforehand: counts are filled in at the
//! end.

use bytes::Bytes;

use super::TopicRef;
use crate::frame::ResponseFrame;
use crate::messages::produce_response::{BatchIndexAndErrorMessage, LeaderIdAndEpoch, NodeEndpoint};
use crate::messages::{ProduceResponse, produce_response};
use crate::primitives::OpenCount;
use crate::{ApiKey, EncodeError, ErrorTally, Message as _};

/// What became of the records for one partition.
#[derive(Clone, Debug, PartialEq)]
pub struct ProducedPartition<'a> {
    /// The partition's number.
    pub index: i32,
    /// The error, or 0.
    pub error_code: i16,
    /// The offset of the first record; -1 with an error.
    pub base_offset: i64,
    /// The time of the append in milliseconds where the topic uses `LogAppendTime`, otherwise -1.
    pub log_append_time_ms: i64,
    /// The log's first offset, or -1. Version 5 and above.
    pub log_start_offset: i64,
    /// The records for which the batch was refused. Version 8 and above.
    pub record_errors: &'a [BatchIndexAndErrorMessage],
    /// Why the batch was refused. Version 8 and above.
    pub error_message: Option<&'a str>,
    /// Who leads the partition, where this broker does not. Version 10 and above (KIP-951).
    pub current_leader: LeaderIdAndEpoch,
}

impl ProducedPartition<'_> {
    /// A partition that took nothing.
    #[must_use]
    pub fn refused(index: i32, error_code: i16) -> Self {
        Self {
            index,
            error_code,
            base_offset: -1,
            log_append_time_ms: -1,
            log_start_offset: -1,
            record_errors: &[],
            error_message: None,
            current_leader: LeaderIdAndEpoch::default(),
        }
    }
}

/// A response that is being written. After [`Self::topic`] come its partitions.
#[derive(Debug)]
pub struct ProduceResponseWriter {
    frame: ResponseFrame,
    version: i16,
    flexible: bool,
    topics: OpenCount,
    topic_count: usize,
    /// The partitions of the topic at hand: where their count goes, and how many there are.
    partitions: Option<(OpenCount, usize)>,
}

impl ProduceResponseWriter {
    /// Opens the response to a request of `version`.
    ///
    /// # Errors
    /// [`EncodeError::UnsupportedVersion`].
    pub fn new(version: i16, correlation_id: i32) -> Result<Self, EncodeError> {
        if !ProduceResponse::VERSIONS.contains(version) {
            return Err(EncodeError::UnsupportedVersion { message: ProduceResponse::NAME, version });
        }
        let mut frame = ResponseFrame::open(ApiKey::Produce, version, correlation_id)?;
        let flexible = ApiKey::Produce.is_flexible(version);
        let topics = frame.writer().open_count(flexible);
        Ok(Self { frame, version, flexible, topics, topic_count: 0, partitions: None })
    }

    /// Begins the next topic.
    ///
    /// # Errors
    /// [`EncodeError::UnexpectedNull`] when it is named otherwise than this version does.
    pub fn topic(&mut self, topic: TopicRef<'_>) -> Result<(), EncodeError> {
        self.close_topic()?;
        let w = self.frame.writer();
        topic.encode(w, "TopicProduceResponse", self.version, self.flexible)?;
        self.partitions = Some((w.open_count(self.flexible), 0));
        self.topic_count += 1;
        Ok(())
    }

    /// Adds a partition to the topic begun last.
    ///
    /// # Errors
    /// [`EncodeError::FieldNotInVersion`] for a leader below version 10; otherwise when
    /// something is too long.
    ///
    /// # Panics
    /// Before the first topic.
    pub fn partition(&mut self, partition: &ProducedPartition<'_>) -> Result<(), EncodeError> {
        let (version, flexible) = (self.version, self.flexible);
        let (_, count) = self.partitions.as_mut().expect("a topic comes before its partitions");
        *count += 1;
        let has_leader = partition.current_leader != LeaderIdAndEpoch::default();
        if has_leader && version < 10 {
            let message = "PartitionProduceResponse";
            return Err(EncodeError::FieldNotInVersion { message, field: "CurrentLeader", version });
        }
        let w = self.frame.writer();
        w.i32(partition.index);
        w.error_code(partition.error_code);
        w.i64(partition.base_offset);
        w.i64(partition.log_append_time_ms);
        if version >= 5 {
            w.i64(partition.log_start_offset);
        }
        if version >= 8 {
            w.array(partition.record_errors, flexible, |w, error| error.encode(w, version))?;
            w.nullable_string(partition.error_message, flexible)?;
        }
        if flexible {
            let mut tags = w.open_tags();
            if has_leader {
                w.tagged(&mut tags, 0, |w| partition.current_leader.encode(w, version))?;
            }
        }
        Ok(())
    }

    /// The error codes that were written so far.
    #[must_use]
    pub fn take_errors(&mut self) -> ErrorTally {
        self.frame.writer().take_errors()
    }

    /// Ends the response. `endpoints` tells where the leaders that were named are; version 10 and
    /// above.
    ///
    /// # Errors
    /// [`EncodeError::FieldNotInVersion`] for endpoints below version 10; otherwise when
    /// something is too long.
    pub fn finish(mut self, throttle_time_ms: i32, endpoints: &[NodeEndpoint]) -> Result<Bytes, EncodeError> {
        self.close_topic()?;
        let version = self.version;
        if version < 10 && !endpoints.is_empty() {
            let message = ProduceResponse::NAME;
            return Err(EncodeError::FieldNotInVersion { message, field: "NodeEndpoints", version });
        }
        let w = self.frame.writer();
        w.close_count(self.topics, self.topic_count)?;
        w.i32(throttle_time_ms);
        if self.flexible {
            let mut tags = w.open_tags();
            if !endpoints.is_empty() {
                w.tagged(&mut tags, 0, |w| {
                    w.array(endpoints, true, |w, one: &produce_response::NodeEndpoint| one.encode(w, version))
                })?;
            }
        }
        self.frame.close(0)
    }

    fn close_topic(&mut self) -> Result<(), EncodeError> {
        if let Some((open, count)) = self.partitions.take() {
            let w = self.frame.writer();
            w.close_count(open, count)?;
            if self.flexible {
                w.no_tags();
            }
        }
        Ok(())
    }
}
