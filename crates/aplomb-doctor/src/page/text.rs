//! The diagnosis for a terminal: causes first, then what was looked at and what could not be seen.
//!
//! What always holds: no line is longer than a hundred columns, unless one word is; no line has a
//! control character, whatever a thread or a file is called; it is readable without colours.

use super::facts;
use super::words;
use crate::diagnosis::{Cause, Diagnosis};
use crate::recording::Recording;
use crate::units;

/// The most columns of a line.
const COLUMNS: usize = 100;
/// Where the texts begin: behind the words that say what they are.
const INDENT: usize = 12;

/// The diagnosis as lines of at most a hundred columns, with a line feed at its end.
#[must_use]
pub fn text(recording: &Recording, diagnosis: &Diagnosis) -> String {
    let mut lines = Lines(Vec::new());
    lines.wrapped("", &facts::subject(recording));
    lines.wrapped("", &facts::sentence(&facts::headline(recording, diagnosis)));
    if diagnosis.causes.is_empty() && !diagnosis.slow.is_empty() {
        lines.wrapped("", "No cause explains it.");
    }
    for (at, cause) in diagnosis.causes.iter().enumerate() {
        lines.cause(at, cause);
    }
    let unexplained = facts::covered(&diagnosis.unexplained);
    let shares: Vec<f64> = diagnosis.causes.iter().map(|cause| cause.share).collect();
    if !shares.is_sorted_by(|one, next| one >= next) {
        lines.empty();
        lines.wrapped("order", words::ORDER);
    }
    if unexplained > 0.0 && !diagnosis.causes.is_empty() {
        lines.empty();
        let text = format!("{} of it has no explanation.", units::time(unexplained));
        lines.wrapped("rest", &text);
    }
    lines.list("also seen", &diagnosis.observations);
    lines.list("collect", &diagnosis.next);
    lines.list("looked at", &facts::looked_at(recording));
    lines.list("not seen", &recording.sight.missing);
    let mut clocks = facts::clocks(recording);
    clocks.extend(facts::cost(recording));
    lines.list("clocks", &clocks);
    lines.0.iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

struct Lines(Vec<String>);

impl Lines {
    fn cause(&mut self, at: usize, cause: &Cause) {
        self.empty();
        let confidence = words::confidence(cause.confidence);
        let share = units::share(cause.share);
        self.wrapped("", &format!("{}. {}: {confidence}, explains {share}", at + 1, cause.name));
        self.wrapped("what", &cause.summary);
        self.items("for", &cause.evidence, "nothing");
        self.items("against", &cause.against, "nothing of what was looked at");
        if !cause.mechanism.is_empty() {
            self.wrapped("how", &cause.mechanism);
        }
        let remedy: Vec<String> = cause
            .remedy
            .iter()
            .map(|remedy| match remedy.cost.as_str() {
                "" => facts::sentence(&remedy.change),
                cost => format!("{} Cost: {}", facts::sentence(&remedy.change), facts::sentence(cost)),
            })
            .collect();
        if !remedy.is_empty() {
            self.items("change", &remedy, "");
        }
    }

    /// Items, if there are any, with an empty line before them.
    fn list(&mut self, word: &str, texts: &[String]) {
        if !texts.is_empty() {
            self.empty();
            self.items(word, texts, "");
        }
    }

    fn items(&mut self, word: &str, texts: &[String], nothing: &str) {
        if texts.is_empty() {
            return self.wrapped(word, nothing);
        }
        for (at, text) in texts.iter().enumerate() {
            self.filled(if at == 0 { word } else { "" }, INDENT, "- ", text);
        }
    }

    fn empty(&mut self) {
        self.0.push(String::new());
    }

    /// A text; with a word before it the text is indented, else it begins at the left.
    fn wrapped(&mut self, word: &str, text: &str) {
        self.filled(word, if word.is_empty() { 0 } else { INDENT }, "", text);
    }

    fn filled(&mut self, word: &str, indent: usize, bullet: &str, text: &str) {
        let text = printable(text);
        let hanging = " ".repeat(indent + bullet.chars().count());
        let room = COLUMNS - hanging.len();
        // The word stands two columns in, under its cause.
        let word = if word.is_empty() { String::new() } else { format!("  {word}") };
        let mut line = format!("{word:indent$}{bullet}");
        let mut used = 0;
        for word in text.split_whitespace() {
            let long = word.chars().count();
            if used > 0 && used + 1 + long > room {
                self.0.push(std::mem::replace(&mut line, hanging.clone()));
                used = 0;
            }
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += long;
        }
        self.0.push(line);
    }
}

/// Nothing that moves a terminal's cursor or changes its colours.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !c.is_whitespace() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Confidence, Remedy, Span};
    use crate::recording::{Clock, Kind, Process, Sight};

    fn sample() -> (Recording, Diagnosis) {
        let recording = Recording {
            clock: Clock {
                began_unix_ms: 1_795_676_400_000.0,
                length_ms: 60_000.0,
                uncertainty_ms: 1.0,
                ..Clock::default()
            },
            process: Process {
                pid: Some(4_242),
                kind: Kind::Kafka,
                name: "Apache Kafka 4.4.0".to_owned(),
                ..Process::default()
            },
            sight: Sight {
                sources: vec!["/proc".to_owned()],
                missing: vec!["Kernel stacks: only root may read them.".to_owned()],
                look_interval_ms: Some(10.0),
                looks: 6_000,
                ..Sight::default()
            },
            ..Recording::default()
        };
        let cause = Cause {
            name: "inode-lock".to_owned(),
            confidence: Confidence::Proved,
            share: 0.94,
            summary: "Appends to orders-0 wait for the inode that a lagging reader holds".to_owned(),
            evidence: vec!["\u{1b}[31m".to_owned() + &"eight handlers waited for one file ".repeat(6)],
            against: vec![],
            mechanism: "A read that misses the cache keeps the lock.".to_owned(),
            remedy: vec![Remedy {
                change: "segment.bytes=128 MiB".to_owned(),
                cost: "more files".to_owned(),
            }],
            threads: vec![],
            when: vec![],
        };
        let slow = vec![Span { from_ms: 0.0, to_ms: 21_400.0 }];
        (recording, Diagnosis { causes: vec![cause], slow, ..Diagnosis::default() })
    }

    #[test]
    fn a_cause_comes_first_with_what_speaks_for_and_against_it() {
        let (recording, diagnosis) = sample();
        let text = text(&recording, &diagnosis);
        let expected = "\
Apache Kafka 4.4.0, pid 4242 · 60 s from 2026-11-26 07:00:00 UTC
Requests stood still for 21 s of 60 s.

1. inode-lock: proved, explains 94 %
  what      Appends to orders-0 wait for the inode that a lagging reader holds
";
        assert!(text.starts_with(expected), "{text}");
        let rest = "\
  against   nothing of what was looked at
  how       A read that misses the cache keeps the lock.
  change    - segment.bytes=128 MiB. Cost: more files.

  looked at - /proc
            - 6,000 looks at threads, one every 10 ms
            - 0 threads, of which 0 waited 0 times

  not seen  - Kernel stacks: only root may read them.

  clocks    - Times of different sources may be 1 ms apart.
            - What was seen by looks has its beginning and its end within 10 ms.
";
        assert!(text.ends_with(rest), "{text}");
    }

    #[test]
    fn where_the_first_cause_has_the_smaller_share_its_place_is_explained() {
        let (recording, mut diagnosis) = sample();
        let mut second = diagnosis.causes[0].clone();
        diagnosis.causes.push(Cause { share: 0.5, ..second.clone() });
        assert!(!text(&recording, &diagnosis).contains("the first cause is"));
        second.share = 0.97;
        diagnosis.causes[1] = second;
        let said = text(&recording, &diagnosis);
        assert!(said.contains(&format!("  order{:5}the first cause is the one for which", "")), "{said}");
    }

    #[test]
    fn lines_end_at_column_100_and_move_no_cursor() {
        let (recording, diagnosis) = sample();
        let text = text(&recording, &diagnosis);
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(text.lines().any(|line| line.chars().count() > 90), "and are filled: {text}");
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn where_nothing_was_slow_that_is_what_it_says() {
        let (recording, _) = sample();
        let text = text(&recording, &Diagnosis::default());
        assert!(text.contains("\nNo stall was found in 60 s.\n"), "{text}");
    }
}
