//! One topic's settings, checked and understood. Made from what the topic overrides and what the
//! broker's layers say; code further in meets no `-1` and no number that stands
//! for "never".

use std::time::Duration;

use aplomb_model::ByteCount;
use aplomb_model::batch::{Codec, Compression, CompressionRule, ProduceRules, TimestampType};

use super::key::{ConfigKey, Meaning};
use super::keys::{topic_key, topic_keys};
use super::layers::{Layers, Properties};
use super::value::{Value, ValueError};

const MAX_MESSAGE_BYTES: &str = "max.message.bytes";

/// What becomes of old segments (`cleanup.policy`). Both may be off (since Apache Kafka 4.1): then
/// everything is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanupPolicy {
    /// Old segments go, by age and by size.
    pub delete: bool,
    /// Of each key the last record is kept.
    pub compact: bool,
}

/// How a topic is compacted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopicCompaction {
    /// `min.cleanable.dirty.ratio`, of 1.
    pub min_dirty_ratio: f64,
    /// `delete.retention.ms`
    pub delete_retention: Duration,
    /// `min.compaction.lag.ms`
    pub min_lag: Duration,
    /// `max.compaction.lag.ms`; `None` is for ever.
    pub max_lag: Option<Duration>,
}

/// The settings of a topic.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicConfig {
    /// `segment.bytes`
    pub segment_bytes: ByteCount,
    /// `segment.ms`
    pub segment_age: Duration,
    /// `segment.jitter.ms`
    pub segment_jitter: Duration,
    /// `segment.index.bytes`
    pub index_bytes: ByteCount,
    /// `index.interval.bytes`
    pub index_interval: ByteCount,
    /// `retention.ms`; `None` is for ever.
    pub retention_age: Option<Duration>,
    /// `retention.bytes`; `None` is without limit.
    pub retention_bytes: Option<ByteCount>,
    /// `max.message.bytes`
    pub max_message_bytes: ByteCount,
    /// `max.decompressed.message.bytes`: the largest record of a compressed batch.
    pub max_decompressed_bytes: ByteCount,
    /// `message.timestamp.type`
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`; `None` is any age.
    pub timestamp_before: Option<Duration>,
    /// `message.timestamp.after.max.ms`; `None` is as far ahead as one likes.
    pub timestamp_after: Option<Duration>,
    /// `flush.messages`; `None` is never by count. `Some(1)` makes acknowledgements wait for the
    /// disk.
    pub flush_messages: Option<u64>,
    /// `flush.ms`; `None` leaves it to `aplomb.flush.interval.ms`.
    pub flush_age: Option<Duration>,
    /// `cleanup.policy`
    pub cleanup: CleanupPolicy,
    /// How it is compacted, if it is.
    pub compaction: TopicCompaction,
    /// `compression.type` with its level.
    pub compression: CompressionRule,
    /// `file.delete.delay.ms`
    pub file_delete_delay: Duration,
}

/// Overrides that a topic cannot have. The sentences are Apache Kafka's forms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopicConfigError {
    /// No topic key has this name.
    #[error("Unknown topic config name: {0}")]
    UnknownName(String),
    /// The value is not one.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A setting of the broker that its topics inherit is none for a topic.
    #[error("{name}={value} is no value for {key}: {error}", key = error.name())]
    Inherited {
        /// The broker's key.
        name: &'static str,
        /// The value as it was given.
        value: String,
        /// What is wrong with it.
        error: ValueError,
    },
    /// Compaction could never keep both.
    #[error("conflict topic config setting min.compaction.lag.ms ({min}) > max.compaction.lag.ms ({max})")]
    CompactionLags {
        /// Milliseconds.
        min: i64,
        /// Milliseconds.
        max: i64,
    },
    /// A value other than the default for a key that cannot be ignored.
    #[error("Invalid value {value} for configuration {name}: only {default} is accepted, because {why}")]
    NotHere {
        /// The key.
        name: &'static str,
        /// The value as it was given.
        value: String,
        /// The only one accepted.
        default: String,
        /// What is missing here, as a clause.
        why: &'static str,
    },
}

impl TopicConfig {
    /// The settings of a topic with these overrides on a broker with these layers.
    ///
    /// # Errors
    /// When an override is unknown, is not a value, or cannot stand beside another.
    pub fn from_overrides(overrides: &Properties, layers: &Layers<'_>) -> Result<Self, TopicConfigError> {
        for (name, text) in overrides {
            let topic = topic_key(name).ok_or_else(|| TopicConfigError::UnknownName(name.clone()))?;
            check_override(&topic.key, text)?;
        }
        let values = Values { overrides, layers };
        let (min, max) = (values.number("min.compaction.lag.ms"), values.number("max.compaction.lag.ms"));
        if min > max {
            return Err(TopicConfigError::CompactionLags { min, max });
        }
        Ok(Self::from_values(&values))
    }

    /// Whether topics can live with what they inherit from these layers: limits of topic keys hold
    /// for the broker's keys behind them, too.
    ///
    /// # Errors
    /// When a topic without overrides would have settings that no topic can have.
    pub fn check_inherited(layers: &Layers<'_>) -> Result<(), TopicConfigError> {
        for topic in topic_keys() {
            let Some(value) = layers.topic_default(topic).map(|value| value.to_string()) else { continue };
            let name = topic.broker_keys.iter().find(|name| layers.set(name).is_some());
            if let (Err(error), Some(name)) = (topic.key.parse(&value), name) {
                return Err(TopicConfigError::Inherited { name, value, error });
            }
        }
        Self::from_overrides(&Properties::new(), layers).map(drop)
    }

    /// The settings of a topic whose overrides come out of the metadata log. What this version
    /// cannot read is as if it were not there: the log was checked when it was written, and a
    /// partition with default settings is better than none.
    #[must_use]
    pub fn from_image(overrides: &Properties, layers: &Layers<'_>) -> Self {
        Self::from_values(&Values { overrides, layers })
    }

    /// One of them, [`Self::max_message_bytes`], for who needs it for each request.
    #[must_use]
    pub fn max_message_bytes_from_image(overrides: &Properties, layers: &Layers<'_>) -> ByteCount {
        Values { overrides, layers }.bytes(MAX_MESSAGE_BYTES)
    }

    fn from_values(values: &Values<'_>) -> Self {
        let policy = values.list("cleanup.policy");
        let has = |word: &str| policy.iter().any(|item| item == word);
        Self {
            segment_bytes: values
                .own_bytes("internal.segment.bytes")
                .unwrap_or(values.bytes("segment.bytes")),
            segment_age: values.duration("segment.ms"),
            segment_jitter: values.duration("segment.jitter.ms"),
            index_bytes: values.bytes("segment.index.bytes"),
            index_interval: values.bytes("index.interval.bytes"),
            retention_age: at_least_zero(values.number("retention.ms")).map(Duration::from_millis),
            retention_bytes: at_least_zero(values.number("retention.bytes")).map(ByteCount),
            max_message_bytes: values.bytes(MAX_MESSAGE_BYTES),
            max_decompressed_bytes: values.bytes("max.decompressed.message.bytes"),
            timestamp_type: match values.text("message.timestamp.type").as_str() {
                "LogAppendTime" => TimestampType::LogAppendTime,
                _ => TimestampType::CreateTime,
            },
            timestamp_before: bounded(values.number("message.timestamp.before.max.ms"))
                .map(Duration::from_millis),
            timestamp_after: bounded(values.number("message.timestamp.after.max.ms"))
                .map(Duration::from_millis),
            flush_messages: bounded(values.number("flush.messages")),
            flush_age: bounded(values.number("flush.ms")).map(Duration::from_millis),
            cleanup: CleanupPolicy { delete: has("delete"), compact: has("compact") },
            compaction: TopicCompaction {
                min_dirty_ratio: values.double("min.cleanable.dirty.ratio"),
                delete_retention: values.duration("delete.retention.ms"),
                min_lag: values.duration("min.compaction.lag.ms"),
                max_lag: bounded(values.number("max.compaction.lag.ms")).map(Duration::from_millis),
            },
            compression: values.compression(),
            file_delete_delay: values.duration("file.delete.delay.ms"),
        }
    }

    /// What a leader of this topic asks of produced batches.
    #[must_use]
    pub fn produce_rules(&self) -> ProduceRules {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let size = |bytes: ByteCount| usize::try_from(bytes.0).unwrap_or(usize::MAX);
        ProduceRules {
            max_message_bytes: size(self.max_message_bytes),
            max_decompressed_message_bytes: size(self.max_decompressed_bytes),
            timestamp_type: self.timestamp_type,
            before_max_ms: self.timestamp_before.map(millis),
            after_max_ms: self.timestamp_after.map(millis),
            compaction: self.cleanup.compact,
            compression: self.compression,
            ..ProduceRules::default()
        }
    }
}

/// The value in force for every topic key that has one, and whether the topic itself has set it:
/// what DescribeConfigs shows.
pub fn effective_values<'a>(
    overrides: &'a Properties,
    layers: &'a Layers<'a>,
) -> impl Iterator<Item = (&'static super::key::TopicKey, Value, bool)> + 'a {
    topic_keys().iter().filter_map(|topic| {
        let own = overrides.get(topic.key.name).and_then(|text| topic.key.parse(text).ok());
        let is_own = own.is_some();
        Some((topic, own.or_else(|| layers.topic_default(topic))?, is_own))
    })
}

fn check_override(key: &ConfigKey, text: &str) -> Result<(), TopicConfigError> {
    let value = key.parse(text)?;
    match (key.meaning, key.default) {
        (Meaning::Refused(why), Some(default)) if value.to_string() != default => {
            Err(TopicConfigError::NotHere {
                name: key.name,
                value: text.to_owned(),
                default: default.to_owned(),
                why,
            })
        }
        _ => Ok(()),
    }
}

/// Overrides first, then the broker's layers. Each getter names a key of the right type, so there
/// always is a value.
struct Values<'a> {
    overrides: &'a Properties,
    layers: &'a Layers<'a>,
}

impl Values<'_> {
    fn value(&self, name: &str) -> Value {
        let topic = topic_key(name).expect("only keys of the table are asked for");
        self.overrides
            .get(name)
            .and_then(|text| topic.key.parse(text).ok())
            .or_else(|| self.layers.topic_default(topic))
            .expect("every key that is asked for has a default")
    }

    fn number(&self, name: &str) -> i64 {
        match self.value(name) {
            Value::Number(number) => number,
            other => unreachable!("{name} is a number, not {other:?}"),
        }
    }

    fn double(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Double(number) => number,
            other => unreachable!("{name} is a fraction, not {other:?}"),
        }
    }

    fn text(&self, name: &str) -> String {
        self.value(name).to_string()
    }

    fn list(&self, name: &str) -> Vec<String> {
        match self.value(name) {
            Value::List(items) => items,
            other => unreachable!("{name} is a list, not {other:?}"),
        }
    }

    fn duration(&self, name: &str) -> Duration {
        Duration::from_millis(at_least_zero(self.number(name)).unwrap_or(0))
    }

    /// Of a key without a default: what the topic itself says.
    fn own_bytes(&self, name: &str) -> Option<ByteCount> {
        let topic = topic_key(name).expect("only keys of the table are asked for");
        match topic.key.parse(self.overrides.get(name)?).ok()? {
            Value::Number(number) => Some(ByteCount(at_least_zero(number).unwrap_or(0))),
            other => unreachable!("{name} is a number, not {other:?}"),
        }
    }

    fn bytes(&self, name: &str) -> ByteCount {
        ByteCount(at_least_zero(self.number(name)).unwrap_or(0))
    }

    fn compression(&self) -> CompressionRule {
        let codec = match self.text("compression.type").as_str() {
            "producer" => return CompressionRule::KeepProducers,
            "gzip" => Codec::Gzip,
            "lz4" => Codec::Lz4,
            "zstd" => Codec::Zstd,
            "snappy" => Codec::Snappy,
            _ => Codec::None,
        };
        let level = match codec {
            Codec::Gzip => Some("compression.gzip.level"),
            Codec::Lz4 => Some("compression.lz4.level"),
            Codec::Zstd => Some("compression.zstd.level"),
            Codec::Snappy | Codec::None => None,
        };
        let chosen = level.and_then(|name| {
            let level = i32::try_from(self.number(name)).ok()?;
            Compression::at_level(codec, level)
        });
        CompressionRule::Recompress(chosen.unwrap_or_else(|| codec.into()))
    }
}

fn at_least_zero(number: i64) -> Option<u64> {
    u64::try_from(number).ok()
}

/// `i64::MAX` is how these keys say "no limit".
fn bounded(number: i64) -> Option<u64> {
    at_least_zero(number).filter(|_| number != i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(pairs: &[(&str, &str)]) -> Properties {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn of(overrides: &[(&str, &str)], file: &[(&str, &str)]) -> Result<TopicConfig, TopicConfigError> {
        let (file, none) = (properties(file), Properties::new());
        let layers = Layers { file: &file, for_all: &none, for_this: &none };
        TopicConfig::from_overrides(&properties(overrides), &layers)
    }

    #[test]
    fn a_topic_without_overrides_has_kafkas_defaults() {
        let config = of(&[], &[]).expect("defaults");
        assert_eq!(config.segment_bytes, ByteCount(1 << 30));
        assert_eq!(config.retention_age, Some(Duration::from_secs(7 * 24 * 3600)));
        assert_eq!(config.retention_bytes, None);
        assert_eq!(config.flush_messages, None);
        assert_eq!(config.flush_age, None);
        assert_eq!(config.timestamp_before, None);
        assert_eq!(config.timestamp_after, Some(Duration::from_secs(3600)));
        assert_eq!(config.cleanup, CleanupPolicy { delete: true, compact: false });
        assert_eq!(config.compression, CompressionRule::KeepProducers);
    }

    #[test]
    fn an_override_beats_the_broker_which_beats_the_default() {
        let file = [("log.segment.bytes", "2097152"), ("log.roll.hours", "1")];
        let config = of(&[("segment.bytes", "1048576")], &file).expect("valid");
        assert_eq!(config.segment_bytes, ByteCount(1 << 20));
        assert_eq!(config.segment_age, Duration::from_secs(3600));
    }

    #[test]
    fn kafkas_numbers_for_never_are_gone() {
        let config = of(&[("retention.ms", "-1"), ("max.compaction.lag.ms", "9223372036854775807")], &[]);
        let config = config.expect("valid");
        assert_eq!(config.retention_age, None);
        assert_eq!(of(&[("flush.messages", "1")], &[]).expect("valid").flush_messages, Some(1));
    }

    #[test]
    fn an_empty_cleanup_policy_keeps_everything() {
        let config = of(&[("cleanup.policy", "")], &[]).expect("valid since Apache Kafka 4.1");
        assert_eq!(config.cleanup, CleanupPolicy { delete: false, compact: false });
    }

    #[test]
    fn a_codec_takes_its_level() {
        let config = of(&[("compression.type", "gzip"), ("compression.gzip.level", "9")], &[]);
        let level = Compression::at_level(Codec::Gzip, 9).expect("a level of gzip");
        assert_eq!(config.expect("valid").compression, CompressionRule::Recompress(level));
    }

    #[test]
    fn what_a_topic_cannot_have_is_refused_in_kafkas_words() {
        let refusal = |overrides: &[(&str, &str)]| of(overrides, &[]).expect_err("refused").to_string();
        assert_eq!(refusal(&[("retention", "1")]), "Unknown topic config name: retention");
        assert_eq!(
            refusal(&[("min.compaction.lag.ms", "5"), ("max.compaction.lag.ms", "4")]),
            "conflict topic config setting min.compaction.lag.ms (5) > max.compaction.lag.ms (4)"
        );
        assert!(refusal(&[("remote.storage.enable", "true")]).contains("only false is accepted"));
    }
}
