//! A full disk: a file on the mounted filesystem that leaves so much room and no more.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate, statvfs};

use super::place::unless_missing;

/// Less than a block is not worth asking for.
const SMALLEST: u64 = 4096;

fn file(mount: &Path) -> PathBuf {
    mount.join(".aplomb-lab-filler")
}

/// Leaves `leave_bytes` on the filesystem for those who are not root, about a block more or less.
/// An earlier filler grows; it does not shrink. Returns its size in bytes.
pub(super) fn fill(mount: &Path, leave_bytes: u64) -> io::Result<u64> {
    let filler = OpenOptions::new().write(true).create(true).truncate(false).open(file(mount))?;
    let mut most = u64::MAX;
    while most >= SMALLEST {
        let there = statvfs(mount)?;
        let room = (there.f_bavail * there.f_frsize).saturating_sub(leave_bytes).min(most);
        if room < SMALLEST {
            break;
        }
        let size = filler.metadata()?.len();
        match fallocate(&filler, FallocateFlags::empty(), size, room) {
            Ok(()) => {}
            // Filesystems need some of their room for keeping the rest.
            Err(rustix::io::Errno::NOSPC) => most = room / 2,
            Err(why) => return Err(why.into()),
        }
    }
    Ok(filler.metadata()?.len())
}

/// Gives the room back.
pub(super) fn unfill(mount: &Path) -> io::Result<()> {
    unless_missing(fs::remove_file(file(mount)))
}
