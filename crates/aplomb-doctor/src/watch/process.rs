//! What kind of broker a process is.
//!
//! What always holds: its command line is read once, by a thread that need not come back: reading
//! it takes a lock of the process's memory, and a thread of it that waits for a page may hold that.

use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::recording::{Kind, Process};

/// How long the command line may take.
const PATIENCE: Duration = Duration::from_millis(500);
/// What makes a process in a JVM an Apache Kafka.
const MAIN_CLASSES: [&str; 2] = ["kafka.Kafka", "kafka.docker.KafkaDockerWrapper"];

/// What the process is.
pub(super) fn of(pid: u32) -> Process {
    let words = command_line(pid);
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let program = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    described(pid, &program, &words)
}

/// The words of a process's command line; none where it does not come in time.
fn command_line(pid: u32) -> Vec<String> {
    let (sender, answer) = channel();
    let read = move || {
        let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        // Too late is as good as never.
        let _ = sender.send(bytes);
    };
    if thread::Builder::new().name("doctor-cmdline".to_owned()).spawn(read).is_err() {
        return Vec::new();
    }
    let bytes = answer.recv_timeout(PATIENCE).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    words.filter(|word| !word.is_empty()).collect()
}

fn described(pid: u32, program: &str, words: &[String]) -> Process {
    let is_kafka = words.iter().any(|word| MAIN_CLASSES.contains(&word.as_str()));
    let (kind, name) = match program {
        "java" if is_kafka => {
            let version = words.iter().find_map(|word| kafka_version(word));
            (Kind::Kafka, version.map_or("Apache Kafka".to_owned(), |v| format!("Apache Kafka {v}")))
        }
        "aplomb" => (Kind::Aplomb, "Aplomb".to_owned()),
        other => (Kind::Other, other.to_owned()),
    };
    let flags = words.iter().skip(1).take_while(|word| word.starts_with('-') && *word != "-cp");
    Process {
        pid: Some(pid),
        kind,
        name,
        java: (program == "java").then(|| words.first().cloned().unwrap_or_default()),
        jvm_flags: if program == "java" {
            flags.filter(|flag| matters(flag)).cloned().collect()
        } else {
            Vec::new()
        },
    }
}

/// Flags of the JVM that a cause or a remedy may turn on; others may hold passwords.
fn matters(flag: &str) -> bool {
    ["-Xm", "-Xlog", "-Xloggc", "-XX:", "-Dkafka.logs.dir="].iter().any(|start| flag.starts_with(start))
}

/// The version in the name of Apache Kafka's jar, in a class path.
fn kafka_version(word: &str) -> Option<String> {
    word.split(':').find_map(|path| {
        let name = Path::new(path).file_name()?.to_str()?.strip_prefix("kafka_2.")?;
        let version = name.split_once('-')?.1.strip_suffix(".jar")?;
        version.starts_with(|first: char| first.is_ascii_digit()).then(|| version.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_is_known_by_its_command_line() {
        let words = "java -Xmx1G -Dsecret=x -XX:+UseG1GC -cp /k/libs/kafka-clients-4.4.0.jar:/k/libs/kafka_2.13-4.4.0.jar kafka.Kafka server.properties";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let kafka = described(1, "java", &words);
        assert_eq!((kafka.kind, kafka.name.as_str()), (Kind::Kafka, "Apache Kafka 4.4.0"));
        assert_eq!(kafka.jvm_flags, ["-Xmx1G", "-XX:+UseG1GC"]);
        let aplomb = described(1, "aplomb", &["/usr/bin/aplomb".to_owned(), "serve".to_owned()]);
        assert_eq!((aplomb.kind, aplomb.jvm_flags.len()), (Kind::Aplomb, 0));
        assert_eq!(described(1, "java", &[]).kind, Kind::Other);
    }

    #[test]
    fn our_own_command_line_is_read() {
        assert!(!command_line(std::process::id()).is_empty());
        assert!(command_line(u32::MAX).is_empty());
    }
}
