//! Memory for the tail: a file on tmpfs, mapped, faulted in and locked, or anonymous pages.
//!
//! Always holds: a file's room is allocated before [`MappedFile::open`] returns (a full tmpfs is an
//! error now, not a signal later), the file is locked against other processes, and neither the file
//! nor the mapping ever shrinks. New memory is faulted in piece by piece, by
//! [`MappedFile::fault_in`], since that takes a while for all of it: no piece is used before.
#![expect(unsafe_code, reason = "mapping memory is the point")]

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::ptr::{NonNull, null_mut};

use rustix::fs::{CWD, FallocateFlags, Mode, OFlags};
use rustix::mm::{Advice, MapFlags, ProtFlags};

use crate::errors::uninterrupted;
use crate::lock::lock_exclusively;

/// `f_type` of the file systems that are told apart (linux/magic.h, and each file system's own).
mod magic {
    pub(super) const TMPFS: i64 = 0x0102_1994;
    pub(super) const RAMFS: i64 = 0x8584_58f6;
    pub(super) const HUGETLBFS: i64 = 0x9584_58f6;
    pub(super) const EXT: i64 = 0xef53;
    pub(super) const XFS: i64 = 0x5846_5342;
    pub(super) const BTRFS: i64 = 0x9123_683e;
    pub(super) const OVERLAY: i64 = 0x794c_7630;
    pub(super) const NFS: i64 = 0x6969;
}

/// Memory that could not be had.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The file would not be in memory, or not within bounds.
    #[error("{} is on {found}; the tail needs a tmpfs, such as /dev/shm", path.display())]
    NotTmpfs {
        /// The file.
        path: PathBuf,
        /// What it is on.
        found: String,
    },
    /// Another process has the file.
    #[error("{} is in use by another process", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// There is not enough room.
    #[error("{} needs {len} bytes and the memory file system is full: {source}", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// How much was asked for.
        len: u64,
        /// The system's words.
        source: io::Error,
    },
    /// Anything else.
    #[error("{what} failed: {source}")]
    Io {
        /// The call, and on what.
        what: String,
        /// The system's words.
        source: io::Error,
    },
}

/// What has become of the file of mapped memory, which others can reach by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// A later process will find the memory by its name.
    Whole,
    /// The name is gone, or leads to another file.
    Unnamed,
    /// It was cut to this length. Touching what was behind ends the process.
    Cut {
        /// In bytes.
        len: u64,
    },
}

/// Mapped memory. It is unmapped, and the file unlocked, when this is dropped; the file stays until
/// [`MappedFile::unlink`].
#[derive(Debug)]
pub struct MappedFile {
    start: NonNull<u8>,
    len: usize,
    existing: bool,
    file: Option<(OwnedFd, PathBuf)>,
}

// SAFETY: the mapping belongs to this value and stays in its place for all threads; what is written
// there is the holder's affair, since only raw pointers are given out.
unsafe impl Send for MappedFile {}

// SAFETY: as above; no method of a shared reference touches the mapped bytes.
unsafe impl Sync for MappedFile {}

impl MappedFile {
    /// Opens, or makes, a file of `len` bytes on a tmpfs and maps it. A file that exists keeps its
    /// length, whatever `len` says, so that it can be drained, and is faulted in.
    ///
    /// # Errors
    /// See [`MemoryError`].
    pub fn open(path: &Path, len: u64) -> Result<Self, MemoryError> {
        let directory =
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        refuse_other_file_systems(path, directory)?;
        let (file, found_len) = open_and_lock(path)?;
        let existing = found_len > 0;
        let len = if existing { found_len } else { len };
        uninterrupted(|| rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, len)).map_err(
            |source| {
                if !existing {
                    // What was just made is of no use.
                    let _ = rustix::fs::unlink(path);
                }
                match source.kind() {
                    io::ErrorKind::StorageFull => MemoryError::Full { path: path.to_owned(), len, source },
                    _ => failed("fallocate", path, source),
                }
            },
        )?;
        let mut mapped = Self::map(len, Some(&file)).map_err(|source| failed("mmap", path, source))?;
        mapped.existing = existing;
        mapped.file = Some((file, path.to_owned()));
        if existing {
            mapped.fault_in(0..mapped.len).map_err(|source| failed("madvise", path, source))?;
        }
        Ok(mapped)
    }

    /// Maps `len` bytes that no other process, and no later life of this one, can see.
    ///
    /// # Errors
    /// [`MemoryError::Io`].
    pub fn anonymous(len: u64) -> Result<Self, MemoryError> {
        Self::map(len, None)
            .map_err(|source| MemoryError::Io { what: format!("mmap of {len} bytes"), source })
    }

    /// Where the memory begins; aligned to a page.
    #[must_use]
    pub fn as_ptr(&self) -> NonNull<u8> {
        self.start
    }

    /// How many bytes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: memory of no bytes is not mapped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the file was there, perhaps with something to drain. Otherwise all bytes are zero.
    #[must_use]
    pub fn existing(&self) -> bool {
        self.existing
    }

    /// Puts pages behind a range of the memory and locks them there; waits meanwhile. Gives the
    /// reason if they could not be locked: the kernel may then swap them out, and touching them
    /// would wait for a disk.
    ///
    /// # Errors
    /// There is no memory for them.
    ///
    /// # Panics
    /// If the range is not within the memory.
    pub fn fault_in(&self, range: Range<usize>) -> io::Result<Option<String>> {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} of {} bytes", self.len);
        let begin = range.start - range.start % rustix::param::page_size();
        let len = range.end - begin;
        // SAFETY: the range is within the mapping, whose bytes stay what they are.
        let start = unsafe { self.start.as_ptr().add(begin) };
        // SAFETY: as above. A kernel before 5.14 does not know the advice; there, locking has to
        // do.
        unsafe { rustix::mm::madvise(start.cast(), len, Advice::LinuxPopulateWrite) }
            .or_else(|error| if error == rustix::io::Errno::INVAL { Ok(()) } else { Err(error) })?;
        // SAFETY: as above.
        let locked = unsafe { rustix::mm::mlock(start.cast(), len) };
        Ok(locked.err().map(|error| {
            let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
            let limit = limit.map_or("unlimited".to_owned(), |limit| format!("{limit} bytes"));
            format!("mlock of {len} bytes: {error}; RLIMIT_MEMLOCK is {limit}")
        }))
    }

    /// Whether the file is as it was opened. Memory without a file is always whole.
    ///
    /// # Errors
    /// The system's, where it does not say.
    pub fn state(&self) -> io::Result<FileState> {
        let Some((file, path)) = &self.file else { return Ok(FileState::Whole) };
        let ours = uninterrupted(|| rustix::fs::fstat(file))?;
        let named = match uninterrupted(|| rustix::fs::stat(path)) {
            Ok(named) => Some((named.st_dev, named.st_ino)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let len = ours.st_size.unsigned_abs();
        Ok(match named {
            _ if len < self.len as u64 => FileState::Cut { len },
            Some(named) if named == (ours.st_dev, ours.st_ino) => FileState::Whole,
            Some(_) | None => FileState::Unnamed,
        })
    }

    /// Removes the file's name; the memory stays until this value is dropped.
    ///
    /// # Errors
    /// [`MemoryError::Io`].
    pub fn unlink(&self) -> Result<(), MemoryError> {
        match &self.file {
            None => Ok(()),
            Some((_, path)) => {
                uninterrupted(|| rustix::fs::unlink(path)).map_err(|source| failed("unlink", path, source))
            }
        }
    }

    fn map(len: u64, file: Option<&OwnedFd>) -> io::Result<Self> {
        let len = usize::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
        if len == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses a place that nothing else uses; the file was allocated to its
        // full length and is never cut, so no page of the mapping is beyond its end.
        let start = unsafe {
            match file {
                Some(file) => rustix::mm::mmap(null_mut(), len, access, MapFlags::SHARED, file, 0),
                None => rustix::mm::mmap_anonymous(null_mut(), len, access, MapFlags::PRIVATE),
            }
        }?;
        let start = NonNull::new(start.cast::<u8>()).expect("the kernel maps nothing at address zero");
        Ok(Self { start, len, existing: false, file: None })
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map`, is this value's own, and its pointers may not
        // be used after the value.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
        assert!(unmapped.is_ok(), "our own mapping is there to be unmapped");
    }
}

/// Opens or makes the file and takes its lock. Gives its length too.
fn open_and_lock(path: &Path) -> Result<(OwnedFd, u64), MemoryError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    loop {
        let file = uninterrupted(|| rustix::fs::openat(CWD, path, flags, Mode::from_raw_mode(0o600)))
            .map_err(|source| failed("open", path, source))?;
        if !lock_exclusively(&file).map_err(|source| failed("lock", path, source))? {
            return Err(MemoryError::InUse { path: path.to_owned() });
        }
        let ours =
            uninterrupted(|| rustix::fs::fstat(&file)).map_err(|source| failed("stat", path, source))?;
        // Its last owner may have unlinked it between our two calls; then it has no owner, and
        // the name is free.
        match uninterrupted(|| rustix::fs::stat(path)) {
            Ok(named) if (named.st_dev, named.st_ino) == (ours.st_dev, ours.st_ino) => {
                return Ok((file, ours.st_size.unsigned_abs()));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("stat", path, error)),
        }
    }
}

fn refuse_other_file_systems(path: &Path, directory: &Path) -> Result<(), MemoryError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = uninterrupted(|| rustix::fs::openat(CWD, directory, flags, Mode::empty()))
        .map_err(|source| failed("open", directory, source))?;
    let found = uninterrupted(|| rustix::fs::fstatfs(opened.as_fd()))
        .map_err(|source| failed("statfs", directory, source))?;
    let found = match found.f_type {
        magic::TMPFS => return Ok(()),
        magic::RAMFS => "ramfs, which has no limit".to_owned(),
        magic::HUGETLBFS => "hugetlbfs".to_owned(),
        magic::EXT => "ext2, ext3 or ext4".to_owned(),
        magic::XFS => "XFS".to_owned(),
        magic::BTRFS => "Btrfs".to_owned(),
        magic::OVERLAY => "an overlay file system".to_owned(),
        magic::NFS => "NFS".to_owned(),
        other => format!("a file system of type {other:#x}"),
    };
    Err(MemoryError::NotTmpfs { path: path.to_owned(), found })
}

fn failed(what: &str, path: &Path, source: io::Error) -> MemoryError {
    MemoryError::Io { what: format!("{what} {}", path.display()), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: u64 = 1 << 20;

    /// A name on the machine's tmpfs, and a guard that removes it.
    fn shm() -> tempfile::TempDir {
        tempfile::tempdir_in("/dev/shm").expect("Linux has /dev/shm")
    }

    fn bytes(mapped: &mut MappedFile) -> &mut [u8] {
        // SAFETY: the pages are there, and the borrow keeps every other thread away from them.
        unsafe { std::slice::from_raw_parts_mut(mapped.as_ptr().as_ptr(), mapped.len()) }
    }

    #[test]
    fn what_was_stored_is_there_for_the_next_process() {
        let directory = shm();
        let path = directory.path().join("tail");
        let mut first = MappedFile::open(&path, LEN).expect("there is room");
        assert!(!first.existing());
        assert!(bytes(&mut first).iter().all(|byte| *byte == 0));
        bytes(&mut first)[70_000..70_004].copy_from_slice(b"tail");
        drop(first);
        let mut second = MappedFile::open(&path, LEN).expect("it was given up");
        assert!(second.existing());
        assert_eq!(&bytes(&mut second)[70_000..70_004], b"tail");
        second.unlink().expect("it is there");
        assert!(!path.exists());
        assert_eq!(&bytes(&mut second)[70_000..70_004], b"tail");
    }

    #[test]
    fn what_becomes_of_the_file_is_seen() {
        let directory = shm();
        let path = directory.path().join("tail");
        let state = |mapped: &MappedFile| mapped.state().expect("it can be looked at");
        let mapped = MappedFile::open(&path, LEN).expect("there is room");
        assert_eq!(state(&mapped), FileState::Whole);
        std::fs::remove_file(&path).expect("it is there");
        assert_eq!(state(&mapped), FileState::Unnamed);
        std::fs::write(&path, b"another").expect("there is room");
        assert_eq!(state(&mapped), FileState::Unnamed);
        std::fs::remove_file(&path).expect("it is there");

        let mapped = MappedFile::open(&path, LEN).expect("there is room");
        let file = std::fs::OpenOptions::new().write(true).open(&path).expect("it is there");
        file.set_len(LEN / 2).expect("it can be cut");
        assert_eq!(state(&mapped), FileState::Cut { len: LEN / 2 });
        assert_eq!(state(&MappedFile::anonymous(LEN).expect("there is room")), FileState::Whole);
    }

    #[test]
    fn an_existing_file_keeps_its_length() {
        let directory = shm();
        let path = directory.path().join("tail");
        drop(MappedFile::open(&path, LEN).expect("there is room"));
        for other in [LEN / 2, LEN * 2] {
            let mapped = MappedFile::open(&path, other).expect("it was given up");
            assert_eq!(mapped.len() as u64, LEN);
            assert!(mapped.existing());
        }
    }

    #[test]
    fn pages_are_there_and_resident_once_they_were_faulted_in() {
        let mapped = MappedFile::anonymous(64 << 20).expect("there is room");
        let page = 4096;
        // How many pages of this mapping the kernel has: other tests run beside this one.
        let resident = || {
            let mut pages = vec![0_u8; mapped.len() / page];
            // SAFETY: the mapping is of this length, and there is a byte for each of its pages.
            let told =
                unsafe { libc::mincore(mapped.as_ptr().as_ptr().cast(), mapped.len(), pages.as_mut_ptr()) };
            assert_eq!(told, 0, "the mapping is whole");
            pages.iter().filter(|page| **page & 1 == 1).count()
        };
        assert_eq!(resident(), 0);
        mapped.fault_in(5_000..(32 << 20)).expect("there is memory");
        let wanted = (32 << 20) / page;
        assert!((wanted - 1..=wanted + 512).contains(&resident()), "{} of {wanted}", resident());
    }

    #[test]
    fn two_openings_exclude_each_other() {
        let directory = shm();
        let path = directory.path().join("tail");
        let first = MappedFile::open(&path, LEN).expect("there is room");
        let second = MappedFile::open(&path, LEN);
        assert!(matches!(second, Err(MemoryError::InUse { .. })), "{second:?}");
        drop(first);
    }

    #[test]
    fn a_file_system_on_a_disk_is_refused_by_name() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a directory for the test");
        let refused = MappedFile::open(&directory.path().join("tail"), LEN);
        match refused {
            Err(error @ MemoryError::NotTmpfs { .. }) => {
                assert!(error.to_string().contains("needs a tmpfs"), "{error}");
            }
            Ok(_) => eprintln!("skipped: the sources are on a tmpfs"),
            Err(other) => panic!("{other}"),
        }
        assert!(!directory.path().join("tail").exists());
    }

    #[test]
    fn a_full_tmpfs_is_an_error_and_leaves_nothing() {
        let directory = shm();
        let path = directory.path().join("tail");
        let full = MappedFile::open(&path, 1 << 50);
        assert!(matches!(full, Err(MemoryError::Full { .. })), "{full:?}");
        assert!(!path.exists());
    }

    #[test]
    fn anonymous_memory_is_there_and_empty() {
        let mut mapped = MappedFile::anonymous(LEN).expect("there is room");
        assert!(!mapped.existing());
        bytes(&mut mapped)[LEN as usize - 1] = 1;
        assert_eq!(bytes(&mut mapped).iter().map(|byte| u64::from(*byte)).sum::<u64>(), 1);
        mapped.unlink().expect("there is nothing to unlink");
        assert!(MappedFile::anonymous(0).is_err());
    }
}
