//! What happened: a number that differs when anything does, and lines if they are to be read.

use std::collections::VecDeque;
use std::fmt::Write as _;

use aplomb_model::Instant;

/// Lines that are kept; the oldest go first.
const KEPT: usize = 200_000;

/// The record of a run.
#[derive(Debug)]
pub(crate) struct Trace {
    digest: u64,
    lines: Option<VecDeque<String>>,
    /// The last line, and how often it came again.
    last: (String, u32),
}

impl Trace {
    /// With `lines`, what is noted can be read afterwards.
    pub(crate) fn new(lines: bool) -> Self {
        Self { digest: 0xcbf2_9ce4_8422_2325, lines: lines.then(VecDeque::new), last: Default::default() }
    }

    /// Notes an event by its kind and its numbers.
    pub(crate) fn event(&mut self, now: Instant, kind: &str, numbers: &[u64]) {
        for byte in kind.bytes() {
            self.mix(u64::from(byte));
        }
        self.mix(now.as_nanos());
        for number in numbers {
            self.mix(*number);
        }
        if self.lines.is_some() {
            self.say(now, || {
                numbers.iter().fold(kind.to_owned(), |mut line, number| {
                    let _ = write!(line, " {number}");
                    line
                })
            });
        }
    }

    /// Adds a line for people.
    pub(crate) fn say(&mut self, now: Instant, text: impl FnOnce() -> String) {
        let Some(lines) = &mut self.lines else { return };
        let text = text();
        if self.last.0 == text && self.last.1 > 2 {
            self.last.1 += 1;
            return;
        }
        self.last = (text.clone(), if self.last.0 == text { self.last.1 + 1 } else { 0 });
        if lines.len() == KEPT {
            lines.pop_front();
        }
        let micros = now.as_nanos() / 1000;
        lines.push_back(format!("{:>4}.{:06} {}", micros / 1_000_000, micros % 1_000_000, text));
    }

    /// Whether lines are kept.
    pub(crate) fn is_read(&self) -> bool {
        self.lines.is_some()
    }

    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    pub(crate) fn into_lines(self) -> Vec<String> {
        self.lines.map(Vec::from).unwrap_or_default()
    }

    /// FNV-1a, a word at a time.
    fn mix(&mut self, word: u64) {
        self.digest = (self.digest ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }
}
