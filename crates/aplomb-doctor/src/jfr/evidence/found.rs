//! Waits as they are found, before they are a recording's.
//!
//! What always holds: times are in milliseconds since 1970; of more waits than are kept, the
//! longest stay, and how many were left out is counted.

use std::sync::Arc;

use crate::recording::{Call, Sighting, Wait, WaitClass};

use super::frames::WaitReason;

/// Waits that a recording gets of one file. Each may have forty frames.
const MOST_WAITS: usize = 100_000;

/// Frames of the program, the innermost first; waits in one place share them.
pub(super) type CallFrames = Arc<[Arc<str>]>;

/// A time for which a thread waited, with what its stack says of the reason.
#[derive(Clone, Debug)]
pub(super) struct FoundWait {
    pub(super) tid: u32,
    pub(super) from_ms: f64,
    pub(super) to_ms: f64,
    pub(super) sighting: Sighting,
    pub(super) doing: WaitReason,
    /// The file, where the event names it.
    pub(super) path: Option<Arc<str>>,
    pub(super) frames: CallFrames,
    pub(super) holders: Vec<u32>,
    pub(super) holders_known: bool,
}

impl FoundWait {
    pub(super) fn new(tid: u32, (from_ms, to_ms): (f64, f64), sighting: Sighting, doing: WaitReason) -> Self {
        Self {
            tid,
            from_ms,
            to_ms,
            sighting,
            doing,
            path: None,
            frames: CallFrames::default(),
            holders: Vec::new(),
            holders_known: false,
        }
    }

    pub(super) fn length_ms(&self) -> f64 {
        self.to_ms - self.from_ms
    }

    /// How long both lasted at the same time, in milliseconds.
    pub(super) fn overlap_ms(&self, other: &Self) -> f64 {
        self.to_ms.min(other.to_ms) - self.from_ms.max(other.from_ms)
    }

    /// The same on the clock of a recording that began at `began_unix_ms`.
    pub(super) fn recorded(self, began_unix_ms: f64) -> Wait {
        let call = self.doing.call().map(|name| Call {
            name: name.to_owned(),
            path: self.path.map(|path| path.as_ref().to_owned()),
            ..Call::default()
        });
        Wait {
            tid: self.tid,
            from_ms: micros(self.from_ms - began_unix_ms),
            to_ms: micros(self.to_ms - began_unix_ms),
            sighting: self.sighting,
            class: WaitClass::from(self.doing),
            call,
            kernel: Vec::new(),
            frames: self.frames.iter().map(|frame| frame.as_ref().to_owned()).collect(),
            holders: self.holders,
            holders_known: self.holders_known,
            woken_by: None,
        }
    }
}

/// To the microsecond: clocks of different sources agree no better.
pub(super) fn micros(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}

/// All waits of a file.
#[derive(Debug)]
pub(super) struct FoundWaits {
    shortest_ms: f64,
    most: usize,
    waits: Vec<FoundWait>,
    left_out: u64,
}

impl FoundWaits {
    /// Waits that took less than `shortest_ms` are not looked at.
    pub(super) fn new(shortest_ms: f64) -> Self {
        Self { shortest_ms, most: MOST_WAITS, waits: Vec::new(), left_out: 0 }
    }

    pub(super) fn add(&mut self, wait: FoundWait) {
        if wait.length_ms() < self.shortest_ms {
            return;
        }
        self.waits.push(wait);
        if self.waits.len() >= 2 * self.most {
            self.keep_longest();
        }
    }

    /// The waits in the order of their beginning, and how many shorter ones were left out.
    pub(super) fn finish(mut self) -> (Vec<FoundWait>, u64) {
        self.keep_longest();
        self.waits.sort_by(|a, b| a.from_ms.total_cmp(&b.from_ms).then_with(|| a.tid.cmp(&b.tid)));
        (self.waits, self.left_out)
    }

    fn keep_longest(&mut self) {
        if self.waits.len() > self.most {
            self.waits.sort_by(|a, b| b.length_ms().total_cmp(&a.length_ms()));
            self.left_out += (self.waits.len() - self.most) as u64;
            self.waits.truncate(self.most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(tid: u32, from: f64, to: f64) -> FoundWait {
        FoundWait::new(tid, (from, to), Sighting::Exact, WaitReason::Read)
    }

    #[test]
    fn the_longest_stay_in_the_order_of_their_beginning() {
        let mut found = FoundWaits { most: 2, ..FoundWaits::new(1.0) };
        for (tid, length) in [(1, 5.0), (2, 0.5), (3, 2.0), (4, 9.0), (5, 7.0), (6, 3.0)] {
            found.add(wait(tid, 100.0 - f64::from(tid), 100.0 - f64::from(tid) + length));
        }
        let (waits, left_out) = found.finish();
        assert_eq!(waits.iter().map(|wait| wait.tid).collect::<Vec<_>>(), [5, 4]);
        assert_eq!(left_out, 3, "what is too short does not count");
    }

    #[test]
    fn a_wait_moves_to_the_recordings_clock() {
        let mut wait = wait(7, 1_700_000_000_010.5, 1_700_000_000_030.25);
        wait.path = Some(Arc::from("/data/0.log"));
        wait.frames = Arc::from([Arc::from("a.B.c")]);
        let recorded = wait.recorded(1_700_000_000_000.0);
        assert_eq!((recorded.from_ms, recorded.to_ms), (10.5, 30.25));
        assert_eq!((recorded.class, &recorded.frames[..]), (WaitClass::Page, &["a.B.c".to_owned()][..]));
        let call = recorded.call.expect("a call");
        assert_eq!((call.name.as_str(), call.path.as_deref()), ("read", Some("/data/0.log")));
    }
}
