//! Something that is put back whatever happens.
//!
//! What always holds: a shell of its own waits for the end of a pipe whose other end the lab alone
//! holds. When the lab lets go, or is killed, the pipe ends and the shell does what it was given at
//! the start. It is in a process group of its own, where a Ctrl-C does not reach it.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use super::ConditionError;

/// A shell that waits for the lab's end, or for being dropped.
#[derive(Debug)]
pub(crate) struct Undo {
    shell: Child,
}

impl Undo {
    /// Has `script` run by `sh` at the end; `arguments` are its `$1`, `$2` and so on.
    ///
    /// # Errors
    /// When there is no shell.
    pub(crate) fn by(script: &str, arguments: &[&str]) -> Result<Self, ConditionError> {
        Self::start(Stdio::null(), script, arguments)
    }

    /// The same; a lock on this file lasts until the script has ended, whoever has died by then.
    ///
    /// # Errors
    /// When there is no shell.
    pub(crate) fn holding(lock: File, script: &str, arguments: &[&str]) -> Result<Self, ConditionError> {
        Self::start(lock.into(), script, arguments)
    }

    fn start(output: Stdio, script: &str, arguments: &[&str]) -> Result<Self, ConditionError> {
        let script = format!("cat >/dev/null; {script}");
        let shell = Command::new("sh")
            .args(["-c", &script, "aplomb-lab-undo"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(ConditionError::new("starting a shell that puts things back"))?;
        Ok(Self { shell })
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // A shell that is gone has done what it could.
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_put_back_at_the_end_and_not_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let mark = folder.path().join("a mark");
        let undo = Undo::by("echo back > \"$1\"", &[mark.to_str().expect("text")]).expect("a shell");
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert!(!mark.exists());
        drop(undo);
        assert_eq!(std::fs::read_to_string(&mark).expect("it was written"), "back\n");
    }
}
