//! The layers between the daemon's file and the mounted filesystem, put up and taken down: FUSE
//! file, loop device, filesystem, mount.
//!
//! What always holds: everything that can wait for the disk is done by another program. A thread of
//! the daemon that waits in the kernel for the disk that it serves could not even be killed: the
//! kernel ends requests without an answer only when the last of its threads is gone. What there is
//! to take down is read from the kernel's own tables, so that it is found whoever died at which
//! moment.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::place::{Place, unless_missing};
use super::settings::DiskSettings;
use super::{Cache, Filesystem};

/// For how long a program may work.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long whoever still has a file open on the disk is given to close it, before the mount is
/// taken from under its feet.
const COURTESY: Duration = Duration::from_secs(2);

const TURN: Duration = Duration::from_millis(20);

/// Why a layer could not be put up or taken down.
#[derive(Debug, thiserror::Error)]
pub(super) enum LayerError {
    #[error("{program} is not installed; it is part of {package}")]
    NotInstalled { program: &'static str, package: &'static str },
    #[error("{program} failed: {said}")]
    Failed { program: &'static str, said: String },
    #[error("{program} has not ended after {PATIENCE:?}")]
    Hangs { program: &'static str },
    #[error("{}: {why}", path.display())]
    Io { path: PathBuf, why: io::Error },
}

fn package(program: &str) -> &'static str {
    match program {
        "mkfs.xfs" | "xfs_spaceman" => "xfsprogs",
        "mkfs.ext4" => "e2fsprogs",
        _ => "util-linux",
    }
}

/// The program that makes a filesystem of this kind.
pub(super) fn maker(filesystem: Filesystem) -> &'static str {
    match filesystem {
        Filesystem::Xfs => "mkfs.xfs",
        Filesystem::Ext4 => "mkfs.ext4",
    }
}

/// Runs a program and returns what it says.
fn run(program: &'static str, args: &[&Path]) -> Result<String, LayerError> {
    let failed = |why: io::Error| LayerError::Failed { program, said: why.to_string() };
    let search = std::env::var("PATH").unwrap_or_default();
    let mut child = Command::new(program)
        .args(args)
        // Where these programs are, and where not everybody's PATH goes.
        .env("PATH", format!("{search}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|why| match why.kind() {
            io::ErrorKind::NotFound => LayerError::NotInstalled { program, package: package(program) },
            _ => failed(why),
        })?;
    let ended = wait_until(PATIENCE, || child.try_wait().transpose());
    let Some(status) = ended.transpose().map_err(failed)? else {
        // It cannot be killed where it waits, but it should not begin anything else either.
        child.kill().map_err(failed)?;
        return Err(LayerError::Hangs { program });
    };
    let mut said = String::new();
    let read = |from: &mut dyn io::Read, said: &mut String| from.read_to_string(said).map(drop);
    match (status.success(), &mut child.stdout, &mut child.stderr) {
        (true, Some(out), _) => read(out, &mut said).map_err(failed)?,
        (false, _, Some(err)) => read(err, &mut said).map_err(failed)?,
        _ => {}
    }
    let said = said.trim();
    match (status.success(), said.lines().next()) {
        (true, _) => Ok(said.to_owned()),
        // Programs explain how they are used below what is wrong.
        (false, Some(first)) => Err(LayerError::Failed { program, said: first.to_owned() }),
        (false, None) => Err(LayerError::Failed { program, said: status.to_string() }),
    }
}

/// Asks until there is an answer or the time is over.
pub(crate) fn wait_until<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        let answer = ask();
        if answer.is_some() || began.elapsed() >= patience {
            return answer;
        }
        thread::sleep(TURN);
    }
}

/// Makes a loop device of the file, with direct I/O: without it requests would go one by one, and
/// through a page cache of their own.
pub(super) fn attach(device: &Path) -> Result<PathBuf, LayerError> {
    let flags = ["--find", "--show", "--direct-io=on"].map(Path::new);
    run("losetup", &[&flags[..], &[device]].concat()).map(PathBuf::from)
}

/// Says to the kernel whether the device has a cache that needs flushing.
pub(super) fn set_cache(device: &Path, cache: Cache) -> Result<(), LayerError> {
    let words = match cache {
        Cache::WriteBack => "write back",
        Cache::WriteThrough => "write through",
    };
    set(device, "write_cache", words)
}

/// Has the kernel read ahead as far as it does on other disks. Of loop devices it thinks better,
/// and then who reads one after the other waits twenty times more seldom than on a real one.
pub(super) fn set_read_ahead(device: &Path) -> Result<(), LayerError> {
    set(device, "read_ahead_kb", "128")
}

fn set(device: &Path, what: &str, value: &str) -> Result<(), LayerError> {
    let path = Path::new("/sys/block").join(device.file_name().unwrap_or_default()).join("queue").join(what);
    fs::write(&path, value).map_err(|why| LayerError::Io { path, why })
}

/// Makes a filesystem, whole: nothing is left for later, which would be work of the disk's in the
/// midst of a measurement.
pub(super) fn make(filesystem: Filesystem, device: &Path) -> Result<(), LayerError> {
    let options: &[&str] = match filesystem {
        Filesystem::Xfs => &["-q", "-f"],
        Filesystem::Ext4 => &["-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
    };
    let args: Vec<&Path> = options.iter().map(Path::new).chain([device]).collect();
    run(maker(filesystem), &args).map(drop)
}

pub(super) fn mount(device: &Path, at: &Path) -> Result<(), LayerError> {
    run("mount", &[device, at]).map(drop)
}

/// Has XFS take back what it has set aside behind the ends of files: as much again as a file has
/// that is being appended to, so that its writer would not notice for long that the disk is full.
pub(super) fn give_back(mount: &Path) -> Result<(), LayerError> {
    run("xfs_spaceman", &[Path::new("-c"), Path::new("prealloc -s"), mount]).map(drop)
}

/// Takes away everything there is of a disk. Says whether somebody still uses its filesystem, who
/// gets I/O errors when the daemon ends. Only for the holder of the place's lock, when nothing is
/// held back any more or no daemon lives.
pub(super) fn clear(place: &Place) -> Result<bool, LayerError> {
    let in_use = take_down(place)?;
    // Without settings nothing was mounted yet.
    if let Ok(settings) = DiskSettings::read(place)
        && settings.made_mount_point
    {
        let at = settings.mount;
        unless_missing(fs::remove_dir(&at)).map_err(|why| LayerError::Io { path: at, why })?;
    }
    place.remove().map_err(|why| LayerError::Io { path: place.directory(), why })?;
    Ok(in_use)
}

fn take_down(place: &Place) -> Result<bool, LayerError> {
    let file = place.device();
    let loops = loops_of(&file)?;
    for each in &loops {
        unmount_all(COURTESY, |mount| mount.device == each.number)?;
        match run("losetup", &[Path::new("--detach"), &each.path]) {
            // It went by itself with its last user.
            Err(_) if loops_of(&file)?.is_empty() => {}
            detached => drop(detached?),
        }
    }
    let released = || loops_of(&file).map(|left| left.is_empty().then_some(()));
    let in_use = wait_until(COURTESY, || released().transpose()).transpose()?.is_none();
    // In use by the loop device, which is in use itself: waiting again would be in vain.
    unmount_all(if in_use { Duration::ZERO } else { COURTESY }, |mount| mount.at == file)?;
    Ok(in_use)
}

/// Whether something is mounted there.
pub(super) fn is_mount_point(path: &Path) -> Result<bool, LayerError> {
    Ok(mounts()?.iter().any(|mount| mount.at == path))
}

/// Unmounts; after the time of courtesy also what is in use, which is then out of sight, and gone
/// with its last user.
fn unmount_all(courtesy: Duration, ours: impl Fn(&Mount) -> bool) -> Result<(), LayerError> {
    let began = Instant::now();
    // The last that was mounted covers the others.
    while let Some(mount) = mounts()?.into_iter().rfind(&ours) {
        match run("umount", &[&mount.at]) {
            Ok(_) => {}
            Err(hangs @ LayerError::Hangs { .. }) => return Err(hangs),
            Err(_) if began.elapsed() < courtesy => thread::sleep(TURN * 5),
            Err(_) => drop(run("umount", &[Path::new("--lazy"), &mount.at])?),
        }
    }
    Ok(())
}

/// A loop device: where it is, and its number as in the table of mounts.
struct Loop {
    path: PathBuf,
    number: String,
}

fn loops_of(file: &Path) -> Result<Vec<Loop>, LayerError> {
    let path = Path::new("/sys/block");
    let entries = fs::read_dir(path).map_err(|why| LayerError::Io { path: path.to_owned(), why })?;
    let mut loops = Vec::new();
    for entry in entries.flatten() {
        // Devices come and go while we look.
        let Ok(backing) = fs::read_to_string(entry.path().join("loop/backing_file")) else { continue };
        let Ok(number) = fs::read_to_string(entry.path().join("dev")) else { continue };
        if Path::new(backing.trim_end()) == file {
            loops.push(Loop {
                path: Path::new("/dev").join(entry.file_name()),
                number: number.trim_end().to_owned(),
            });
        }
    }
    Ok(loops)
}

#[derive(Debug, PartialEq, Eq)]
struct Mount {
    device: String,
    at: PathBuf,
}

fn mounts() -> Result<Vec<Mount>, LayerError> {
    let path = PathBuf::from("/proc/self/mountinfo");
    let table = fs::read_to_string(&path).map_err(|why| LayerError::Io { path, why })?;
    Ok(table.lines().filter_map(parse_mount).collect())
}

/// A line of mountinfo(5): id, parent, major:minor, root, mount point, ...
fn parse_mount(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ').skip(2);
    let device = fields.next()?.to_owned();
    let at = PathBuf::from(unescape(fields.nth(1)?));
    Some(Mount { device, at })
}

/// Spaces and such stand there as a backslash and three octal digits.
fn unescape(field: &str) -> String {
    let mut parts = field.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                text.push(char::from(code));
                text.push_str(&part[3..]);
            }
            None => text.push_str(part),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_table_of_mounts_is_understood() {
        let line = r"36 35 7:3 / /mnt/a\040b\134c rw,noatime shared:1 - xfs /dev/loop3 rw,attr2";
        let mount = Mount { device: "7:3".to_owned(), at: PathBuf::from(r"/mnt/a b\c") };
        assert_eq!(parse_mount(line), Some(mount));
        assert_eq!(parse_mount("36 35 7:3"), None);
    }

    #[test]
    fn the_kernels_table_of_mounts_has_a_root() {
        assert!(is_mount_point(Path::new("/")).expect("there is a table"));
    }

    #[test]
    fn a_program_that_fails_is_quoted_and_one_that_is_missing_is_named() {
        let failed = run("mount", &[Path::new("--no-such-option")]).expect_err("no such option");
        assert!(
            matches!(failed, LayerError::Failed { program: "mount", said } if said.contains("no-such-option"))
        );
        let missing = run("no-such-program", &[]).expect_err("no such program");
        assert!(matches!(missing, LayerError::NotInstalled { program: "no-such-program", .. }));
    }
}
