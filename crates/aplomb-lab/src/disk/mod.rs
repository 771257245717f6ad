//! A slow disk: a block device with a real filesystem on it, whose reads, writes and flushes can be delayed, frozen and failed at will.
//!
//! From the top: the filesystem (ext4 or XFS, the kernel's own); a loop device with direct I/O; one file of a FUSE filesystem; the [`daemon`],
//! which keeps the bytes in memory and answers each request when its time has come (`behaviour`). Every disk has a name, by which any process
//! of root reaches it.
//!
//! What always holds: a disk with an owner goes when the owner goes, killed or not; whatever a killed daemon leaves is cleared by the next
//! [`Disk::create`], [`destroy`] or [`list`]. Nobody waits for a disk who could be the one to answer for it.

mod behaviour;
mod change;
pub mod daemon;
mod delay;
mod filler;
mod layers;
mod operation;
mod place;
mod protocol;
mod service_times;
mod settings;

use std::fs::{self, File};
use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};

pub use behaviour::AtOnce;
pub use change::{Change, Schedule, Step};
pub use delay::Delay;
pub use operation::{Operation, PerOperation};
pub use protocol::Status;
pub use service_times::ServiceTimes;

use layers::LayerError;
use place::Place;
use protocol::{Answer, Request};
use settings::Settings;

/// For how long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A daemon that does not listen is just beginning, or just ending; a killed one has its lock until the kernel has ended its last thread.
const MOMENT: Duration = Duration::from_secs(1);

/// For how long it may take to take everything away: to write back what is dirty, and to wait for those who still use it.
const PATIENCE_AT_THE_END: Duration = Duration::from_secs(90);

/// What kind of disk.
#[derive(Clone, Debug)]
pub struct Options {
    /// Letters, digits, `-` and `_`, at most 40.
    pub name: String,
    /// XFS needs 300 MiB at least.
    pub size_bytes: u64,
    /// What is made on it.
    pub filesystem: Filesystem,
    /// Where it is mounted: an empty directory, which is made if it is not there, and then goes with the disk. Without one it is a directory
    /// below `/run/aplomb-lab`.
    pub mount: Option<PathBuf>,
    /// Where the bytes are.
    pub backing: Backing,
    /// Whether the kernel sends flushes.
    pub cache: Cache,
    /// The process with which the disk goes; without one it stays until it is destroyed.
    pub owner: Option<u32>,
}

impl Default for Options {
    /// XFS of 2 GiB in memory, with a name that no other disk has, which goes with this process.
    fn default() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let process = std::process::id();
        Self {
            name: format!("lab-{process}-{}", MADE.fetch_add(1, Ordering::Relaxed)),
            size_bytes: 2 << 30,
            filesystem: Filesystem::Xfs,
            mount: None,
            backing: Backing::Memory,
            cache: Cache::WriteBack,
            owner: Some(process),
        }
    }
}

/// A filesystem of the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filesystem {
    /// XFS.
    Xfs,
    /// ext4.
    Ext4,
}

impl Filesystem {
    /// `xfs` or `ext4`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Xfs => "xfs",
            Self::Ext4 => "ext4",
        }
    }
}

/// Where a disk's bytes are. Either takes room for what is written only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backing {
    /// In memory: no other disk is felt, and nothing counts as dirty twice.
    Memory,
    /// In a file without a name in this directory, for disks that are larger than memory. How slow that is comes on top.
    Directory(PathBuf),
}

/// What the device says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// It has a cache that the kernel has to flush. A loop device takes nothing else while it flushes, so that a delay of flushes is one of
    /// reads and writes beside them too.
    WriteBack,
    /// What is written is safe: no flushes come. A sync takes as long as its writes, and requests stay independent.
    WriteThrough,
}

/// Why something could not be done with a disk.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// Mounting is for root, and so is everything here.
    #[error("a slow disk needs root: it is a filesystem that is mounted, on a loop device")]
    NotRoot,
    /// The kernel has no FUSE, or this container is not given it.
    #[error("a slow disk needs /dev/fuse: {0}")]
    NoFuse(io::Error),
    /// The name is not one.
    #[error("{0:?} cannot be a disk's name: letters, digits, - and _ are expected, at most 40")]
    Name(String),
    /// There is one of this name.
    #[error("there is a disk {0} already")]
    Exists(String),
    /// There is none of this name.
    #[error("there is no disk {0}")]
    Unknown(String),
    /// The daemon is gone, and the disk with it.
    #[error("the daemon of disk {0} is gone: it was killed, or has just been told to end")]
    Gone(String),
    /// Nothing can be mounted there.
    #[error("nothing can be mounted at {}: {why}", path.display())]
    MountPoint {
        /// Where.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// Its bytes are to be in memory, and there is less of it.
    #[error(
        "a disk of {size} MiB in memory needs a machine with more than {memory} MiB; its bytes can be in a directory too"
    )]
    TooLarge {
        /// Of the disk, in MiB.
        size: u64,
        /// Of the machine, in MiB.
        memory: u64,
    },
    /// The daemon says why it could not do it.
    #[error("{0}")]
    Refused(String),
    /// The disk cannot be taken away.
    #[error("what disk {name} has left cannot be cleared: {why}")]
    Stuck {
        /// Its name.
        name: String,
        /// Why not.
        why: String,
    },
    /// A file of the disk's, or one on it.
    #[error("{doing}: {why}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// What came of it.
        why: io::Error,
    },
}

fn io_error(doing: &'static str) -> impl Fn(io::Error) -> DiskError {
    move |why| DiskError::Io { doing, why }
}

/// A slow disk. One that this process has made goes with this value; one that was found by its name stays.
#[derive(Debug)]
pub struct Disk {
    place: Place,
    mount: PathBuf,
    device: PathBuf,
    /// Of a disk that we have made: its daemon.
    daemon: Option<Child>,
    /// What [`Self::service_times`] has told already.
    told: Mutex<PerOperation<ServiceTimes>>,
}

impl Disk {
    /// Makes a disk with a filesystem on it and mounts that: a second or less. Clears before what killed daemons have left.
    pub fn create(options: &Options) -> Result<Self, DiskError> {
        check_rights()?;
        let place = named(&options.name)?;
        // Another disk's that cannot be cleared is in nobody's way; `list` says what it is.
        drop(clear_leftovers());
        let lock = claim(&place)?.ok_or_else(|| DiskError::Exists(options.name.clone()))?;
        let settings = match settings(options, &place) {
            Ok(settings) => settings,
            Err(why) => {
                place.remove().map_err(io_error("the lock cannot be removed"))?;
                return Err(why);
            }
        };
        let made = write_down(&place, &settings).and_then(|()| start_daemon(&place, lock));
        let (daemon, status) = match made {
            Ok(made) => made,
            Err(why) => {
                // The daemon has cleared up if it could; if it never ran or was killed, the lock is free.
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

    /// Its name.
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

    /// Fills the filesystem with a file but for so many bytes, about a block more or less; returns the file's size in bytes. It takes as long as
    /// the disk takes for what is written of that: some metadata.
    pub fn fill(&self, leave_bytes: u64) -> Result<u64, DiskError> {
        filler::fill(&self.mount, leave_bytes).map_err(io_error("the filesystem cannot be filled"))
    }

    /// Removes that file.
    pub fn unfill(&self) -> Result<(), DiskError> {
        filler::unfill(&self.mount).map_err(io_error("the filler cannot be removed"))
    }

    /// What goes on in it.
    pub fn status(&self) -> Result<Status, DiskError> {
        status_of(&self.place)
    }

    /// How long requests took that were answered since this was last asked of this value, or since it was made.
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

    /// Takes the disk away: it lets go of all it holds back, is unmounted, and nothing is left of it. Says whether somebody still had files open
    /// there, who gets I/O errors from now on.
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

impl Drop for Disk {
    fn drop(&mut self) {
        if self.daemon.is_some()
            && let Err(why) = self.end()
        {
            eprintln!("aplomb: {why}");
        }
    }
}

/// Takes a disk away, or what is left of it. Says whether somebody still had files open there, who gets I/O errors from now on.
pub fn destroy(name: &str) -> Result<bool, DiskError> {
    check_rights()?;
    let place = named(name)?;
    if !place.directory().exists() {
        return Err(DiskError::Unknown(name.to_owned()));
    }
    let gone = || match ask(&place, &Request::Destroy, PATIENCE_AT_THE_END) {
        Ok(Answer::Destroyed { in_use }) => Some(Ok(in_use)),
        Ok(other) => Some(Err(unexpected(other))),
        // Killed; or just beginning, or just ending, and then it lives and there will be something else to find.
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

/// Checks what can be checked before anything is touched.
fn settings(options: &Options, place: &Place) -> Result<Settings, DiskError> {
    File::options().read(true).write(true).open("/dev/fuse").map_err(DiskError::NoFuse)?;
    if options.backing == Backing::Memory {
        let machine = rustix::system::sysinfo();
        let memory = machine.totalram * u64::from(machine.mem_unit);
        if options.size_bytes >= memory {
            return Err(DiskError::TooLarge { size: options.size_bytes >> 20, memory: memory >> 20 });
        }
    }
    let mount = match &options.mount {
        None => place.mount(),
        Some(path) => check_mount_point(path)?,
    };
    Ok(Settings {
        size_bytes: options.size_bytes,
        filesystem: options.filesystem,
        made_mount_point: !mount.exists(),
        mount,
        backing: options.backing.clone(),
        cache: options.cache,
        owner: options.owner,
    })
}

/// An empty directory in which nothing is mounted, or a name that is free; absolute either way.
fn check_mount_point(path: &Path) -> Result<PathBuf, DiskError> {
    let refuse = |why: &str| DiskError::MountPoint { path: path.to_owned(), why: why.to_owned() };
    let absolute = std::path::absolute(path).map_err(|why| refuse(&why.to_string()))?;
    match fs::read_dir(&absolute).map(|mut entries| entries.next().is_none()) {
        Ok(true) => {}
        Ok(false) => return Err(refuse("it is not empty")),
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(absolute),
        Err(why) => return Err(refuse(&why.to_string())),
    }
    let real = fs::canonicalize(&absolute).map_err(|why| refuse(&why.to_string()))?;
    match layers::is_mount_point(&real) {
        Ok(false) => Ok(real),
        Ok(true) => Err(refuse("something is mounted there already")),
        Err(why) => Err(refuse(&why.to_string())),
    }
}

fn write_down(place: &Place, settings: &Settings) -> Result<(), DiskError> {
    place
        .make()
        .and_then(|()| settings.write(place))
        .map_err(io_error("the runtime directory cannot be used"))?;
    fs::create_dir_all(&settings.mount)
        .map_err(|why| DiskError::MountPoint { path: settings.mount.clone(), why: why.to_string() })
}

/// Starts the process that serves the disk, this program again, and waits until the disk is there.
fn start_daemon(place: &Place, lock: File) -> Result<(Child, Status), DiskError> {
    let failed = io_error("the disk's daemon cannot be started");
    let log = File::create(place.log()).map_err(&failed)?;
    let mut daemon = Command::new("/proc/self/exe")
        .args(["lab", "disk", "daemon", place.name()])
        .current_dir("/")
        .stdin(Stdio::from(lock))
        .stdout(Stdio::piped())
        .stderr(Stdio::from(log))
        // Ctrl-C is for the one who typed it; the daemon ends when its owner has.
        .process_group(0)
        .spawn()
        .map_err(&failed)?;
    let answer = match &mut daemon.stdout {
        Some(stdout) => protocol::hear(stdout),
        None => Err(io::ErrorKind::BrokenPipe.into()),
    };
    let why = match answer {
        Ok(Answer::Status(status)) => return Ok((daemon, *status)),
        Ok(other) => unexpected(other),
        Err(_) => {
            let log = fs::read_to_string(place.log()).unwrap_or_default();
            DiskError::Refused(format!(
                "the disk's daemon has ended before the disk was there: {}",
                log.trim()
            ))
        }
    };
    daemon.wait().map_err(&failed)?;
    Err(why)
}

fn status_of(place: &Place) -> Result<Status, DiskError> {
    match ask(place, &Request::Status, PATIENCE)? {
        Answer::Status(status) => Ok(*status),
        other => Err(unexpected(other)),
    }
}

fn unexpected(answer: Answer) -> DiskError {
    match answer {
        Answer::Failed(why) => DiskError::Refused(why),
        other => DiskError::Refused(format!("the daemon answers something else: {other:?}")),
    }
}

fn ask(place: &Place, request: &Request, patience: Duration) -> Result<Answer, DiskError> {
    let gone = || DiskError::Gone(place.name().to_owned());
    let mut stream = UnixStream::connect(place.socket()).map_err(|why| match why.kind() {
        io::ErrorKind::NotFound if !place.directory().exists() => DiskError::Unknown(place.name().to_owned()),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => gone(),
        _ => DiskError::Io { doing: "the disk's daemon cannot be reached", why },
    })?;
    let failed = io_error("the disk's daemon does not answer");
    stream.set_read_timeout(Some(patience)).map_err(&failed)?;
    stream.set_write_timeout(Some(patience)).map_err(&failed)?;
    // Taken before, since a process that is gone cannot be waited for.
    let daemon = rustix::net::sockopt::socket_peercred(&stream)
        .and_then(|peer| pidfd_open(peer.pid, PidfdFlags::empty()))
        .map_err(|_| gone())?;
    let told = protocol::say(&mut stream, request);
    let answer = told.and_then(|()| protocol::hear(&mut stream)).map_err(|why| match why.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => gone(),
        _ => failed(why),
    })?;
    if matches!(answer, Answer::Destroyed { .. }) {
        daemon::await_end(&daemon);
    }
    Ok(answer)
}

fn claim(place: &Place) -> Result<Option<File>, DiskError> {
    place.claim().map_err(io_error("the runtime directory cannot be used"))
}

/// Clears what a daemon has left that was killed. Nothing if it lives; otherwise whether somebody still had files open there.
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
