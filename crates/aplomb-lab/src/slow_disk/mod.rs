//! A slow disk: a block device with a real filesystem on it, whose reads, writes and flushes can be
//! delayed, frozen and failed at will.
//!
//! From the top: the filesystem (ext4 or XFS, the kernel's own); a loop device with direct I/O; one
//! file of a FUSE filesystem; the [`daemon`], which keeps the bytes in memory and answers each
//! request when its time has come (`behaviour`). Every disk has a name, by which any process of
//! root reaches it.
//!
//! What always holds: a disk with an owner goes when the owner goes, killed or not; whatever a
//! killed daemon leaves is cleared by the next
//! [`SlowDisk::create`], [`destroy`] or [`list`]. Nobody waits for a disk who could be the one to answer for it.

mod behaviour;
mod change;
mod contact;
mod creation;
pub mod daemon;
mod delay;
mod error;
mod filler;
mod layers;
mod operation;
mod options;
mod place;
mod protocol;
mod service_times;
mod settings;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub use behaviour::AtOnce;
pub use change::{Change, Schedule, ScheduledChange};
pub use delay::Delay;
pub use error::DiskError;
pub use operation::{Operation, PerOperation};
pub use options::{Backing, Cache, DiskOptions, Filesystem};
pub use protocol::Status;
pub use service_times::ServiceTimes;

use contact::{PATIENCE, ask, status_of, unexpected};
use error::io_error;
use layers::LayerError;
pub(crate) use layers::wait_until;
use place::Place;
use protocol::{Answer, Request};

/// A daemon that does not listen is just beginning, or just ending; a killed one has its lock until
/// the kernel has ended its last thread.
const MOMENT: Duration = Duration::from_secs(1);

/// For how long it may take to take everything away: to write back what is dirty, and to wait for
/// those who still use it.
const PATIENCE_AT_THE_END: Duration = Duration::from_secs(90);

/// A slow disk. One that this process has made goes with this value; one that was found by its name
/// stays.
#[derive(Debug)]
pub struct SlowDisk {
    place: Place,
    mount: PathBuf,
    device: PathBuf,
    /// Of a disk that we have made: its daemon.
    daemon: Option<Child>,
    /// What [`Self::service_times`] has told already.
    told: Mutex<PerOperation<ServiceTimes>>,
}

impl SlowDisk {
    /// Makes a disk with a filesystem on it and mounts that: a second or less. Clears before what
    /// killed daemons have left.
    pub fn create(options: &DiskOptions) -> Result<Self, DiskError> {
        check_rights()?;
        let place = named(&options.name)?;
        // Another disk's that cannot be cleared is in nobody's way; `list` says what it is.
        drop(clear_leftovers());
        let lock = claim(&place)?.ok_or_else(|| DiskError::Exists(options.name.clone()))?;
        let settings = match creation::settings(options, &place) {
            Ok(settings) => settings,
            Err(why) => {
                place.remove().map_err(io_error("the lock cannot be removed"))?;
                return Err(why);
            }
        };
        let made =
            creation::write_down(&place, &settings).and_then(|()| creation::start_daemon(&place, lock));
        let (daemon, status) = match made {
            Ok(made) => made,
            Err(why) => {
                // The daemon has cleared up if it could; if it never ran or was killed, the lock is
                // free.
                clear_if_dead(&place)?;
                return Err(why);
            }
        };
        let told = Mutex::new(status.service_times.clone());
        Ok(Self { place, mount: status.mount, device: status.device, daemon: Some(daemon), told })
    }

    /// The disk of this name, whoever has made it.
    pub fn find(name: &str) -> Result<Self, DiskError> {
        check_rights()?;
        let place = named(name)?;
        let status = status_of(&place)?;
        let told = Mutex::new(status.service_times);
        Ok(Self { place, mount: status.mount, device: status.device, daemon: None, told })
    }

    /// What the disk is called on the command line.
    pub fn name(&self) -> &str {
        self.place.name()
    }

    /// Where its filesystem is mounted.
    pub fn mount_point(&self) -> &Path {
        &self.mount
    }

    /// The block device, `/dev/loop3`.
    pub fn block_device(&self) -> &Path {
        &self.device
    }

    /// Delays the requests of one kind that arrive from now on.
    pub fn set_delay(&self, operation: Operation, delay: Delay) -> Result<(), DiskError> {
        self.change(Change::Delay { operation, delay })
    }

    /// Answers nothing any more, until [`Self::thaw`].
    pub fn freeze(&self) -> Result<(), DiskError> {
        self.change(Change::Freeze)
    }

    /// Answers what was held back, and all that comes.
    pub fn thaw(&self) -> Result<(), DiskError> {
        self.change(Change::Thaw)
    }

    /// Lets the requests of these kinds end in EIO, and no others.
    pub fn fail(&self, operations: &[Operation]) -> Result<(), DiskError> {
        self.change(Change::Fail { operations: operations.to_vec() })
    }

    /// Lets no request fail any more. A filesystem that has given up stays so.
    pub fn heal(&self) -> Result<(), DiskError> {
        self.change(Change::Heal)
    }

    /// Makes a change.
    pub fn change(&self, change: Change) -> Result<(), DiskError> {
        self.done(&Request::Change(change))
    }

    /// Makes changes when their time has come, counted from now. An earlier schedule is forgotten.
    pub fn schedule(&self, schedule: Schedule) -> Result<(), DiskError> {
        self.done(&Request::Schedule(schedule))
    }

    /// Fills the filesystem with a file but for so many bytes, about a block more or less; returns
    /// the file's size in bytes. Files that are being appended to keep nothing that was set aside
    /// for them. It takes as long as the disk takes for what is written of that: some metadata.
    pub fn fill(&self, leave_bytes: u64) -> Result<u64, DiskError> {
        let fill =
            || filler::fill(&self.mount, leave_bytes).map_err(|why| DiskError::NotFilled(why.to_string()));
        let size = fill()?;
        if self.status()?.filesystem != Filesystem::Xfs {
            return Ok(size);
        }
        // Only now: a full filesystem sets next to nothing aside again.
        layers::give_back(&self.mount).map_err(|why| DiskError::NotFilled(why.to_string()))?;
        fill()
    }

    /// Removes that file.
    pub fn unfill(&self) -> Result<(), DiskError> {
        filler::unfill(&self.mount).map_err(io_error("the filler cannot be removed"))
    }

    /// What goes on in it.
    pub fn status(&self) -> Result<Status, DiskError> {
        status_of(&self.place)
    }

    /// How long requests took that were answered since this was last asked of this value, or since
    /// it was made.
    pub fn service_times(&self) -> Result<PerOperation<ServiceTimes>, DiskError> {
        let now = self.status()?.service_times;
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let since = PerOperation::from_fn(|operation| now[operation].since(&told[operation]));
        *told = now;
        Ok(since)
    }

    /// Lets the disk be: it does not go with this value any more, but still with its owner.
    pub fn leave(mut self) {
        self.daemon = None;
    }

    /// Takes the disk away: it lets go of all it holds back, is unmounted, and nothing is left of
    /// it. Says whether somebody still had files open there, who gets I/O errors from now on.
    pub fn destroy(mut self) -> Result<bool, DiskError> {
        self.end()
    }

    fn end(&mut self) -> Result<bool, DiskError> {
        let gone = destroy(self.place.name());
        if let Some(mut daemon) = self.daemon.take() {
            daemon.wait().map_err(io_error("the daemon's end cannot be waited for"))?;
        }
        gone
    }

    fn done(&self, request: &Request) -> Result<(), DiskError> {
        match ask(&self.place, request, PATIENCE)? {
            Answer::Done => Ok(()),
            other => Err(unexpected(other)),
        }
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        if self.daemon.is_some()
            && let Err(why) = self.end()
        {
            eprintln!("aplomb: {why}");
        }
    }
}

/// Takes a disk away, or what is left of it. Says whether somebody still had files open there, who
/// gets I/O errors from now on.
pub fn destroy(name: &str) -> Result<bool, DiskError> {
    check_rights()?;
    let place = named(name)?;
    if !place.directory().exists() {
        return Err(DiskError::Unknown(name.to_owned()));
    }
    let gone = || match ask(&place, &Request::Destroy, PATIENCE_AT_THE_END) {
        Ok(Answer::Destroyed { in_use }) => Some(Ok(in_use)),
        Ok(other) => Some(Err(unexpected(other))),
        // Killed; or just beginning, or just ending, and then it lives and there will be something
        // else to find.
        Err(DiskError::Gone(_) | DiskError::Unknown(_)) => clear_if_dead(&place).transpose(),
        Err(other) => Some(Err(other)),
    };
    let stuck = || DiskError::Stuck { name: name.to_owned(), why: "its daemon does not end".to_owned() };
    layers::wait_until(PATIENCE_AT_THE_END, gone).unwrap_or_else(|| Err(stuck()))
}

/// The disks there are. What killed daemons have left is cleared before.
pub fn list() -> Result<Vec<Status>, DiskError> {
    check_rights()?;
    clear_leftovers()?;
    let mut disks = Vec::new();
    for place in Place::all().map_err(io_error("the runtime directory cannot be read"))? {
        match status_of(&place) {
            Ok(status) => disks.push(status),
            Err(DiskError::Gone(_) | DiskError::Unknown(_)) => {
                layers::wait_until(MOMENT, || clear_if_dead(&place).transpose()).transpose()?;
            }
            Err(other) => return Err(other),
        }
    }
    Ok(disks)
}

fn check_rights() -> Result<(), DiskError> {
    if rustix::process::geteuid().is_root() { Ok(()) } else { Err(DiskError::NotRoot) }
}

fn named(name: &str) -> Result<Place, DiskError> {
    Place::of(name).ok_or_else(|| DiskError::Name(name.to_owned()))
}

fn claim(place: &Place) -> Result<Option<File>, DiskError> {
    place.claim().map_err(io_error("the runtime directory cannot be used"))
}

/// Clears what a daemon has left that was killed. Nothing if it lives; otherwise whether somebody
/// still had files open there.
fn clear_if_dead(place: &Place) -> Result<Option<bool>, DiskError> {
    let Some(_lock) = claim(place)? else { return Ok(None) };
    let stuck = |why: LayerError| DiskError::Stuck { name: place.name().to_owned(), why: why.to_string() };
    layers::clear(place).map(Some).map_err(stuck)
}

fn clear_leftovers() -> Result<(), DiskError> {
    for place in Place::all().map_err(io_error("the runtime directory cannot be read"))? {
        clear_if_dead(&place)?;
    }
    Ok(())
}
