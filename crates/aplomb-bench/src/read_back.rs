//! Which of the acknowledged records a topic still has.
//!
//! What was never acknowledged may be there or not: no promise was made.

use std::collections::HashMap;

use aplomb_model::batch::Batches;
use aplomb_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use aplomb_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use aplomb_protocol::messages::{
    FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse, MetadataResponse, fetch_response,
};

use crate::admin::{Asker, refused};
use crate::consumer::{EARLIEST, LARGEST_BATCH, LATEST};
use crate::payload::due_of;
use crate::topic::{Described, TopicView, describe, question};
use crate::{BenchError, ConsumerSpec, Ledger};

/// Bytes of a partition in one answer: a reader that waits for each answer does better with few of
/// them.
const AT_ONCE: i32 = 8 * 1024 * 1024;
/// Answers without a record, one after the other, until the rest counts as unreadable: half a
/// minute of them.
const EMPTY_ANSWERS: u32 = 60;

/// What a topic has of a ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadBack {
    /// Acknowledged records that are not there.
    pub missing: u64,
    /// Acknowledged records that are there more than once.
    pub repeated: u64,
}

impl Ledger {
    /// Reads the whole topic from a broker that leads all its partitions, and says what is missing.
    ///
    /// # Errors
    /// When the broker does not answer, or not all of the topic can be read.
    pub fn read_back(&self, address: &str, topic: &str) -> Result<ReadBack, BenchError> {
        let mut broker = Asker::connect(address, "aplomb-bench")?;
        let response: MetadataResponse = broker.ask(&question(topic))?;
        let topic = match describe(topic, &response) {
            Described::There(topic) => topic,
            Described::Refused(code) => return Err(refused(format!("topic {topic}"), code, None)),
        };
        let mut seen: HashMap<u64, u32> = self.dues().map(|due| (due.as_nanos(), 0)).collect();
        for partition in 0..topic.leaders.len() {
            read_partition(&mut broker, &topic, partition as i32, |value| {
                if let Some(times) = due_of(self.run(), value).and_then(|due| seen.get_mut(&due.as_nanos())) {
                    *times += 1;
                }
            })?;
        }
        let count = |of: &dyn Fn(u32) -> bool| seen.values().filter(|times| of(**times)).count() as u64;
        Ok(ReadBack { missing: count(&|times| times == 0), repeated: count(&|times| times > 1) })
    }
}

/// Reads a partition from its first record to what is its last now.
fn read_partition(
    broker: &mut Asker,
    topic: &TopicView,
    partition: i32,
    mut each: impl FnMut(Option<&[u8]>),
) -> Result<(), BenchError> {
    let end = offset(broker, topic, partition, LATEST)?;
    let mut next = offset(broker, topic, partition, EARLIEST)?;
    while next < end {
        let before = next;
        let answer = fetch(broker, topic, partition, before)?;
        let what = || format!("reading partition {partition} of topic {} at offset {before}", topic.name);
        if answer.error_code != 0 {
            return Err(refused(what(), answer.error_code, None));
        }
        for batch in Batches::new(&answer.records.unwrap_or_default()).checked() {
            next = next.max(batch.header.last_offset().to_wire() + 1);
            if batch.header.is_control() {
                continue;
            }
            let unpacked = batch.uncompressed(LARGEST_BATCH).map_err(|error| unreadable(&what(), &error))?;
            for record in batch.records(&unpacked) {
                each(record.map_err(|error| unreadable(&what(), &error))?.value);
            }
        }
        if next == before {
            return Err(unreadable(&what(), &"the broker has no more"));
        }
    }
    Ok(())
}

fn offset(broker: &mut Asker, topic: &TopicView, partition: i32, time: i64) -> Result<i64, BenchError> {
    let partitions =
        vec![ListOffsetsPartition { partition_index: partition, timestamp: time, ..Default::default() }];
    let topics = vec![ListOffsetsTopic { name: topic.name.clone(), partitions }];
    let request = ListOffsetsRequest { replica_id: -1, topics, ..Default::default() };
    let response: ListOffsetsResponse = broker.ask(&request)?;
    let what = || format!("the ends of partition {partition} of topic {}", topic.name);
    match response.topics.iter().flat_map(|topic| &topic.partitions).next() {
        Some(answer) if answer.error_code == 0 => Ok(answer.offset),
        Some(answer) => Err(refused(what(), answer.error_code, None)),
        None => Err(unreadable(&what(), &"the broker says nothing of it")),
    }
}

fn fetch(
    broker: &mut Asker,
    topic: &TopicView,
    partition: i32,
    from: i64,
) -> Result<fetch_response::PartitionData, BenchError> {
    let wanted =
        FetchPartition { partition, fetch_offset: from, partition_max_bytes: AT_ONCE, ..Default::default() };
    let patience = ConsumerSpec::default().max_wait;
    let request = FetchRequest {
        // A broker that reads from a disk may answer with nothing when this is over; then it is
        // asked again.
        max_wait_ms: i32::try_from(patience.as_millis()).unwrap_or(i32::MAX),
        min_bytes: 1,
        max_bytes: AT_ONCE,
        topics: vec![FetchTopic { topic: topic.name.clone(), topic_id: topic.id, partitions: vec![wanted] }],
        ..Default::default()
    };
    let what = || format!("reading partition {partition} of topic {}", topic.name);
    for _ in 0..EMPTY_ANSWERS {
        let response: FetchResponse = broker.ask(&request)?;
        if response.error_code != 0 {
            return Err(refused(what(), response.error_code, None));
        }
        let answer = response.responses.into_iter().flat_map(|topic| topic.partitions).next();
        let answer = answer.ok_or_else(|| unreadable(&what(), &"the broker says nothing of it"))?;
        if answer.error_code != 0 || answer.records.as_ref().is_some_and(|records| !records.is_empty()) {
            return Ok(answer);
        }
    }
    Err(unreadable(&what(), &format!("{EMPTY_ANSWERS} answers without a record")))
}

fn unreadable(what: &str, why: &dyn std::fmt::Display) -> BenchError {
    let why = format!("{what}: {why}");
    BenchError::System(std::io::Error::new(std::io::ErrorKind::InvalidData, why))
}
