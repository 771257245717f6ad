//! How many dirty pages the machine may have before a writer has to wait (`vm.dirty_bytes`).
//!
//! What always holds: what was there before is there again afterwards, in every ending. Writing 0 to the limit in bytes is refused, so a machine
//! that had a ratio gets it back by writing the ratio.

use std::fs;

use super::{ConditionError, Undo};

const SETTINGS: &str = "/proc/sys/vm";

/// A limit of ours; the old one comes back when it is dropped.
#[derive(Debug)]
pub struct DirtyLimit {
    _undo: Undo,
}

impl DirtyLimit {
    /// Lets writers go on until `limit` bytes are dirty, and begins to write at `background` bytes.
    ///
    /// # Errors
    /// Without root.
    pub fn set(limit: u64, background: u64) -> Result<Self, ConditionError> {
        let before = [before("dirty")?, before("dirty_background")?];
        let words: Vec<&str> =
            before.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]).collect();
        let undo = Undo::by("echo \"$2\" > \"$1\"; echo \"$4\" > \"$3\"", &words)?;
        // The background first: it has to be below the other at any time.
        write("dirty_background_bytes", background)?;
        write("dirty_bytes", limit)?;
        Ok(Self { _undo: undo })
    }
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
