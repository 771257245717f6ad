//! Logs as files: one, or one and those that it was rotated into.
//!
//! What always holds: files are opened for reading only, and only if they are files (a pipe would
//! hold its reader); they are read once through, a piece at a time, so that their size costs time
//! and no memory.

mod follow;
mod lines;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub use follow::{FollowFrom, Follower, Polled};
pub use lines::{LineCutter, MAX_LINE};

use super::stamps::LogStamp;
use super::unified_log::DecoratedLine;

/// Bytes that are read at a time.
const PIECE: usize = 64 << 10;

/// Where a log's first and last times are looked for: lines without any are few.
const SEARCHED: u64 = 256 << 10;

/// What reading took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinesRead {
    /// Bytes of all files.
    pub bytes: u64,
    /// Lines of all files.
    pub lines: u64,
    /// Lines that were longer than [`MAX_LINE`], and lost their ends.
    pub cut: u64,
}

/// Opens a file of another process.
fn open(path: &Path) -> io::Result<File> {
    // Without waiting for the other end of what is no file.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    Ok(file)
}

/// Gives every line of the files, one file after the other, each as long as it is when its turn
/// comes.
///
/// # Errors
/// When a file cannot be opened or read; lines before it were given.
pub fn read_lines(files: &[PathBuf], each: &mut dyn FnMut(&str)) -> io::Result<LinesRead> {
    let mut read = LinesRead::default();
    let mut piece = vec![0; PIECE];
    for path in files {
        let file = open(path)?;
        let length = file.metadata()?.len();
        let mut rest = file.take(length);
        let mut cutter = LineCutter::default();
        let mut counted = |line: &str| {
            read.lines += 1;
            each(line);
        };
        loop {
            match rest.read(&mut piece)? {
                0 => break,
                count => {
                    read.bytes += count as u64;
                    cutter.feed(&piece[..count], &mut counted);
                }
            }
        }
        cutter.finish(&mut counted);
        read.cut += cutter.cut();
    }
    Ok(read)
}

/// The file at `path` and those that it was rotated into, the oldest first: `gc.log.0` to
/// `gc.log.9`, and `gc.log.3.current` of JDK 8, which has no `gc.log` beside them.
///
/// # Errors
/// When its directory cannot be read, or none of them is there.
pub fn rotated(path: &Path) -> io::Result<Vec<PathBuf>> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let is_of_it = match entry.file_name().to_string_lossy().strip_prefix(name.as_str()) {
            Some("") => true,
            Some(rest) => is_rotation(rest),
            None => false,
        };
        if is_of_it && let Ok(file) = open(&entry.path()) {
            found.push((entry.path(), file.metadata()?.modified()?, first_stamp(&file)?));
        }
    }
    if found.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "there is no such log"));
    }
    in_order(&mut found);
    Ok(found.into_iter().map(|(path, ..)| path).collect())
}

/// `.0`, or `.3.current`
fn is_rotation(suffix: &str) -> bool {
    let number = suffix.strip_suffix(".current").unwrap_or(suffix).strip_prefix('.');
    number.is_some_and(|number| {
        (1..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// By the first stamps, of the best clock that all have; else by when they were written last.
fn in_order(found: &mut [(PathBuf, SystemTime, Option<LogStamp>)]) {
    let clocks: [fn(&LogStamp) -> Option<f64>; 3] = [
        |stamp| stamp.wall.map(|at| at.ms),
        |stamp| stamp.monotonic.map(|at| at.ms),
        |stamp| stamp.uptime.map(|at| at.ms),
    ];
    let by = |clock: fn(&LogStamp) -> Option<f64>| {
        move |(_, _, stamp): &(PathBuf, SystemTime, Option<LogStamp>)| stamp.as_ref().and_then(clock)
    };
    match clocks.into_iter().find(|clock| found.iter().all(|one| by(*clock)(one).is_some())) {
        Some(clock) => found
            .sort_by(|a, b| by(clock)(a).unwrap_or_default().total_cmp(&by(clock)(b).unwrap_or_default())),
        None => found.sort_by_key(|(_, modified, _)| *modified),
    }
}

/// The times of a log's first and last lines that have any: what it covers.
///
/// # Errors
/// When it cannot be opened or read.
pub fn span(path: &Path) -> io::Result<Option<(LogStamp, LogStamp)>> {
    let mut file = open(path)?;
    let Some(first) = first_stamp(&file)? else { return Ok(None) };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(SEARCHED)))?;
    let mut last = first;
    stamps(&file, &mut |stamp| last = stamp)?;
    Ok(Some((first, last)))
}

fn first_stamp(file: &File) -> io::Result<Option<LogStamp>> {
    let mut first = None;
    stamps(file, &mut |stamp| {
        first.get_or_insert(stamp);
    })?;
    Ok(first)
}

/// The stamps of the next lines, as far as they are looked for.
fn stamps(file: &File, each: &mut dyn FnMut(LogStamp)) -> io::Result<()> {
    let mut bytes = Vec::new();
    file.take(SEARCHED).read_to_end(&mut bytes)?;
    LineCutter::default().feed(&bytes, &mut |line| {
        let stamp = DecoratedLine::parse(line).stamp;
        if !stamp.is_empty() {
            each(stamp);
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(files: &[PathBuf]) -> Vec<String> {
        files.iter().map(|path| path.file_name().expect("a name").to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn rotated_files_come_in_the_order_of_their_first_stamps() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
        write("gc.log.0", "no stamp\n[5.000s][gc] a\n[5.100s][gc] b\n");
        write("gc.log", "[9.000s][gc] c\n[9.5");
        write("gc.log.1", "[1.000s][gc] d\n");
        write("gc.log.old", "[0.000s][gc] not of it\n");
        write("gc.log2", "[0.000s][gc] nor this\n");
        fs::create_dir(folder.path().join("gc.log.7")).expect("a folder");
        let path = folder.path().join("gc.log");
        let files = rotated(&path).expect("files");
        assert_eq!(names(&files), ["gc.log.1", "gc.log.0", "gc.log"]);
        let mut text = String::new();
        let read = read_lines(&files, &mut |line| text += &format!("{line}|")).expect("read");
        assert_eq!(text, "[1.000s][gc] d|no stamp|[5.000s][gc] a|[5.100s][gc] b|[9.000s][gc] c|[9.5|");
        assert_eq!((read.lines, read.bytes, read.cut), (6, text.len() as u64 - 1, 0));
        let (first, last) = span(&files[1]).expect("read").expect("stamps");
        assert_eq!((first.uptime.map(|at| at.ms), last.uptime.map(|at| at.ms)), (Some(5000.0), Some(5100.0)));
        rotated(&folder.path().join("none.log")).expect_err("no such log");
    }

    #[test]
    fn files_of_jdk_8_have_no_name_without_a_number() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, date) in [("gc.log.0.current", "2017-01-03"), ("gc.log.1", "2017-01-02")] {
            fs::write(folder.path().join(name), format!("{date}T00:00:00.000+0000: 1.0: x\n"))
                .expect("written");
        }
        let files = rotated(&folder.path().join("gc.log")).expect("files");
        assert_eq!(names(&files), ["gc.log.1", "gc.log.0.current"]);
    }

    #[test]
    fn without_stamps_files_come_in_the_order_of_their_last_writes() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, age) in [("gc.log", 1), ("gc.log.0", 3), ("gc.log.1", 2)] {
            let path = folder.path().join(name);
            fs::write(&path, "x\n").expect("written");
            let when = SystemTime::now() - std::time::Duration::from_secs(age);
            File::options().append(true).open(&path).expect("open").set_modified(when).expect("set");
        }
        let files = rotated(&folder.path().join("gc.log")).expect("files");
        assert_eq!(names(&files), ["gc.log.0", "gc.log.1", "gc.log"]);
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).expect("a pipe");
        open(&pipe).expect_err("not a file");
        open(Path::new("/dev/null")).expect_err("not a file");
    }
}
