//! Appending, and who one has to be for it.

use std::time::Duration;

use aplomb_model::batch::{BatchBuilder, ProducerStamp};
use aplomb_model::{ErrorCode, Offset, ProducerEpoch, ProducerId, Timestamp};
use aplomb_protocol::messages as m;
use bytes::Bytes;

use super::{Place, code, millis};
use crate::support::client::Ask;

/// When records were made whose time is of no interest: 2026-01-01.
pub(crate) const NEW_YEAR: i64 = 1_767_225_600_000;

/// A batch of records.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    values: Vec<String>,
    key: Option<String>,
    time: i64,
    producer: Option<ProducerStamp>,
    is_transactional: bool,
    as_it_is: Option<Bytes>,
}

impl Batch {
    pub(crate) fn of(values: &[&str]) -> Self {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Self { values, key: None, time: NEW_YEAR, producer: None, is_transactional: false, as_it_is: None }
    }

    /// A batch of one record of so many bytes.
    pub(crate) fn of_size(bytes: usize) -> Self {
        Self::of(&[&"x".repeat(bytes)])
    }

    /// What a client of its own kind has made.
    pub(crate) fn as_it_is(bytes: Bytes) -> Self {
        Self { as_it_is: Some(bytes), ..Self::of(&[]) }
    }

    /// Gives all records a key.
    pub(crate) fn under_key(self, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..self }
    }

    /// Sets the time of all records.
    pub(crate) fn at(self, time: i64) -> Self {
        Self { time, ..self }
    }

    /// Makes it a batch of an idempotent producer.
    pub(crate) fn by(self, producer: Identity, base_sequence: i32) -> Self {
        let stamp = ProducerStamp {
            id: ProducerId::from_wire(producer.id).expect("a producer has an id"),
            epoch: ProducerEpoch(producer.epoch),
            base_sequence,
        };
        Self { producer: Some(stamp), ..self }
    }

    /// Makes it part of its producer's transaction.
    pub(crate) fn in_transaction(self) -> Self {
        Self { is_transactional: true, ..self }
    }

    pub(crate) fn bytes(&self) -> Bytes {
        if let Some(bytes) = &self.as_it_is {
            return bytes.clone();
        }
        let mut builder = BatchBuilder::new(Offset::ZERO);
        if let Some(stamp) = self.producer {
            builder = builder.producer(stamp);
        }
        if self.is_transactional {
            builder = builder.transactional();
        }
        for value in &self.values {
            let key = self.key.as_deref().map(str::as_bytes);
            builder.append(Timestamp(self.time), key, Some(value.as_bytes()), &[]);
        }
        builder.build()
    }
}

impl From<&str> for Batch {
    fn from(value: &str) -> Self {
        Self::of(&[value])
    }
}

/// A batch was appended, or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Produced {
    pub(crate) error: ErrorCode,
    /// The offset of its first record, or -1.
    pub(crate) base: i64,
    /// The time of the append, or -1.
    pub(crate) append_time: i64,
    pub(crate) log_start: i64,
}

/// Appends batches; the answer has one part for each.
#[derive(Clone, Debug)]
pub(crate) struct ProduceAll {
    parts: Vec<(Place, Batch)>,
    acks: i16,
    timeout: Duration,
    transactional_id: Option<String>,
}

impl ProduceAll {
    pub(crate) fn to(parts: impl Into<Vec<(Place, Batch)>>) -> Self {
        Self { parts: parts.into(), acks: 1, timeout: Duration::from_secs(30), transactional_id: None }
    }

    /// In a transaction of this id.
    pub(crate) fn under(self, id: &str) -> Self {
        Self { transactional_id: Some(id.to_owned()), ..self }
    }

    /// Wants no answer.
    pub(crate) fn without_answer(self) -> Self {
        Self { acks: 0, ..self }
    }
}

impl Ask for ProduceAll {
    type Request = m::ProduceRequest;
    type Answer = Vec<Produced>;
    const VERSION: i16 = 12;

    fn request(&self) -> m::ProduceRequest {
        use m::produce_request::{PartitionProduceData, TopicProduceData};
        let topic = |(place, batch): &(Place, Batch)| TopicProduceData {
            name: place.topic.clone(),
            partition_data: vec![PartitionProduceData { index: place.index, records: Some(batch.bytes()) }],
            ..Default::default()
        };
        m::ProduceRequest {
            transactional_id: self.transactional_id.clone(),
            acks: self.acks,
            timeout_ms: millis(self.timeout),
            topic_data: self.parts.iter().map(topic).collect(),
        }
    }

    fn answer(response: m::ProduceResponse) -> Vec<Produced> {
        let parts = response.responses.iter().flat_map(|topic| &topic.partition_responses);
        let produced = parts.map(|part| Produced {
            error: code(part.error_code),
            base: part.base_offset,
            append_time: part.log_append_time_ms,
            log_start: part.log_start_offset,
        });
        produced.collect()
    }
}

/// Appends a batch.
#[derive(Clone, Debug)]
pub(crate) struct Produce(ProduceAll);

impl Produce {
    pub(crate) fn to(place: impl Into<Place>, batch: impl Into<Batch>) -> Self {
        Self(ProduceAll::to([(place.into(), batch.into())]))
    }

    pub(crate) fn acks(self, acks: i16) -> Self {
        Self(ProduceAll { acks, ..self.0 })
    }

    pub(crate) fn within(self, timeout: Duration) -> Self {
        Self(ProduceAll { timeout, ..self.0 })
    }
}

impl Ask for Produce {
    type Request = m::ProduceRequest;
    type Answer = Produced;
    const VERSION: i16 = ProduceAll::VERSION;

    fn request(&self) -> m::ProduceRequest {
        self.0.request()
    }

    fn answer(response: m::ProduceResponse) -> Produced {
        let mut parts = ProduceAll::answer(response);
        assert_eq!(parts.len(), 1, "one batch has one answer");
        parts.remove(0)
    }
}

/// A producer's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) error: ErrorCode,
    pub(crate) id: i64,
    pub(crate) epoch: i16,
}

/// Asks for a producer id.
#[derive(Clone, Debug)]
pub(crate) struct InitProducerId;

impl Ask for InitProducerId {
    type Request = m::InitProducerIdRequest;
    type Answer = Identity;
    const VERSION: i16 = 4;

    fn request(&self) -> m::InitProducerIdRequest {
        m::InitProducerIdRequest {
            transactional_id: None,
            transaction_timeout_ms: 60_000,
            producer_id: -1,
            producer_epoch: -1,
            ..Default::default()
        }
    }

    fn answer(response: m::InitProducerIdResponse) -> Identity {
        let (id, epoch) = (response.producer_id, response.producer_epoch);
        Identity { error: code(response.error_code), id, epoch }
    }
}

/// Asks who writes to a partition.
#[derive(Clone, Debug)]
pub(crate) struct DescribeProducers(pub(crate) Place);

impl Ask for DescribeProducers {
    type Request = m::DescribeProducersRequest;
    /// The ids of those that the log remembers.
    type Answer = Result<Vec<i64>, ErrorCode>;
    const VERSION: i16 = 0;

    fn request(&self) -> m::DescribeProducersRequest {
        use m::describe_producers_request::TopicRequest;
        let (name, partition_indexes) = (self.0.topic.clone(), vec![self.0.index]);
        m::DescribeProducersRequest { topics: vec![TopicRequest { name, partition_indexes }] }
    }

    fn answer(response: m::DescribeProducersResponse) -> Self::Answer {
        let part = &response.topics[0].partitions[0];
        match code(part.error_code) {
            ErrorCode::None => Ok(part.active_producers.iter().map(|known| known.producer_id).collect()),
            error => Err(error),
        }
    }
}
