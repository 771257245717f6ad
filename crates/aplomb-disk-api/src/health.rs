//! What the age of a disk's oldest command says about it.

use std::sync::Arc;
use std::time::Duration;

use aplomb_model::Instant;

/// How a disk is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskHealth {
    /// It answers.
    Prompt,
    /// It has not answered its oldest command for longer than our patience.
    Stalled {
        /// When that command was handed over.
        since: Instant,
    },
    /// It failed. Only an operator brings a disk back.
    Lost {
        /// The first error.
        why: Arc<str>,
    },
}

impl DiskHealth {
    /// The next state. `oldest` is when the longest-waiting command was handed to the disk.
    #[must_use]
    pub fn observe(self, oldest: Option<Instant>, now: Instant, patience: Duration) -> Self {
        match (self, oldest) {
            (Self::Lost { why }, _) => Self::Lost { why },
            (_, Some(since)) if now.since(since) > patience => Self::Stalled { since },
            (_, _) => Self::Prompt,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(500);

    #[test]
    fn a_disk_is_stalled_while_its_oldest_command_is_older_than_our_patience() {
        let asked = Instant::START;
        let late = asked + Duration::from_secs(1);
        let stalled = DiskHealth::Prompt.observe(Some(asked), late, PATIENCE);
        assert_eq!(stalled, DiskHealth::Stalled { since: asked });
        assert_eq!(stalled.observe(Some(late), late, PATIENCE), DiskHealth::Prompt);
    }

    #[test]
    fn a_lost_disk_stays_lost() {
        let lost = DiskHealth::Lost { why: "I/O error".into() };
        assert_eq!(lost.clone().observe(None, Instant::START, PATIENCE), lost);
    }
}
