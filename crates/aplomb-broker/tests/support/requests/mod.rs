//! Requests as a test writes them, and answers as it reads them.

mod admin;
mod directories;
mod fetch;
mod produce;

pub(crate) use admin::{
    AddPartitions, Alter, CreateTopic, DeleteRecords, DeleteTopic, Describe, UpdateFeature,
};
pub(crate) use directories::{DescribeLogDirs, MoveReplica};
pub(crate) use fetch::{EndOfEpoch, Fetch, ListOffsets};
pub(crate) use produce::{
    Batch, DescribeProducers, Identity, InitProducerId, NEW_YEAR, Produce, ProduceAll, Produced,
};

use std::time::Duration;

use aplomb_model::ErrorCode;

/// A partition, by name. A topic alone stands for its first partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    topic: String,
    index: i32,
}

impl From<&str> for Place {
    fn from(topic: &str) -> Self {
        Self { topic: topic.to_owned(), index: 0 }
    }
}

impl From<(&str, i32)> for Place {
    fn from((topic, index): (&str, i32)) -> Self {
        Self { topic: topic.to_owned(), index }
    }
}

fn code(raw: i16) -> ErrorCode {
    ErrorCode::from_wire(raw).unwrap_or_else(|| panic!("{raw} is no error code"))
}

fn millis(time: Duration) -> i32 {
    i32::try_from(time.as_millis()).expect("a timeout fits the wire")
}
