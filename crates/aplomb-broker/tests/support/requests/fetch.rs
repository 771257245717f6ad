//! Reading records and offsets.

use std::time::Duration;

use aplomb_model::ErrorCode;
use aplomb_model::batch::Batches;
use aplomb_protocol::messages as m;

use super::{Place, code, millis};
use crate::support::client::Ask;

/// What a fetch brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fetched {
    /// Of the whole response.
    pub(crate) error: ErrorCode,
    pub(crate) session: i32,
    pub(crate) partitions: Vec<FetchedPartition>,
}

/// What a fetch brought of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FetchedPartition {
    pub(crate) topic: String,
    pub(crate) index: i32,
    pub(crate) error: ErrorCode,
    pub(crate) high_watermark: i64,
    pub(crate) log_start: i64,
    /// Where the client's log and ours part, or -1.
    pub(crate) diverges_at: i64,
    pub(crate) records: Vec<FetchedRecord>,
    pub(crate) last_stable: i64,
    /// Aborted transactions among the records: producer id, first offset.
    pub(crate) aborted: Vec<(i64, i64)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FetchedRecord {
    pub(crate) offset: i64,
    pub(crate) value: String,
}

impl Fetched {
    /// The values of all records.
    pub(crate) fn values(&self) -> Vec<&str> {
        let records = self.partitions.iter().flat_map(|partition| &partition.records);
        records.map(|record| record.value.as_str()).collect()
    }

    /// The response's error, or that of its only partition.
    pub(crate) fn refusal(&self) -> ErrorCode {
        match &self.partitions[..] {
            [partition] if self.error == ErrorCode::None => partition.error,
            _ => self.error,
        }
    }

    /// The offsets of all records.
    pub(crate) fn offsets(&self) -> Vec<i64> {
        let records = self.partitions.iter().flat_map(|partition| &partition.records);
        records.map(|record| record.offset).collect()
    }
}

/// Reads records.
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    places: Vec<(Place, i64)>,
    forgotten: Vec<Place>,
    min_bytes: i32,
    max_bytes: i32,
    max_wait: Duration,
    session: (i32, i32),
    /// The epoch that the client believes the leader to be in, and that of its last record.
    epochs: (i32, i32),
    committed_only: bool,
}

impl Fetch {
    /// Does not wait, unless it has to wait for a disk.
    pub(crate) fn from(place: impl Into<Place>, offset: i64) -> Self {
        Self { places: vec![(place.into(), offset)], ..Self::of_session(0, -1) }
    }

    /// Reads what a session knows; (0, 0) opens one.
    pub(crate) fn of_session(id: i32, epoch: i32) -> Self {
        Self {
            places: Vec::new(),
            forgotten: Vec::new(),
            min_bytes: 0,
            max_bytes: 1 << 20,
            max_wait: Duration::ZERO,
            session: (id, epoch),
            epochs: (-1, -1),
            committed_only: false,
        }
    }

    pub(crate) fn and(mut self, place: impl Into<Place>, offset: i64) -> Self {
        self.places.push((place.into(), offset));
        self
    }

    pub(crate) fn without(mut self, place: impl Into<Place>) -> Self {
        self.forgotten.push(place.into());
        self
    }

    /// Waits for so many bytes, so long.
    pub(crate) fn waiting_for(self, min_bytes: i32, max_wait: Duration) -> Self {
        Self { min_bytes, max_wait, ..self }
    }

    /// What is committed alone.
    pub(crate) fn committed(self) -> Self {
        Self { committed_only: true, ..self }
    }

    /// At most so many bytes in all.
    pub(crate) fn at_most(self, max_bytes: i32) -> Self {
        Self { max_bytes, ..self }
    }

    pub(crate) fn in_epoch(self, leader_epoch: i32) -> Self {
        Self { epochs: (leader_epoch, self.epochs.1), ..self }
    }

    pub(crate) fn after_a_record_of_epoch(self, epoch: i32) -> Self {
        Self { epochs: (self.epochs.0, epoch), ..self }
    }
}

impl Ask for Fetch {
    type Request = m::FetchRequest;
    type Answer = Fetched;
    const VERSION: i16 = 12;

    fn request(&self) -> m::FetchRequest {
        use m::fetch_request::{FetchPartition, FetchTopic, ForgottenTopic};
        let topic = |(place, offset): &(Place, i64)| FetchTopic {
            topic: place.topic.clone(),
            partitions: vec![FetchPartition {
                partition: place.index,
                fetch_offset: *offset,
                current_leader_epoch: self.epochs.0,
                last_fetched_epoch: self.epochs.1,
                partition_max_bytes: 1 << 20,
                ..Default::default()
            }],
            ..Default::default()
        };
        let forgotten = |place: &Place| ForgottenTopic {
            topic: place.topic.clone(),
            partitions: vec![place.index],
            ..Default::default()
        };
        m::FetchRequest {
            max_wait_ms: millis(self.max_wait),
            min_bytes: self.min_bytes,
            max_bytes: self.max_bytes,
            session_id: self.session.0,
            session_epoch: self.session.1,
            isolation_level: self.committed_only.into(),
            topics: self.places.iter().map(topic).collect(),
            forgotten_topics_data: self.forgotten.iter().map(forgotten).collect(),
            ..Default::default()
        }
    }

    fn answer(response: m::FetchResponse) -> Fetched {
        let mut partitions = Vec::new();
        for topic in &response.responses {
            partitions.extend(topic.partitions.iter().map(|part| {
                FetchedPartition {
                    topic: topic.topic.clone(),
                    index: part.partition_index,
                    error: code(part.error_code),
                    high_watermark: part.high_watermark,
                    log_start: part.log_start_offset,
                    diverges_at: part.diverging_epoch.end_offset,
                    records: records(part.records.as_deref().unwrap_or_default()),
                    last_stable: part.last_stable_offset,
                    aborted: part
                        .aborted_transactions
                        .iter()
                        .flatten()
                        .map(|aborted| (aborted.producer_id, aborted.first_offset))
                        .collect(),
                }
            }));
        }
        Fetched { error: code(response.error_code), session: response.session_id, partitions }
    }
}

/// An offset that was looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoundOffset {
    pub(crate) error: ErrorCode,
    /// -1 if there is none.
    pub(crate) offset: i64,
    pub(crate) timestamp: i64,
}

/// Looks an offset up.
#[derive(Clone, Debug)]
pub(crate) struct ListOffsets {
    place: Place,
    timestamp: i64,
}

impl ListOffsets {
    pub(crate) fn latest(place: impl Into<Place>) -> Self {
        Self::at(place, -1)
    }

    /// The first record of this time or later.
    pub(crate) fn at(place: impl Into<Place>, timestamp: i64) -> Self {
        Self { place: place.into(), timestamp }
    }
}

impl Ask for ListOffsets {
    type Request = m::ListOffsetsRequest;
    type Answer = FoundOffset;
    const VERSION: i16 = 7;

    fn request(&self) -> m::ListOffsetsRequest {
        use m::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
        let partition = ListOffsetsPartition {
            partition_index: self.place.index,
            timestamp: self.timestamp,
            ..Default::default()
        };
        let topic = ListOffsetsTopic { name: self.place.topic.clone(), partitions: vec![partition] };
        m::ListOffsetsRequest { replica_id: -1, topics: vec![topic], ..Default::default() }
    }

    fn answer(response: m::ListOffsetsResponse) -> FoundOffset {
        let part = &response.topics[0].partitions[0];
        FoundOffset { error: code(part.error_code), offset: part.offset, timestamp: part.timestamp }
    }
}

/// Asks where an epoch ends.
#[derive(Clone, Debug)]
pub(crate) struct EndOfEpoch {
    place: Place,
    current: i32,
    epoch: i32,
}

/// The largest epoch that is not above the one asked for, and where it ends; -1 if there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EpochEnd {
    pub(crate) error: ErrorCode,
    pub(crate) epoch: i32,
    pub(crate) end: i64,
}

impl EndOfEpoch {
    pub(crate) fn of(place: impl Into<Place>, epoch: i32) -> Self {
        Self { place: place.into(), current: -1, epoch }
    }

    pub(crate) fn in_epoch(self, current: i32) -> Self {
        Self { current, ..self }
    }
}

impl Ask for EndOfEpoch {
    type Request = m::OffsetForLeaderEpochRequest;
    type Answer = EpochEnd;
    const VERSION: i16 = 3;

    fn request(&self) -> m::OffsetForLeaderEpochRequest {
        use m::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
        let partition = OffsetForLeaderPartition {
            partition: self.place.index,
            current_leader_epoch: self.current,
            leader_epoch: self.epoch,
        };
        let topic = OffsetForLeaderTopic { topic: self.place.topic.clone(), partitions: vec![partition] };
        m::OffsetForLeaderEpochRequest { replica_id: -1, topics: vec![topic] }
    }

    fn answer(response: m::OffsetForLeaderEpochResponse) -> EpochEnd {
        let part = &response.topics[0].partitions[0];
        EpochEnd { error: code(part.error_code), epoch: part.leader_epoch, end: part.end_offset }
    }
}

/// The records of whole batches.
fn records(bytes: &[u8]) -> Vec<FetchedRecord> {
    let mut records = Vec::new();
    for batch in Batches::new(bytes).checked() {
        let content = batch.uncompressed(1 << 24).expect("a fetched batch can be unpacked");
        for record in batch.records(&content) {
            let record = record.expect("a fetched record can be read");
            let value = String::from_utf8_lossy(record.value.unwrap_or_default()).into_owned();
            let offset = batch.header.base_offset().to_wire() + i64::from(record.offset_delta);
            records.push(FetchedRecord { offset, value });
        }
    }
    records
}
