use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aplomb_broker::config::{BrokerConfig, Properties, StorageConfig};
use aplomb_broker::startup::{Kinship, TailRecord};
use aplomb_log::recovery::restore::Wanted;
use aplomb_log::tail::{ArenaMemory, LogEnd, LogTail, TailBatch, open_shares};
use aplomb_model::batch::{BatchBuilder, BatchHeader};
use aplomb_model::{BrokerId, DirectoryId, Offset, PartitionIndex, Timestamp, TopicId, Uuid};

use super::super::directories::{Candidates, LogDirectories, chance, draw};
use super::super::known;
use super::*;

const NODE: BrokerId = BrokerId(1);
const ORDERS: TopicId = Uuid::from_u128(2 << 100);

/// Log directories on the one hand, and memory on the other.
struct Place {
    disk: tempfile::TempDir,
    memory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let disk = tempfile::tempdir().expect("a directory for the test");
        Self { disk, memory: tempfile::tempdir_in("/dev/shm").expect("Linux has /dev/shm") }
    }

    fn directories(&self, name: &str) -> LogDirectories {
        self.several(&[name])
    }

    /// The first of them has the metadata log.
    fn several(&self, names: &[&str]) -> LogDirectories {
        let path = |name: &&str| self.disk.path().join(name).display().to_string();
        let paths: Vec<String> = names.iter().map(path).collect();
        let candidates = Candidates::look(&paths, &paths[0], NODE);
        candidates.and_then(|found| found.settle(NODE, None, &mut chance)).expect("they are ours")
    }

    fn copy(&self, from: &str, to: &str) {
        let (from, to) = (self.disk.path().join(from), self.disk.path().join(to));
        std::fs::create_dir(&to).expect("a directory");
        for entry in std::fs::read_dir(from).expect("a directory") {
            let entry = entry.expect("an entry");
            std::fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
        }
    }

    fn storage(&self) -> StorageConfig {
        let tail_dir = ("aplomb.tail.dir".to_owned(), self.memory.path().display().to_string());
        let properties = Properties::from([tail_dir]);
        BrokerConfig::from_properties(&properties).expect("the settings are right").0.storage
    }

    fn find(&self, directories: &LogDirectories) -> OldTails {
        let place = PathBuf::from(self.storage().tail_dir);
        let found = OldTails::find(Tmpfs, &known(directories), directories.metadata, Some(&place));
        found.expect("nothing is wrong with it")
    }

    /// A tail that has a record of `topic` for each directory, as the directories name it.
    fn tail_of(&self, directories: &LogDirectories, topic: TopicId) -> PathBuf {
        let path = self.memory.path().join("some.tail");
        self.tail_at(&path, directories, topic);
        path
    }

    fn tail_at(&self, path: &Path, directories: &LogDirectories, topic: TopicId) {
        let mapped = Arc::new(MappedFile::open(path, 1 << 20).expect("there is room"));
        let memory = arena_memory(&mapped);
        let shares = open_shares(memory, DEFAULT_CHUNK_SIZE, &directories.ids(), 1, None).expect("it fits");
        let start = LogEnd { segment_base: Offset::ZERO, at: 0, offset: Offset::ZERO };
        let mut builder = BatchBuilder::new(Offset::ZERO);
        builder.append(Timestamp(7), None, Some(b"a record"), &[]);
        let bytes = builder.build();
        for (partition, share) in shares.iter().enumerate() {
            let partition = PartitionIndex(i32::try_from(partition).expect("they are few"));
            let mut tail = LogTail::new(Arc::clone(share), topic, partition, start);
            let facts = TailBatch::of(&BatchHeader::parse(&bytes).expect("a batch"));
            tail.push(0, &[&bytes], facts).expect("there is room");
        }
        self.name(directories, path);
    }

    /// The directories say that their tail is there.
    fn name(&self, directories: &LogDirectories, path: &Path) {
        let memory = ArenaMemory::heap(1 << 20);
        let shares = open_shares(memory, DEFAULT_CHUNK_SIZE, &directories.ids(), 1, None).expect("it fits");
        for (directory, share) in directories.directories.iter().zip(&shares) {
            let named = TailRecord::name(share, &directory.path, &*directory.disk, path, &Tmpfs);
            named.expect("it can be written");
        }
    }

    /// The bytes that each directory gets from its tail.
    fn restored(&self, directories: &LogDirectories) -> Vec<u64> {
        let (found, mut said) = (self.find(directories), |_, _| {});
        let wanted = Wanted::Topics(&orders);
        let one = |directory: &_| found.restore(directory, &wanted, &mut || draw(&mut chance), &mut said);
        known(directories).iter().map(one).collect::<Result<_, _>>().expect("it can be written")
    }

    /// A start that has read old tails back makes room for its own.
    fn make_room(&self, directories: &LogDirectories) -> PathBuf {
        let found = self.find(directories);
        let room = found.make_room(&directories.ids(), 1 << 20, &orders, &mut |_, _| {});
        room.expect("there is room").place.expect("there is a place")
    }
}

fn orders(topic: TopicId) -> Option<Arc<str>> {
    (topic == ORDERS).then(|| "orders".into())
}

/// What was logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn logged(work: impl FnOnce(&Log)) -> String {
    let lines = Lines::default();
    let (log, writer) = Log::start(Box::new(lines.clone())).expect("a thread starts");
    work(&log);
    writer.close();
    let text = lines.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    String::from_utf8(text).expect("the log is text")
}

fn losses(old: &OldTails, unclean: &[DirectoryId]) -> String {
    logged(|log| old.tell_what_may_be_lost(unclean, Duration::from_millis(1500), &mut tell(log)))
}

#[test]
fn records_of_topics_that_no_metadata_log_knows_are_not_given_up() {
    let place = Place::new();
    let directories = place.directories("a");
    let path = place.tail_of(&directories, ORDERS);
    let refused = place.find(&directories).refuse_without_metadata("/a");
    let said = refused.expect_err("they would be taken for those of deleted topics").to_string();
    assert!(said.starts_with(&format!("{} holds ", path.display())), "{said}");
    assert!(said.contains("and /a has no metadata log that knows them: name the directory"), "{said}");

    std::fs::remove_file(&path).expect("it is there");
    place.tail_of(&directories, Uuid::ONE);
    place.find(&directories).refuse_without_metadata("/a").expect("it has no topics");
}

#[test]
fn a_copy_leaves_the_originals_tail_alone_and_has_its_own() {
    let place = Place::new();
    let original = place.directories("a");
    let path = place.tail_of(&original, ORDERS);
    place.copy("a", "b");
    let copy = place.directories("b");
    assert_eq!(copy.ids(), original.ids());

    let found = place.find(&copy);
    let said = losses(&found, &copy.ids());
    assert!(said.contains("/b was not closed cleanly, and "), "{said}");
    assert!(said.contains("/a, which this directory is a copy of"), "{said}");
    let mut own = None;
    logged(|log| own = found.make_room(&copy.ids(), 1 << 20, &orders, &mut tell(log)).ok());
    let own = own.and_then(|room| room.place).expect("there is a place");
    assert!(own != path && path.exists(), "{}", own.display());

    let of_the_original = place.find(&original);
    assert_eq!(losses(&of_the_original, &original.ids()), "");
    let mut theirs = None;
    logged(|log| {
        // Of another size, so that its own is made anew.
        theirs = of_the_original.make_room(&original.ids(), 1 << 21, &orders, &mut tell(log)).ok();
    });
    let theirs = theirs.and_then(|room| room.place).expect("there is a place");
    assert_ne!(theirs, own, "copies have names of their own");
}

#[test]
fn what_directories_have_that_stand_elsewhere_is_written_and_kept() {
    let place = Place::new();
    let original = place.directories("a");
    let path = place.tail_of(&original, ORDERS);
    place.copy("a", "b");
    drop(original);
    std::fs::rename(place.disk.path().join("a"), place.disk.path().join("c")).expect("it is there");
    let moved = place.directories("b");
    let found = place.find(&moved);
    let said = logged(|log| {
        let bytes = found.restore(
            &known(&moved)[0],
            &Wanted::Topics(&orders),
            &mut || draw(&mut chance),
            &mut tell(log),
        );
        assert!(bytes.expect("it can be written") > 0);
        found.make_room(&moved.ids(), 1 << 20, &orders, &mut tell(log)).expect("there is room");
    });
    assert!(path.exists() && said.contains("some.tail is kept, and what it has is in the files"), "{said}");

    let renamed = place.directories("c");
    let found = place.find(&renamed);
    logged(|log| drop(found.make_room(&renamed.ids(), 1 << 20, &orders, &mut tell(log))));
    assert!(!path.exists(), "of a directory that was renamed it is");
}

#[test]
fn a_tail_that_is_kept_for_one_directory_is_never_written_into_another_again() {
    let place = Place::new();
    let both = place.several(&["a", "b"]);
    let path = place.make_room(&both);
    place.tail_at(&path, &both, ORDERS);
    drop(both);

    let without = place.directories("a");
    let [of_a] = place.restored(&without)[..] else { panic!("one directory") };
    assert!(of_a > 0);
    let other = place.make_room(&without);
    assert!(path.exists() && other != path, "it is kept for b");
    place.name(&without, &other);
    assert_eq!(place.restored(&without), [0], "it names another by now");
    // Closed cleanly.
    TailRecord::remove(&*without.directories[0].disk).expect("it can be removed");
    let found = place.find(&without);
    let said = losses(&found, &without.ids());
    assert!(said.contains("/a was not closed cleanly, and ") && said.contains("does not name it"), "{said}");
    assert_eq!(losses(&found, &[]), "");
    drop((found, without));

    let both = place.several(&["a", "b"]);
    let [again, of_b] = place.restored(&both)[..] else { panic!("two directories") };
    assert!(again == 0 && of_b > 0, "{again} {of_b}");
    assert_eq!(place.make_room(&both), path, "it owes nothing any more");
}

#[test]
fn a_tail_that_is_gone_or_blank_is_told_after_an_unclean_stop_only() {
    let place = Place::new();
    let directories = place.directories("a");
    let path = place.tail_of(&directories, ORDERS);
    std::fs::remove_file(&path).expect("it is there");
    let found = place.find(&directories);
    let said = losses(&found, &directories.ids());
    assert!(said.contains("some.tail is gone, though the machine was not started anew"), "{said}");
    assert!(said.contains("in the last 1500 ms before the broker ended"), "{said}");
    assert_eq!(losses(&found, &[]), "");

    place.tail_of(&directories, ORDERS);
    std::fs::write(&path, vec![0; 1 << 20]).expect("it can be overwritten");
    let said = losses(&place.find(&directories), &directories.ids());
    assert!(said.contains("some.tail is blank: it was overwritten"), "{said}");
}

#[test]
fn a_tail_whose_name_another_has_taken_is_told_to_the_directory_that_was_away() {
    let place = Place::new();
    let both = place.several(&["a", "b"]);
    let path = place.make_room(&both);
    place.tail_at(&path, &both, ORDERS);
    drop(both);
    std::fs::remove_file(&path).expect("it is there");

    let without = place.directories("a");
    assert_eq!(place.make_room(&without), path, "the name is free");
    place.tail_at(&path, &without, ORDERS);
    drop(without);

    let both = place.several(&["a", "b"]);
    let said = losses(&place.find(&both), &both.ids());
    assert!(
        said.contains("/b was not closed cleanly, and ") && said.contains(".tail is gone, and "),
        "{said}"
    );
    assert!(!said.contains("/a was not closed cleanly"), "{said}");
    let [of_a, of_b] = place.restored(&both)[..] else { panic!("two directories") };
    assert!(of_a > 0 && of_b == 0, "{of_a} {of_b}");
    assert_eq!(place.make_room(&both), path, "it owes nothing any more");
}

#[test]
fn a_copy_is_told_from_the_original_and_a_directory_that_was_renamed_is_the_same() {
    let place = tempfile::tempdir().expect("a directory for the test");
    let at = |name: &str| place.path().join(name);
    let make = |name: &str| std::fs::create_dir(at(name)).expect("a directory");
    make("original");
    let home = Tmpfs.home(&at("original")).expect("it is there");
    let kinship = |name: &str| home.kinship(&at(name), &Tmpfs).expect("it is there");
    assert_eq!(kinship("original"), Kinship::Same);
    make("copy");
    assert_eq!(kinship("copy"), Kinship::Copy);
    std::os::unix::fs::symlink(at("original"), at("link")).expect("a link");
    assert_eq!(kinship("link"), Kinship::Same);

    std::fs::rename(at("original"), at("renamed")).expect("it is there");
    assert_eq!(kinship("renamed"), Kinship::Same);
    assert_eq!(kinship("copy"), Kinship::Elsewhere, "the original is out of sight");
    std::fs::rename(at("copy"), at("original")).expect("it is there");
    assert_eq!(kinship("original"), Kinship::Same, "in its place");
}
