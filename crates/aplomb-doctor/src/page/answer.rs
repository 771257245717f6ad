//! The diagnosis for programs.
//!
//! What always holds: fields are added, never renamed or taken away; what people are told, programs
//! are told in the same words.

use serde::Serialize;

use super::facts;
use crate::diagnosis::{Cause, Diagnosis};
use crate::recording::{Process, Recording};

#[derive(Serialize)]
struct Answer<'a> {
    process: &'a Process,
    began_unix_ms: f64,
    length_ms: f64,
    /// How long requests stood still.
    slow_ms: f64,
    unexplained_ms: f64,
    causes: &'a [Cause],
    observations: &'a [String],
    next: &'a [String],
    looked_at: Vec<String>,
    missing: &'a [String],
    clocks: Vec<String>,
}

/// The diagnosis as JSON, with a line feed at its end: `causes`, the best first, each with `name`,
/// `confidence`, `share` (0 to 1), `summary`, `evidence`, `against`, `mechanism`, `remedy`,
/// `threads` and `when` (in milliseconds); `observations`, `next`, `looked_at`, `missing`.
#[must_use]
pub fn json(recording: &Recording, diagnosis: &Diagnosis) -> String {
    let answer = Answer {
        process: &recording.process,
        began_unix_ms: recording.clock.began_unix_ms,
        length_ms: recording.clock.length_ms,
        slow_ms: facts::covered(&diagnosis.slow),
        unexplained_ms: facts::covered(&diagnosis.unexplained),
        causes: &diagnosis.causes,
        observations: &diagnosis.observations,
        next: &diagnosis.next,
        looked_at: facts::looked_at(recording),
        missing: &recording.sight.missing,
        clocks: facts::clocks(recording),
    };
    let json = serde_json::to_string_pretty(&answer);
    json.expect("numbers, texts and lists of them are JSON") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Confidence, Remedy};

    #[test]
    fn a_program_finds_what_it_was_promised() {
        let cause = Cause {
            name: "gc-log".to_owned(),
            confidence: Confidence::Likely,
            share: f64::NAN,
            summary: "s".to_owned(),
            evidence: vec!["e".to_owned()],
            against: vec!["a".to_owned()],
            mechanism: String::new(),
            remedy: vec![Remedy { change: "c".to_owned(), cost: "k".to_owned() }],
            threads: vec![3],
            when: vec![],
        };
        let diagnosis = Diagnosis { causes: vec![cause], ..Diagnosis::default() };
        let json: serde_json::Value =
            serde_json::from_str(&json(&Recording::default(), &diagnosis)).expect("JSON");
        let cause = &json["causes"][0];
        assert_eq!(cause["name"], "gc-log");
        assert_eq!(cause["confidence"], "likely");
        assert_eq!(cause["share"], serde_json::Value::Null, "no number, no lie");
        assert_eq!(cause["remedy"][0]["change"], "c");
        for list in ["observations", "next", "looked_at", "missing"] {
            assert!(json[list].is_array(), "{list}");
        }
    }
}
