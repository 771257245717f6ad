//! The disk for threads that may wait: one call after the other.
//!
//! The threads that start a broker and end it hold a [`PatientDisk`], and so does a
//! [`crate::DiskJob`], on the disk's own threads. No thread that carries requests does.

use bytes::Bytes;

use crate::{DiskError, FileName, SmallFile};

/// What a directory entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file of so many bytes, last modified at this wall-clock time (milliseconds since 1970).
    File {
        /// Length in bytes.
        len: u64,
        /// Modification time.
        modified_ms: i64,
    },
    /// A directory, whatever is in it.
    Directory,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The last part of the name.
    pub name: String,
    /// What it names.
    pub kind: EntryKind,
}

/// What tells the state of a file, or of the names in a directory, from every other state that a
/// file of the same name had or will have, as far as the file system notes that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Its number in the file system: a copy has another one.
    pub inode: u64,
    /// Length in bytes; of a directory whatever the file system says.
    pub len: u64,
    /// When the content was changed last, which programs may set at will. Milliseconds since 1970.
    pub modified_ms: i64,
    /// When anything of it was changed last, which only the kernel sets. Nanoseconds since 1970.
    pub changed_ns: i64,
}

/// Plain, waiting access to one log directory. Threads share it.
pub trait PatientDisk: Send + Sync {
    /// The entries of a directory (`None`: the log directory itself), sorted by name.
    ///
    /// # Errors
    /// As for every call here: [`DiskError`].
    fn list(&self, directory: Option<&FileName>) -> Result<Vec<Entry>, DiskError>;

    /// The state that a file or a directory is in. A link is followed.
    ///
    /// # Errors
    /// [`DiskError::NotFound`] if there is no such name.
    fn stamp(&self, name: &FileName) -> Result<FileStamp, DiskError>;

    /// Reads `len` bytes from byte `at` on; fewer at the end of the file.
    ///
    /// # Errors
    /// [`DiskError::NotFound`] if there is no such file.
    fn read(&self, file: &FileName, at: u64, len: usize) -> Result<Bytes, DiskError>;

    /// Writes at byte `at`; makes the file, not its directory.
    ///
    /// # Errors
    /// See [`DiskError`].
    fn write(&self, file: &FileName, at: u64, data: &[u8]) -> Result<(), DiskError>;

    /// Cuts a file.
    ///
    /// # Errors
    /// See [`DiskError`].
    fn truncate(&self, file: &FileName, len: u64) -> Result<(), DiskError>;

    /// Deletes a file or a directory with all in it; a missing one is passed over.
    ///
    /// # Errors
    /// See [`DiskError`].
    fn remove(&self, name: &FileName) -> Result<(), DiskError>;

    /// Renames files or directories, one after the other, then makes the new names durable. A crash
    /// in between leaves any of them renamed.
    ///
    /// # Errors
    /// [`DiskError::NotFound`] if a name does not exist; those before it are renamed.
    fn rename_all(&self, renames: &[(FileName, FileName)]) -> Result<(), DiskError>;

    /// Renames a file or a directory.
    ///
    /// # Errors
    /// See [`Self::rename_all`].
    fn rename(&self, from: &FileName, to: &FileName) -> Result<(), DiskError> {
        self.rename_all(&[(from.clone(), to.clone())])
    }

    /// Replaces files by new content, each atomically, all durable on return; makes missing
    /// directories.
    ///
    /// # Errors
    /// See [`DiskError`].
    fn publish(&self, files: &[SmallFile]) -> Result<(), DiskError>;

    /// Makes the files' content and names survive a power cut; of one that does not exist, that it
    /// is gone. With very many files, one sync of the whole file system.
    ///
    /// # Errors
    /// See [`DiskError`].
    fn sync(&self, files: &[FileName]) -> Result<(), DiskError>;
}
