//! `ConsumerGroupPartitionMetadataValue` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ConsumerGroupPartitionMetadataValue.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ConsumerGroupPartitionMetadataValue`: coordinator-value, key 4, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ConsumerGroupPartitionMetadataValue {
    /// `Topics`: []TopicMetadata, versions 0+.
    pub topics: Vec<TopicMetadata>,
}

impl Message for ConsumerGroupPartitionMetadataValue {
    const NAME: &'static str = "ConsumerGroupPartitionMetadataValue";
    const API_KEY: Option<i16> = Some(4);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let topics = r.array(true, |r| TopicMetadata::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { topics })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.array(&self.topics, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `TopicMetadata` in `ConsumerGroupPartitionMetadataValue`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopicMetadata {
    /// `TopicId`: uuid, versions 0+.
    pub topic_id: Uuid,
    /// `TopicName`: string, versions 0+.
    pub topic_name: String,
    /// `NumPartitions`: int32, versions 0+.
    pub num_partitions: i32,
    /// `PartitionMetadata`: []PartitionMetadata, versions 0+.
    pub partition_metadata: Vec<PartitionMetadata>,
}

impl TopicMetadata {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let topic_id = r.uuid()?;
        let topic_name = r.string(true)?;
        let num_partitions = r.i32()?;
        let partition_metadata = r.array(true, |r| PartitionMetadata::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { topic_id, topic_name, num_partitions, partition_metadata })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.uuid(self.topic_id);
        w.string(&self.topic_name, true)?;
        w.i32(self.num_partitions);
        w.array(&self.partition_metadata, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `PartitionMetadata` in `ConsumerGroupPartitionMetadataValue`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PartitionMetadata {
    /// `Partition`: int32, versions 0+.
    pub partition: i32,
    /// `Racks`: []string, versions 0+.
    pub racks: Vec<String>,
}

impl PartitionMetadata {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let partition = r.i32()?;
        let racks = r.array(true, |r| r.string(true))?;
        r.skip_tags()?;
        Ok(Self { partition, racks })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i32(self.partition);
        w.array(&self.racks, true, |w, it| w.string(it, true))?;
        w.no_tags();
        Ok(())
    }
}
