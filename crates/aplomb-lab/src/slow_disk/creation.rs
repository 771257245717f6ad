//! How a disk comes to be: what can be checked is checked first, then its directory is made, then
//! its daemon does the rest.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::contact::unexpected;
use super::error::{DiskError, io_error};
use super::layers;
use super::options::{Backing, DiskOptions};
use super::place::Place;
use super::protocol::{self, Answer, Status};
use super::settings::DiskSettings;

/// Checks what can be checked before anything is touched.
pub(super) fn settings(options: &DiskOptions, place: &Place) -> Result<DiskSettings, DiskError> {
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
    Ok(DiskSettings {
        size_bytes: options.size_bytes,
        filesystem: options.filesystem,
        made_mount_point: !mount.exists(),
        mount,
        backing: options.backing.clone(),
        cache: options.cache,
        bandwidth: options.bandwidth,
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

/// Puts down where a daemon finds it what it is started for.
pub(super) fn write_down(place: &Place, settings: &DiskSettings) -> Result<(), DiskError> {
    place
        .make()
        .and_then(|()| settings.write(place))
        .map_err(io_error("the runtime directory cannot be used"))?;
    fs::create_dir_all(&settings.mount)
        .map_err(|why| DiskError::MountPoint { path: settings.mount.clone(), why: why.to_string() })
}

/// Starts the process that serves the disk, this program again, and waits until the disk is there.
pub(super) fn start_daemon(place: &Place, lock: File) -> Result<(Child, Status), DiskError> {
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
