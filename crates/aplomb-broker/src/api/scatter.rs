//! Requests that ask something of many partitions, once: a response that is filled in as the partitions answer.

use std::time::Duration;

use aplomb_model::ErrorCode;
use aplomb_protocol::frame::ResponseFrame;
use aplomb_protocol::{ApiKey, EncodeError, Message};

use super::produce::Calls;
use crate::message::{PartitionAnswer, PartitionCall, PartitionKey, Slot};
use crate::metadata::MetadataImage;
use crate::ports::Reply;

/// Which response answers which request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyTo {
    pub(crate) api: ApiKey,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
}

impl ReplyTo {
    /// The reply with this body.
    pub(crate) fn with(self, body: &impl Message) -> Result<Reply, EncodeError> {
        let mut frame = ResponseFrame::open(self.api, self.version, self.correlation_id)?;
        body.encode(frame.writer(), self.version)?;
        let errors = frame.writer().take_errors();
        Ok(Reply::Frame { parts: vec![frame.close(0)?], errors, throttle: Duration::ZERO })
    }
}

/// Puts a partition's answer in its place in the response of a version.
pub(crate) type Fill<R> = fn(&mut R, (usize, usize), PartitionAnswer, version: i16);

/// A request that waits for its partitions. What has not answered when the time is up stays as the response had it at first.
#[derive(Debug)]
pub(crate) struct Scatter<R> {
    to: ReplyTo,
    response: R,
    /// Where in the response each slot's answer goes.
    places: Vec<(usize, usize)>,
    outstanding: usize,
    fill: Fill<R>,
}

impl<R: Message> Scatter<R> {
    pub(crate) fn new(to: ReplyTo, response: R, fill: Fill<R>) -> Self {
        Self { to, response, places: Vec::new(), outstanding: 0, fill }
    }

    /// Adds a call whose answer goes to `place`.
    pub(crate) fn ask(
        &mut self,
        place: (usize, usize),
        key: PartitionKey,
        call: PartitionCall,
        calls: &mut Calls,
    ) {
        let slot = Slot::try_from(self.places.len()).expect("a frame has fewer partitions than that");
        self.places.push(place);
        self.outstanding += 1;
        calls.push((slot, key, call));
    }

    /// Fills in what is known without asking.
    pub(crate) fn preset(&mut self, fill: impl FnOnce(&mut R)) {
        fill(&mut self.response);
    }

    pub(crate) fn on_answer(&mut self, slot: Slot, answer: PartitionAnswer) {
        (self.fill)(&mut self.response, self.places[slot as usize], answer, self.to.version);
        self.outstanding -= 1;
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.outstanding == 0
    }

    pub(crate) fn reply(&self) -> Result<Reply, EncodeError> {
        self.to.with(&self.response)
    }
}

/// What Apache Kafka says in words of a partition that there is not.
pub(super) const UNKNOWN_PARTITION: &str = "This server does not host this topic-partition.";

/// A partition by the name of its topic.
pub(crate) fn named(image: &MetadataImage, topic: &str, partition: i32) -> Result<PartitionKey, ErrorCode> {
    let topic = image.topics.by_name(topic).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    let partition = aplomb_model::PartitionIndex(partition);
    if !topic.partitions.contains_key(&partition) {
        return Err(ErrorCode::UnknownTopicOrPartition);
    }
    Ok(PartitionKey { topic: topic.id, partition })
}
