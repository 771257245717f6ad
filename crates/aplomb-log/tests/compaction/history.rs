//! All that was ever appended, and what a reader must find of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aplomb_model::{Offset, ProducerId};

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) offset: Offset,
    pub(crate) key: String,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) timestamp: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Committed,
    Aborted,
    /// Of a producer's transaction that is not over.
    Open(i64),
}

/// All records by their offsets, and the ends of transactions.
#[derive(Default)]
pub(crate) struct History {
    records: BTreeMap<Offset, (Written, Fate, Option<i64>)>,
    /// Producer, whether it was committed, by the offset of the marker.
    markers: BTreeMap<Offset, (i64, bool)>,
    /// When a tombstone may first have been met by a pass, and when one surely had met it.
    met: HashMap<Offset, (i64, Option<i64>)>,
    /// Where the log ended before it was loaded anew.
    end_before: Offset,
}

impl History {
    pub(crate) fn append(&mut self, transaction_of: Option<i64>, written: Vec<Written>) {
        let fate = transaction_of.map_or(Fate::Committed, Fate::Open);
        for record in written {
            self.records.insert(record.offset, (record, fate, transaction_of));
        }
    }

    pub(crate) fn end(&mut self, producer: i64, committed: bool, at: Offset) {
        self.markers.insert(at, (producer, committed));
        self.decide();
    }

    /// Makes of each record what the markers say.
    fn decide(&mut self) {
        for (offset, (_, fate, transaction_of)) in &mut self.records {
            let Some(producer) = *transaction_of else { continue };
            let ends = self.markers.range(*offset..).find(|(_, (of, _))| *of == producer);
            *fate = match ends {
                Some((_, (_, true))) => Fate::Committed,
                Some((_, (_, false))) => Fate::Aborted,
                None => Fate::Open(producer),
            };
        }
    }

    /// A pass has begun that may write anew what is below `end`.
    pub(crate) fn on_pass(&mut self, end: Offset, now: i64) {
        for (offset, (record, ..)) in self.records.range(..end) {
            if record.value.is_none() {
                self.met.entry(*offset).or_insert((now, None));
            }
        }
    }

    /// It is over: the log is clean below `end`, and nothing is left there that may go.
    pub(crate) fn on_compacted(&mut self, end: Offset, now: i64, found: &[Written], delete_retention: u64) {
        self.check_compacted(end, now, found, delete_retention);
        for (_, (_, surely)) in self.met.iter_mut().filter(|(offset, _)| **offset < end) {
            surely.get_or_insert(now);
        }
    }

    pub(crate) fn note_end(&mut self, end: Offset) {
        self.end_before = end;
    }

    pub(crate) fn lost_below(&self) -> Offset {
        self.end_before
    }

    /// The log ends there now.
    pub(crate) fn cut(&mut self, end: Offset) {
        self.records.split_off(&end);
        self.markers.split_off(&end);
        self.met.retain(|offset, _| *offset < end);
        self.decide();
    }

    /// What is found is what was appended; of each key the last committed record is there.
    pub(crate) fn check(
        &self,
        found: &[Written],
        aborted: &[(ProducerId, Offset)],
        now: i64,
        delete_retention: u64,
    ) {
        assert!(found.is_sorted_by(|a, b| a.offset < b.offset), "offsets rise");
        for record in found {
            let (as_written, ..) = &self.records.get(&record.offset).expect("what is found was appended");
            assert_eq!(record, as_written);
        }
        let there: BTreeSet<Offset> = found.iter().map(|record| record.offset).collect();
        let mut last: HashMap<&str, &Written> = HashMap::new();
        for (offset, (record, fate, _)) in &self.records {
            match fate {
                Fate::Committed => {
                    last.insert(&record.key, record);
                }
                Fate::Open(_) => {
                    assert!(there.contains(offset), "{offset}, of an open transaction, is there")
                }
                Fate::Aborted => {}
            }
        }
        for record in last.values().filter(|record| !there.contains(&record.offset)) {
            assert!(record.value.is_none(), "the last value of {} at {} is there", record.key, record.offset);
            let (first, _) = self.met.get(&record.offset).expect("a tombstone that no pass has met is there");
            assert!(now >= first + delete_retention as i64, "{} is gone too early", record.offset);
        }
        self.check_committed(found, aborted);
    }

    /// A reader of committed records takes what it is told is aborted out, and nothing else.
    fn check_committed(&self, found: &[Written], aborted: &[(ProducerId, Offset)]) {
        for record in found {
            let (_, fate, transaction_of) = &self.records[&record.offset];
            let Some(producer) = *transaction_of else { continue };
            let id = ProducerId::from_wire(producer).expect("an id");
            let hides = |(of, first): &(ProducerId, Offset)| {
                // Up to the producer's next marker.
                let ends = self.markers.range(*first..).find(|(_, (of, _))| *of == producer);
                *of == id && *first <= record.offset && ends.is_none_or(|(end, _)| record.offset < *end)
            };
            let is_hidden = aborted.iter().any(hides);
            if !matches!(fate, Fate::Open(_)) {
                assert_eq!(
                    is_hidden,
                    *fate == Fate::Aborted,
                    "{} is {fate:?}; aborted: {aborted:?}",
                    record.offset
                );
            }
        }
    }

    fn check_compacted(&self, end: Offset, now: i64, found: &[Written], delete_retention: u64) {
        let mut seen: HashMap<&str, Offset> = HashMap::new();
        for record in found.iter().filter(|record| record.offset < end) {
            let (_, fate, _) = &self.records[&record.offset];
            assert_ne!(*fate, Fate::Aborted, "{} is aborted, and was met", record.offset);
            let before = seen.insert(&record.key, record.offset);
            assert_eq!(
                before,
                None,
                "{} stands below {}, of one key",
                before.unwrap_or_default(),
                record.offset
            );
            if record.value.is_none()
                && let (_, Some(surely)) = self.met[&record.offset]
            {
                let gone = surely + delete_retention as i64;
                assert!(now < gone, "the tombstone at {} has no reason to be there", record.offset);
            }
        }
    }
}
