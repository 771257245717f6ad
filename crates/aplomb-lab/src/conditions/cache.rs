//! What the kernel remembers of files: all of it dropped, or that of some files.
//!
//! Dropping takes clean pages only, so what is dirty is written first.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::{Advice, fadvise, fdatasync, syncfs};

use super::ConditionError;

/// Which of the kernel's caches (`/proc/sys/vm/drop_caches`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caches {
    /// Pages of files.
    Pages = 1,
    /// Inodes and directory entries.
    Metadata = 2,
    /// Both.
    All = 3,
}

/// Writes out everything that is dirty on the filesystem of `directory`; those of other disks,
/// which may be slow too, are not waited for.
///
/// # Errors
/// When the directory is not there, or its disk fails.
pub(crate) fn sync(directory: &Path) -> Result<(), ConditionError> {
    let done = File::open(directory).and_then(|directory| Ok(syncfs(directory)?));
    done.map_err(ConditionError::new(format!("writing what is dirty below {}", directory.display())))
}

/// Drops the caches of the whole machine.
///
/// # Errors
/// Without root.
pub(crate) fn drop_caches(which: Caches) -> Result<(), ConditionError> {
    let what = format!("writing {} to /proc/sys/vm/drop_caches", which as i32);
    fs::write("/proc/sys/vm/drop_caches", format!("{}\n", which as i32)).map_err(ConditionError::new(what))
}

/// Makes files cold: every one below `directory` whose path `chosen` takes is written and dropped
/// from the page cache. Files that vanish meanwhile are left out. Returns how many bytes they have.
///
/// # Errors
/// When a directory cannot be read.
pub(crate) fn evict(directory: &Path, chosen: &dyn Fn(&Path) -> bool) -> Result<u64, ConditionError> {
    let mut bytes = 0;
    visit(directory, &mut |path| {
        if !chosen(path) {
            return Ok(());
        }
        let file = File::open(path)?;
        fdatasync(&file)?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
        bytes += file.metadata()?.len();
        Ok(())
    })
    .map_err(ConditionError::new(format!("evicting files of {}", directory.display())))?;
    Ok(bytes)
}

/// Calls `each` for every file below; a broker may be deleting while this looks.
pub(super) fn visit(directory: &Path, each: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let entries = match fs::read_dir(directory) {
        Err(error) if gone(&error) => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let done = match entry.file_type() {
            Ok(kind) if kind.is_dir() => visit(&entry.path(), each),
            Ok(kind) if kind.is_file() => each(&entry.path()),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        match done {
            Err(error) if !gone(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_files_are_evicted_and_counted_at_any_depth() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("topic-0")).expect("a folder");
        for (name, size) in [("topic-0/0.log", 10), ("topic-0/0.index", 100), ("1.log", 1)] {
            fs::write(folder.path().join(name), vec![b'x'; size]).expect("a file");
        }
        let logs = |path: &Path| path.extension().is_some_and(|end| end == "log");
        assert_eq!(evict(folder.path(), &logs).expect("it is there"), 11);
        assert_eq!(evict(&folder.path().join("nowhere"), &logs).expect("nothing to do"), 0);
    }
}
