//! One file's bytes, and which of them a power cut would forget.
//!
//! The content is what a reader sees. Every change since the last sync is kept in order, with what
//! it replaced, so that a power cut can take all of them back and let each one happen again, or
//! not, or in part.

use aplomb_model::SplitMix64;

/// What a disk writes as a whole or not at all.
const SECTOR: u64 = 512;

/// A file's content.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    bytes: Vec<u8>,
    unsynced: Vec<Change>,
    pub(super) modified_ms: i64,
}

/// One change, and what undoes it.
#[derive(Clone, Debug)]
enum Change {
    Write { at: usize, new: Vec<u8>, replaced: Vec<u8>, len_before: usize },
    Truncate { len: usize, removed: Vec<u8> },
    Extend { len: usize, len_before: usize },
}

impl Content {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Writes at byte `at`; a gap before it reads as zeros.
    pub(super) fn write(&mut self, at: u64, new: Vec<u8>) {
        let at = index(at);
        let len_before = self.bytes.len();
        let end = at + new.len();
        let replaced = self.bytes[at.min(len_before)..end.min(len_before)].to_vec();
        put(&mut self.bytes, at, &new);
        self.unsynced.push(Change::Write { at, new, replaced, len_before });
    }

    /// Sets the length, as `ftruncate` does.
    pub(super) fn truncate(&mut self, len: u64) {
        let len = index(len);
        if len <= self.bytes.len() {
            let removed = self.bytes.split_off(len);
            self.unsynced.push(Change::Truncate { len, removed });
        } else {
            let len_before = self.bytes.len();
            self.bytes.resize(len, 0);
            self.unsynced.push(Change::Extend { len, len_before });
        }
    }

    /// What is here now survives.
    pub(super) fn sync(&mut self) {
        self.unsynced.clear();
    }

    /// Whether a power cut might change it.
    pub(super) fn is_unsynced(&self) -> bool {
        !self.unsynced.is_empty()
    }

    /// What survives if the power goes now and nothing unsynced had reached the disk.
    pub(super) fn durable(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        self.unsynced.iter().rev().for_each(|change| change.undo(&mut bytes));
        bytes
    }

    /// The power goes. Unsynced changes all survive, all vanish, survive up to some point, or each
    /// takes its own chance, writes sector by sector: the kernel writes back when and in the order
    /// it likes.
    pub(super) fn power_cut(&mut self, random: &mut SplitMix64) {
        self.bytes = self.durable();
        let changes = std::mem::take(&mut self.unsynced);
        match random.within(0..4) {
            0 => {}
            1 => changes.iter().for_each(|change| change.redo(&mut self.bytes)),
            2 => {
                let survive = index(random.within(0..changes.len() as u64 + 1));
                changes[..survive].iter().for_each(|change| change.redo(&mut self.bytes));
            }
            _ => changes.iter().for_each(|change| change.redo_in_part(&mut self.bytes, random)),
        }
    }
}

impl Change {
    fn undo(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write { at, replaced, len_before, .. } => {
                bytes.truncate(*len_before);
                bytes[(*at).min(*len_before)..][..replaced.len()].copy_from_slice(replaced);
            }
            Self::Truncate { removed, .. } => bytes.extend_from_slice(removed),
            Self::Extend { len_before, .. } => bytes.truncate(*len_before),
        }
    }

    fn redo(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write { at, new, .. } => put(bytes, *at, new),
            Self::Truncate { len, .. } => bytes.truncate(*len),
            Self::Extend { len, .. } => bytes.resize(bytes.len().max(*len), 0),
        }
    }

    fn redo_in_part(&self, bytes: &mut Vec<u8>, random: &mut SplitMix64) {
        let Self::Write { at, new, .. } = self else {
            if random.coin() {
                self.redo(bytes);
            }
            return;
        };
        match random.within(0..3) {
            0 => {}
            1 => self.redo(bytes),
            _ => {
                let mut from = *at;
                while from < at + new.len() {
                    let sector_end = index((from as u64 / SECTOR + 1) * SECTOR);
                    let to = sector_end.min(at + new.len());
                    if random.coin() {
                        put(bytes, from, &new[from - at..to - at]);
                    }
                    from = to;
                }
            }
        }
    }
}

fn put(bytes: &mut Vec<u8>, at: usize, new: &[u8]) {
    if new.is_empty() {
        return; // writing nothing beyond the end does not make a file longer
    }
    let end = at + new.len();
    bytes.resize(bytes.len().max(end), 0);
    bytes[at..end].copy_from_slice(new);
}

fn index(n: u64) -> usize {
    usize::try_from(n).expect("a simulated file fits in memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_cut_takes_back_only_what_no_sync_covered() {
        for seed in 0..200 {
            let mut file = Content::default();
            file.write(0, vec![b'a'; 2000]);
            file.sync();
            file.write(1500, vec![b'b'; 2000]);
            assert_eq!(file.durable(), vec![b'a'; 2000]);
            file.power_cut(&mut SplitMix64::new(seed));
            assert_eq!(&file.bytes()[..1500], vec![b'a'; 1500].as_slice());
        }
    }

    #[test]
    fn a_write_is_torn_between_sectors_and_never_inside_one() {
        let mut torn = 0;
        for seed in 0..200 {
            let mut file = Content::default();
            file.write(0, vec![b'a'; 4096]);
            file.sync();
            file.write(0, vec![b'b'; 4096]);
            file.power_cut(&mut SplitMix64::new(seed));
            let whole = file.bytes().chunks(512).all(|sector| sector.iter().all(|byte| *byte == sector[0]));
            assert!(whole, "seed {seed} tore a sector");
            torn += usize::from(file.bytes().contains(&b'a') && file.bytes().contains(&b'b'));
        }
        assert!(torn > 10, "only {torn} of 200 cuts tore the write");
    }

    #[test]
    fn undoing_a_truncation_and_a_write_beyond_the_end_gives_the_synced_bytes() {
        let mut file = Content::default();
        file.write(0, b"temperature=21.5".to_vec());
        file.sync();
        file.truncate(11);
        file.write(20, b"late".to_vec());
        file.truncate(40);
        assert_eq!(file.len(), 40);
        assert_eq!(file.durable(), b"temperature=21.5");
    }

    #[test]
    fn an_empty_write_changes_nothing() {
        let mut file = Content::default();
        file.write(10, Vec::new());
        assert_eq!(file.len(), 0);
        assert!(file.durable().is_empty());
    }
}
