//! The tails that runs before have left: found, written to the files, and given up.
//!
//! What always holds: a tail owes something to the log directories that name it ([`TailRecord`]),
//! and to no others, whatever records it has of them. A directory names one tail at most: that of
//! the last process which had the directory, from before its first record until a process has
//! stopped with all of them in the directory's files. So a tail that is kept for one directory is
//! never written into another again, which has gone on meanwhile. And a tail without a share for a
//! directory is not the one that the directory names: that is gone, and another got its name while
//! the directory was away.
//!
//! A tail is kept as it is, and the new one opened beside it, if it has records of a directory
//! which is not there now, because its disk failed (the directory still names it when it comes
//! back), or if it may be another broker's: a copy of log directories names the tail of the
//! original.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use aplomb_log::recovery::restore::{Restored, Wanted, restore};
use aplomb_log::tail::{ArenaMemory, OldTail, UnreadableReason};
use aplomb_model::{DirectoryId, TopicId, Uuid};

use super::error::OldTailError;
use super::files::TailFiles;
use super::home::Kinship;
use super::record::TailRecord;
use super::without::{Why, Without};
use crate::ports::Severity;
use crate::startup::survey::Directory;

/// Says something that is worth a line in the log.
pub type Tell<'a> = dyn FnMut(Severity, String) + 'a;

/// The names of topics that have not been deleted.
pub type Names<'a> = dyn Fn(TopicId) -> Option<Arc<str>> + 'a;

/// The tails of runs before, not yet given up.
pub struct OldTails<F: TailFiles> {
    files: F,
    tails: Vec<Old<F::File>>,
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

struct Old<File> {
    path: PathBuf,
    file: File,
    content: Content,
    /// The log directories that name it.
    of: Vec<DirectoryId>,
    /// It may be the tail of other directories, of which those that name it are a copy.
    may_be_of_others: bool,
}

/// What the new tail begins with.
pub struct Room<File> {
    /// Where its file is; `None` without one.
    pub place: Option<PathBuf>,
    /// Memory in this place, to be formatted anew, and how often it has been.
    pub memory: Option<(File, ArenaMemory, u64)>,
}

enum Content {
    /// Nothing is in it.
    Blank(ArenaMemory),
    Tail(OldTail),
}

impl Content {
    /// Whether it may have records of a log directory, if any.
    fn has_share(&self, id: DirectoryId) -> bool {
        match self {
            Self::Blank(_) => true,
            Self::Tail(tail) => tail.directories().contains(&id),
        }
    }
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

impl Namer {
    /// Why the tail that it names is not there, if that did not go with the memory of the machine.
    fn unless_new_boot(&self, boot: Option<&String>, why: Why) -> Why {
        match &self.boot {
            Some(then) if Some(then) != boot => Why::NewBoot,
            Some(_) | None => why,
        }
    }
}

impl<F: TailFiles> OldTails<F> {
    /// Opens what the log directories name, and what is in the places where the tail may be now:
    /// in `tail_dir`, if it has a file. `metadata`: the log directory with the metadata log.
    ///
    /// # Errors
    /// [`OldTailError`].
    pub fn find(
        files: F,
        directories: &[Directory],
        metadata: usize,
        tail_dir: Option<&Path>,
    ) -> Result<Self, OldTailError<F::Failure>> {
        let places = tail_dir.map(|at| Places::of(at, &directories[metadata], &files)).transpose()?;
        // A directory that is not there may name one of these.
        let taken = places.iter().flat_map(Places::all).take_while(|path| files.exists(path));
        let mut named: BTreeMap<PathBuf, Vec<Namer>> = taken.map(|path| (path, Vec::new())).collect();
        let mut nameless = Vec::new();
        for directory in directories {
            let Some(record) = recorded(directory)? else {
                nameless.push(directory);
                continue;
            };
            let kinship = kinship(&record, directory, &files)?;
            let TailRecord { path: tail, home, boot } = record;
            let original = home.map(|home| home.path);
            let namer =
                Namer { id: directory.id, directory: (&directory.path).into(), kinship, original, boot };
            named.entry(tail).or_default().push(namer);
        }
        let mut found =
            Self { files, tails: Vec::new(), places, others: BTreeSet::new(), without: Vec::new() };
        for (path, by) in named {
            found.open(path, by)?;
        }
        for directory in nameless {
            found.note_nameless(directory);
        }
        Ok(found)
    }

    /// The tails that log directories name, but for those of their originals.
    ///
    /// # Errors
    /// When a log directory cannot be looked at.
    pub fn recorded(
        files: &F,
        directories: &[Directory],
    ) -> Result<BTreeSet<PathBuf>, OldTailError<F::Failure>> {
        let mut all = BTreeSet::new();
        for one in directories {
            if let Some(record) = recorded(one)?
                && kinship(&record, one, files)? != Kinship::Copy
            {
                all.insert(record.path);
            }
        }
        Ok(all)
    }

    /// Opens the tail at `path`, if it is there and may be ours. `by`: the directories that name
    /// it.
    fn open(&mut self, path: PathBuf, by: Vec<Namer>) -> Result<(), OldTailError<F::Failure>> {
        if !self.files.exists(&path) {
            let boot = self.files.boot();
            self.note(&path, &by, |namer| namer.unless_new_boot(boot.as_ref(), Why::Gone));
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
        let (file, memory) = match self.files.open(&path) {
            Ok(opened) => opened,
            Err(failure) if F::is_in_use(&failure) && (by.is_empty() || !is_named) => {
                self.note(&path, &by, |_| Why::InUse);
                self.others.insert(path);
                return Ok(());
            }
            Err(failure) => return Err(OldTailError::File(failure)),
        };
        let content = match OldTail::open(memory) {
            Ok(tail) => Content::Tail(tail),
            Err(unreadable) if matches!(unreadable.reason, UnreadableReason::Blank) => {
                self.note(&path, &by, |_| Why::Blank);
                Content::Blank(unreadable.memory)
            }
            Err(unreadable) => {
                let path = path.display().to_string();
                return Err(OldTailError::Unreadable { path, reason: unreadable.reason });
            }
        };
        let (by, without): (Vec<_>, Vec<_>) = by.into_iter().partition(|namer| content.has_share(namer.id));
        let boot = self.files.boot();
        self.note(&path, &without, |namer| namer.unless_new_boot(boot.as_ref(), Why::Replaced));
        let of = by.iter().map(|namer| namer.id).collect();
        self.tails.push(Old { path, file, content, of, may_be_of_others: !is_named });
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

    /// A directory that names no tail is new, or was closed cleanly since it did, or its record was
    /// deleted, which is a loss if a tail has records of it.
    fn note_nameless(&mut self, Directory { id, path, .. }: &Directory) {
        let with_records = self.tails.iter().filter(|old| old.bytes_only_here(&|_, of| of == *id) > 0);
        let without = with_records.map(|old| Without {
            id: *id,
            directory: path.into(),
            tail: old.path.clone(),
            why: Why::NotNamed,
        });
        self.without.extend(without);
    }

    /// Says which acknowledged records may be lost with tails that are not there. `unclean`: the
    /// log directories in which there may be some.
    pub fn tell_what_may_be_lost(
        &self,
        unclean: &[DirectoryId],
        flush_interval: Duration,
        tell: &mut Tell<'_>,
    ) {
        for without in self.without.iter().filter(|without| unclean.contains(&without.id)) {
            let (severity, text) = without.line(flush_interval);
            tell(severity, text);
        }
    }

    /// Refuses to go on without a metadata log while there are records of topics, which would be
    /// taken for those of deleted ones.
    ///
    /// # Errors
    /// [`OldTailError::WithoutMetadata`].
    pub fn refuse_without_metadata(&self, home: &str) -> Result<(), OldTailError<F::Failure>> {
        for old in &self.tails {
            let bytes = old.bytes_only_here(&|topic, _| topic != Uuid::ONE);
            if bytes > 0 {
                let (path, home) = (old.path.display().to_string(), home.to_owned());
                return Err(OldTailError::WithoutMetadata { path, bytes, home });
            }
        }
        Ok(())
    }

    /// Gives the tails up, since all in them is in the files.
    ///
    /// # Errors
    /// [`OldTailError::Left`], before any is given up; and when a file cannot be removed.
    pub fn give_up(
        self,
        directories: &[DirectoryId],
        names: &Names<'_>,
    ) -> Result<(), OldTailError<F::Failure>> {
        if let Some((path, bytes)) = self.left(directories, names).into_iter().next() {
            return Err(OldTailError::Left { path: path.display().to_string(), bytes });
        }
        for old in self.tails.into_iter().filter(|old| !old.may_be_of_others) {
            self.files.remove(&old.file).map_err(OldTailError::File)?;
        }
        Ok(())
    }

    /// Writes what `wanted` says into the files of a log directory; gives how many bytes they did
    /// not have. `unique` draws ids for directories that are moved out of the way.
    ///
    /// # Errors
    /// [`OldTailError::Restore`].
    pub fn restore(
        &self,
        directory: &Directory,
        wanted: &Wanted<'_>,
        unique: &mut dyn FnMut() -> Uuid,
        tell: &mut Tell<'_>,
    ) -> Result<u64, OldTailError<F::Failure>> {
        let mut named = self.tails.iter().filter(|old| old.of.contains(&directory.id));
        let Some(old) = named.next() else { return Ok(0) };
        assert!(named.next().is_none(), "{} names one tail", directory.path);
        let Content::Tail(tail) = &old.content else { return Ok(0) };
        let path = old.path.display().to_string();
        let mut recovered = tail.recover();
        if recovered.damaged_chunks > 0 && matches!(wanted, Wanted::Metadata) {
            let text = format!(
                "{path} was overwritten: {} of its chunks make no sense, and what was acknowledged and is nowhere else is lost with them",
                recovered.damaged_chunks
            );
            tell(Severity::Error, text);
        }
        recovered.partitions.retain(|partition| partition.directory == directory.id);
        let disks = [(directory.id, &*directory.disk)];
        let Restored { partitions, bytes, remarks } = restore(&recovered, &disks, wanted, unique)
            .map_err(|error| OldTailError::Restore { path, directory: directory.path.clone(), error })?;
        if bytes > 0 {
            let what = match wanted {
                Wanted::Metadata => "of the metadata log".to_owned(),
                Wanted::Topics(_) => format!("of {partitions} partitions in {}", directory.path),
            };
            let text = format!(
                "{bytes} bytes {what} were only in the tail of a run before; they are in the files now"
            );
            tell(Severity::Info, text);
        }
        remarks.into_iter().for_each(|remark| tell(Severity::Warn, remark));
        Ok(bytes)
    }

    /// The tails that have records of log directories which are not among `directories`, and how
    /// many bytes. Those of deleted topics are none.
    fn left(&self, there: &[DirectoryId], names: &Names<'_>) -> BTreeMap<PathBuf, u64> {
        let is_elsewhere = |topic: TopicId, directory: DirectoryId| {
            (topic == Uuid::ONE || names(topic).is_some()) && !there.contains(&directory)
        };
        let left = self.tails.iter().map(|old| (old.path.clone(), old.bytes_only_here(&is_elsewhere)));
        left.filter(|(_, bytes)| *bytes > 0).collect()
    }

    /// Gives the old tails up, but for those that have records of log directories which are not
    /// there, or may be other brokers'. Gives what the new one begins with, which is to have
    /// `wanted` bytes.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn make_room(
        self,
        directories: &[DirectoryId],
        wanted: u64,
        names: &Names<'_>,
        tell: &mut Tell<'_>,
    ) -> Result<Room<F::File>, OldTailError<F::Failure>> {
        let left = self.left(directories, names);
        for (path, bytes) in &left {
            let text = format!(
                "{} is kept: it holds {bytes} bytes of log directories that are not there, for the start that has them",
                path.display()
            );
            tell(Severity::Warn, text);
        }
        let mut kept = self.others;
        for old in self.tails.iter().filter(|old| old.may_be_of_others) {
            let text = format!(
                "{} is kept, and what it has is in the files here: the log directories that name it were elsewhere when it was made, and may be a copy; if they were moved, delete it",
                old.path.display()
            );
            tell(Severity::Warn, text);
            kept.insert(old.path.clone());
        }
        kept.extend(left.into_keys());
        let place = self.places.and_then(|places| places.all().find(|path| !kept.contains(path)));
        let mut memory = None;
        // Old files go before their record does: a start between the two finds nothing to read
        // back, and nothing is missing.
        for old in self.tails.into_iter().filter(|old| !kept.contains(&old.path)) {
            if place.as_ref() == Some(&old.path) && old.size() as u64 == wanted {
                memory = Some(old.into_memory());
            } else {
                self.files.remove(&old.file).map_err(OldTailError::File)?;
            }
        }
        Ok(Room { place, memory })
    }
}

impl Places {
    fn of<F: TailFiles>(
        tail_dir: &Path,
        home: &Directory,
        files: &F,
    ) -> Result<Self, OldTailError<F::Failure>> {
        let (device, inode) = files.place(Path::new(&home.path)).map_err(|error| looked(home, error))?;
        Ok(Self { directory: tail_dir.into(), broker: home.id, device, inode })
    }

    fn all(&self) -> impl Iterator<Item = PathBuf> {
        let Self { directory, broker, device, inode } = self;
        (1..).map(move |n| {
            let number = if n == 1 { String::new() } else { format!(".{n}") };
            directory.join(format!("aplomb-{broker}-{device:x}-{inode:x}{number}.tail"))
        })
    }
}

impl<File> Old<File> {
    /// The bytes that were never reported durable, of partitions as `counts` says.
    fn bytes_only_here(&self, counts: &dyn Fn(TopicId, DirectoryId) -> bool) -> u64 {
        let Content::Tail(tail) = &self.content else { return 0 };
        let recovered = tail.recover();
        let counted = recovered.partitions.iter().filter(|one| counts(one.topic, one.directory));
        counted.flat_map(|one| &one.runs).map(|run| run.len - run.durable).sum()
    }

    fn size(&self) -> usize {
        match &self.content {
            Content::Blank(memory) => memory.size(),
            Content::Tail(tail) => tail.size(),
        }
    }

    /// The memory, to be formatted anew, and how often it has been.
    fn into_memory(self) -> (File, ArenaMemory, u64) {
        match self.content {
            Content::Blank(memory) => (self.file, memory, 0),
            Content::Tail(tail) => {
                let generation = tail.generation();
                (self.file, tail.into_memory(), generation)
            }
        }
    }
}

/// A record from before records said where they were written is taken for the directory's own.
fn kinship<F: TailFiles>(
    record: &TailRecord,
    directory: &Directory,
    files: &F,
) -> Result<Kinship, OldTailError<F::Failure>> {
    let Some(home) = &record.home else { return Ok(Kinship::Same) };
    home.kinship(Path::new(&directory.path), files).map_err(|error| looked(directory, error))
}

fn recorded<E: Error + 'static>(directory: &Directory) -> Result<Option<TailRecord>, OldTailError<E>> {
    TailRecord::read(&*directory.disk)
        .map_err(|error| OldTailError::Record { directory: directory.path.clone(), error })
}

fn looked<E: Error + 'static>(directory: &Directory, error: io::Error) -> OldTailError<E> {
    OldTailError::Look { directory: directory.path.clone(), error }
}
