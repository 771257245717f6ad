//! `.aplomb-closed-logs`: what a clean stop notes of the logs of a log directory, so that the next
//! start need not look into the files of each. Apache Kafka knows no such file and leaves it alone.
//!
//! It is believed together with the clean shutdown marker that was written with it, and of each log
//! as long as its directory and its last segment are what they were. A start that finds it deletes
//! it with the marker. All numbers are big-endian. Version 1:
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | magic: `AplmLogs` |
//! | 2 | format version |
//! | 8 | broker epoch, as in the marker |
//! | 4 | number of logs |
//! | ... | the logs, by the names of their directories, which rise |
//! | 4 | CRC-32C of all before |
//!
//! | bytes | a log |
//! | --- | --- |
//! | 2, ... | length of its directory's name, and the name |
//! | 32 | the directory's stamp: inode, length, modification and change time |
//! | 32 | the stamp of its last segment's `.log` |
//! | 4, ... | length of what is said of the log, and that ([`crate::closed`]) |

use aplomb_disk_api::FileStamp;
use aplomb_model::batch::crc32c;
use bytes::{Buf, BufMut, Bytes};

const MAGIC: [u8; 8] = *b"AplmLogs";
const VERSION: u16 = 1;
const HEADER: usize = 22;
const CHECKSUM: usize = 4;
const STAMP: usize = 32;

/// Why a file is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClosedLogsError {
    /// It ends too early, or goes on behind its last log.
    #[error("it has {len} bytes, which are too few or too many")]
    Cut {
        /// Its bytes.
        len: usize,
    },
    /// It begins with something else.
    #[error("it is no file of closed logs")]
    NoMagic,
    /// A version that this program does not know.
    #[error("its version {0} is unknown")]
    UnknownVersion(u16),
    /// Its bytes are not what was written.
    #[error("its checksum is wrong")]
    BadChecksum,
    /// The names of directories do not rise.
    #[error("its logs are not in order")]
    OutOfOrder,
}

/// What a clean stop noted of one log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedLogNote {
    /// The state of its directory.
    pub directory: FileStamp,
    /// The state of its last segment's `.log`.
    pub active: FileStamp,
    /// What is said of the log.
    pub said: Bytes,
}

/// What a clean stop noted of all logs of a log directory. Looks into its bytes when it is asked,
/// and holds no others.
#[derive(Clone, Debug)]
pub struct ClosedLogs {
    broker_epoch: i64,
    bytes: Bytes,
    /// Where each log begins.
    places: Vec<usize>,
}

impl ClosedLogs {
    /// The file's bytes, of a run with that epoch.
    ///
    /// # Panics
    /// If the names do not rise, or one is longer than a file's name can be.
    #[must_use]
    pub fn encode<'a>(
        broker_epoch: i64,
        logs: impl ExactSizeIterator<Item = (&'a str, &'a ClosedLogNote)>,
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(MAGIC);
        bytes.put_u16(VERSION);
        bytes.put_i64(broker_epoch);
        bytes.put_u32(u32::try_from(logs.len()).expect("fewer logs than files"));
        let mut before = "";
        for (directory, log) in logs {
            assert!(before < directory, "logs are noted in the order of their names");
            before = directory;
            bytes.put_u16(u16::try_from(directory.len()).expect("the name of a directory is short"));
            bytes.extend(directory.as_bytes());
            put_stamp(&mut bytes, log.directory);
            put_stamp(&mut bytes, log.active);
            bytes.put_u32(u32::try_from(log.said.len()).expect("a note is short"));
            bytes.extend(&log.said);
        }
        let checksum = crc32c(&bytes);
        bytes.put_u32(checksum);
        bytes
    }

    /// Reads a file. Memory is taken only for logs that are really there.
    ///
    /// # Errors
    /// [`ClosedLogsError`]: it is not believed.
    pub fn parse(bytes: Bytes) -> Result<Self, ClosedLogsError> {
        let cut = ClosedLogsError::Cut { len: bytes.len() };
        let (all, mut checksum) = bytes.split_at_checked(bytes.len().wrapping_sub(CHECKSUM)).ok_or(cut)?;
        let mut header = all.get(..HEADER).ok_or(cut)?;
        if header[..MAGIC.len()] != MAGIC {
            return Err(ClosedLogsError::NoMagic);
        }
        header.advance(MAGIC.len());
        let version = header.get_u16();
        if version != VERSION {
            return Err(ClosedLogsError::UnknownVersion(version));
        }
        if checksum.get_u32() != crc32c(all) {
            return Err(ClosedLogsError::BadChecksum);
        }
        let broker_epoch = header.get_i64();
        let count = header.get_u32();
        let (mut places, mut at, mut before) = (Vec::new(), HEADER, &b""[..]);
        for _ in 0..count {
            let entry = Entry::at(all, at).ok_or(cut)?;
            if entry.name <= before {
                return Err(ClosedLogsError::OutOfOrder);
            }
            before = entry.name;
            places.push(at);
            at = entry.end;
        }
        if at != all.len() {
            return Err(cut);
        }
        Ok(Self { broker_epoch, bytes, places })
    }

    /// The epoch of the broker that wrote it.
    #[must_use]
    pub fn broker_epoch(&self) -> i64 {
        self.broker_epoch
    }

    /// How many logs it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// What it says of the log in a directory.
    #[must_use]
    pub fn find(&self, directory: &str) -> Option<ClosedLogNote> {
        let entry = |at: usize| Entry::at(&self.bytes, at).expect("it was there when the file was read");
        let place = self.places.binary_search_by(|at| entry(*at).name.cmp(directory.as_bytes())).ok()?;
        let Entry { mut stamps, said, end, .. } = entry(self.places[place]);
        let (directory, active) = (get_stamp(&mut stamps), get_stamp(&mut stamps));
        Some(ClosedLogNote { directory, active, said: self.bytes.slice(end - said.len()..end) })
    }
}

/// A log, where it was found in the file.
struct Entry<'a> {
    name: &'a [u8],
    stamps: &'a [u8],
    said: &'a [u8],
    /// Where the next one begins.
    end: usize,
}

impl<'a> Entry<'a> {
    fn at(bytes: &'a [u8], at: usize) -> Option<Self> {
        let rest = bytes.get(at..)?;
        let (len, rest) = rest.split_first_chunk()?;
        let (name, rest) = rest.split_at_checked(u16::from_be_bytes(*len).into())?;
        let (stamps, rest) = rest.split_at_checked(2 * STAMP)?;
        let (len, rest) = rest.split_first_chunk()?;
        let (said, rest) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*len)).ok()?)?;
        Some(Self { name, stamps, said, end: bytes.len() - rest.len() })
    }
}

fn put_stamp(bytes: &mut Vec<u8>, stamp: FileStamp) {
    bytes.put_u64(stamp.inode);
    bytes.put_u64(stamp.len);
    bytes.put_i64(stamp.modified_ms);
    bytes.put_i64(stamp.changed_ns);
}

/// The caller has looked whether there are as many bytes.
fn get_stamp(bytes: &mut &[u8]) -> FileStamp {
    FileStamp {
        inode: bytes.get_u64(),
        len: bytes.get_u64(),
        modified_ms: bytes.get_i64(),
        changed_ns: bytes.get_i64(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn stamp(n: u64) -> FileStamp {
        FileStamp { inode: n, len: n + 1, modified_ms: -1, changed_ns: -(n as i64) }
    }

    fn note(n: u64, said: &[u8]) -> ClosedLogNote {
        ClosedLogNote { directory: stamp(n), active: stamp(n << 40), said: Bytes::copy_from_slice(said) }
    }

    fn file(logs: &[(&str, ClosedLogNote)]) -> Vec<u8> {
        ClosedLogs::encode(7, logs.iter().map(|(name, log)| (*name, log)))
    }

    #[test]
    fn a_log_is_found_by_its_directory() {
        let logs = [("orders-0", note(1, b"one")), ("orders-1", note(2, b"")), ("z-0", note(3, b"three"))];
        let found = ClosedLogs::parse(file(&logs).into()).expect("it was just written");
        assert_eq!((found.broker_epoch(), found.len(), found.is_empty()), (7, 3, false));
        for (name, log) in &logs {
            assert_eq!(found.find(name).as_ref(), Some(log));
        }
        assert_eq!((found.find("orders-2"), found.find("")), (None, None));
        let none = ClosedLogs::parse(file(&[]).into()).expect("it was just written");
        assert_eq!((none.is_empty(), none.find("orders-0")), (true, None));
    }

    #[test]
    fn what_was_not_written_so_is_refused() {
        let good = file(&[("orders-0", note(1, b"one"))]);
        let refused = |bytes: Vec<u8>| ClosedLogs::parse(bytes.into()).err();
        for len in 0..good.len() {
            assert!(refused(good[..len].to_vec()).is_some(), "cut at {len}");
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert!(refused(bad).is_some(), "changed at {at}");
        }
        let resealed = |mut bytes: Vec<u8>| {
            let end = bytes.len() - CHECKSUM;
            let checksum = crc32c(&bytes[..end]);
            bytes[end..].copy_from_slice(&checksum.to_be_bytes());
            refused(bytes)
        };
        let mut later = good.clone();
        later[9] = 2;
        assert_eq!(resealed(later), Some(ClosedLogsError::UnknownVersion(2)));
        let mut more = good.clone();
        more[HEADER - 1] = 2;
        assert_eq!(resealed(more), Some(ClosedLogsError::Cut { len: good.len() }));
        let mut two = file(&[("orders-0", note(1, b"")), ("orders-1", note(1, b""))]);
        let place = two.windows(8).position(|name| name == b"orders-1").expect("it is there");
        two[place + 7] = b'0';
        assert_eq!(resealed(two), Some(ClosedLogsError::OutOfOrder));
    }

    proptest! {
        #[test]
        fn every_log_reads_back(
            epoch: i64,
            logs in prop::collection::btree_map("[a-z._-]{1,40}", prop::collection::vec(any::<u8>(), 0..200), 0..20),
        ) {
            let logs: BTreeMap<String, ClosedLogNote> =
                logs.into_iter().map(|(name, said)| (name, note(said.len() as u64, &said))).collect();
            let bytes = ClosedLogs::encode(epoch, logs.iter().map(|(name, log)| (name.as_str(), log)));
            let found = ClosedLogs::parse(bytes.into()).expect("it was just written");
            prop_assert_eq!((found.broker_epoch(), found.len()), (epoch, logs.len()));
            for (name, log) in &logs {
                prop_assert_eq!(found.find(name), Some(log.clone()));
            }
        }
    }
}
