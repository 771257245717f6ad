//! How many dirty pages the machine may have before a writer has to wait (`vm.dirty_bytes`).
//!
//! What always holds: what was there before is there again afterwards, in every ending. Writing 0
//! to the limit in bytes is refused, so a machine that had a ratio gets it back by writing the
//! ratio. One run at a time: a second would take the first one's limit for what was there before.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::{ConditionError, Undo};
use crate::slow_disk::wait_until;

const SETTINGS: &str = "/proc/sys/vm";
/// Whoever has locked it has changed the limit.
const LOCK: &str = "/run/aplomb-lab-dirty-limit.lock";
/// One that was killed a moment ago is putting things back.
const PATIENCE: Duration = Duration::from_secs(1);

/// A limit of ours; the old one comes back when it is dropped.
#[derive(Debug)]
pub(crate) struct DirtyLimit {
    _undo: Undo,
}

impl DirtyLimit {
    /// Lets writers go on until `limit` bytes are dirty, and begins to write at `background` bytes.
    ///
    /// # Errors
    /// Without root, or while another run has a limit of its own.
    pub(crate) fn set(limit: u64, background: u64) -> Result<Self, ConditionError> {
        let lock = claim(Path::new(LOCK), PATIENCE)?;
        let before = [before("dirty")?, before("dirty_background")?];
        let words: Vec<&str> =
            before.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]).collect();
        let undo = Undo::holding(lock, "echo \"$2\" > \"$1\"; echo \"$4\" > \"$3\"", &words)?;
        // The background first: it has to be below the other at any time.
        write("dirty_background_bytes", background)?;
        write("dirty_bytes", limit)?;
        Ok(Self { _undo: undo })
    }
}

/// Locks a file, which is made if it is not there.
fn claim(path: &Path, patience: Duration) -> Result<File, ConditionError> {
    let file = File::create(path).map_err(ConditionError::new(format!("making {}", path.display())))?;
    let locked = wait_until(patience, || match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => None,
        locked => Some(locked),
    });
    let other = "another run of the lab has changed it, and two at once would not put back what was there";
    locked
        .ok_or_else(|| ConditionError::new("the limit of dirty pages")(io::Error::other(other)))?
        .map_err(|why| ConditionError::new(format!("locking {}", path.display()))(why.into()))?;
    Ok(file)
}

/// The file to write, and what to write, to have the present limit again.
fn before(name: &str) -> Result<(String, String), ConditionError> {
    let read = |name: &str| {
        let path = format!("{SETTINGS}/{name}");
        let text = fs::read_to_string(&path).map_err(ConditionError::new(format!("reading {path}")))?;
        Ok((path, text.trim().to_owned()))
    };
    let bytes = read(&format!("{name}_bytes"))?;
    if bytes.1 == "0" { read(&format!("{name}_ratio")) } else { Ok(bytes) }
}

fn write(name: &str, value: u64) -> Result<(), ConditionError> {
    let path = format!("{SETTINGS}/{name}");
    fs::write(&path, format!("{value}\n")).map_err(ConditionError::new(format!("writing {value} to {path}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_is_refused_until_the_first_has_put_things_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, mark) = (folder.path().join("lock"), folder.path().join("a mark"));
        let claim = |patience| claim(&path, patience);
        let words = [mark.to_str().expect("text")];
        let first =
            Undo::holding(claim(Duration::ZERO).expect("nobody has it"), "echo back > \"$1\"", &words);
        let first = first.expect("a shell");
        let refused = claim(Duration::ZERO).expect_err("the first has it").to_string();
        assert!(refused.contains("another run"), "{refused}");
        drop(first);
        claim(Duration::ZERO).expect("the first is done");
        assert!(mark.exists());
    }
}
