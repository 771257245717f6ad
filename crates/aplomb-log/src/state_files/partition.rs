//! `partition.metadata`: the topic id of a partition's directory
//! (`org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile`).
//!
//! Two lines, `version: 0` and `topic_id: <22 characters>`, no line end behind the second. A topic
//! that is deleted and made again has another id; this file tells its directory apart.

use aplomb_model::{TopicId, Uuid};

const VERSION: i32 = 0;

/// What the file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionMetadata {
    /// The id of the topic that the directory belongs to; never zero.
    pub topic_id: TopicId,
}

/// A text that is not such a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartitionMetadataError {
    /// The first line is not `version: <number>`, or the number is negative.
    #[error("partition metadata has no known version")]
    NoVersion,
    /// The second line is not `topic_id: <uuid>`, or the id is zero.
    #[error("partition metadata has no topic id")]
    NoTopicId,
}

impl PartitionMetadata {
    /// The file's text.
    ///
    /// # Panics
    /// If the topic id is zero, which stands for "none".
    #[must_use]
    pub fn encode(&self) -> String {
        assert_ne!(self.topic_id, Uuid::ZERO, "a directory belongs to a topic");
        format!("version: {VERSION}\ntopic_id: {}", self.topic_id)
    }

    /// Reads the text. Later versions are accepted, as Apache Kafka does: they begin with the same
    /// lines.
    ///
    /// # Errors
    /// [`PartitionMetadataError`] if one of the two lines is missing or malformed.
    pub fn parse(bytes: &[u8]) -> Result<Self, PartitionMetadataError> {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let mut values = text.lines().map(|line| line.split_once(':').map(|(_, value)| value.trim()));
        let version = values.next().flatten().and_then(|version| version.parse::<i32>().ok());
        if version.is_none_or(|version| version < VERSION) {
            return Err(PartitionMetadataError::NoVersion);
        }
        let topic_id = values.next().flatten().and_then(|id| id.parse().ok());
        match topic_id {
            Some(topic_id) if topic_id != Uuid::ZERO => Ok(Self { topic_id }),
            Some(_) | None => Err(PartitionMetadataError::NoTopicId),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_text_is_apache_kafkas() {
        let metadata = PartitionMetadata { topic_id: Uuid::ONE };
        assert_eq!(metadata.encode(), "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ");
        assert_eq!(PartitionMetadata::parse(b"version: 1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n"), Ok(metadata));
    }

    #[test]
    fn what_is_missing_is_named() {
        use PartitionMetadataError::{NoTopicId, NoVersion};
        let parse = PartitionMetadata::parse;
        assert_eq!(parse(b""), Err(NoVersion));
        assert_eq!(parse(b"version 0\n"), Err(NoVersion));
        assert_eq!(parse(b"version: -1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"), Err(NoVersion));
        assert_eq!(parse(b"version: 0\n"), Err(NoTopicId));
        assert_eq!(parse(b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA"), Err(NoTopicId));
        assert_eq!(parse(b"version: 0\ntopic_id: AAAA"), Err(NoTopicId));
    }

    proptest! {
        #[test]
        fn an_id_reads_back_as_it_was_written(raw in 1u128..) {
            let metadata = PartitionMetadata { topic_id: Uuid::from_u128(raw) };
            prop_assert_eq!(PartitionMetadata::parse(metadata.encode().as_bytes()), Ok(metadata));
        }

        #[test]
        fn no_bytes_make_a_reader_panic(bytes: Vec<u8>) {
            let _ = PartitionMetadata::parse(&bytes);
        }
    }
}
