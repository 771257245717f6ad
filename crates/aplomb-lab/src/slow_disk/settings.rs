//! What a disk's daemon is started for: a file in the disk's directory, written by who starts it,
//! and read by the daemon and by who clears up after one that was killed.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::place::Place;
use super::{Backing, Cache, Filesystem};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DiskSettings {
    pub(super) size_bytes: u64,
    pub(super) filesystem: Filesystem,
    pub(super) mount: PathBuf,
    /// Whether the mount point was made for the disk, and goes with it.
    pub(super) made_mount_point: bool,
    pub(super) backing: Backing,
    pub(super) cache: Cache,
    /// Bytes a second.
    pub(super) bandwidth: Option<u64>,
    pub(super) owner: Option<u32>,
}

impl DiskSettings {
    pub(super) fn write(&self, place: &Place) -> io::Result<()> {
        fs::write(place.settings(), serde_json::to_vec(self)?)
    }

    pub(super) fn read(place: &Place) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(place.settings())?)?)
    }
}
