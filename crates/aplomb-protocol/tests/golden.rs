//! Our codecs against Apache Kafka's own: `tests/golden/` holds what its generated classes make of
//! every message in use in every version, and `tests/oracle/golden.sh` (from the root) writes it
//! anew.

#![expect(clippy::disallowed_methods, reason = "golden files are read from the source tree")]

use std::collections::BTreeMap;
use std::path::Path;

use aplomb_protocol::{ApiKey, MetadataRecord, messages};
use bytes::Bytes;

/// One line of a golden file.
struct Case {
    version: i16,
    name: String,
    bytes: Bytes,
    /// What Kafka prints for the message.
    shown: Option<String>,
}

fn golden(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

fn cases(message: &str) -> Vec<Case> {
    let case = |line: &str| {
        let mut words = line.splitn(4, ' ');
        let mut word = || words.next().unwrap_or_else(|| panic!("{message}: short line: {line}"));
        let (version, name, bytes) = (word().parse().unwrap(), word().to_owned(), unhex(word()));
        Case { version, name, bytes, shown: words.next().map(str::to_owned) }
    };
    golden(&format!("{message}.txt")).lines().map(case).collect()
}

fn unhex(text: &str) -> Bytes {
    let text = if text == "-" { "" } else { text };
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

#[test]
fn every_message_is_written_as_kafka_writes_it() {
    let mut wrong = Vec::new();
    for codec in messages::ALL {
        for case in cases(codec.name) {
            let written = (codec.read)(case.bytes.clone(), case.version).map(|reread| reread.written);
            if written != Ok(Ok(case.bytes.clone())) {
                wrong.push(format!(
                    "{} {} {}: {written:?}, not {:?}",
                    codec.name, case.version, case.name, case.bytes
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_message_reads_as_what_kafka_reads() {
    let mut wrong = Vec::new();
    for codec in messages::ALL {
        for case in cases(codec.name) {
            let Some(expected) = case.shown else { continue };
            let ours = (codec.read)(case.bytes, case.version).unwrap().shown;
            let (ours, theirs) = (words(&ours), words(&expected));
            // The first word is the message's name; Kafka's classes add "Data" to it.
            if ours[1..] != theirs[1..] {
                wrong.push(format!("{} {} {}:\n{ours:?}\n{theirs:?}", codec.name, case.version, case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The names and values in what Rust or Java prints for a message, without what tells the two
/// apart. Byte strings are empty in the cases that are compared so.
fn words(shown: &str) -> Vec<String> {
    let shown = shown.replace("b\"\"", "");
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    shown
        .split(|c| !word(c))
        .filter(|part| !part.is_empty() && *part != "Some")
        .map(|part| if part == "None" { "null".to_owned() } else { part.replace('_', "").to_lowercase() })
        .collect()
}

#[test]
fn every_message_and_version_in_use_has_golden_cases() {
    for codec in messages::ALL {
        let mut found = BTreeMap::<i16, Vec<String>>::new();
        for case in cases(codec.name) {
            found.entry(case.version).or_default().push(case.name);
        }
        assert!(
            codec.versions.iter().eq(found.keys().copied()),
            "{}: golden versions {:?}",
            codec.name,
            found.keys()
        );
        for (version, names) in found {
            for kind in ["default", "nulls0", "full0", "mixed0", "mixed1", "mixed2", "text0"] {
                assert!(names.iter().any(|name| name == kind), "{} {version} has no case {kind}", codec.name);
            }
        }
    }
    let selection = include_str!("../schema/selection");
    let selected = selection.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
    assert_eq!(messages::ALL.len(), selected);
}

#[test]
fn every_metadata_record_is_framed_as_kafka_frames_it() {
    let mut seen = Vec::new();
    for line in golden("metadata_frames").lines() {
        let [name, version, bytes] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let (record, found) = MetadataRecord::decode(unhex(bytes)).unwrap();
        assert_eq!((record.name(), found.to_string().as_str()), (name, version));
        assert_eq!(record.to_bytes(found), Ok(unhex(bytes)), "{line}");
        assert!(record.versions().contains(found));
        seen.push(record.key());
    }
    seen.dedup();
    assert_eq!(seen.len(), 27);
}

#[test]
fn the_table_of_apis_is_kafkas() {
    let ours = ApiKey::ALL.iter().map(|&api| {
        let (versions, listeners) = (api.versions(), api.listeners());
        let mut line = format!(
            "{} {api} {} {} {} {} {} {}",
            api.key(),
            versions.min,
            versions.max,
            api.stable_versions().max,
            listeners.broker,
            listeners.controller,
            api.is_forwardable()
        );
        for version in versions.iter() {
            let headers = (api.request_header_version(version), api.response_header_version(version));
            line.push_str(&format!(" {}/{}", headers.0, headers.1));
        }
        line
    });
    let ours: Vec<String> = ours.collect();
    assert_eq!(ours.join("\n"), golden("api_keys").trim_end());
}
