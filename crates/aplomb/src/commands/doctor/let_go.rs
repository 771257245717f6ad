//! What a JVM records for `aplomb doctor watch --attach` ends with it, however that ends: a process
//! of its own waits for that and, if it has to, ends what is left.
//!
//! What always holds: it is in a process group of its own, where a Ctrl-C does not reach it, and
//! does nothing if the watch has ended as it should.

use std::error::Error;
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use aplomb_doctor::attach::let_go;
use clap::Args;

/// Which JVM, and the folder of what it records.
#[derive(Debug, Args)]
pub(super) struct LetGoArgs {
    #[arg(long)]
    pid: u32,
    #[arg(long)]
    folder: PathBuf,
}

/// Waits for the end of what started it, and ends what that has left.
pub(super) fn run(args: &LetGoArgs) -> Result<(), Box<dyn Error>> {
    io::stdin().read_to_end(&mut Vec::new())?;
    let_go(args.pid, &args.folder);
    Ok(())
}

/// The process that waits, until it is dropped.
#[derive(Debug)]
pub(super) struct Guard(Child);

impl Guard {
    /// Starts it.
    ///
    /// # Errors
    /// When this program cannot be started once more.
    pub(super) fn start(pid: u32, folder: &Path) -> io::Result<Self> {
        let child = Command::new("/proc/self/exe")
            .args(["doctor", "let-go", "--pid", &pid.to_string(), "--folder"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Self(child))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It has nothing to do, or nothing can be done about it.
        let _ = self.0.wait();
    }
}
