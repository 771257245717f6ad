//! What is known about one configuration key. How its values are read is in [`super::value`]; the
//! tables of keys are in [`super::keys`], and are written with the macros at the foot of this file.

/// The type of a key's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigType {
    /// true or false, in any case.
    Boolean,
    /// Any characters.
    Text,
    /// A 32-bit number.
    Int,
    /// A 16-bit number.
    Short,
    /// A 64-bit number.
    Long,
    /// A number with a fraction.
    Double,
    /// Texts, separated by commas.
    List,
    /// The name of a Java class.
    Class,
    /// Text that is never shown.
    Password,
}

impl ConfigType {
    /// The number in a DescribeConfigs response (`DescribeConfigsResponse.ConfigType`).
    #[must_use]
    pub const fn to_wire(self) -> i8 {
        match self {
            Self::Boolean => 1,
            Self::Text => 2,
            Self::Int => 3,
            Self::Short => 4,
            Self::Long => 5,
            Self::Double => 6,
            Self::List => 7,
            Self::Class => 8,
            Self::Password => 9,
        }
    }

    /// Whether values are hidden from those who describe configurations.
    #[must_use]
    pub const fn is_sensitive(self) -> bool {
        matches!(self, Self::Password)
    }
}

/// Which values of the right type are accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Valid {
    /// Whatever the type can hold.
    Any,
    /// Numbers from this one up.
    AtLeast(i64),
    /// Numbers from the first to the second.
    Between(i64, i64),
    /// Fractions from the first to the second.
    BetweenDouble(f64, f64),
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// One of these texts, in any case.
    OneOfIgnoringCase(&'static [&'static str]),
    /// A list of some of these texts.
    ListOf(&'static [&'static str]),
    /// A list without empty texts that names nothing twice.
    Distinct,
    /// Any text but the empty one.
    NonEmpty,
    /// 1 to 9, or -1.
    GzipLevel,
    /// `partition:broker` pairs, or `*`.
    ThrottledReplicas,
    /// `earliest`, `latest`, or `by_duration:` and a duration of ISO 8601.
    ResetStrategy,
}

/// How much a key matters, as Apache Kafka documents it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Importance {
    /// Look at it first.
    High,
    /// Look at it when tuning.
    Medium,
    /// Hardly ever.
    Low,
}

/// Whether a key of the broker can be changed while it runs, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Only in the file, with a restart.
    ReadOnly,
    /// For a single broker.
    PerBroker,
    /// For a single broker and for all.
    ClusterWide,
}

/// What a key does here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It does what it says, by way of this field of [`super::BrokerConfig`], or of
    /// [`super::TopicConfig`] behind `topic.`.
    Used(&'static str),
    /// It is accepted and does nothing, for this reason.
    Unused(&'static str),
    /// Any value but the default is refused, for this reason: to ignore it would be worse.
    Refused(&'static str),
}

/// A row of the tables: all that is known about a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfigKey {
    /// As it is written in `server.properties`.
    pub name: &'static str,
    /// The type of its values.
    pub kind: ConfigType,
    /// The value where none is set; `None` where that is "unset".
    pub default: Option<&'static str>,
    /// Which values are accepted.
    pub valid: Valid,
    /// How much it matters.
    pub importance: Importance,
    /// Whether it can be changed while the broker runs. A topic's key always can.
    pub update: Update,
    /// What it does here.
    pub meaning: Meaning,
    /// A sentence about it.
    pub documentation: &'static str,
}

/// A topic's key, and the broker's keys that it falls back to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopicKey {
    /// What the topic itself can set.
    pub key: ConfigKey,
    /// The broker's keys with the same meaning, the strongest first. Those in hours and minutes
    /// come after those in milliseconds.
    pub broker_keys: &'static [&'static str],
}

/// A group's key, and what the broker's settings say about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupKey {
    /// What the group itself can set.
    pub key: ConfigKey,
    /// The broker's key with the same meaning; `None`: only groups have it.
    pub broker_key: Option<&'static str>,
    /// The broker's keys that bound it: the least, where there are two, and the most.
    pub bounds: &'static [&'static str],
}

macro_rules! default_value {
    (null) => {
        None
    };
    ($text:literal) => {
        Some($text)
    };
}

/// A table of broker keys: `name: Type = default, Valid, Importance, Update, Meaning;
/// documentation;`.
macro_rules! config_keys {
    ($($name:literal: $kind:ident = $default:tt, $valid:expr, $importance:ident, $update:ident, $meaning:expr; $doc:literal;)*) => {
        use super::super::key::{ConfigType, Importance, Meaning::*, Update, Valid::*, default_value};

        pub(super) const KEYS: &[ConfigKey] = &[$(ConfigKey {
            name: $name,
            kind: ConfigType::$kind,
            default: default_value!($default),
            valid: $valid,
            importance: Importance::$importance,
            update: Update::$update,
            meaning: $meaning,
            documentation: $doc,
        },)*];
    };
}

/// A table of topic keys: `name: Type = default, Valid, Meaning, [broker keys]; documentation;`.
macro_rules! topic_keys {
    ($($name:literal: $kind:ident = $default:tt, $valid:expr, $meaning:expr, [$($broker:literal),*]; $doc:literal;)*) => {
        use super::super::key::{ConfigType, Importance, Meaning::*, Update, Valid::*, default_value};

        pub(super) const KEYS: &[TopicKey] = &[$(TopicKey {
            key: ConfigKey {
                name: $name,
                kind: ConfigType::$kind,
                default: default_value!($default),
                valid: $valid,
                importance: Importance::Medium,
                update: Update::ClusterWide,
                meaning: $meaning,
                documentation: $doc,
            },
            broker_keys: &[$($broker),*],
        },)*];
    };
}

/// A table of groups' keys: `name: Type, Valid, Meaning, broker key = default, [bounds];
/// documentation;`.
macro_rules! group_keys {
    ($($name:literal: $kind:ident, $valid:expr, $meaning:expr, $broker:tt = $default:tt, [$($bound:literal),*]; $doc:literal;)*) => {
        use super::super::key::{ConfigType, Importance, Meaning, Meaning::*, Update, Valid::*, default_value};

        pub(super) const KEYS: &[GroupKey] = &[$(GroupKey {
            key: ConfigKey {
                name: $name,
                kind: ConfigType::$kind,
                default: default_value!($default),
                valid: $valid,
                importance: Importance::Medium,
                update: Update::ClusterWide,
                meaning: $meaning,
                documentation: $doc,
            },
            broker_key: default_value!($broker),
            bounds: &[$($bound),*],
        },)*];
    };
}

pub(super) use {config_keys, default_value, group_keys, topic_keys};
