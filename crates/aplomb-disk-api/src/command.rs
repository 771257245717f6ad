//! Commands: what a log, or a broker, can ask of a disk.
//!
//! Each command belongs to a [`Lane`]. A disk has one queue a lane and carries the lanes out
//! independently of each other, so that a slow deletion never holds up a write. Order holds
//! **within** a lane, in these words: the effects of a command are visible to every later command
//! of the same lane, and a [`DiskCommand::Sync`] covers every write that was submitted to its lane
//! before it. Completions may come in any order. Across lanes nothing is promised: who needs an
//! order waits for the completion.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

/// A file or directory by its name below the log directory, `orders-3/00000000000000000000.log`.
/// Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(Arc<str>);

impl FileName {
    /// Takes a relative name.
    ///
    /// # Panics
    /// If the name is empty, absolute, or leaves the log directory.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        let name = name.into();
        assert!(
            !name.is_empty() && name.split('/').all(|part| !part.is_empty() && part != "." && part != ".."),
            "'{name}' does not name something below a log directory"
        );
        Self(name)
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The directory that holds it; `None` at the top of the log directory.
    #[must_use]
    pub fn parent(&self) -> Option<&str> {
        self.0.rsplit_once('/').map(|(parent, _)| parent)
    }
}

impl fmt::Debug for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The independent queues of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Appends and their syncs: what durability hangs on.
    Write,
    /// Reads of records that are no longer in memory.
    Read,
    /// Whatever may take long: deletions, renames, checkpoints.
    Housekeeping,
    /// Work on the disk's own threads: [`crate::DiskJob`]s, and no command.
    Job,
}

impl Lane {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// All lanes, in the order of their index.
    pub const ALL: [Self; 4] = [Self::Write, Self::Read, Self::Housekeeping, Self::Job];

    /// The lane's place in [`Lane::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Its name on the pages for operators.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Housekeeping => "housekeeping",
            Self::Job => "job",
        }
    }
}

/// Whether the bytes behind a read will be wanted next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadPattern {
    /// A lookup: nothing follows.
    Random,
    /// A consumer that catches up: the disk should read ahead, in parallel, within its budget.
    Sequential,
}

/// A file that is written as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallFile {
    /// Its name; missing directories on the way are made.
    pub name: FileName,
    /// All that it holds.
    pub content: Bytes,
}

/// One thing that a disk is told to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskCommand {
    /// Writes `data`, joined, at byte `at` of `file`. A write at byte 0 makes the file (not its
    /// directory) if it is missing; any other is not carried out then ([`NotFound`]), since what
    /// came before it is not there. Lane: write.
    ///
    /// A disk joins neighbouring writes of one file into one. The bytes need not survive a power
    /// cut before a sync. Nothing is written to a name once its deletion or its renaming was handed
    /// over.
    ///
    /// [`NotFound`]: crate::DiskError::NotFound
    Write {
        /// The file to write to; its directory must exist.
        file: FileName,
        /// Where the first byte goes.
        at: u64,
        /// The bytes, in order. They stay alive until the completion.
        data: Vec<Bytes>,
    },
    /// Makes everything that was written to these files by earlier commands of this lane survive a
    /// power cut, their names included. Lane: write.
    ///
    /// Of a file that does not exist, that it is gone survives, if nothing was written to it or a
    /// command of ours took it away since. If something was, or a write to it was not carried out,
    /// the sync fails and the disk is lost: what is not there is not durable.
    Sync {
        /// The files whose bytes and names are meant, in any order.
        files: Vec<FileName>,
    },
    /// Replaces each file by new content, each one atomically (temporary file, sync, rename,
    /// directory sync), all of them durable at the completion. The syncs of one command, and of
    /// neighbouring ones, are grouped. Lane: as said.
    ///
    /// In [`Lane::Write`] missing directories are made: a partition begins so. In other lanes a
    /// missing directory is an error ([`NotFound`](crate::DiskError::NotFound)), so that one that
    /// vanished is not brought back empty.
    Publish {
        /// The files, published in this order.
        files: Vec<SmallFile>,
        /// `Lane::Write` when later writes must find the files, `Lane::Housekeeping` otherwise.
        lane: Lane,
    },
    /// Cuts `file` to `len` bytes. Lane: write, so that it stands in line with the appends around
    /// it.
    Truncate {
        /// The file to cut; it must exist.
        file: FileName,
        /// Its new length, not above the present one.
        len: u64,
    },
    /// Reads up to `len` bytes from byte `at` on; fewer at the end of the file. Lane: read.
    Read {
        /// The file to read from; it must exist.
        file: FileName,
        /// Where the first byte is.
        at: u64,
        /// How many bytes are wanted.
        len: u32,
        /// Whether to read ahead.
        pattern: ReadPattern,
    },
    /// Renames a file or a directory and makes the new name durable. A name that does not exist is
    /// an error. Lane: housekeeping.
    Rename {
        /// The name that it has now.
        from: FileName,
        /// The name that it gets, in a directory that exists.
        to: FileName,
    },
    /// Deletes files, large ones in slices. A file that does not exist is passed over. Lane:
    /// housekeeping.
    DeleteFiles {
        /// The files to delete, in any order.
        files: Vec<FileName>,
    },
    /// Deletes a directory and the files in it, large ones in slices. A directory that does not
    /// exist is passed over. Lane: housekeeping.
    DeleteDirectory {
        /// The directory to delete.
        directory: FileName,
    },
    /// Asks how much room the disk has (`statvfs`). Lane: housekeeping.
    Space,
}

impl DiskCommand {
    /// The queue that the command stands in.
    #[must_use]
    pub fn lane(&self) -> Lane {
        match self {
            Self::Write { .. } | Self::Sync { .. } | Self::Truncate { .. } => Lane::Write,
            Self::Publish { lane, .. } => *lane,
            Self::Read { .. } => Lane::Read,
            Self::Rename { .. } | Self::DeleteFiles { .. } | Self::DeleteDirectory { .. } | Self::Space => {
                Lane::Housekeeping
            }
        }
    }
}
