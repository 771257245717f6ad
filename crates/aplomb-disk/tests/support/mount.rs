//! File systems of a test's own, for those who may mount them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A mounted file system; gone with the value.
pub(crate) struct Mounted {
    path: PathBuf,
    device: Option<String>,
    frozen: bool,
    _directory: tempfile::TempDir,
}

impl Mounted {
    /// An empty tmpfs of so many bytes. `None`, with a word on the standard error, for those who
    /// may not.
    pub(crate) fn tmpfs(bytes: u64) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let path = directory.path().join("mounted");
        std::fs::create_dir(&path).expect("the disk is well");
        run("mount", &["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs", text(&path)])?;
        Some(Self { path, device: None, frozen: false, _directory: directory })
    }

    /// An ext4 of so many bytes on a loop device whose backing file lies, with holes, in `backing`.
    pub(crate) fn ext4(backing: &Path, bytes: u64) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let path = directory.path().join("mounted");
        std::fs::create_dir(&path).expect("the disk is well");
        let image = backing.join("image");
        let file = std::fs::File::create(&image).expect("the disk is well");
        file.set_len(bytes).expect("the disk is well");
        run("mkfs.ext4", &["-q", "-E", "lazy_itable_init=1,lazy_journal_init=1", text(&image)])?;
        let device = run("losetup", &["--find", "--show", text(&image)])?;
        let mounted = Self { path, device: Some(device), frozen: false, _directory: directory };
        let device = mounted.device.as_deref().expect("just set");
        run("mount", &["-t", "ext4", device, text(&mounted.path)])?;
        Some(mounted)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// No change of the file system gets through until the thaw.
    pub(crate) fn freeze(&mut self) {
        run("fsfreeze", &["--freeze", text(&self.path)]).expect("who may mount may freeze");
        self.frozen = true;
    }

    pub(crate) fn thaw(&mut self) {
        if std::mem::take(&mut self.frozen) {
            run("fsfreeze", &["--unfreeze", text(&self.path)]).expect("it was frozen");
        }
    }

    /// The file system takes its device for dead (`EXT4_IOC_SHUTDOWN`, at once): every change fails
    /// from now on.
    pub(crate) fn give_up(&self) -> Option<()> {
        let script = "import fcntl, os, struct, sys\n\
            fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587D, struct.pack('I', 2))";
        run("python3", &["-c", script, text(&self.path)]).map(drop)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.thaw();
        // Threads of an engine that was dropped may need a moment to let go of it.
        run("umount", &["--lazy", text(&self.path)]);
        if let Some(device) = &self.device {
            run("losetup", &["--detach", device]);
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary directories have plain names")
}

/// Runs a command and gives what it wrote. A failure is reported, and `None`.
fn run(program: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(program).args(arguments).output() {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        Ok(output) => {
            eprintln!("skipped: {program} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
            None
        }
        Err(error) => {
            eprintln!("skipped: {program} cannot be started: {error}");
            None
        }
    }
}
