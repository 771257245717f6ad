//! The files of a segment: `<base offset in 20 digits>.<kind>[.<suffix>]`
//! (`org.apache.kafka.storage.internals.log.LogFileUtils`).
//!
//! A name is recognised only in the exact form in which it is written: anything else in a
//! partition's directory is not ours and is left alone. Next: `directory.rs` for the directory
//! around these files.

use aplomb_disk_api::FileName;
use aplomb_model::Offset;

/// The text checkpoint of leader epochs inside a partition's directory.
pub const LEADER_EPOCH_CHECKPOINT: &str = "leader-epoch-checkpoint";

/// The topic id inside a partition's directory. It is on the disk before the first byte of data:
/// Apache Kafka takes a log without it for a stray.
pub const PARTITION_METADATA: &str = "partition.metadata";

const OFFSET_DIGITS: usize = 20;

/// The kinds of files that carry a base offset in their name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SegmentFile {
    /// Record batches, back to back.
    Log,
    /// Offset to file position ([`crate::index::OffsetIndex`]).
    OffsetIndex,
    /// Timestamp to offset ([`crate::index::TimeIndex`]).
    TimeIndex,
    /// Aborted transactions ([`crate::index::AbortedTransaction`]); exists only if there are any.
    TxnIndex,
    /// Producer state up to the offset in the name, exclusive ([`crate::producers`]).
    Snapshot,
}

/// What a further suffix says about a segment's file when a log is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileSuffix {
    /// Waits to be deleted.
    Deleted,
    /// Unfinished output of a compaction: to be deleted.
    Cleaned,
    /// Finished output of a compaction: takes the place of what it was made from.
    Swap,
}

impl SegmentFile {
    /// All kinds, snapshots included.
    pub const ALL: [Self; 5] =
        [Self::Log, Self::OffsetIndex, Self::TimeIndex, Self::TxnIndex, Self::Snapshot];

    /// The files that make a segment; a snapshot of producers outlives it.
    pub const OF_SEGMENT: [Self; 4] = [Self::Log, Self::OffsetIndex, Self::TimeIndex, Self::TxnIndex];

    /// What follows the offset and its dot.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::OffsetIndex => "index",
            Self::TimeIndex => "timeindex",
            Self::TxnIndex => "txnindex",
            Self::Snapshot => "snapshot",
        }
    }

    /// The file's name: `00000000000000368769.index`.
    #[must_use]
    pub fn name(self, base: Offset) -> String {
        format!("{:0OFFSET_DIGITS$}.{}", base.get(), self.extension())
    }

    /// The file in a partition's directory.
    #[must_use]
    pub fn within(self, directory: &str, base: Offset) -> FileName {
        FileName::new(format!("{directory}/{}", self.name(base)))
    }

    /// Reads a name back; `None` if it is not, to the letter, one that [`Self::name`] and
    /// [`with_suffix`] write.
    #[must_use]
    pub fn parse(name: &str) -> Option<(Self, Offset, Option<FileSuffix>)> {
        let (digits, rest) = name.split_once('.')?;
        let (extension, suffix) = match rest.split_once('.') {
            None => (rest, None),
            Some((extension, suffix)) => (extension, Some(FileSuffix::parse(suffix)?)),
        };
        let file = Self::ALL.into_iter().find(|file| file.extension() == extension)?;
        Some((file, parse_offset(digits)?, suffix))
    }
}

impl FileSuffix {
    /// All suffixes that a file may have.
    pub const ALL: [Self; 3] = [Self::Deleted, Self::Cleaned, Self::Swap];

    /// The suffix without its dot.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Cleaned => "cleaned",
            Self::Swap => "swap",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|suffix| suffix.text() == text)
    }
}

/// A segment file's name with a suffix: `00000000000000368769.index.deleted`.
#[must_use]
pub fn with_suffix(name: &str, suffix: FileSuffix) -> String {
    format!("{name}.{}", suffix.text())
}

fn parse_offset(digits: &str) -> Option<Offset> {
    let all_digits = digits.len() == OFFSET_DIGITS && digits.bytes().all(|b| b.is_ascii_digit());
    Offset::from_wire(all_digits.then(|| digits.parse().ok())??)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_apache_kafkas() {
        assert_eq!(SegmentFile::Log.name(Offset::new(368_769)), "00000000000000368769.log");
        assert_eq!(SegmentFile::TxnIndex.name(Offset::new(i64::MAX as u64)), "09223372036854775807.txnindex");
    }

    #[test]
    fn other_names_are_not_taken_for_a_segments() {
        for name in [
            "",
            ".log",
            "5.log",
            "0000000000000036876x.log",
            "+0000000000000368769.log",
            "09223372036854775808.log",
            "00000000000000368769.checkpoint",
            "00000000000000368769.log.tmp",
            "00000000000000368769.log.deleted.deleted",
            "00000000000000368769.log.",
            LEADER_EPOCH_CHECKPOINT,
            PARTITION_METADATA,
        ] {
            assert_eq!(SegmentFile::parse(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_name_reads_back_as_what_was_written(base in 0..=i64::MAX) {
            let base = Offset::new(base as u64);
            for file in SegmentFile::ALL {
                let name = file.name(base);
                prop_assert_eq!(SegmentFile::parse(&name), Some((file, base, None)));
                for suffix in FileSuffix::ALL {
                    let read = SegmentFile::parse(&with_suffix(&name, suffix));
                    prop_assert_eq!(read, Some((file, base, Some(suffix))));
                }
            }
        }

        #[test]
        fn what_parses_is_written_the_same(name in "[0-9]{19,21}\\.(log|index|timeindex|x)(\\.swap)?|\\PC*") {
            if let Some((file, base, suffix)) = SegmentFile::parse(&name) {
                let plain = file.name(base);
                prop_assert_eq!(suffix.map_or(plain.clone(), |s| with_suffix(&plain, s)), name);
            }
        }
    }
}
