//! A coordinator's log is read from its start to its end, a piece a turn, so that other clients of
//! the shard are served in between.

use std::time::Duration;

use aplomb_coordinator::runtime::{Machine, Runtime};
use aplomb_log::Reader;
use aplomb_model::{ErrorCode, Instant, Offset};

use crate::calls::{ReadCall, ReadRecords, ReadRefusal};

/// Bytes of a piece: what they stand for is replayed in a millisecond or less.
const PIECE: u32 = 64 << 10;

/// A coordinator waits for its log for as long as that takes: nothing of it can be had before. It
/// waits for the disk alone, and not for memory that clients have.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// How far a log has been read.
#[derive(Debug)]
pub(super) struct Loading {
    next: Offset,
    is_asked: bool,
}

/// What a piece of a log has brought.
#[derive(Debug)]
pub(super) enum Loaded {
    /// Another one is to be asked for.
    Part,
    /// All, up to this end.
    Whole(Offset),
    /// It cannot be read, or not be understood.
    Failed(String),
}

impl Loading {
    pub(super) fn new(log_start: Offset) -> Self {
        Self { next: log_start, is_asked: false }
    }

    /// Whether a piece is to be asked for.
    pub(super) fn wants_more(&self) -> bool {
        !self.is_asked
    }

    /// The read of the next piece. The one before has come.
    pub(super) fn ask(&mut self) -> ReadCall {
        assert!(!self.is_asked, "one piece is asked for at a time");
        self.is_asked = true;
        ReadCall {
            from: self.next.to_wire(),
            current_epoch: None,
            last_fetched_epoch: None,
            max_bytes: PIECE,
            committed_only: false,
            deadline: Instant::START + FOR_EVER,
            reader: Reader::Own,
        }
    }

    /// Replays the piece that was asked for.
    pub(super) fn take<M: Machine>(
        &mut self,
        piece: Result<ReadRecords, ReadRefusal>,
        runtime: &mut Runtime<M>,
    ) -> Loaded {
        assert!(self.is_asked, "a piece is asked for");
        self.is_asked = false;
        let piece = match piece {
            Ok(piece) => piece,
            // The log start has moved on: deleted records need not be known.
            Err(ReadRefusal::Error { error: ErrorCode::OffsetOutOfRange, log_start: Some(start) })
                if self.next < start =>
            {
                self.next = start;
                return Loaded::Part;
            }
            Err(refusal) => return Loaded::Failed(format!("{refusal:?}")),
        };
        let slices: Vec<&[u8]> = piece.records.iter().map(AsRef::as_ref).collect();
        match runtime.load(&slices) {
            Err(error) => Loaded::Failed(error.to_string()),
            Ok(Some(next)) if next < piece.visible_end => {
                self.next = next;
                Loaded::Part
            }
            // The end, or records before it that compaction has taken.
            Ok(_) => Loaded::Whole(piece.visible_end),
        }
    }
}
