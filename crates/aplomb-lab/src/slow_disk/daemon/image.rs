//! The bytes of a disk.
//!
//! What always holds: the file has no name, so that nothing is left of it when the daemon is gone,
//! however that went.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::fs::{FallocateFlags, MemfdFlags, OFlags};

use super::super::Backing;

/// A sparse file of this size.
pub(super) fn open(backing: &Backing, size_bytes: u64) -> io::Result<File> {
    let file = match backing {
        Backing::Memory => File::from(rustix::fs::memfd_create("aplomb-lab-disk", MemfdFlags::CLOEXEC)?),
        Backing::Directory(directory) => OpenOptions::new()
            .read(true)
            .write(true)
            .mode(0o600)
            .custom_flags(OFlags::TMPFILE.bits().cast_signed())
            .open(directory)?,
    };
    file.set_len(size_bytes)?;
    Ok(file)
}

/// Makes a range read as zeros, and gives back what held it.
pub(super) fn discard(image: &File, offset: u64, length: u64) -> io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(rustix::fs::fallocate(image, flags, offset, length)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};

    use super::*;

    #[test]
    fn an_image_takes_room_for_what_is_written_only_and_has_no_name() {
        let directory = tempfile::tempdir().expect("there is a place for temporary files");
        for backing in [Backing::Memory, Backing::Directory(directory.path().to_owned())] {
            let image = open(&backing, 1 << 30).expect("a sparse file");
            image.write_all_at(&[7; 8192], 1 << 20).expect("room for two pages");
            let metadata = image.metadata().expect("it is open");
            assert_eq!((metadata.len(), metadata.nlink()), (1 << 30, 0));
            assert!(metadata.blocks() * 512 < 1 << 20);

            discard(&image, 1 << 20, 4096).expect("a hole");
            let mut read = [1; 8192];
            image.read_exact_at(&mut read, 1 << 20).expect("within the file");
            assert_eq!((read[0], read[4096]), (0, 7));
        }
        assert_eq!(directory.path().read_dir().expect("it is there").count(), 0);
    }
}
