//! A partition's directory: `topic-partition`, and what it is renamed to when it is not served from
//! here any more or not yet (`org.apache.kafka.storage.internals.log.LocalLog`,
//! `parseTopicPartitionName`).
//!
//! Apache Kafka refuses to start on a directory whose name it cannot parse. So no other form is
//! ever written, and one that is found is reported with its name. Next: `top_level.rs` for what
//! else a log directory holds.

use aplomb_model::{TopicPartition, Uuid};

/// The longest name that common filesystems take, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// What a directory is there for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DirectoryRole {
    /// The log that clients read and write.
    Serving,
    /// Deleted, waits to be unlinked. Tells directories of one partition apart by `id`.
    Deleted {
        /// 32 hexadecimal digits where Aplomb or Apache Kafka made the name.
        id: String,
    },
    /// Found here, but not ours according to the metadata.
    Stray {
        /// As for `Deleted`.
        id: String,
    },
    /// Target of a move between log directories.
    Future {
        /// As for `Deleted`.
        id: String,
    },
}

/// A directory that holds, held or will hold a partition's log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartitionDir {
    /// The partition; the topic's name may be cut short in `Deleted` and `Stray` directories.
    pub partition: TopicPartition,
    /// What the directory is there for.
    pub role: DirectoryRole,
}

/// A directory name that is none of the forms of [`PartitionDir`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no partition's directory (topic-partition, or topic-partition.id-delete, -stray or -future)"
)]
pub struct NotAPartition(pub String);

impl PartitionDir {
    /// The directory from which a partition is served.
    #[must_use]
    pub fn serving(partition: TopicPartition) -> Self {
        Self { partition, role: DirectoryRole::Serving }
    }

    /// The name to rename a deleted partition's directory to; `unique` is a fresh random id.
    #[must_use]
    pub fn deleted(partition: TopicPartition, unique: Uuid) -> Self {
        Self { partition, role: DirectoryRole::Deleted { id: hex(unique) } }
    }

    /// The name to rename a stray directory to; `unique` is a fresh random id.
    #[must_use]
    pub fn stray(partition: TopicPartition, unique: Uuid) -> Self {
        Self { partition, role: DirectoryRole::Stray { id: hex(unique) } }
    }

    /// The directory to build a partition's log in while another one serves; `unique` is a fresh
    /// random id.
    #[must_use]
    pub fn future(partition: TopicPartition, unique: Uuid) -> Self {
        Self { partition, role: DirectoryRole::Future { id: hex(unique) } }
    }

    /// The directory's name. The topic is cut so that `Deleted` and `Stray` names fit 255 bytes.
    #[must_use]
    pub fn name(&self) -> String {
        let (id, kind, may_be_cut) = match &self.role {
            DirectoryRole::Serving => return self.partition.to_string(),
            DirectoryRole::Deleted { id } => (id, "delete", true),
            DirectoryRole::Stray { id } => (id, "stray", true),
            DirectoryRole::Future { id } => (id, "future", false),
        };
        let topic: &str = &self.partition.topic;
        let tail = format!("-{}.{id}-{kind}", self.partition.partition);
        let room = if may_be_cut { MAX_NAME_BYTES.saturating_sub(tail.len()) } else { topic.len() };
        format!("{}{tail}", cut(topic, room))
    }

    /// Reads a directory's name.
    ///
    /// # Errors
    /// [`NotAPartition`] if it is none of the four forms, or not in the way they are written
    /// (`t-01`).
    pub fn parse(name: &str) -> Result<Self, NotAPartition> {
        Self::recognise(name).ok_or_else(|| NotAPartition(name.to_owned()))
    }

    fn recognise(name: &str) -> Option<Self> {
        let (body, role) = match name.rsplit_once('-')? {
            (rest, "delete") => with_id(rest, |id| DirectoryRole::Deleted { id })?,
            (rest, "stray") => with_id(rest, |id| DirectoryRole::Stray { id })?,
            (rest, "future") => with_id(rest, |id| DirectoryRole::Future { id })?,
            _ => (name, DirectoryRole::Serving),
        };
        let (topic, number) = body.rsplit_once('-')?;
        let partition: i32 = number.parse().ok()?;
        let as_written = partition >= 0 && partition.to_string() == number;
        let plain = !topic.is_empty() && !topic.contains(|c: char| c.is_whitespace() || c == '/');
        (as_written && plain).then(|| Self { partition: TopicPartition::new(topic, partition), role })
    }
}

fn with_id(rest: &str, role: impl FnOnce(String) -> DirectoryRole) -> Option<(&str, DirectoryRole)> {
    let (body, id) = rest.rsplit_once('.')?;
    let plain = !id.is_empty() && !id.contains(|c: char| c.is_whitespace() || c == '/');
    plain.then(|| (body, role(id.to_owned())))
}

/// The first `room` bytes of `text`, or a few less where that would split a character.
fn cut(text: &str, room: usize) -> &str {
    let end = (0..=room.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    &text[..end]
}

fn hex(id: Uuid) -> String {
    format!("{:032x}", u128::from_be_bytes(id.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn orders_3() -> TopicPartition {
        TopicPartition::new("my-orders.v2_x", 3)
    }

    #[test]
    fn names_are_apache_kafkas() {
        let unique = Uuid::from_u128(0xe83d_6ad2_0000_0000_0000_0000_0000_000f);
        assert_eq!(PartitionDir::serving(orders_3()).name(), "my-orders.v2_x-3");
        assert_eq!(
            PartitionDir::deleted(orders_3(), unique).name(),
            "my-orders.v2_x-3.e83d6ad200000000000000000000000f-delete"
        );
        assert_eq!(
            PartitionDir::stray(orders_3(), unique).name(),
            "my-orders.v2_x-3.e83d6ad200000000000000000000000f-stray"
        );
        assert_eq!(
            PartitionDir::future(orders_3(), unique).name(),
            "my-orders.v2_x-3.e83d6ad200000000000000000000000f-future"
        );
    }

    #[test]
    fn a_long_topic_is_cut_when_deleted_and_not_when_it_will_be_served() {
        let long = TopicPartition::new("t".repeat(249), 12);
        assert_eq!(PartitionDir::deleted(long.clone(), Uuid::ONE).name().len(), 255);
        assert_eq!(PartitionDir::stray(long.clone(), Uuid::ONE).name().len(), 255);
        let future = PartitionDir::future(long, Uuid::ONE);
        assert_eq!(PartitionDir::parse(&future.name()), Ok(future));
    }

    #[test]
    fn names_apache_kafka_would_stop_at_are_reported() {
        for name in [
            "",
            "lost+found",
            "orders",
            "-0",
            "orders-",
            "orders-x",
            "orders-+1",
            "orders-01",
            "orders-2147483648",
            "orders-0-delete",
            "orders-0.-delete",
            "orders.abc-stray",
        ] {
            assert_eq!(PartitionDir::parse(name), Err(NotAPartition(name.to_owned())), "{name}");
        }
    }

    #[test]
    fn a_topic_may_end_like_a_role() {
        let odd = PartitionDir::serving(TopicPartition::new("to-delete", 0));
        assert_eq!(PartitionDir::parse("to-delete-0"), Ok(odd));
    }

    proptest! {
        #[test]
        fn a_name_reads_back_as_what_was_written(
            topic in "[a-zA-Z0-9._-]{1,180}", partition in 0..=i32::MAX, raw: u128
        ) {
            let partition = TopicPartition::new(topic, partition);
            let unique = Uuid::from_u128(raw);
            for dir in [
                PartitionDir::serving(partition.clone()),
                PartitionDir::deleted(partition.clone(), unique),
                PartitionDir::stray(partition.clone(), unique),
                PartitionDir::future(partition, unique),
            ] {
                prop_assert_eq!(PartitionDir::parse(&dir.name()), Ok(dir));
            }
        }

        #[test]
        fn what_parses_is_written_the_same(
            name in "[a-z.-]{0,9}-?[0-9]{0,3}\\.?[0-9a-f]{0,4}(-delete|-stray|-future)?|\\PC{0,40}"
        ) {
            if let Ok(dir) = PartitionDir::parse(&name) {
                prop_assert_eq!(dir.name(), name);
            }
        }
    }
}
