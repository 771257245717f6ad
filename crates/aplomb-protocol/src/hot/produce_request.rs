//! Produce requests, read in place.
//!
//! [`ProduceBody::decode`] walks the whole request once and keeps nothing but its head;
//! [`ProduceBody::partitions`] walks it again and hands out slices of the frame. The second walk
//! cannot fail, because the first did not.

use aplomb_model::Uuid;
use bytes::Bytes;

use super::TopicRef;
use super::topic::IDS_FROM;
use crate::messages::ProduceRequest;
use crate::{ApiKey, DecodeError, Message as _, Reader};

/// A produce request that was checked to its last byte.
#[derive(Clone, Debug)]
pub struct ProduceBody {
    /// The version it came in.
    pub version: i16,
    /// The transactional id; `None` outside of transactions.
    pub transactional_id: Option<String>,
    /// How many acknowledgements the producer waits for: 0, 1, or -1 for all in-sync replicas. Not
    /// checked here.
    pub acks: i16,
    /// How long it waits for them, in milliseconds. Not checked here.
    pub timeout_ms: i32,
    topics: Reader,
}

/// What is to be appended to one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducePartition<'a> {
    /// The topic. Partitions of one topic follow each other.
    pub topic: TopicRef<'a>,
    /// The partition's number.
    pub index: i32,
    /// The record batch, a slice of the frame. Its content was not looked at.
    pub records: Option<Bytes>,
}

impl ProduceBody {
    /// Reads a request's body. What is left over behind it is ignored, as by Apache Kafka.
    ///
    /// # Errors
    /// As the generated `ProduceRequest::decode`.
    pub fn decode(body: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        if !ProduceRequest::VERSIONS.contains(version) {
            return Err(DecodeError::UnsupportedVersion { message: ProduceRequest::NAME, version });
        }
        let transactional_id = body.nullable_string(ApiKey::Produce.is_flexible(version))?;
        let acks = body.i16()?;
        let timeout_ms = body.i32()?;
        let topics = body.clone();
        let mut walk = Walk::new(body, version)?;
        while walk.next()?.is_some() {}
        walk.end()?;
        Ok(Self { version, transactional_id, acks, timeout_ms, topics })
    }

    /// Whether a request's body names more partitions than that, each as often as it does. Looks at
    /// no more of them. Of one that is not sound, as far as it is.
    #[must_use]
    pub fn names_more_than(most: usize, body: &Reader, version: i16) -> bool {
        let mut body = body.clone();
        let head = body
            .nullable_string(ApiKey::Produce.is_flexible(version))
            .and_then(|_| Ok((body.i16()?, body.i32()?)));
        let Ok(mut walk) = head.and_then(|_| Walk::new(&mut body, version)) else { return false };
        (0..=most).all(|_| matches!(walk.next(), Ok(Some(_))))
    }

    /// The partitions, in the order of the request.
    #[must_use]
    pub fn partitions(&self) -> Partitions<'_> {
        let mut reader = self.topics.clone();
        let (left, topic) = Walk::new(&mut reader, self.version).expect(CHECKED).state();
        Partitions { body: self, reader, left, topic }
    }
}

const CHECKED: &str = "the request was checked when it was decoded";

/// See [`ProduceBody::partitions`].
#[derive(Clone, Debug)]
pub struct Partitions<'a> {
    body: &'a ProduceBody,
    reader: Reader,
    left: Left,
    topic: Topic,
}

impl<'a> Iterator for Partitions<'a> {
    type Item = ProducePartition<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut walk =
            Walk { r: &mut self.reader, version: self.body.version, left: self.left, topic: self.topic };
        let step = walk.next().expect(CHECKED);
        (self.left, self.topic) = walk.state();
        let (index, records) = step?;
        let topic = match self.topic {
            Topic::Name { start, len } => {
                let name = &self.body.topics.frame()[start..start + len];
                TopicRef::Name(std::str::from_utf8(name).expect(CHECKED))
            }
            Topic::Id(id) => TopicRef::Id(id),
        };
        Some(ProducePartition { topic, index, records })
    }
}

/// What is still to come.
#[derive(Clone, Copy, Debug)]
struct Left {
    topics: usize,
    partitions: usize,
}

/// The topic at hand.
#[derive(Clone, Copy, Debug)]
enum Topic {
    Name { start: usize, len: usize },
    Id(Uuid),
}

/// One step per partition through the array of topics.
struct Walk<'r> {
    r: &'r mut Reader,
    version: i16,
    left: Left,
    topic: Topic,
}

impl<'r> Walk<'r> {
    fn new(r: &'r mut Reader, version: i16) -> Result<Self, DecodeError> {
        let topics = r.count(ApiKey::Produce.is_flexible(version))?;
        Ok(Self { r, version, left: Left { topics, partitions: 0 }, topic: Topic::Id(Uuid::ZERO) })
    }

    fn state(self) -> (Left, Topic) {
        (self.left, self.topic)
    }

    /// The partition's number, and its records.
    fn next(&mut self) -> Result<Option<(i32, Option<Bytes>)>, DecodeError> {
        let flexible = ApiKey::Produce.is_flexible(self.version);
        while self.left.partitions == 0 {
            if self.left.topics == 0 {
                return Ok(None);
            }
            self.topic = if self.version >= IDS_FROM {
                Topic::Id(self.r.uuid()?)
            } else {
                let range = self.r.str_range(flexible)?;
                Topic::Name { start: range.start, len: range.len() }
            };
            self.left.topics -= 1;
            self.left.partitions = self.r.count(flexible)?;
            if self.left.partitions == 0 {
                self.skip_tags()?;
            }
        }
        let index = self.r.i32()?;
        let records = self.r.nullable_bytes(flexible)?;
        self.skip_tags()?;
        self.left.partitions -= 1;
        if self.left.partitions == 0 {
            self.skip_tags()?;
        }
        Ok(Some((index, records)))
    }

    fn end(self) -> Result<(), DecodeError> {
        let mut this = self;
        this.skip_tags()
    }

    fn skip_tags(&mut self) -> Result<(), DecodeError> {
        if ApiKey::Produce.is_flexible(self.version) { self.r.skip_tags() } else { Ok(()) }
    }
}
