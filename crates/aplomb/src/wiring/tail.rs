//! The tail's memory: found, drained, and opened anew.
//!
//! The order at start, which holds against a crash at any step: what the run before left is written
//! to the files and synced; then the log directories are told where the tail is from now on; then
//! the old memory is given up, or formatted anew in its place. Until then the old memory stays as
//! it is, and writing it to the files once more is harmless.
//!
//! What always holds: a log directory gets what the tail has that it names, and nothing else. A
//! tail that has records of a directory which is not there now, because its disk failed, is kept as
//! it is, and the new one opened beside it; the directory still names it when it comes back.
//!
//! Most of the time of a start goes into pages for a large tail, so all but the first of them come
//! while the broker serves already.
#![expect(unsafe_code, reason = "mapped memory becomes an arena's here")]

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aplomb_broker::config::StorageConfig;
use aplomb_broker::startup::Directory;
use aplomb_disk::memory::{MappedFile, MemoryError};
use aplomb_disk_api::PatientDisk;
use aplomb_log::recovery::forget::ForgetError;
use aplomb_log::recovery::restore::{RestoreError, Restored, Wanted, restore};
use aplomb_log::tail::{
    ArenaMemory, DEFAULT_CHUNK_SIZE, GeometryError, OldTail, Reserve, TailShare, UnreadableReason,
    open_shares,
};
use aplomb_model::{DirectoryId, TopicId, Uuid};
use aplomb_server::log::Log;

use super::directories::{LogDirectories, LogDirectory, chance, draw, patiently};
use super::tail_record::{self, RecordError};

/// The value of `aplomb.tail.dir` for memory without a file. It does not survive the process.
const WITHOUT_FILE: &str = "memory";

/// So many bytes of a new tail are there before the broker serves.
const READY_BYTES: usize = 16 << 20;

/// A tail that cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TailError {
    #[error("aplomb.tail.dir: {0}")]
    Memory(#[from] MemoryError),
    #[error("aplomb.tail.bytes={bytes}: {error}")]
    Geometry { bytes: u64, error: GeometryError },
    #[error("log directory {}: {error}", directory.display())]
    Record { directory: PathBuf, error: RecordError },
    #[error(
        "{} may hold acknowledged records and cannot be read back: {reason}; to give them up, delete it",
        path.display()
    )]
    Unreadable { path: PathBuf, reason: UnreadableReason },
    #[error("aplomb.tail.bytes={bytes}: no memory for it: {error}")]
    Pages { bytes: u64, error: io::Error },
    #[error("no thread for the tail's memory: {0}")]
    Thread(io::Error),
    #[error("{} cannot be written to log directory {}: {error}", path.display(), directory.display())]
    Restore { path: PathBuf, directory: PathBuf, error: RestoreError },
    #[error("{} holds {bytes} bytes of log directories that are not there", path.display())]
    Left { path: PathBuf, bytes: u64 },
}

impl TailError {
    /// Whether a log directory's disk failed.
    pub(super) fn is_of_the_disk(&self) -> bool {
        let Self::Restore { error, .. } = self else { return false };
        matches!(error, RestoreError::Disk(_) | RestoreError::Checkpoint(ForgetError::Disk(_)))
    }
}

/// The names of topics that have not been deleted.
pub(super) type Names<'a> = dyn Fn(TopicId) -> Option<Arc<str>> + 'a;

/// The tail of this run.
pub(super) struct Tail {
    /// Each log directory's share, in the order of the directories.
    pub(super) shares: Vec<Arc<TailShare>>,
    /// Its file; `None` without one.
    pub(super) path: Option<PathBuf>,
}

/// The tails of runs before, not yet given up.
pub(super) struct OldTails {
    tails: Vec<Old>,
    /// Where the tail may be; `None` without a file.
    places: Option<Places>,
}

/// Where the tail of a broker may be: the first of these that is not taken.
struct Places {
    directory: PathBuf,
    broker: DirectoryId,
}

struct Old {
    path: PathBuf,
    mapped: Arc<MappedFile>,
    content: Content,
    /// The log directories that name it: it has the latest of these, and of no others.
    of: Vec<DirectoryId>,
}

enum Content {
    /// Nothing is in it.
    Blank(ArenaMemory),
    Tail(OldTail),
}

impl OldTails {
    /// Opens what the log directories name, and what is in the places that the settings name.
    pub(super) fn find(directories: &LogDirectories, storage: &StorageConfig) -> Result<Self, TailError> {
        let places = (storage.tail_dir != WITHOUT_FILE).then(|| Places {
            directory: storage.tail_dir.clone().into(),
            broker: directories.metadata_id(),
        });
        // A directory that is not there may name one of these.
        let taken: Vec<PathBuf> =
            places.iter().flat_map(Places::all).take_while(|path| path.exists()).collect();
        let mut named: BTreeMap<PathBuf, Vec<DirectoryId>> =
            taken.iter().map(|path| (path.clone(), Vec::new())).collect();
        for directory in &directories.directories {
            // One that names none is new, or somebody has deleted its record.
            let recorded = recorded(&directory.path, &*directory.disk)?.map(|path| vec![path]);
            for path in recorded.unwrap_or_else(|| taken.clone()) {
                named.entry(path).or_default().push(directory.id);
            }
        }
        // One that is not there went with the machine's memory, and what was not synced with it.
        named.retain(|path, _| path.exists());
        let tails = named.into_iter().map(|(path, of)| Old::open(path, of)).collect::<Result<_, _>>()?;
        Ok(Self { tails, places })
    }

    /// The tails that log directories name.
    pub(super) fn recorded(directories: &[Directory]) -> Result<BTreeSet<PathBuf>, TailError> {
        let all = directories.iter().map(|one| recorded(Path::new(&one.path), &*one.disk));
        Ok(all.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Gives the tails up, since all in them is in the files.
    ///
    /// # Errors
    /// [`TailError::Left`], before any is given up.
    pub(super) fn give_up(self, directories: &LogDirectories, names: &Names<'_>) -> Result<(), TailError> {
        if let Some((path, bytes)) = self.left(directories, names).into_iter().next() {
            return Err(TailError::Left { path, bytes });
        }
        for old in self.tails {
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
        let mut left = BTreeMap::new();
        for old in &self.tails {
            let Content::Tail(tail) = &old.content else { continue };
            let recovered = tail.recover();
            let elsewhere = recovered.partitions.iter().filter(|partition| {
                let is_wanted = partition.topic == Uuid::ONE || names(partition.topic).is_some();
                is_wanted && !there.contains(&partition.directory)
            });
            let runs = elsewhere.flat_map(|partition| &partition.runs);
            let bytes: u64 = runs.map(|run| run.len - run.durable).sum();
            if bytes > 0 {
                left.insert(old.path.clone(), bytes);
            }
        }
        left
    }

    /// Gives the old tails up, but for those that have records of log directories which are not
    /// there, and opens the new one.
    pub(super) fn renew(
        self,
        directories: &LogDirectories,
        storage: &StorageConfig,
        names: &Names<'_>,
        log: &Log,
    ) -> Result<Tail, TailError> {
        let wanted = storage.tail_bytes.0;
        let left = self.left(directories, names);
        for (path, bytes) in &left {
            let text = format!(
                "{} is kept: it holds {bytes} bytes of log directories that are not there, for the start that has them",
                path.display()
            );
            log.warn("wiring/tail", text);
        }
        let place = self.places.and_then(|places| places.all().find(|path| !left.contains_key(path)));
        let (kept, given_up): (Vec<_>, Vec<_>) = self
            .tails
            .into_iter()
            .filter(|old| !left.contains_key(&old.path))
            .partition(|old| place.as_ref() == Some(&old.path) && old.mapped.len() as u64 == wanted);
        // Old files go before their record does: a start between the two finds nothing to read
        // back, and nothing is missing.
        for old in given_up {
            old.mapped.unlink()?;
        }
        for directory in &directories.directories {
            tail_record::write(&*directory.disk, place.as_deref())
                .map_err(|error| TailError::Record { directory: directory.path.clone(), error })?;
        }
        let (mapped, memory, generation) = match (kept.into_iter().next(), &place) {
            (Some(old), _) => old.into_memory(),
            (None, Some(path)) => fresh(MappedFile::open(path, wanted)?),
            (None, None) => fresh(MappedFile::anonymous(wanted)?),
        };
        let name = place.as_ref().map_or(WITHOUT_FILE.to_owned(), |path| path.display().to_string());
        log.info("wiring/tail", format!("the tail has {} bytes in {name}", memory.size()));
        // Before the first store, which would bring them one at a time.
        let ready = READY_BYTES.min(mapped.len());
        let not_locked =
            mapped.fault_in(0..ready).map_err(|error| TailError::Pages { bytes: wanted, error })?;
        if let Some(why) = &not_locked {
            warn_of_swapping(why, log);
        }
        let shares = open_shares(memory, DEFAULT_CHUNK_SIZE, &directories.ids(), generation + 1, None)
            .map_err(|error| TailError::Geometry { bytes: wanted, error })?;
        let reserve = Reserve::all_but(ready, &shares);
        fault_in_the_rest(mapped, reserve, not_locked.is_some(), log.clone()).map_err(TailError::Thread)?;
        Ok(Tail { shares, path: place })
    }
}

impl Places {
    fn all(&self) -> impl Iterator<Item = PathBuf> {
        (1..).map(|n| {
            let number = if n == 1 { String::new() } else { format!(".{n}") };
            self.directory.join(format!("aplomb-{}{number}.tail", self.broker))
        })
    }
}

impl Old {
    fn open(path: PathBuf, of: Vec<DirectoryId>) -> Result<Self, TailError> {
        // The file keeps its own length.
        let mapped = patiently(
            || MappedFile::open(&path, DEFAULT_CHUNK_SIZE.into()),
            |error| matches!(error, MemoryError::InUse { .. }),
        )?;
        let mapped = Arc::new(mapped);
        let content = match OldTail::open(arena_memory(&mapped)) {
            Ok(tail) => Content::Tail(tail),
            Err(unreadable) if matches!(unreadable.reason, UnreadableReason::Blank) => {
                Content::Blank(unreadable.memory)
            }
            Err(unreadable) => return Err(TailError::Unreadable { path, reason: unreadable.reason }),
        };
        Ok(Self { path, mapped, content, of })
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

/// Brings the pages of the reserve, chunk by chunk, on a thread of its own, which ends with the
/// last one.
fn fault_in_the_rest(
    mapped: Arc<MappedFile>,
    mut reserve: Reserve,
    mut warned: bool,
    log: Log,
) -> io::Result<()> {
    let work = move || {
        while let Some(range) = reserve.next() {
            match mapped.fault_in(range.clone()) {
                Err(error) => {
                    let text = format!(
                        "the tail stays smaller than it was to be: no memory for bytes {range:?}: {error}"
                    );
                    return log.error("wiring/tail", text);
                }
                Ok(Some(why)) if !warned => {
                    warn_of_swapping(&why, &log);
                    warned = true;
                }
                Ok(_) => {}
            }
            reserve.release();
        }
    };
    std::thread::Builder::new().name("aplomb-tail".to_owned()).spawn(work).map(drop)
}

fn warn_of_swapping(why: &str, log: &Log) {
    let text = format!("the tail's memory may be swapped out, and a request may wait for that: {why}");
    log.warn("wiring/tail", text);
}

fn recorded(path: &Path, disk: &dyn PatientDisk) -> Result<Option<PathBuf>, TailError> {
    tail_record::read(disk).map_err(|error| TailError::Record { directory: path.to_owned(), error })
}

fn fresh(mapped: MappedFile) -> (Arc<MappedFile>, ArenaMemory, u64) {
    let mapped = Arc::new(mapped);
    let memory = arena_memory(&mapped);
    (mapped, memory, 0)
}

fn arena_memory(mapped: &Arc<MappedFile>) -> ArenaMemory {
    let keep = Box::new(Arc::clone(mapped));
    // SAFETY: the mapping is readable, writable and filled with bytes, stays until `keep` is
    // dropped, and nothing else in this process touches it: `MappedFile` gives out its address and
    // never follows it.
    unsafe { ArenaMemory::from_raw(mapped.as_ptr(), mapped.len(), keep) }
}
