//! Files behind the broker's back: what an operator, another program or a bad sector does to them.

use aplomb_disk_api::{FileName, PatientDisk, SmallFile};
use bytes::Bytes;

use super::broker::Broker;

impl Broker {
    /// Writes over bytes of a file.
    pub(crate) fn overwrite(&self, disk: usize, file: &str, at: u64, bytes: &[u8]) {
        self.disk(disk).write(&FileName::new(file), at, bytes).expect("the disk is well");
    }

    /// Cuts so many bytes off the end of a file.
    pub(crate) fn cut_off(&self, disk: usize, file: &str, bytes: u64) {
        let len = self.len(disk, file) - bytes;
        self.disk(disk).truncate(&FileName::new(file), len).expect("the disk is well");
    }

    /// Puts a file there, and its directory.
    pub(crate) fn put(&self, disk: usize, file: &str, content: impl Into<Bytes>) {
        let files = [SmallFile { name: FileName::new(file), content: content.into() }];
        self.disk(disk).publish(&files).expect("the disk is well");
    }

    /// Bytes in a file.
    pub(crate) fn len(&self, disk: usize, file: &str) -> u64 {
        self.disk(disk).file(file).expect("the file is there").len() as u64
    }

    /// The first file of which the name has these words in it.
    pub(crate) fn file_with(&self, disk: usize, words: &str) -> Option<String> {
        self.disk(disk).image().into_keys().find(|file| file.contains(words))
    }
}
