//! A file with its descriptor.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use aplomb_disk_api::FileName;

use crate::errors::uninterrupted;

/// An open file. The descriptor is closed by its last user.
#[derive(Debug)]
pub(crate) struct OpenFile {
    descriptor: OwnedFd,
    name: FileName,
}

impl OpenFile {
    /// A file that is not kept: it was opened for one purpose.
    pub(crate) fn new(descriptor: OwnedFd, name: FileName) -> Self {
        Self { descriptor, name }
    }

    pub(crate) fn name(&self) -> &FileName {
        &self.name
    }

    /// The length in bytes. The inode is in memory while the file is open, so this reads nothing.
    pub(crate) fn len(&self) -> io::Result<u64> {
        Ok(uninterrupted(|| rustix::fs::fstat(&self.descriptor))?.st_size.unsigned_abs())
    }
}

impl AsFd for OpenFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
