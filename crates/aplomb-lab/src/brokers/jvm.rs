//! Names of a JVM's threads: the kernel keeps 15 bytes of each, and Apache Kafka's differ later
//! than that.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whole names by the kernel's numbers, as `jcmd` tells them; it lies beside `java`. Nothing where
/// a Java is without its tools, or is none: names stay as the kernel has them.
pub(super) fn thread_names(java: &Path, pid: u32) -> HashMap<u32, String> {
    let said = Command::new(java.with_file_name("jcmd")).args([&pid.to_string(), "Thread.print"]).output();
    let said = said.map(|done| done.stdout).unwrap_or_default();
    String::from_utf8_lossy(&said).lines().filter_map(thread).collect()
}

/// The `java` that a process runs; `None` if it runs something else or is gone.
pub(super) fn java_of(pid: u32) -> Option<PathBuf> {
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    (program.file_name()? == "java").then_some(program)
}

/// A thread in what `jcmd Thread.print` says: `"name" #12 daemon prio=5 … nid=0x1f3 …`, from JDK 21
/// on with a decimal number.
fn thread(line: &str) -> Option<(u32, String)> {
    let (name, rest) = line.strip_prefix('"')?.rsplit_once("\" ")?;
    let number = rest.split_once("nid=")?.1.split(' ').next()?;
    let number = match number.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => number.parse(),
    };
    Some((number.ok()?, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_found_in_what_either_generation_of_jcmd_prints() {
        let old =
            r#""VM Thread" os_prio=0 cpu=2.13ms elapsed=9.06s tid=0x00007fd1a4102 nid=0x1f3 runnable  "#;
        assert_eq!(thread(old), Some((0x1f3, "VM Thread".to_owned())));
        let new = r#""a "b" c" #37 [4711] daemon prio=5 os_prio=0 cpu=0.5ms tid=0x00007f nid=4711 waiting on condition"#;
        assert_eq!(thread(new), Some((4711, "a \"b\" c".to_owned())));
        assert_eq!(thread("\tat java.lang.Object.wait"), None);
    }

    #[test]
    fn what_is_no_java_is_not_asked() {
        assert_eq!(java_of(std::process::id()), None);
        assert_eq!(thread_names(Path::new("/nowhere/java"), 1), HashMap::new());
    }
}
