//! The file that becomes the block device, as the kernel asks for it through FUSE.
//!
//! What always holds: what is asked is done to the image at once, and only the answer is held back;
//! requests are taken from the kernel while others wait, so that as many wait at the same time as
//! the kernel sends, and no faster than the device carries their bytes. Memory is taken for the
//! bytes of a read and for nothing else. Once it is let go nothing is held back or slept for.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, INodeNo, InitFlags, KernelConfig,
    LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyOpen, ReplyWrite, Request,
    Session, WriteFlags,
};

use super::super::behaviour::{Behaviour, Ticket};
use super::super::operation::Operation;
use super::super::place::Place;
use super::super::settings::DiskSettings;
use super::bandwidth::Bandwidth;
use super::image;

/// Requests that the kernel may leave with us at the same time. A loop device has 128, some of
/// which may come in pieces.
const MOST_AT_ONCE: u16 = 1024;

/// The kernel need not ask again what the file is like.
const FOR_EVER: Duration = Duration::from_secs(1 << 30);

/// Threads that take requests from the kernel. More than one, so that copying for one request does
/// not hold up another.
const TAKERS: usize = 2;

/// The device's state, and who waits for it to change.
#[derive(Debug)]
pub(super) struct DeviceState {
    behaviour: Mutex<Behaviour<Reply>>,
    changed: Condvar,
    /// Whether it is let go, and who sleeps until then for the device's bandwidth.
    let_go: Mutex<bool>,
    went: Condvar,
}

impl DeviceState {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            behaviour: Mutex::new(Behaviour::new()),
            changed: Condvar::new(),
            let_go: Mutex::new(false),
            went: Condvar::new(),
        })
    }

    /// Holds nothing back from now on: the disk is about to end.
    pub(super) fn let_go(&self) {
        self.with(Behaviour::let_go);
        *self.let_go.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.went.notify_all();
    }

    /// Sleeps for so long, or until it is let go.
    fn sleep(&self, time: Duration) {
        let let_go = self.let_go.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.went.wait_timeout_while(let_go, time, |let_go| !*let_go));
    }

    /// Looks at the state or changes it.
    pub(super) fn with<R>(&self, act: impl FnOnce(&mut Behaviour<Reply>, Instant) -> R) -> R {
        let result = act(&mut self.lock(), Instant::now());
        self.changed.notify_all();
        result
    }

    /// Gives each answer when its time has come, and does what the schedule says. Does not end.
    pub(super) fn answer_in_time(&self) -> ! {
        let mut behaviour = self.lock();
        loop {
            let now = Instant::now();
            if let Some(reply) = behaviour.due(now) {
                drop(behaviour);
                reply.give();
                behaviour = self.lock();
                continue;
            }
            behaviour = match behaviour.wake_at() {
                Some(at) => {
                    let wait = at.saturating_duration_since(now);
                    self.changed.wait_timeout(behaviour, wait).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(behaviour).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn arrive(&self, operation: Operation) -> Ticket {
        self.lock().arrive(operation, Instant::now())
    }

    fn answer(&self, ticket: Ticket, reply: Reply) {
        let mut behaviour = self.lock();
        match behaviour.answer(ticket, reply, Instant::now()) {
            Some(reply) => {
                drop(behaviour);
                reply.give();
            }
            None => self.changed.notify_all(),
        }
        // A real disk takes no processor from those whose bytes it moves; this one, that moves many
        // at once after it was thawed, lets them in between.
        thread::yield_now();
    }

    /// A thread that panicked has done so outside of the state machine, or in an assertion that has
    /// changed nothing.
    fn lock(&self) -> MutexGuard<'_, Behaviour<Reply>> {
        self.behaviour.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer to the kernel, complete.
#[derive(Debug)]
pub(super) enum Reply {
    Read(ReplyData, Result<Vec<u8>, Errno>),
    Written(ReplyWrite, Result<u32, Errno>),
    Done(ReplyEmpty, Result<(), Errno>),
}

impl Reply {
    fn give(self) {
        match self {
            Self::Read(reply, Ok(bytes)) => reply.data(&bytes),
            Self::Read(reply, Err(why)) => reply.error(why),
            Self::Written(reply, Ok(bytes)) => reply.written(bytes),
            Self::Written(reply, Err(why)) => reply.error(why),
            Self::Done(reply, Ok(())) => reply.ok(),
            Self::Done(reply, Err(why)) => reply.error(why),
        }
    }
}

/// A filesystem that is one file.
struct DeviceFile {
    shared: Arc<DeviceState>,
    image: File,
    size_bytes: u64,
    /// Without one: as much as the machine has processor time for.
    bandwidth: Option<Mutex<Bandwidth>>,
}

/// Mounts the file; the session is to be run.
pub(super) fn mount(
    place: &Place,
    image: File,
    settings: &DiskSettings,
    shared: Arc<DeviceState>,
) -> io::Result<Session<impl Filesystem>> {
    let mut config = Config::default();
    config.mount_options =
        vec![MountOption::FSName(format!("aplomb-lab-{}", place.name())), MountOption::NoAtime];
    config.n_threads = Some(TAKERS);
    config.clone_fd = true;
    let size_bytes = settings.size_bytes;
    let bandwidth = settings.bandwidth.map(|bytes| Mutex::new(Bandwidth::new(bytes)));
    Session::new(DeviceFile { shared, image, size_bytes, bandwidth }, place.device(), &config)
}

impl DeviceFile {
    /// Takes the time in which the device carries so many bytes.
    fn carry(&self, bytes: usize) {
        let Some(bandwidth) = &self.bandwidth else { return };
        let pause =
            bandwidth.lock().unwrap_or_else(PoisonError::into_inner).carry(bytes as u64, Instant::now());
        if !pause.is_zero() {
            self.shared.sleep(pause);
        }
    }

    /// What a request ends in: nothing is done for one that is to fail.
    fn outcome<T>(ticket: Ticket, act: impl FnOnce() -> io::Result<T>) -> Result<T, Errno> {
        if ticket.fails {
            return Err(Errno::EIO);
        }
        act().map_err(|why| {
            eprintln!("the image cannot be used: {why}");
            Errno::EIO
        })
    }
}

impl Filesystem for DeviceFile {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Without it the kernel waits for each piece of direct I/O before it sends the next.
        config
            .add_capabilities(InitFlags::FUSE_ASYNC_DIO)
            .map_err(|_| io::Error::other("this kernel's FUSE has no asynchronous direct I/O"))?;
        config
            .set_max_background(MOST_AT_ONCE)
            .map(drop)
            .map_err(|nearest| io::Error::other(format!("the kernel takes {nearest} requests at once")))
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let attributes = FileAttr {
            ino,
            size: self.size_bytes,
            blocks: self.size_bytes / 512,
            atime: SystemTime::UNIX_EPOCH,
            mtime: SystemTime::UNIX_EPOCH,
            ctime: SystemTime::UNIX_EPOCH,
            crtime: SystemTime::UNIX_EPOCH,
            kind: FileType::RegularFile,
            perm: 0o600,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        };
        reply.attr(&FOR_EVER, &attributes);
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // No page cache of this file, and no line of writers before it.
        let flags = FopenFlags::FOPEN_DIRECT_IO
            | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
            | FopenFlags::FOPEN_NOFLUSH;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let ticket = self.shared.arrive(Operation::Read);
        let outcome = Self::outcome(ticket, || {
            // As `read` does: what lies behind the end is not there.
            let left = self.size_bytes.saturating_sub(offset).min(u64::from(size));
            let mut bytes = vec![0; usize::try_from(left).expect("at most a u32")];
            self.image.read_exact_at(&mut bytes, offset)?;
            self.carry(bytes.len());
            Ok(bytes)
        });
        self.shared.answer(ticket, Reply::Read(reply, outcome));
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let ticket = self.shared.arrive(Operation::Write);
        let outcome = Self::outcome(ticket, || {
            self.image.write_all_at(data, offset)?;
            self.carry(data.len());
            u32::try_from(data.len()).map_err(io::Error::other)
        });
        self.shared.answer(ticket, Reply::Written(reply, outcome));
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let ticket = self.shared.arrive(Operation::Flush);
        // The disk ends with this process, so nothing has to survive a power cut: a flush takes the
        // time that it is told to take.
        let outcome = Self::outcome(ticket, || Ok(()));
        self.shared.answer(ticket, Reply::Done(reply, outcome));
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        _: i32,
        reply: ReplyEmpty,
    ) {
        // The loop device asks for holes and for zeros; a hole is both.
        let ticket = self.shared.arrive(Operation::Write);
        let outcome = Self::outcome(ticket, || image::discard(&self.image, offset, length));
        self.shared.answer(ticket, Reply::Done(reply, outcome));
    }
}
