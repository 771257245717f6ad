//! Text checkpoints: one number per partition of a log directory, or one line per leader epoch.
//!
//! Line 1 is the version `0`, line 2 the number of entries, then one entry a line
//! (`org.apache.kafka.server.common.CheckpointFile`, `OffsetCheckpointFile`). An empty file has no
//! entries. Apache Kafka takes a log directory offline when one of these files is bad, so they are
//! written whole, under another name, synced and renamed. Next: [`crate::epochs`], the other user
//! of the format.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::sync::Arc;

use aplomb_model::{Offset, TopicPartition};

const VERSION: i32 = 0;

/// A text that is no checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// The bytes are no text.
    #[error("checkpoint is not UTF-8")]
    NotUtf8,
    /// The first line is another version.
    #[error("checkpoint has version {0}, only 0 is known")]
    UnknownVersion(i32),
    /// A line that is not as its place demands.
    #[error("checkpoint line {number} is malformed: '{line}'")]
    MalformedLine {
        /// Which line, counted from 1.
        number: usize,
        /// How the line begins.
        line: String,
    },
    /// The second line announces another number of entries than follow.
    #[error("checkpoint announces {announced} entries and has {found}")]
    WrongCount {
        /// What the second line says.
        announced: i32,
        /// How many entries follow.
        found: usize,
    },
}

/// Writes an offset checkpoint.
///
/// A topic's name cannot contain white space, which separates the fields.
#[must_use]
pub fn encode_offsets<'a>(offsets: impl IntoIterator<Item = (&'a TopicPartition, Offset)>) -> String {
    encode_lines(
        offsets
            .into_iter()
            .map(|(partition, offset)| format!("{} {} {offset}", partition.topic, partition.partition)),
    )
}

/// Reads an offset checkpoint. Where a partition is listed twice, the later line holds, as in
/// Apache Kafka.
///
/// # Errors
/// [`CheckpointError`] says which line is not as it should be. A negative offset or partition
/// counts as such.
pub fn parse_offsets(bytes: &[u8]) -> Result<BTreeMap<TopicPartition, Offset>, CheckpointError> {
    let mut offsets: Vec<(TopicPartition, Offset)> = Vec::new();
    parse_lines(bytes, |[topic, partition, offset]: [&str; 3]| {
        let partition: i32 = partition.parse().ok().filter(|partition| *partition >= 0)?;
        let offset = Offset::from_wire(offset.parse().ok()?)?;
        // Lines come in order, so that those of a topic share its name.
        let before = offsets.last().map(|(before, _)| &before.topic).filter(|before| ***before == *topic);
        let topic = before.map_or_else(|| topic.into(), Arc::clone);
        offsets.push((TopicPartition::new(topic, partition), offset));
        Some(())
    })?;
    Ok(offsets.into_iter().collect())
}

/// Writes version, count and entries.
pub(crate) fn encode_lines(entries: impl Iterator<Item = impl Display>) -> String {
    let mut body = String::new();
    let mut count = 0;
    for entry in entries {
        writeln!(body, "{entry}").expect("writing to a string succeeds");
        count += 1;
    }
    format!("{VERSION}\n{count}\n{body}")
}

/// Reads entries of `N` fields and hands each to `entry`, which returns `None` if it is malformed.
pub(crate) fn parse_lines<const N: usize>(
    bytes: &[u8],
    mut entry: impl FnMut([&str; N]) -> Option<()>,
) -> Result<(), CheckpointError> {
    let text = std::str::from_utf8(bytes).map_err(|_| CheckpointError::NotUtf8)?;
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let mut number = || lines.next().map(|(number, line)| line.parse().map_err(|_| malformed(number, line)));
    match number().transpose()? {
        None | Some(VERSION) => {}
        Some(other) => return Err(CheckpointError::UnknownVersion(other)),
    }
    let Some(announced) = number().transpose()? else { return Ok(()) };
    let mut found = 0;
    for (number, line) in lines {
        fields(line).and_then(&mut entry).ok_or_else(|| malformed(number, line))?;
        found += 1;
    }
    if usize::try_from(announced) == Ok(found) {
        Ok(())
    } else {
        Err(CheckpointError::WrongCount { announced, found })
    }
}

fn fields<const N: usize>(line: &str) -> Option<[&str; N]> {
    let mut words = line.split_ascii_whitespace();
    let mut fields = [""; N];
    for field in &mut fields {
        *field = words.next()?;
    }
    words.next().is_none().then_some(fields)
}

fn malformed(number: usize, line: &str) -> CheckpointError {
    CheckpointError::MalformedLine { number, line: line.chars().take(200).collect() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn malformed_line(number: usize, line: &str) -> CheckpointError {
        CheckpointError::MalformedLine { number, line: line.to_owned() }
    }

    #[test]
    fn topics_keep_their_dots_dashes_and_underscores() {
        let text = b"0\n3\nmy-orders.v2_x 3 42\n__consumer_offsets 49 0\na-1 0 9223372036854775807\n";
        let offsets = parse_offsets(text).unwrap();
        assert_eq!(offsets[&TopicPartition::new("my-orders.v2_x", 3)], Offset::new(42));
        assert_eq!(offsets[&TopicPartition::new("a-1", 0)], Offset::new(i64::MAX as u64));
        assert_eq!(offsets.len(), 3);
    }

    #[test]
    fn of_two_lines_for_a_partition_the_later_holds() {
        let offsets = parse_offsets(b"0\n4\nb 0 1\na 0 2\nb 0 3\nb 1 4\n").expect("a checkpoint");
        for (topic, partition, offset) in [("a", 0, 2), ("b", 0, 3), ("b", 1, 4)] {
            assert_eq!(offsets[&TopicPartition::new(topic, partition)], Offset::new(offset), "{topic}");
        }
        assert_eq!(offsets.len(), 3);
    }

    #[test]
    fn an_empty_file_has_no_entries() {
        assert_eq!(parse_offsets(b""), Ok(BTreeMap::new()));
        assert_eq!(parse_offsets(b"0\n"), Ok(BTreeMap::new()));
        assert_eq!(parse_offsets(b"0\n0\n"), Ok(BTreeMap::new()));
        assert_eq!(encode_offsets([]), "0\n0\n");
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_eq!(parse_offsets(b"1\n0\n"), Err(CheckpointError::UnknownVersion(1)));
        assert_eq!(parse_offsets(b"x\n0\n"), Err(malformed_line(1, "x")));
        assert_eq!(parse_offsets(b"0\n\n"), Err(malformed_line(2, "")));
        assert_eq!(parse_offsets(b"0\n1\na 0\n"), Err(malformed_line(3, "a 0")));
        assert_eq!(parse_offsets(b"0\n1\na 0 5 6\n"), Err(malformed_line(3, "a 0 5 6")));
        assert_eq!(parse_offsets(b"0\n1\na 0 -5\n"), Err(malformed_line(3, "a 0 -5")));
        assert_eq!(parse_offsets(b"0\n1\na 0 5\n\n"), Err(malformed_line(4, "")));
        assert_eq!(
            parse_offsets(b"0\n2\na 0 5\n"),
            Err(CheckpointError::WrongCount { announced: 2, found: 1 })
        );
        assert_eq!(parse_offsets(b"0\n-1\n"), Err(CheckpointError::WrongCount { announced: -1, found: 0 }));
        assert_eq!(parse_offsets(b"0\n1\n\xff 0 5\n"), Err(CheckpointError::NotUtf8));
    }

    proptest! {
        #[test]
        fn offsets_read_back_as_they_were_written(
            entries in prop::collection::btree_map(("[a-zA-Z0-9._-]{1,20}", 0..=i32::MAX), 0..=i64::MAX, 0..20)
        ) {
            let offsets: BTreeMap<_, _> = entries
                .into_iter()
                .map(|((topic, n), offset)| (TopicPartition::new(topic, n), Offset::new(offset as u64)))
                .collect();
            let text = encode_offsets(offsets.iter().map(|(partition, offset)| (partition, *offset)));
            prop_assert_eq!(parse_offsets(text.as_bytes()), Ok(offsets));
        }

        #[test]
        fn no_bytes_make_a_reader_panic(bytes: Vec<u8>, text in "(0\n)?[0-9]{0,2}\n(\\PC{0,9} -?[0-9]{0,20}\n)*") {
            let _ = parse_offsets(&bytes);
            let _ = parse_offsets(text.as_bytes());
        }
    }
}
