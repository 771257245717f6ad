//! Hashes of what consumer groups are subscribed to. A group's epoch ends when its hash changes:
//! then topics, partitions or racks have.
//!
//! Byte for byte as Apache Kafka computes them (`Utils.computeTopicHash`, `computeGroupHash`):
//! XXH3-64, numbers in little endian, strings as UTF-16 with their length in units behind. So a
//! group keeps its epoch when its coordinator moves between the two.

use std::collections::HashMap;
use std::hash::Hasher as _;

use twox_hash::XxHash3_64;

use super::world::{Topic, World};

/// The version of the hash of a topic.
const MAGIC: u8 = 0;

/// Hashes of topics, kept until the metadata changes: many groups ask for the same ones.
#[derive(Debug, Default)]
pub struct TopicHashes {
    version: i64,
    of_topics: HashMap<Box<str>, Option<i64>>,
}

impl TopicHashes {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The hash of a group that is subscribed to the topics of these names, each of them once.
    /// Names of no topic do not count; without any it is 0.
    pub fn of_group<'a>(&mut self, names: impl IntoIterator<Item = &'a str>, world: &dyn World) -> i64 {
        if self.version != world.version() {
            self.of_topics.clear();
            self.version = world.version();
        }
        let mut topics: Vec<(&str, i64)> =
            names.into_iter().filter_map(|name| Some((name, self.of_topic(name, world)?))).collect();
        if topics.is_empty() {
            return 0;
        }
        topics.sort_unstable(); // names of topics are ASCII: as Java sorts them
        let mut hash = Hash::new();
        for (_, topic) in topics {
            hash.long(topic);
        }
        hash.finish()
    }

    fn of_topic(&mut self, name: &str, world: &dyn World) -> Option<i64> {
        if let Some(known) = self.of_topics.get(name) {
            return *known;
        }
        let hash = world.topic(name).map(|topic| topic_hash(&topic, world));
        self.of_topics.insert(name.into(), hash);
        hash
    }
}

/// The hash of a topic: its id, name, partitions, and for each of those the racks of its replicas.
fn topic_hash(topic: &Topic, world: &dyn World) -> i64 {
    let id = u128::from_be_bytes(topic.id.0);
    let mut hash = Hash::new();
    hash.byte(MAGIC);
    hash.long((id >> 64) as i64);
    hash.long(id as i64);
    hash.string(&topic.name);
    hash.int(topic.partitions);
    for partition in 0..topic.partitions {
        hash.int(partition);
        let mut racks = world.racks(topic.id, partition);
        racks.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
        for rack in &racks {
            hash.int(units(rack));
            hash.string(rack);
        }
    }
    hash.finish()
}

/// How long Java takes a string to be.
fn units(text: &str) -> i32 {
    i32::try_from(text.encode_utf16().count()).expect("a name is short")
}

/// What hash4j's `HashStream` puts into XXH3-64.
struct Hash(XxHash3_64);

impl Hash {
    fn new() -> Self {
        Self(XxHash3_64::new())
    }

    fn byte(&mut self, value: u8) {
        self.0.write(&[value]);
    }

    fn int(&mut self, value: i32) {
        self.0.write(&value.to_le_bytes());
    }

    fn long(&mut self, value: i64) {
        self.0.write(&value.to_le_bytes());
    }

    fn string(&mut self, text: &str) {
        for unit in text.encode_utf16() {
            self.0.write(&unit.to_le_bytes());
        }
        self.int(units(text));
    }

    fn finish(self) -> i64 {
        self.0.finish() as i64
    }
}
