//! Names of a JVM's threads: the kernel keeps 15 bytes of each, and Apache Kafka's differ later
//! than that.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use aplomb_doctor::jvm::ThreadDump;

/// Whole names by the kernel's numbers, as `jcmd` tells them; it lies beside `java`. Nothing where
/// a Java is without its tools, or is none: names stay as the kernel has them.
pub(super) fn thread_names(java: &Path, pid: u32) -> HashMap<u32, String> {
    let said = Command::new(java.with_file_name("jcmd")).args([&pid.to_string(), "Thread.print"]).output();
    let said = said.map(|done| done.stdout).unwrap_or_default();
    ThreadDump::read(&String::from_utf8_lossy(&said)).names()
}

/// The `java` that a process runs; `None` if it runs something else or is gone.
pub(super) fn java_of(pid: u32) -> Option<PathBuf> {
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    (program.file_name()? == "java").then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_java_is_not_asked() {
        assert_eq!(java_of(std::process::id()), None);
        assert_eq!(thread_names(Path::new("/nowhere/java"), 1), HashMap::new());
    }
}
