//! The names of the compression codecs, their numbers in a batch's attributes, and their levels.
//!
//! Numbers, names, ranges and defaults are Apache Kafka's (`CompressionType`, `compression.type`,
//! `compression.gzip.level`, `compression.lz4.level`, `compression.zstd.level`).

use std::fmt;
use std::ops::RangeInclusive;

/// How the records of a batch are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Codec {
    /// The records are as they are.
    #[default]
    None,
    /// The format of RFC 1952.
    Gzip,
    /// Snappy blocks, in the frame of the xerial library.
    Snappy,
    /// LZ4 frames of independent blocks.
    Lz4,
    /// Zstandard, RFC 8878.
    Zstd,
}

impl Codec {
    /// Every codec, by its number.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The number in a batch's attributes.
    #[must_use]
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// The codec with this number, if there is one.
    #[must_use]
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.get(usize::from(id)).copied()
    }

    /// The name in configurations.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// The codec with this name in configurations, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.name() == name)
    }

    /// The levels that a topic may ask for besides [`Codec::default_level`]; `None` where there are
    /// none.
    #[must_use]
    pub const fn levels(self) -> Option<RangeInclusive<i32>> {
        match self {
            Self::None | Self::Snappy => None,
            Self::Gzip => Some(1..=9),
            Self::Lz4 => Some(1..=17),
            Self::Zstd => Some(-131_072..=22),
        }
    }

    /// The level of topics that do not ask for one.
    #[must_use]
    pub const fn default_level(self) -> i32 {
        match self {
            Self::None | Self::Snappy => 0,
            Self::Gzip => -1,
            Self::Lz4 => 9,
            Self::Zstd => 3,
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A codec to write with, and how hard it shall try.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Compression {
    codec: Codec,
    level: i32,
}

impl Compression {
    /// A codec at a level, if the codec has that level. Those without levels take any.
    #[must_use]
    pub fn at_level(codec: Codec, level: i32) -> Option<Self> {
        let known = match codec.levels() {
            Some(levels) => levels.contains(&level) || level == codec.default_level(),
            None => true,
        };
        known.then_some(Self { codec, level })
    }

    /// Which codec it is, without its level.
    #[must_use]
    pub const fn codec(self) -> Codec {
        self.codec
    }

    /// The level, in the codec's own scale.
    #[must_use]
    pub const fn level(self) -> i32 {
        self.level
    }
}

impl From<Codec> for Compression {
    /// The codec at its default level.
    fn from(codec: Codec) -> Self {
        Self { codec, level: codec.default_level() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_read_back_as_what_was_written() {
        for codec in Codec::ALL {
            assert_eq!(Codec::from_id(codec.id()), Some(codec));
            assert_eq!(Codec::from_name(codec.name()), Some(codec));
        }
        assert_eq!(Codec::from_id(5), None);
    }

    #[test]
    fn levels_are_those_of_the_topic_configurations() {
        assert!(Compression::at_level(Codec::Gzip, -1).is_some());
        assert!(Compression::at_level(Codec::Gzip, 0).is_none());
        assert!(Compression::at_level(Codec::Gzip, 10).is_none());
        assert!(Compression::at_level(Codec::Lz4, 17).is_some());
        assert!(Compression::at_level(Codec::Lz4, 18).is_none());
        assert!(Compression::at_level(Codec::Zstd, -7).is_some());
        assert!(Compression::at_level(Codec::Zstd, 23).is_none());
        assert_eq!(Compression::from(Codec::Zstd).level(), 3);
    }
}
