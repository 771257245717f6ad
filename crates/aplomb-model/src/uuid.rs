//! Kafka's 16-byte identifiers: topics and log directories have one. Written as unpadded base64url
//! (`org.apache.kafka.common.Uuid`).

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Sixteen bytes that name something.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Uuid(pub [u8; 16]);

/// As bytes: the first counts most. Compared as numbers, since tables look partitions up by it all
/// the time.
impl Ord for Uuid {
    fn cmp(&self, other: &Self) -> Ordering {
        u128::from_be_bytes(self.0).cmp(&u128::from_be_bytes(other.0))
    }
}

impl PartialOrd for Uuid {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A topic's id. The wire's zero id ("none") is `Uuid::ZERO`.
pub type TopicId = Uuid;

/// A log directory's id (`directory.id` in `meta.properties`).
pub type DirectoryId = Uuid;

/// A text that is not a 22-character base64url form of 16 bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a Kafka uuid (22 characters of base64url)")]
pub struct UuidParseError(String);

impl Uuid {
    /// "None" for topic ids; `MIGRATING` for directory ids.
    pub const ZERO: Self = Self([0; 16]);
    /// `__cluster_metadata`'s topic id; `UNASSIGNED` for directory ids.
    pub const ONE: Self = Self::from_u128(1);
    /// `LOST` for directory ids.
    pub const TWO: Self = Self::from_u128(2);

    /// From a number, most significant byte first.
    #[must_use]
    pub const fn from_u128(raw: u128) -> Self {
        Self(raw.to_be_bytes())
    }

    /// Makes an id of 16 random bytes (version 4). `None` when Kafka would refuse the result (its
    /// first 100 values are reserved, and a text form that starts with `-` would be taken for an
    /// option): draw again.
    #[must_use]
    pub fn from_random(mut raw: [u8; 16]) -> Option<Self> {
        raw[6] = (raw[6] & 0x0f) | 0x40;
        raw[8] = (raw[8] & 0x3f) | 0x80;
        let id = Self(raw);
        (u128::from_be_bytes(raw) >= 100 && !id.to_string().starts_with('-')).then_some(id)
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Uuid {
    type Err = UuidParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let raw = URL_SAFE_NO_PAD.decode(text).map_err(|_| UuidParseError(text.to_owned()))?;
        raw.try_into().map(Self).map_err(|_| UuidParseError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_topics_id_reads_as_kafka_writes_it() {
        assert_eq!(Uuid::ONE.to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
        assert_eq!("AAAAAAAAAAAAAAAAAAAAAQ".parse(), Ok(Uuid::ONE));
        assert!("AAAA".parse::<Uuid>().is_err());
    }

    #[test]
    fn ids_are_in_the_order_of_their_bytes() {
        let first_counts_most = [[0; 16], [1; 16], [0x7f; 16], [0x80; 16], [0xff; 16]].map(Uuid);
        assert!(first_counts_most.is_sorted());
        let mut last = [1; 16];
        last[15] = 2;
        assert!(Uuid([1; 16]) < Uuid(last) && Uuid(last) < Uuid([2; 16]));
    }

    #[test]
    fn an_id_that_looks_like_an_option_is_refused() {
        assert_eq!(Uuid::from_random([0xf8; 16]), None);
        assert!(Uuid::from_random([0x11; 16]).is_some());
    }
}
