//! The tails that runs before have left: found, written to the files, and given up.
//!
//! What always holds: a log directory gets what the tail has that it names, and nothing else. A
//! tail is kept as it is, and the new one opened beside it, if it has records of a directory which
//! is not there now, because its disk failed (the directory still names it when it comes back), or
//! if it may be another broker's: a copy of log directories names the tail of the original.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::config::StorageConfig;
use aplomb_broker::startup::Directory;
use aplomb_disk::memory::{MappedFile, MemoryError};
use aplomb_disk_api::PatientDisk;
use aplomb_log::recovery::restore::{Restored, Wanted, restore};
use aplomb_log::tail::{ArenaMemory, DEFAULT_CHUNK_SIZE, OldTail, UnreadableReason};
use aplomb_model::{DirectoryId, TopicId, Uuid};
use aplomb_server::log::Log;

use super::directories::{LogDirectories, LogDirectory, chance, draw, patiently};
use super::tail::{Room, TailError, WITHOUT_FILE, arena_memory};
use super::tail_home::{self, Kinship};
use super::tail_record::{self, TailRecord};

/// The names of topics that have not been deleted.
pub(super) type Names<'a> = dyn Fn(TopicId) -> Option<Arc<str>> + 'a;

/// The tails of runs before, not yet given up.
pub(super) struct OldTails {
    tails: Vec<Old>,
    /// Where the tail may be; `None` without a file.
    places: Option<Places>,
    /// Files that are other brokers', or may be.
    others: BTreeSet<PathBuf>,
    /// Directories that name a tail with nothing in it for them.
    without: Vec<Without>,
}

/// Where the tail of a broker may be: the first of these that is not taken. Named by the directory
/// with the metadata log and its place, so that copies of it have names of their own.
struct Places {
    directory: PathBuf,
    broker: DirectoryId,
    device: u64,
    inode: u64,
}

struct Old {
    path: PathBuf,
    mapped: Arc<MappedFile>,
    content: Content,
    /// The log directories that name it: it has the latest of these, and of no others.
    of: Vec<DirectoryId>,
    /// It may be the tail of other directories, of which those that name it are a copy.
    may_be_of_others: bool,
}

enum Content {
    /// Nothing is in it.
    Blank(ArenaMemory),
    Tail(OldTail),
}

/// A log directory that names a tail.
struct Namer {
    id: DirectoryId,
    directory: PathBuf,
    kinship: Kinship,
    /// Where the directory was that the record was written into.
    original: Option<PathBuf>,
    /// The start of the machine that the tail was made in.
    boot: Option<String>,
}

/// A log directory that gets nothing from the tail that it names.
struct Without {
    id: DirectoryId,
    directory: PathBuf,
    tail: PathBuf,
    why: Why,
}

/// Why a tail has nothing for a log directory.
enum Why {
    /// The file is not there, and the machine was not started anew since it was.
    Gone,
    /// It went with the machine's memory.
    NewBoot,
    Blank,
    /// It is the tail of the directory that this one is a copy of.
    OfTheOriginal(Option<PathBuf>),
    /// Of a broker that is at work, so that this directory is a copy of that one's.
    InUse,
}

impl OldTails {
    /// Opens what the log directories name, and what is in the places that the settings name.
    pub(super) fn find(directories: &LogDirectories, storage: &StorageConfig) -> Result<Self, TailError> {
        let with_file = storage.tail_dir != WITHOUT_FILE;
        let places = with_file.then(|| Places::of(&storage.tail_dir, directories)).transpose()?;
        // A directory that is not there may name one of these.
        let taken: Vec<PathBuf> =
            places.iter().flat_map(Places::all).take_while(|path| path.exists()).collect();
        let mut named: BTreeMap<PathBuf, Vec<Namer>> =
            taken.iter().map(|path| (path.clone(), Vec::new())).collect();
        for directory in &directories.directories {
            let (id, path) = (directory.id, &directory.path);
            let namer =
                |kinship, original| Namer { id, directory: path.clone(), kinship, original, boot: None };
            match recorded(path, &*directory.disk)? {
                // One that names none is new, or its record was deleted.
                None => taken.iter().for_each(|tail| {
                    named.entry(tail.clone()).or_default().push(namer(Kinship::Same, None));
                }),
                Some(record) => {
                    let kinship = kinship(&record, path)?;
                    let TailRecord { path: tail, home, boot } = record;
                    let namer = namer(kinship, home.map(|home| home.path));
                    named.entry(tail).or_default().push(Namer { boot, ..namer });
                }
            }
        }
        let mut found = Self { tails: Vec::new(), places, others: BTreeSet::new(), without: Vec::new() };
        for (path, by) in named {
            found.open(path, by)?;
        }
        Ok(found)
    }

    /// The tails that log directories name, but for those of their originals.
    pub(super) fn recorded(directories: &[Directory]) -> Result<BTreeSet<PathBuf>, TailError> {
        let mut all = BTreeSet::new();
        for one in directories {
            let path = Path::new(&one.path);
            if let Some(record) = recorded(path, &*one.disk)?
                && kinship(&record, path)? != Kinship::Copy
            {
                all.insert(record.path);
            }
        }
        Ok(all)
    }

    /// Opens the tail at `path`, if it is there and may be ours. `by`: the directories that name
    /// it.
    fn open(&mut self, path: PathBuf, by: Vec<Namer>) -> Result<(), TailError> {
        if !path.exists() {
            let boot = tail_home::boot();
            let why = |namer: &Namer| match &namer.boot {
                Some(then) if Some(then) != boot.as_ref() => Why::NewBoot,
                Some(_) | None => Why::Gone,
            };
            self.note(&path, &by, why);
            return Ok(());
        }
        let is = |kinship| by.iter().any(|namer| namer.kinship == kinship);
        // A broker whose directories were all copied is another one; one of which a single
        // directory was is the same.
        let is_named = by.is_empty() || is(Kinship::Same);
        if !is_named && is(Kinship::Copy) {
            self.note(&path, &by, |namer| Why::OfTheOriginal(namer.original.clone()));
            self.others.insert(path);
            return Ok(());
        }
        let mapped = match open_patiently(&path) {
            Ok(mapped) => Arc::new(mapped),
            Err(MemoryError::InUse { .. }) if by.is_empty() || !is_named => {
                self.note(&path, &by, |_| Why::InUse);
                self.others.insert(path);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let content = match OldTail::open(arena_memory(&mapped)) {
            Ok(tail) => Content::Tail(tail),
            Err(unreadable) if matches!(unreadable.reason, UnreadableReason::Blank) => {
                self.note(&path, &by, |_| Why::Blank);
                Content::Blank(unreadable.memory)
            }
            Err(unreadable) => return Err(TailError::Unreadable { path, reason: unreadable.reason }),
        };
        let of = by.iter().map(|namer| namer.id).collect();
        self.tails.push(Old { path, mapped, content, of, may_be_of_others: !is_named });
        Ok(())
    }

    /// There is nothing in a tail for those that name it.
    fn note(&mut self, tail: &Path, by: &[Namer], why: impl Fn(&Namer) -> Why) {
        let without = by.iter().map(|namer| Without {
            id: namer.id,
            directory: namer.directory.clone(),
            tail: tail.to_owned(),
            why: why(namer),
        });
        self.without.extend(without);
    }

    /// Says which acknowledged records may be lost with tails that are not there. `unclean`: the
    /// log directories in which there may be some.
    pub(super) fn tell_what_may_be_lost(&self, unclean: &[DirectoryId], flush_interval: Duration, log: &Log) {
        for without in self.without.iter().filter(|without| unclean.contains(&without.id)) {
            let Without { directory, tail, why, .. } = without;
            let (directory, tail) = (directory.display(), tail.display());
            let lost = format!(
                "what was acknowledged in its partitions in the last {} ms before the broker ended, or since its disk stopped answering, may be lost",
                flush_interval.as_millis()
            );
            let what = match why {
                Why::Gone => format!(
                    "{tail} is gone, though the machine was not started anew: somebody deleted it (systemd-logind does so when a user logs out, unless RemoveIPC=no), or it was in the /dev/shm of a container that was killed"
                ),
                Why::NewBoot => format!("{tail} went with the memory of the machine, which was started anew"),
                Why::Blank => format!(
                    "{tail} is blank: it was overwritten, or a start was killed that had just made it"
                ),
                Why::OfTheOriginal(original) => format!(
                    "{tail} is the tail of {}, which this directory is a copy of, and is left to that one",
                    original.as_deref().unwrap_or(Path::new("another")).display()
                ),
                Why::InUse => {
                    format!("{tail} is in use by another broker, whose directories these are a copy of")
                }
            };
            let text = format!("log directory {directory} was not closed cleanly, and {what}: {lost}");
            match why {
                Why::Gone | Why::Blank => log.error("wiring/tail", text),
                Why::NewBoot | Why::OfTheOriginal(_) | Why::InUse => log.warn("wiring/tail", text),
            }
        }
    }

    /// Refuses to go on without a metadata log while there are records of topics, which would be
    /// taken for those of deleted ones.
    pub(super) fn refuse_without_metadata(&self, home: &Path) -> Result<(), TailError> {
        for old in &self.tails {
            let bytes = old.bytes_only_here(&|topic, _| topic != Uuid::ONE);
            if bytes > 0 {
                let (path, home) = (old.path.clone(), home.to_owned());
                return Err(TailError::WithoutMetadata { path, bytes, home });
            }
        }
        Ok(())
    }

    /// Gives the tails up, since all in them is in the files.
    ///
    /// # Errors
    /// [`TailError::Left`], before any is given up.
    pub(super) fn give_up(self, directories: &LogDirectories, names: &Names<'_>) -> Result<(), TailError> {
        if let Some((path, bytes)) = self.left(directories, names).into_iter().next() {
            return Err(TailError::Left { path, bytes });
        }
        for old in self.tails.into_iter().filter(|old| !old.may_be_of_others) {
            old.mapped.unlink()?;
        }
        Ok(())
    }

    /// Writes what `wanted` says into the files of a log directory; gives how many bytes they did
    /// not have.
    pub(super) fn restore(
        &self,
        directory: &LogDirectory,
        wanted: &Wanted<'_>,
        log: &Log,
    ) -> Result<u64, TailError> {
        let mut all = 0;
        for old in self.tails.iter().filter(|old| old.of.contains(&directory.id)) {
            let Content::Tail(tail) = &old.content else { continue };
            let mut recovered = tail.recover();
            if recovered.damaged_chunks > 0 && matches!(wanted, Wanted::Metadata) {
                let text = format!(
                    "{} was overwritten: {} of its chunks make no sense, and what was acknowledged and is nowhere else is lost with them",
                    old.path.display(),
                    recovered.damaged_chunks
                );
                log.error("wiring/tail", text);
            }
            recovered.partitions.retain(|partition| partition.directory == directory.id);
            let disks = [(directory.id, &*directory.disk as &dyn PatientDisk)];
            let Restored { partitions, bytes, remarks } =
                restore(&recovered, &disks, wanted, &mut || draw(&mut chance)).map_err(|error| {
                    TailError::Restore { path: old.path.clone(), directory: directory.path.clone(), error }
                })?;
            all += bytes;
            if bytes > 0 {
                let what = match wanted {
                    Wanted::Metadata => "of the metadata log".to_owned(),
                    Wanted::Topics(_) => {
                        format!("of {partitions} partitions in {}", directory.path.display())
                    }
                };
                let text = format!(
                    "{bytes} bytes {what} were only in the tail of a run before; they are in the files now"
                );
                log.info("wiring/tail", text);
            }
            for remark in remarks {
                log.warn("wiring/tail", remark);
            }
        }
        Ok(all)
    }

    /// The tails that have records of log directories which are not among `directories`, and how
    /// many bytes. Those of deleted topics are none.
    fn left(&self, directories: &LogDirectories, names: &Names<'_>) -> BTreeMap<PathBuf, u64> {
        let there = directories.ids();
        let is_elsewhere = |topic: TopicId, directory: DirectoryId| {
            (topic == Uuid::ONE || names(topic).is_some()) && !there.contains(&directory)
        };
        let left = self.tails.iter().map(|old| (old.path.clone(), old.bytes_only_here(&is_elsewhere)));
        left.filter(|(_, bytes)| *bytes > 0).collect()
    }

    /// Gives the old tails up, but for those that have records of log directories which are not
    /// there, or may be other brokers'. Gives what the new one begins with.
    pub(super) fn make_room(
        self,
        directories: &LogDirectories,
        wanted: u64,
        names: &Names<'_>,
        log: &Log,
    ) -> Result<Room, TailError> {
        let left = self.left(directories, names);
        for (path, bytes) in &left {
            let text = format!(
                "{} is kept: it holds {bytes} bytes of log directories that are not there, for the start that has them",
                path.display()
            );
            log.warn("wiring/tail", text);
        }
        let mut kept = self.others;
        for old in self.tails.iter().filter(|old| old.may_be_of_others) {
            let text = format!(
                "{} is kept, and what it has is in the files here: the log directories that name it were elsewhere when it was made, and may be a copy; if they were moved, delete it",
                old.path.display()
            );
            log.warn("wiring/tail", text);
            kept.insert(old.path.clone());
        }
        kept.extend(left.into_keys());
        let place = self.places.and_then(|places| places.all().find(|path| !kept.contains(path)));
        let mut memory = None;
        // Old files go before their record does: a start between the two finds nothing to read
        // back, and nothing is missing.
        for old in self.tails.into_iter().filter(|old| !kept.contains(&old.path)) {
            if place.as_ref() == Some(&old.path) && old.mapped.len() as u64 == wanted {
                memory = Some(old.into_memory());
            } else {
                old.mapped.unlink()?;
            }
        }
        Ok(Room { place, memory })
    }
}

impl Places {
    fn of(directory: &str, directories: &LogDirectories) -> Result<Self, TailError> {
        let LogDirectory { path, id, .. } = &directories.directories[directories.metadata];
        let (device, inode) = tail_home::place(path).map_err(|error| looked(path, error))?;
        Ok(Self { directory: directory.into(), broker: *id, device, inode })
    }

    fn all(&self) -> impl Iterator<Item = PathBuf> {
        let Self { directory, broker, device, inode } = self;
        (1..).map(move |n| {
            let number = if n == 1 { String::new() } else { format!(".{n}") };
            directory.join(format!("aplomb-{broker}-{device:x}-{inode:x}{number}.tail"))
        })
    }
}

impl Old {
    /// The bytes that were never reported durable, of partitions as `counts` says.
    fn bytes_only_here(&self, counts: &dyn Fn(TopicId, DirectoryId) -> bool) -> u64 {
        let Content::Tail(tail) = &self.content else { return 0 };
        let recovered = tail.recover();
        let counted = recovered.partitions.iter().filter(|one| counts(one.topic, one.directory));
        counted.flat_map(|one| &one.runs).map(|run| run.len - run.durable).sum()
    }

    /// The memory, to be formatted anew, and how often it has been.
    fn into_memory(self) -> (Arc<MappedFile>, ArenaMemory, u64) {
        match self.content {
            Content::Blank(memory) => (self.mapped, memory, 0),
            Content::Tail(tail) => {
                let generation = tail.generation();
                (self.mapped, tail.into_memory(), generation)
            }
        }
    }
}

/// The file keeps its own length.
fn open_patiently(path: &Path) -> Result<MappedFile, MemoryError> {
    patiently(
        || MappedFile::open(path, DEFAULT_CHUNK_SIZE.into()),
        |error| matches!(error, MemoryError::InUse { .. }),
    )
}

/// A record from before records said where they were written is taken for the directory's own.
fn kinship(record: &TailRecord, directory: &Path) -> Result<Kinship, TailError> {
    let Some(home) = &record.home else { return Ok(Kinship::Same) };
    home.kinship(directory).map_err(|error| looked(directory, error))
}

fn recorded(path: &Path, disk: &dyn PatientDisk) -> Result<Option<TailRecord>, TailError> {
    tail_record::read(disk).map_err(|error| TailError::Record { directory: path.to_owned(), error })
}

fn looked(directory: &Path, error: io::Error) -> TailError {
    TailError::Look { directory: directory.to_owned(), error }
}

#[cfg(test)]
mod tests;
