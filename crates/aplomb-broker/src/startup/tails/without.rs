//! Log directories whose tail has nothing for them, and what a start says of that.

use std::path::{Path, PathBuf};
use std::time::Duration;

use aplomb_model::DirectoryId;

use super::record::TAIL_RECORD;
use crate::ports::Severity;

/// A log directory that gets nothing from the tail that it names.
pub(super) struct Without {
    pub(super) id: DirectoryId,
    pub(super) directory: PathBuf,
    pub(super) tail: PathBuf,
    pub(super) why: Why,
}

/// Why a tail has nothing for a log directory.
pub(super) enum Why {
    /// The file is not there, and the machine was not started anew since it was.
    Gone,
    /// Its name is another's, which has no share for the directory.
    Replaced,
    /// It went with the machine's memory.
    NewBoot,
    Blank,
    /// The directory does not say that the records in it are its latest.
    NotNamed,
    /// It is the tail of the directory that this one is a copy of.
    OfTheOriginal(Option<PathBuf>),
    /// Of a broker that is at work, so that this directory is a copy of that one's.
    InUse,
}

impl Without {
    /// What may be lost with it, if the directory was not closed cleanly.
    pub(super) fn line(&self, flush_interval: Duration) -> (Severity, String) {
        let Without { directory, tail, why, .. } = self;
        let (directory, tail) = (directory.display(), tail.display());
        let lost = format!(
            "what was acknowledged in its partitions in the last {} ms before the broker ended, or since its disk stopped answering, may be lost",
            flush_interval.as_millis()
        );
        let what = match why {
            Why::Gone => format!(
                "{tail} is gone, though the machine was not started anew: somebody deleted it (systemd-logind does so when a user logs out, unless RemoveIPC=no), or it was in the /dev/shm of a container that was killed"
            ),
            Why::Replaced => format!(
                "{tail} is gone, and its name is that of a tail which was made without the directory: while that was away, or before a start that was killed"
            ),
            Why::NewBoot => format!("{tail} went with the memory of the machine, which was started anew"),
            Why::Blank => {
                format!("{tail} is blank: it was overwritten, or a start was killed that had just made it")
            }
            Why::NotNamed => format!(
                "{tail} has records of it and is not read back, since the directory does not name it: its {TAIL_RECORD} was deleted, or it was closed by another process since"
            ),
            Why::OfTheOriginal(original) => format!(
                "{tail} is the tail of {}, which this directory is a copy of, and is left to that one",
                original.as_deref().unwrap_or(Path::new("another")).display()
            ),
            Why::InUse => {
                format!("{tail} is in use by another broker, whose directories these are a copy of")
            }
        };
        let text = format!("log directory {directory} was not closed cleanly, and {what}: {lost}");
        let severity = match why {
            Why::Gone | Why::Replaced | Why::Blank => Severity::Error,
            Why::NewBoot | Why::NotNamed | Why::OfTheOriginal(_) | Why::InUse => Severity::Warn,
        };
        (severity, text)
    }
}
