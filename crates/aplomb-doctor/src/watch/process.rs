//! What kind of broker a process is, and where it and its JVM write.
//!
//! What always holds: its command line is read once, by a thread that need not come back: reading
//! it takes a lock of the process's memory, and a thread of it that waits for a page may hold that.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::jvm::JvmFlags;
use crate::recording::{Kind, Process};

/// How long the command line may take.
const PATIENCE: Duration = Duration::from_millis(500);
/// Where a JVM maps its counters, a folder for each user.
const PERF_DATA: &str = "hsperfdata_";

/// What is known of a process by its command line.
#[derive(Debug)]
pub(super) struct BrokerProcess {
    pub(super) process: Process,
    /// Logs of the JVM, as this process sees them.
    pub(super) jvm_logs: Vec<PathBuf>,
    /// The JVM's counters, likewise.
    pub(super) counters: Option<PathBuf>,
}

/// What the process is.
pub(super) fn of(pid: u32) -> BrokerProcess {
    let command_line = command_line(pid);
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let program = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let flags = (program == "java").then(|| JvmFlags::read(&command_line));
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let inside = pid_inside(pid);
    let directory = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    let seen = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
    let logs = flags.iter().flat_map(|flags| &flags.logs);
    let jvm_logs =
        logs.filter_map(|log| log.find(&seen(&directory), inside).map(|path| absolute(&path, &root)));
    BrokerProcess {
        jvm_logs: jvm_logs.collect(),
        counters: flags.as_ref().filter(|flags| flags.has_perf_data).and_then(|_| counters(&root, inside)),
        process: described(pid, &program, flags.as_ref(), &command_line),
    }
}

/// A path that was absolute to the process, seen from here. One that was relative to its directory
/// already is.
fn absolute(path: &Path, root: &Path) -> PathBuf {
    if path.starts_with(root) { path.to_owned() } else { root.join(path.strip_prefix("/").unwrap_or(path)) }
}

/// The bytes of a process's command line; none where they do not come in time.
fn command_line(pid: u32) -> Vec<u8> {
    let (sender, answer) = channel();
    let read = move || {
        let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        // Too late is as good as never.
        let _ = sender.send(bytes);
    };
    if thread::Builder::new().name("doctor-cmdline".to_owned()).spawn(read).is_err() {
        return Vec::new();
    }
    answer.recv_timeout(PATIENCE).unwrap_or_default()
}

/// The number that the process has for itself: in a container another.
pub(crate) fn pid_inside(pid: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    line.and_then(|line| line.split_ascii_whitespace().last()?.parse().ok()).unwrap_or(pid)
}

/// Whether the process sees the files that this one sees: in a container it does not.
pub(crate) fn shares_our_files(pid: u32) -> bool {
    let view = |of: &str| {
        let link = |name: &str| std::fs::read_link(format!("/proc/{of}/{name}")).ok();
        Some((link("ns/mnt")?, link("root")?))
    };
    let theirs = view(&pid.to_string());
    theirs.is_some() && theirs == view("self")
}

fn counters(root: &Path, pid: u32) -> Option<PathBuf> {
    let entries = std::fs::read_dir(root.join("tmp")).ok()?;
    let folders =
        entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(PERF_DATA));
    let mut files = folders.map(|folder| folder.path().join(pid.to_string()));
    files.find(|file| file.exists())
}

fn described(pid: u32, program: &str, flags: Option<&JvmFlags>, command_line: &[u8]) -> Process {
    let is_kafka = flags.is_some_and(|flags| flags.kafka.is_some());
    let (kind, name) = match program {
        "java" if is_kafka => {
            let version = kafka_version(&String::from_utf8_lossy(command_line));
            (Kind::Kafka, version.map_or("Apache Kafka".to_owned(), |v| format!("Apache Kafka {v}")))
        }
        "aplomb" => (Kind::Aplomb, "Aplomb".to_owned()),
        other => (Kind::Other, other.to_owned()),
    };
    let java = || {
        let word = command_line.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(word).into_owned()
    };
    Process {
        pid: Some(pid),
        kind,
        name,
        java: flags.is_some().then(java),
        jvm_flags: flags.map(|flags| flags.given.clone()).unwrap_or_default(),
    }
}

/// The version in the name of Apache Kafka's jar, in a class path.
fn kafka_version(text: &str) -> Option<String> {
    text.split([':', '\0', '/']).find_map(|name| {
        let version = name.strip_prefix("kafka_2.")?.split_once('-')?.1.strip_suffix(".jar")?;
        version.starts_with(|first: char| first.is_ascii_digit()).then(|| version.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zeroed(words: &str) -> Vec<u8> {
        words.replace(' ', "\0").into_bytes()
    }

    #[test]
    fn a_broker_is_known_by_its_command_line() {
        let line = zeroed(
            "java -Xmx1G -Dsecret=x -XX:+UseG1GC -cp /k/libs/kafka-clients-4.4.0.jar:/k/libs/kafka_2.13-4.4.0.jar \
             kafka.Kafka server.properties",
        );
        let kafka = described(1, "java", Some(&JvmFlags::read(&line)), &line);
        assert_eq!((kafka.kind, kafka.name.as_str()), (Kind::Kafka, "Apache Kafka 4.4.0"));
        assert_eq!(kafka.jvm_flags, ["-Xmx1G", "-XX:+UseG1GC"]);
        assert_eq!(kafka.java.as_deref(), Some("java"));
        let aplomb = described(1, "aplomb", None, &zeroed("/usr/bin/aplomb serve"));
        assert_eq!((aplomb.kind, aplomb.jvm_flags.len(), aplomb.java), (Kind::Aplomb, 0, None));
        let other = zeroed("java -jar x.jar");
        assert_eq!(described(1, "java", Some(&JvmFlags::read(&other)), &other).kind, Kind::Other);
    }

    #[test]
    fn our_own_command_line_is_read() {
        assert!(!command_line(std::process::id()).is_empty());
        assert!(command_line(u32::MAX).is_empty());
        assert_eq!(pid_inside(std::process::id()), std::process::id());
        assert!(of(std::process::id()).jvm_logs.is_empty());
        assert!(shares_our_files(std::process::id()) && !shares_our_files(u32::MAX));
    }
}
