//! A collector's log of JDK 9 and later.
//!
//! ```text
//! [0.512s][gc,start ] GC(3) Pause Young (Normal) (G1 Evacuation Pause)
//! [0.515s][gc,phases] GC(3)   Evacuate Collection Set: 2.6ms
//! [0.515s][gc,phases] GC(3)   Other: 0.1ms
//! [0.515s][gc       ] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 56M->3M(96M) 3.188ms
//! [0.515s][gc,cpu   ] GC(3) User=0.00s Sys=0.00s Real=0.00s
//! ```
//!
//! A concurrent cycle has one number for all its pauses, and young collections in between have
//! their own. ZGC logs its pauses among its phases.

use std::collections::VecDeque;

use super::super::figures::{digits, duration_ms, heap, named_ms};
use super::super::unified_log::DecoratedLine;
use super::{PauseStamp, StampedPause};
use crate::recording::Collection;

/// Collections that are under way at the same time, at most: a log of which the middle is missing
/// leaves some behind.
const MAX_OPEN: usize = 8;

/// Indentations that phases have, at most.
const MAX_DEPTH: usize = 8;

#[derive(Debug, Default)]
pub(super) struct UnifiedCollections {
    open: VecDeque<OpenPause>,
    /// A pause that its processor times may follow, and the collection's number.
    waiting: Option<(u64, StampedPause)>,
}

/// What is known of a pause before its own line.
#[derive(Debug, Default)]
struct OpenPause {
    number: u64,
    began: Option<PauseStamp>,
    phases: PausePhases,
}

impl UnifiedCollections {
    /// Takes a line of a collection, without `GC(n) `; gives the pause that is complete with it.
    pub(super) fn line(&mut self, number: u64, text: &str, line: &DecoratedLine<'_>) -> Option<StampedPause> {
        if let Some(name) = text.strip_prefix("User=") {
            let is_of_it = self.waiting.as_ref().is_some_and(|(waiting, _)| *waiting == number);
            let (_, mut done) = self.waiting.take_if(|_| is_of_it)?;
            let (user, sys) = (duration_ms(name)?.0, named_ms(text, "Sys=")?);
            done.pause.cpu_ms = Some(user + sys);
            done.pause.real_ms = named_ms(text, "Real=");
            return Some(done);
        }
        let told = text.trim_start();
        // A generation of ZGC: `Y: `, `O: `, `y: `.
        let told =
            told.split_once(": ").filter(|(before, _)| before.len() == 1).map_or(told, |(_, told)| told);
        if told.starts_with("Pause ") {
            let Some(pause) = pause(told) else {
                let open = self.open(number);
                (open.began, open.phases) = (Some(PauseStamp::Began(line.stamp)), PausePhases::default());
                return None;
            };
            let OpenPause { began, phases, .. } = std::mem::take(self.open(number));
            self.open.pop_back();
            let (phases_ms, other_ms) = phases.sums();
            let when = began.unwrap_or(PauseStamp::Ended(line.stamp));
            let done = StampedPause { when, pause: Collection { phases_ms, other_ms, ..pause } };
            return self.waiting.replace((number, done)).map(|(_, before)| before);
        }
        if line.may_have_tags("gc,phases") && !told.starts_with("Concurrent") {
            let depth = text.len() - text.trim_start().len();
            // Without tags, what is neither indented nor numbered may be anything.
            if let Some((name, ms)) = phase(told)
                && (line.tags.is_some() || depth > 0 || number_of(name).is_some())
            {
                self.open(number).phases.add(depth / 2, name, ms);
            }
        }
        None
    }

    pub(super) fn finish(&mut self) -> Option<StampedPause> {
        self.waiting.take().map(|(_, done)| done)
    }

    /// What is known of this collection's next pause; the last one in the list.
    fn open(&mut self, number: u64) -> &mut OpenPause {
        let known =
            self.open.iter().position(|open| open.number == number).and_then(|at| self.open.remove(at));
        if self.open.len() == MAX_OPEN {
            self.open.pop_front();
        }
        self.open.push_back(known.unwrap_or(OpenPause { number, ..OpenPause::default() }));
        let last = self.open.len() - 1;
        &mut self.open[last]
    }
}

/// `Pause Young (Normal) (G1 Evacuation Pause) 56M->3M(96M) 3.188ms`, and some have no heap. `None`
/// without a duration: then the pause begins.
fn pause(told: &str) -> Option<Collection> {
    let (before, duration) = told.trim_end().rsplit_once(' ')?;
    let (pause_ms, "") = duration_ms(duration)? else { return None };
    let (name, heap_bytes) = match before.rsplit_once(' ') {
        Some((name, last)) => match heap(last) {
            Some((sizes, "")) => (name, Some(sizes)),
            _ => (before, None),
        },
        None => (before, None),
    };
    Some(Collection { pause_ms, name: name.trim_end().to_owned(), heap_bytes, ..Collection::default() })
}

/// `Evacuate Collection Set: 2.6ms` or `Phase 1: Mark live objects 1.234ms`.
fn phase(told: &str) -> Option<(&str, f64)> {
    let (before, duration) = told.trim_end().rsplit_once(' ')?;
    let (ms, "") = duration_ms(duration)? else { return None };
    Some((before.trim_end_matches([' ', ':']), ms))
}

/// Phases of a pause. Those of the least indentation add up to it; deeper ones are parts of these.
#[derive(Debug, Default)]
struct PausePhases {
    by_depth: [Option<f64>; MAX_DEPTH],
    other: Option<f64>,
    /// Of `Phase N: …`, the number and the longest so far: at debug level its parts have the same
    /// number and come before it.
    numbered: Option<(u64, f64)>,
}

impl PausePhases {
    fn add(&mut self, depth: usize, name: &str, ms: f64) {
        if name == "Other" {
            self.other = Some(ms);
            return;
        }
        let Some(sum) = self.by_depth.get_mut(depth) else { return };
        let mut more = ms;
        if let Some(number) = number_of(name) {
            let before = self.numbered.filter(|(before, _)| *before == number).map_or(0.0, |(_, ms)| ms);
            more = (ms - before).max(0.0);
            self.numbered = Some((number, ms.max(before)));
        }
        *sum = Some(sum.unwrap_or(0.0) + more);
    }

    /// The sum of phases with a name, and `Other`.
    fn sums(&self) -> (Option<f64>, Option<f64>) {
        (self.by_depth.iter().flatten().next().copied(), self.other)
    }
}

/// The N of `Phase N: Mark live objects`.
fn number_of(name: &str) -> Option<u64> {
    let (number, rest) = digits(name.strip_prefix("Phase ")?)?;
    rest.starts_with(':').then_some(())?;
    number.parse().ok()
}
