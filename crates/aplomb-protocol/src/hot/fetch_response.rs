//! Fetch responses as a list of segments: everything but records is written into one buffer, and at
//! the end that buffer is cut where records belong. Records are handed on as the slices they are.

use bytes::Bytes;

use super::TopicRef;
use crate::frame::ResponseFrame;
use crate::messages::FetchResponse;
use crate::messages::fetch_response::{
    AbortedTransaction, EpochEndOffset, LeaderIdAndEpoch, NodeEndpoint, SnapshotId,
};
use crate::primitives::OpenCount;
use crate::{ApiKey, EncodeError, ErrorTally, Message as _};

/// What was read of one partition.
#[derive(Clone, Debug, PartialEq)]
pub struct FetchedPartition<'a> {
    /// The partition's number.
    pub index: i32,
    /// The error, or 0.
    pub error_code: i16,
    /// The high watermark, or -1.
    pub high_watermark: i64,
    /// The last stable offset, or -1.
    pub last_stable_offset: i64,
    /// The log's first offset, or -1. Version 5 and above.
    pub log_start_offset: i64,
    /// Where the follower's log leaves the leader's. Version 12 and above.
    pub diverging_epoch: EpochEndOffset,
    /// Who leads the partition, where this broker does not. Version 12 and above.
    pub current_leader: LeaderIdAndEpoch,
    /// The snapshot to fetch instead (metadata partition). Version 12 and above.
    pub snapshot_id: SnapshotId,
    /// The aborted transactions among the records, for consumers that read committed records only.
    pub aborted_transactions: Option<&'a [AbortedTransaction]>,
    /// The replica to read from instead, or -1. Version 11 and above.
    pub preferred_read_replica: i32,
    /// The records, in slices that are joined in this order. Kafka sends an empty list rather than
    /// null.
    pub records: Option<&'a [Bytes]>,
}

impl FetchedPartition<'_> {
    /// A partition of which nothing could be read.
    #[must_use]
    pub fn refused(index: i32, error_code: i16) -> Self {
        Self {
            index,
            error_code,
            high_watermark: -1,
            last_stable_offset: -1,
            log_start_offset: -1,
            diverging_epoch: EpochEndOffset::default(),
            current_leader: LeaderIdAndEpoch::default(),
            snapshot_id: SnapshotId::default(),
            aborted_transactions: None,
            preferred_read_replica: -1,
            records: Some(&[]),
        }
    }

    fn check(&self, version: i16) -> Result<(), EncodeError> {
        let set = [
            ("DivergingEpoch", 12, self.diverging_epoch != EpochEndOffset::default()),
            ("CurrentLeader", 12, self.current_leader != LeaderIdAndEpoch::default()),
            ("SnapshotId", 12, self.snapshot_id != SnapshotId::default()),
            ("PreferredReadReplica", 11, self.preferred_read_replica != -1),
        ];
        match set.iter().find(|(_, from, set)| *set && version < *from) {
            Some((field, ..)) => {
                Err(EncodeError::FieldNotInVersion { message: "PartitionData", field, version })
            }
            None => Ok(()),
        }
    }
}

/// What stands in front of the topics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FetchResponseHead {
    /// How long the client was throttled, in milliseconds.
    pub throttle_time_ms: i32,
    /// The error of the whole request, or 0. Version 7 and above.
    pub error_code: i16,
    /// The fetch session, or 0. Version 7 and above.
    pub session_id: i32,
}

/// Records that belong in front of byte `at` of the buffer.
#[derive(Debug)]
struct Cut {
    at: usize,
    records: Bytes,
}

/// A response that is being written. After [`Self::topic`] come its partitions.
#[derive(Debug)]
pub struct FetchResponseWriter {
    frame: ResponseFrame,
    version: i16,
    flexible: bool,
    cuts: Vec<Cut>,
    record_bytes: usize,
    topics: OpenCount,
    topic_count: usize,
    topic: Option<OpenTopic>,
}

/// The topic at hand.
#[derive(Debug)]
struct OpenTopic {
    partitions: OpenCount,
    count: usize,
    first_cut: usize,
}

impl FetchResponseWriter {
    /// Opens the response to a request of `version`.
    ///
    /// # Errors
    /// [`EncodeError::UnsupportedVersion`]; [`EncodeError::FieldNotInVersion`] for a
    /// session below version 7.
    pub fn new(version: i16, correlation_id: i32, head: FetchResponseHead) -> Result<Self, EncodeError> {
        if !FetchResponse::VERSIONS.contains(version) {
            return Err(EncodeError::UnsupportedVersion { message: FetchResponse::NAME, version });
        }
        if version < 7 && head.session_id != 0 {
            let message = FetchResponse::NAME;
            return Err(EncodeError::FieldNotInVersion { message, field: "SessionId", version });
        }
        let mut frame = ResponseFrame::open(ApiKey::Fetch, version, correlation_id)?;
        let flexible = ApiKey::Fetch.is_flexible(version);
        let w = frame.writer();
        w.throttle_time(head.throttle_time_ms);
        if version >= 7 {
            w.error_code(head.error_code);
            w.i32(head.session_id);
        }
        let topics = w.open_count(flexible);
        Ok(Self {
            frame,
            version,
            flexible,
            cuts: Vec::new(),
            record_bytes: 0,
            topics,
            topic_count: 0,
            topic: None,
        })
    }

    /// Begins the next topic.
    ///
    /// # Errors
    /// [`EncodeError::UnexpectedNull`] when it is named otherwise than this version does.
    pub fn topic(&mut self, topic: TopicRef<'_>) -> Result<(), EncodeError> {
        self.close_topic()?;
        let w = self.frame.writer();
        topic.encode(w, "FetchableTopicResponse", self.version, self.flexible)?;
        let partitions = w.open_count(self.flexible);
        self.topic = Some(OpenTopic { partitions, count: 0, first_cut: self.cuts.len() });
        self.topic_count += 1;
        Ok(())
    }

    /// Adds a partition to the topic begun last.
    ///
    /// # Errors
    /// [`EncodeError::FieldNotInVersion`] when this version cannot say it; otherwise when
    /// something is too long.
    ///
    /// # Panics
    /// Before the first topic.
    pub fn partition(&mut self, partition: &FetchedPartition<'_>) -> Result<(), EncodeError> {
        let (version, flexible) = (self.version, self.flexible);
        partition.check(version)?;
        self.topic.as_mut().expect("a topic comes before its partitions").count += 1;
        let w = self.frame.writer();
        w.i32(partition.index);
        w.error_code(partition.error_code);
        w.i64(partition.high_watermark);
        w.i64(partition.last_stable_offset);
        if version >= 5 {
            w.i64(partition.log_start_offset);
        }
        w.nullable_array(partition.aborted_transactions, flexible, |w, one| one.encode(w, version))?;
        if version >= 11 {
            w.i32(partition.preferred_read_replica);
        }
        let len = partition.records.map(|slices| slices.iter().map(Bytes::len).sum());
        w.bytes_length(len, flexible)?;
        let at = w.len();
        let slices = partition.records.unwrap_or_default().iter().filter(|slice| !slice.is_empty());
        self.cuts.extend(slices.map(|records| Cut { at, records: records.clone() }));
        self.record_bytes += len.unwrap_or(0);
        if flexible {
            let mut tags = w.open_tags();
            if partition.diverging_epoch != EpochEndOffset::default() {
                w.tagged(&mut tags, 0, |w| partition.diverging_epoch.encode(w, version))?;
            }
            if partition.current_leader != LeaderIdAndEpoch::default() {
                w.tagged(&mut tags, 1, |w| partition.current_leader.encode(w, version))?;
            }
            if partition.snapshot_id != SnapshotId::default() {
                w.tagged(&mut tags, 2, |w| partition.snapshot_id.encode(w, version))?;
            }
        }
        Ok(())
    }

    /// The error codes that were written so far.
    #[must_use]
    pub fn take_errors(&mut self) -> ErrorTally {
        self.frame.writer().take_errors()
    }

    /// Where in the first piece the throttle time stands, if it was written.
    #[must_use]
    pub fn throttle_at(&mut self) -> Option<usize> {
        self.frame.writer().throttle_at()
    }

    /// Ends the response: the segments of its frame, length first, in the order in which they go to
    /// the socket. `endpoints` tells where the leaders that were named are; version 16 and above.
    ///
    /// # Errors
    /// [`EncodeError::FieldNotInVersion`] for endpoints below version 16; otherwise when
    /// something is too long.
    pub fn finish(mut self, endpoints: &[NodeEndpoint]) -> Result<Vec<Bytes>, EncodeError> {
        self.close_topic()?;
        let version = self.version;
        if version < 16 && !endpoints.is_empty() {
            let message = FetchResponse::NAME;
            return Err(EncodeError::FieldNotInVersion { message, field: "NodeEndpoints", version });
        }
        let w = self.frame.writer();
        let moved = w.close_count(self.topics, self.topic_count)?;
        self.cuts.iter_mut().for_each(|cut| cut.at += moved);
        if self.flexible {
            let mut tags = w.open_tags();
            if !endpoints.is_empty() {
                w.tagged(&mut tags, 0, |w| w.array(endpoints, true, |w, one| one.encode(w, version)))?;
            }
        }
        let rest = self.frame.close(self.record_bytes)?;
        Ok(interleave(rest, self.cuts))
    }

    fn close_topic(&mut self) -> Result<(), EncodeError> {
        if let Some(topic) = self.topic.take() {
            let w = self.frame.writer();
            let moved = w.close_count(topic.partitions, topic.count)?;
            self.cuts[topic.first_cut..].iter_mut().for_each(|cut| cut.at += moved);
            if self.flexible {
                w.no_tags();
            }
        }
        Ok(())
    }
}

/// Cuts `rest` where records belong and puts them there.
fn interleave(rest: Bytes, cuts: Vec<Cut>) -> Vec<Bytes> {
    let mut segments = Vec::with_capacity(2 * cuts.len() + 1);
    let mut from = 0;
    for cut in cuts {
        if cut.at > from {
            segments.push(rest.slice(from..cut.at));
            from = cut.at;
        }
        segments.push(cut.records);
    }
    if from < rest.len() {
        segments.push(rest.slice(from..));
    }
    segments
}
