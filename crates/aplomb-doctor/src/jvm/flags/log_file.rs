//! Where a JVM writes a log: a name with patterns, and the file that it stands for.
//!
//! What always holds: the file that is found is in the directory that the option names.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A file that a JVM writes its log to, by its command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JvmLogFile {
    /// As the option has it, `/var/log/gc-%p-%t.log`.
    pub pattern: String,
    /// It has a line for each of the collector's pauses.
    pub has_pauses: bool,
    /// It has the phases of these.
    pub has_phases: bool,
    /// It has a line for each safepoint.
    pub has_safepoints: bool,
}

impl JvmLogFile {
    /// The file, of process `pid` (as the process itself knows it), which began in `directory`; its
    /// rotated ones are beside it, see [`super::super::files::rotated`]. Where the name depends on
    /// the time (`%t`) or the host (`%hn`), it is the one of that name that was written last;
    /// `None` if there is none.
    #[must_use]
    pub fn find(&self, directory: &Path, pid: u32) -> Option<PathBuf> {
        // JDK 8 put `pid` before the number.
        let jdk8_pid = self.pattern.replace("%p", &format!("pid{pid}"));
        let path = directory.join(self.pattern.replace("%p", &pid.to_string()));
        let name = path.file_name()?.to_str()?;
        if !name.contains('%') {
            let jdk8_path = directory.join(jdk8_pid);
            return Some(if !path.exists() && jdk8_path.exists() { jdk8_path } else { path });
        }
        let mut newest: Option<(SystemTime, PathBuf)> = None;
        for entry in std::fs::read_dir(path.parent()?).ok()?.flatten() {
            let Ok(modified) = entry.metadata().and_then(|metadata| metadata.modified()) else { continue };
            let is_newer = newest.as_ref().is_none_or(|(before, _)| *before < modified);
            if is_newer && is_named_so(name, &entry.file_name().to_string_lossy()) {
                newest = Some((modified, entry.path()));
            }
        }
        newest.map(|(_, path)| path)
    }
}

/// Whether a file's name is what a pattern stands for. `%t` is `2017-01-06_20-53-02`, and `%hn` any
/// text.
fn is_named_so(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('%') else { return pattern == name };
    let Some(rest) = name.strip_prefix(before) else { return false };
    if let Some(pattern) = after.strip_prefix('t') {
        let is_time = |time: &str| {
            time.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 | 13 | 16 => byte == b'-',
                10 => byte == b'_',
                _ => byte.is_ascii_digit(),
            })
        };
        return rest
            .split_at_checked(19)
            .is_some_and(|(time, rest)| is_time(time) && is_named_so(pattern, rest));
    }
    if let Some(pattern) = after.strip_prefix("hn") {
        return (1..=rest.len())
            .any(|length| rest.get(length..).is_some_and(|rest| is_named_so(pattern, rest)));
    }
    rest.strip_prefix('%').is_some_and(|rest| is_named_so(after, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(pattern: &str, files: &[&str]) -> Option<String> {
        let folder = tempfile::tempdir().expect("a folder");
        for (age, name) in files.iter().rev().enumerate() {
            let file = std::fs::File::create(folder.path().join(name)).expect("made");
            let age = std::time::Duration::from_secs(age as u64);
            file.set_modified(SystemTime::now() - age).expect("set");
        }
        let found =
            JvmLogFile { pattern: pattern.to_owned(), ..JvmLogFile::default() }.find(folder.path(), 4711)?;
        Some(found.strip_prefix(folder.path()).expect("in it").to_str().expect("text").to_owned())
    }

    #[test]
    fn a_name_without_time_is_one_whether_it_is_there_or_not() {
        assert_eq!(find("gc.log", &[]).as_deref(), Some("gc.log"));
        assert_eq!(find("gc-%p.log", &[]).as_deref(), Some("gc-4711.log"));
        assert_eq!(find("gc-%p.log", &["gc-pid4711.log"]).as_deref(), Some("gc-pid4711.log"));
        assert_eq!(find("logs/gc.log", &[]).as_deref(), Some("logs/gc.log"));
        let absolute = JvmLogFile { pattern: "/var/gc.log".into(), ..JvmLogFile::default() };
        assert_eq!(absolute.find(Path::new("/somewhere"), 1), Some("/var/gc.log".into()));
    }

    #[test]
    fn a_name_with_a_time_is_the_one_that_was_written_last() {
        let files = [
            "gc-4711-2017-01-06_20-53-02.log",
            "gc-4711-2018-01-06_20-53-02.log",
            "gc-4711-2018-01-06_20-53-xx.log",
            "gc-9-2019-01-06_20-53-02.log",
        ];
        assert_eq!(find("gc-%p-%t.log", &files).as_deref(), Some(files[1]));
        assert_eq!(find("gc-%t.log", &files), None);
        assert_eq!(
            find("%hn-%p.log", &["broker-1-4711.log", "b-12.log"]).as_deref(),
            Some("broker-1-4711.log")
        );
        assert_eq!(find("100%.log", &["100%.log"]).as_deref(), Some("100%.log"));
    }

    #[test]
    fn patterns_are_taken_literally_elsewhere() {
        assert!(is_named_so("a%hnb%hnc", "axbyc"));
        assert!(!is_named_so("a%hnb", "ab"));
        assert!(!is_named_so("%t", "é017-01-06_20-53-02"));
        assert!(is_named_so("", ""));
    }
}
