//! The transaction index: which transactions were aborted in a segment
//! (`org.apache.kafka.storage.internals.log.TransactionIndex`).
//!
//! An entry is 34 bytes, big-endian: `int16 version 0`, `int64 producerId`, `int64 firstOffset`,
//! `int64 lastOffset`, `int64 lastStableOffset`. Entries are in the order of their markers, in the
//! segment that holds the marker. There are few of them, so memory has them all.
//! Next: [`crate::producers`], where entries come from.

use aplomb_model::{Offset, ProducerId};
use bytes::Bytes;

use super::entries::{IndexEntry, IndexFile};
use super::{IndexDamaged, IndexTail};

const VERSION: i16 = 0;

/// A transaction whose records a READ_COMMITTED reader must skip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortedTransaction {
    /// Whose records are to be skipped.
    pub producer: ProducerId,
    /// Where the transaction began.
    pub first_offset: Offset,
    /// The offset of its abort marker.
    pub last_offset: Offset,
    /// The last stable offset once this transaction is decided: where the earliest other open
    /// transaction began, or the offset after the marker.
    pub last_stable_offset: Offset,
}

impl AbortedTransaction {
    /// The length of an entry in bytes.
    pub const ENTRY_LEN: usize = 34;

    /// The bytes of its entry in the index.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::ENTRY_LEN] {
        let mut entry = [0; Self::ENTRY_LEN];
        entry[..2].copy_from_slice(&VERSION.to_be_bytes());
        entry[2..10].copy_from_slice(&self.producer.to_wire().to_be_bytes());
        entry[10..18].copy_from_slice(&self.first_offset.to_wire().to_be_bytes());
        entry[18..26].copy_from_slice(&self.last_offset.to_wire().to_be_bytes());
        entry[26..].copy_from_slice(&self.last_stable_offset.to_wire().to_be_bytes());
        entry
    }
}

impl IndexEntry for AbortedTransaction {
    const LEN: usize = Self::ENTRY_LEN;

    fn parse(base: Offset, slot: usize, raw: &[u8]) -> Result<Self, IndexDamaged> {
        let version = i16::from_be_bytes([raw[0], raw[1]]);
        if version != VERSION {
            return Err(IndexDamaged::UnknownVersion { slot, version });
        }
        let (fields, _) = raw[2..].as_chunks::<8>();
        let [producer, first, last, stable] = [0, 1, 2, 3].map(|field| i64::from_be_bytes(fields[field]));
        let offset = |raw| Offset::from_wire(raw).ok_or(IndexDamaged::OffsetOutOfRange { slot });
        let entry = Self {
            producer: ProducerId::from_wire(producer).ok_or(IndexDamaged::NoTransaction { slot })?,
            first_offset: offset(first)?,
            last_offset: offset(last)?,
            last_stable_offset: offset(stable)?,
        };
        if entry.first_offset > entry.last_offset {
            return Err(IndexDamaged::NoTransaction { slot });
        }
        if entry.last_offset < base {
            return Err(IndexDamaged::OffsetOutOfRange { slot });
        }
        Ok(entry)
    }

    fn rises(lower: Self, higher: Self) -> bool {
        lower.last_offset < higher.last_offset
    }
}

/// Reads the transaction index of the segment that begins at `base`. The result takes about as much
/// memory as the bytes.
///
/// # Errors
/// [`IndexDamaged`] if an entry is none that this segment can have, the markers do not rise, or the
/// file ends inside an entry. Apache Kafka overlooks the latter; here it shows that an entry was
/// lost.
pub fn parse_aborted(bytes: &[u8], base: Offset) -> Result<Vec<AbortedTransaction>, IndexDamaged> {
    let index = IndexFile::new(bytes, base, IndexTail::Trimmed)?;
    index.check()?;
    index.iter().collect()
}

/// The entries before the first that is none: what was synced of an index. Behind it a power cut
/// may have left anything, zeros most of all.
#[must_use]
pub fn sound_aborted(bytes: &[u8], base: Offset) -> Vec<AbortedTransaction> {
    let mut whole = bytes.len() / AbortedTransaction::ENTRY_LEN;
    loop {
        match parse_aborted(&bytes[..whole * AbortedTransaction::ENTRY_LEN], base) {
            Ok(entries) => return entries,
            Err(damage) => whole = damage.slot().expect("the entries are whole"),
        }
    }
}

/// How many bytes of a transaction index remain when markers from `end` on are cut off.
#[must_use]
pub fn aborted_len_below(entries: &[AbortedTransaction], end: Offset) -> u64 {
    (entries.partition_point(|entry| entry.last_offset < end) * AbortedTransaction::ENTRY_LEN) as u64
}

/// What one segment's entries say about a fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectedAborted {
    /// The aborted transactions with records in the range.
    pub transactions: Vec<AbortedTransaction>,
    /// Whether later segments cannot add any; else the search goes on in the next one.
    pub complete: bool,
}

/// Collects what a READ_COMMITTED fetch of `from..upper` has to be told.
#[must_use]
pub fn collect_aborted<'a>(
    entries: impl IntoIterator<Item = &'a AbortedTransaction>,
    from: Offset,
    upper: Offset,
) -> CollectedAborted {
    let mut transactions = Vec::new();
    for entry in entries {
        if entry.last_offset >= from && entry.first_offset < upper {
            transactions.push(*entry);
        }
        if entry.last_stable_offset >= upper {
            return CollectedAborted { transactions, complete: true };
        }
    }
    CollectedAborted { transactions, complete: false }
}

/// The aborted transactions of the segment that is appended to. Its index file exists once there is
/// one.
#[derive(Debug, Default)]
pub struct AbortedIndexBuilder {
    entries: Vec<AbortedTransaction>,
    /// How many of them the disk was given.
    written: usize,
}

impl AbortedIndexBuilder {
    /// Continues an index file that has these entries.
    #[must_use]
    pub fn resume(entries: Vec<AbortedTransaction>) -> Self {
        Self { written: entries.len(), entries }
    }

    /// Adds the transaction that an abort marker has just ended.
    ///
    /// # Panics
    /// If its marker is not above the one before it.
    pub fn push(&mut self, entry: AbortedTransaction) {
        let rises = self.entries.last().is_none_or(|last| AbortedTransaction::rises(*last, entry));
        assert!(rises, "markers come in log order");
        self.entries.push(entry);
    }

    /// All of them, in the order of their markers.
    #[must_use]
    pub fn entries(&self) -> &[AbortedTransaction] {
        &self.entries
    }

    /// Whether the disk was given all of them.
    pub(crate) fn is_written(&self) -> bool {
        self.written == self.entries.len()
    }

    /// The same, of a segment that is closed.
    #[must_use]
    pub fn into_entries(self) -> Vec<AbortedTransaction> {
        self.entries
    }

    /// Gives out what is to be written, and at which position of the file.
    pub fn take_unwritten(&mut self) -> Option<(u64, Bytes)> {
        let unwritten = &self.entries[self.written..];
        if unwritten.is_empty() {
            return None;
        }
        let at = (self.written * AbortedTransaction::ENTRY_LEN) as u64;
        let bytes: Vec<u8> = unwritten.iter().flat_map(AbortedTransaction::encode).collect();
        self.written = self.entries.len();
        Some((at, bytes.into()))
    }

    /// The file is another disk's, which has none of them.
    pub fn forget_written(&mut self) {
        self.written = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn aborted(producer: i64, first: u64, last: u64, stable: u64) -> AbortedTransaction {
        AbortedTransaction {
            producer: ProducerId::from_wire(producer).unwrap(),
            first_offset: Offset::new(first),
            last_offset: Offset::new(last),
            last_stable_offset: Offset::new(stable),
        }
    }

    fn three() -> [AbortedTransaction; 3] {
        // Producer 2 stays open from 5 on while producer 1 is decided twice.
        [aborted(1, 3, 10, 5), aborted(1, 12, 20, 5), aborted(2, 5, 30, 31)]
    }

    fn built(entries: &[AbortedTransaction]) -> Vec<u8> {
        let mut builder = AbortedIndexBuilder::default();
        entries.iter().for_each(|entry| builder.push(*entry));
        builder.take_unwritten().map(|(_, bytes)| bytes.to_vec()).unwrap_or_default()
    }

    #[test]
    fn a_fetch_is_told_what_overlaps_it_and_stops_when_later_aborts_cannot() {
        let entries = three();
        let collect = |from, upper| collect_aborted(&entries, Offset::new(from), Offset::new(upper));
        let all = collect(0, 31);
        assert_eq!((all.transactions, all.complete), (entries.to_vec(), true));
        let early = collect(0, 5);
        assert_eq!((early.transactions, early.complete), (vec![entries[0]], true));
        let late = collect(21, 100);
        assert_eq!((late.transactions, late.complete), (vec![entries[2]], false));
    }

    #[test]
    fn cutting_at_an_offset_removes_its_marker_and_all_above() {
        assert_eq!(aborted_len_below(&three(), Offset::new(10)), 0);
        assert_eq!(aborted_len_below(&three(), Offset::new(11)), 34);
        assert_eq!(aborted_len_below(&three(), Offset::new(31)), 102);
    }

    #[test]
    fn a_resumed_index_continues_behind_what_was_kept() {
        let mut builder = AbortedIndexBuilder::resume(three()[..2].to_vec());
        builder.push(three()[2]);
        assert_eq!(builder.take_unwritten().map(|(at, bytes)| (at, bytes.len())), Some((68, 34)));
    }

    #[test]
    fn damage_is_named() {
        let bytes = built(&three());
        let parse = |bytes: &[u8]| parse_aborted(bytes, Offset::new(10));
        assert_eq!(parse(&bytes), Ok(three().to_vec()));
        assert_eq!(parse_aborted(&bytes, Offset::new(11)), Err(IndexDamaged::OffsetOutOfRange { slot: 0 }));
        assert_eq!(parse(&bytes[..101]), Err(IndexDamaged::CutEntry { len: 101, entry: 34 }));
        let mut unknown = bytes.clone();
        unknown[35] = 1;
        assert_eq!(parse(&unknown), Err(IndexDamaged::UnknownVersion { slot: 1, version: 1 }));
        let twice = [&bytes[..34], &bytes[..34]].concat();
        assert_eq!(parse(&twice), Err(IndexDamaged::NotRising { slot: 1 }));
        let mut backwards = bytes;
        backwards[16] = 1;
        assert_eq!(parse(&backwards), Err(IndexDamaged::NoTransaction { slot: 0 }));
    }

    #[test]
    fn what_is_behind_damage_is_not_sound() {
        let bytes = built(&three());
        let sound = |bytes: &[u8]| sound_aborted(bytes, Offset::new(10));
        assert_eq!(sound(&bytes), three());
        assert_eq!(sound(&bytes[..101]), three()[..2]);
        assert_eq!(sound(&[&bytes[..68], &[0; 34][..]].concat()), three()[..2]);
        assert_eq!(sound(&[&[0; 34][..], &bytes].concat()), []);
        assert_eq!(sound(&[]), []);
    }

    proptest! {
        #[test]
        fn entries_read_back_as_they_were_written(
            steps in prop::collection::vec((0..=i64::MAX, 1u64..1000, 0u64..1000, 0..=i64::MAX), 0..20)
        ) {
            let mut last = 0;
            let entries: Vec<_> = steps
                .into_iter()
                .map(|(producer, step, length, stable)| {
                    last += step;
                    aborted(producer, last.saturating_sub(length), last, stable as u64)
                })
                .collect();
            prop_assert_eq!(parse_aborted(&built(&entries), Offset::ZERO), Ok(entries));
        }

        #[test]
        fn no_bytes_make_a_reader_panic(bytes: Vec<u8>, base in 0..=i64::MAX) {
            if let Ok(entries) = parse_aborted(&bytes, Offset::new(base as u64)) {
                prop_assert_eq!(built(&entries), bytes);
            }
        }
    }
}
