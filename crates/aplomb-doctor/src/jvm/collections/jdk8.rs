//! A collector's log of JDK 8 (`-XX:+PrintGCDetails` with dates, uptimes or both).
//!
//! ```text
//! 60.898: [GC pause (G1 Evacuation Pause) (young), 0.0234567 secs]
//!    [Parallel Time: 20.1 ms, GC Workers: 8]
//!       [GC Worker Start (ms): Min: 60898.1, Avg: 60898.2, Max: 60898.3, Diff: 0.2]
//!    [Other: 2.9 ms]
//!    [Eden: 24.0M(24.0M)->0.0B(13.0M) Survivors: 0.0B->3072.0K Heap: 24.0M(256.0M)->19.6M(256.0M)]
//!  [Times: user=0.08 sys=0.00, real=0.02 secs]
//! 61.1: [GC (X) [PSYoungGen: 6K->1K(7K)] 6K->2K(9K), 0.01 secs] [Times: user=0.05 sys=0.01, …]
//! 61.2: [GC (X) 61.2: [DefNew
//! Desired survivor size 1114112 bytes, new threshold 15 (max 15)
//! - age   1:     496784 bytes,     496784 total
//! : 6K->1K(7K), 0.009 secs] 6K->2K(9K), 0.01 secs] [Times: user=0.05 sys=0.01, …]
//! ```
//!
//! Stamped when a pause begins. There are no numbers: what follows belongs to the pause before.

use super::super::figures::{decimal, duration_ms, heap, size};
use super::super::unified_log::DecoratedLine;
use super::{PauseStamp, StampedPause};
use crate::recording::Collection;

/// The longest pause that goes on in other lines, in bytes: some hundred are usual.
const LONGEST: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Jdk8Collections {
    open: Option<Jdk8Pause>,
}

/// The pause that lines belong to.
#[derive(Debug)]
struct Jdk8Pause {
    when: PauseStamp,
    name: String,
    /// The text behind its name, while its bracket is not closed.
    unended: Option<String>,
    pause_ms: Option<f64>,
    heap_bytes: Option<(u64, u64, u64)>,
    phases_ms: Option<f64>,
    other_ms: Option<f64>,
    /// Processor time and the clock's, which come last.
    times: Option<(f64, f64)>,
}

impl Jdk8Collections {
    /// Takes a line; gives the pause that is complete with it, or to which it no longer belongs.
    pub(super) fn line(&mut self, line: &DecoratedLine<'_>) -> Option<StampedPause> {
        if let Some(opened) = Jdk8Pause::of(line) {
            return self.open.replace(opened).and_then(Jdk8Pause::done);
        }
        let open = self.open.as_mut()?;
        if open.times.is_none() {
            open.detail(line.text);
        }
        self.open.take_if(|open| open.times.is_some()).and_then(Jdk8Pause::done)
    }

    pub(super) fn finish(&mut self) -> Option<StampedPause> {
        self.open.take().and_then(Jdk8Pause::done)
    }
}

impl Jdk8Pause {
    /// The pause that begins with a line.
    fn of(line: &DecoratedLine<'_>) -> Option<Self> {
        let inner = line.text.strip_prefix('[')?;
        let is_pause = inner.starts_with("GC") || inner.starts_with("Full GC");
        (is_pause && !inner.starts_with("GC concurrent")).then_some(())?;
        let (name, rest) = name(inner);
        let mut pause = Self {
            when: PauseStamp::Began(line.stamp),
            name: name.to_owned(),
            unended: None,
            pause_ms: None,
            heap_bytes: None,
            phases_ms: None,
            other_ms: None,
            times: times(inner),
        };
        pause.read(rest.to_owned());
        Some(pause)
    }

    /// Takes the text behind its name.
    fn read(&mut self, text: String) {
        let (outer, is_whole) = outer(&text);
        self.heap_bytes = outer.split([' ', ',']).find_map(|word| Some(heap(word)?.0));
        if is_whole {
            self.pause_ms = outer.rsplit_once(", ").and_then(|(_, rest)| Some(duration_ms(rest)?.0));
        } else if text.len() < LONGEST {
            self.unended = Some(text);
        }
    }

    /// A line that follows.
    fn detail(&mut self, text: &str) {
        if text.starts_with(['[', ':'])
            && let Some(mut whole) = self.unended.take()
        {
            // The ages of survivors came in between.
            whole.push_str(text);
            self.read(whole);
            self.times = self.times.or_else(|| times(text));
        } else if let Some(duration) = text.strip_prefix(", ") {
            // What the collector's policy had to say came in between.
            self.pause_ms = self.pause_ms.or(duration_ms(duration).map(|(ms, _)| ms));
        } else if text.starts_with(" [Times:") {
            self.times = times(text);
        } else if let Some(detail) = text.strip_prefix("   [") {
            // Deeper ones are parts of these.
            if let Some(sizes) = detail.split_once("Heap: ").and_then(|(_, sizes)| g1_heap(sizes)) {
                self.heap_bytes = Some(sizes);
            } else if let Some((name, value)) = detail.split_once(": ")
                && let Some((ms, rest)) = duration_ms(value)
                && rest.starts_with([',', ']'])
            {
                let sum = if name == "Other" { &mut self.other_ms } else { &mut self.phases_ms };
                *sum = Some(sum.unwrap_or(0.0) + ms);
            }
        }
    }

    /// `None` for a line that was cut, and says no duration.
    fn done(self) -> Option<StampedPause> {
        let pause = Collection {
            pause_ms: self.pause_ms?,
            name: self.name,
            phases_ms: self.phases_ms,
            other_ms: self.other_ms,
            cpu_ms: self.times.map(|(cpu, _)| cpu),
            real_ms: self.times.map(|(_, real)| real),
            heap_bytes: self.heap_bytes,
            ..Collection::default()
        };
        Some(StampedPause { when: self.when, pause })
    }
}

/// `GC pause (G1 Evacuation Pause) (young)`, words and parentheses, and the rest.
fn name(inner: &str) -> (&str, &str) {
    let mut end = 0;
    loop {
        let rest = &inner[end..];
        let from = end + (rest.len() - rest.trim_start_matches(' ').len());
        let length = match inner[from..].chars().next() {
            Some('(') => parenthesis(&inner[from..]),
            Some(c) if c.is_ascii_alphabetic() => {
                inner[from..].find(|c: char| !c.is_ascii_alphabetic()).or(Some(inner.len() - from))
            }
            _ => None,
        };
        match length {
            Some(length) => end = from + length,
            None => return inner.split_at(end),
        }
    }
}

/// How long the parenthesis is that a text begins with; causes have parentheses of their own.
fn parenthesis(text: &str) -> Option<usize> {
    let mut depth = 0u32;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(at + 1),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// What stands outside of inner brackets, up to the end of the outermost, and whether it ends.
fn outer(text: &str) -> (String, bool) {
    let mut depth = 1u32;
    let mut outer = String::new();
    for c in text.chars() {
        match c {
            '[' => depth += 1,
            ']' if depth == 1 => return (outer, true),
            ']' => depth -= 1,
            _ if depth == 1 => outer.push(c),
            _ => {}
        }
    }
    (outer, false)
}

/// `24.0M(256.0M)->19.6M(256.0M)`
fn g1_heap(text: &str) -> Option<(u64, u64, u64)> {
    let used = |text| {
        let (used, rest) = size(text)?;
        let (whole, rest) = size(rest.strip_prefix('(')?)?;
        Some((used, whole, rest.strip_prefix(')')?))
    };
    let (before, _, rest) = used(text)?;
    let (after, whole, _) = used(rest.strip_prefix("->")?)?;
    Some((before, after, whole))
}

/// `[Times: user=0.08 sys=0.00, real=0.02 secs]`: processor time, and the clock's, in milliseconds.
fn times(text: &str) -> Option<(f64, f64)> {
    let (_, times) = text.split_once("[Times: ")?;
    let ms = |name| Some(decimal(times.split_once(name)?.1)?.0 * 1e3);
    Some((ms("user=")? + ms("sys=")?, ms("real=")?))
}
