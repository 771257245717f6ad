//! A broker's own log: the lines of it that say something about disks, recovery or quotas, and when
//! they were written.

/// What makes a line worth keeping.
const TELLING: [&str; 12] = [
    "Stopping serving logs in dir",
    "KafkaStorageException",
    "No space left on device",
    "Input/output error",
    "Read-only file system",
    "LogDirFailureChannel",
    "Recovering unflushed segment",
    "Skipping recovery",
    "offline",
    "throttl",
    "recovering",
    "OutOfMemoryError",
];
/// A longer line is cut.
const MOST: usize = 500;

/// The line as it is kept; `None` if it says nothing of that.
pub(crate) fn telling(line: &str) -> Option<String> {
    let tells = TELLING.iter().any(|text| line.contains(text));
    tells.then(|| line.chars().take(MOST).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_nothing_of_disks_is_left_out() {
        let line =
            "[2026-11-26 05:00:49,940] ERROR Stopping serving logs in dir /data (kafka.log.LogManager)";
        assert_eq!(telling(line).as_deref(), Some(line));
        assert_eq!(telling("[2026-11-26 05:00:49,940] INFO [KafkaServer id=1] started"), None);
        assert_eq!(telling(&format!("offline {}", "x".repeat(900))).map(|line| line.len()), Some(MOST));
    }
}
