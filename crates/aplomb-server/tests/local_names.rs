//! Short names of Kerberos principals, as Apache Kafka 4.4.0 makes them.
//!
//! The cases are `golden/local_names`, and with `APLOMB_KERBEROS_ORACLE` those of
//! `tests/oracle-kerberos/run.sh`.

#![expect(clippy::disallowed_methods, reason = "a test reads its cases")]

use std::path::PathBuf;
use std::{env, fs};

use aplomb_server::security::{LocalNames, LocalRuleError};

#[test]
fn short_names_are_apache_kafkas() {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let folder = env::var_os("APLOMB_KERBEROS_ORACLE").map_or(here, PathBuf::from);
    let text = fs::read_to_string(folder.join("local_names")).expect("the cases");
    let (mut names, mut made, mut refused, mut early) = (None, 0, 0, 0);
    for line in text.lines() {
        let mut fields = line.split('\t');
        let (kind, fields) = (fields.next().expect("a kind"), fields.collect::<Vec<_>>());
        match (kind, &fields[..], &names) {
            ("rules", rules, _) => {
                let rules: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
                names = Some(LocalNames::parse(&rules, "B.C").map_err(|error| (rules, error)));
            }
            ("bad", [sentence], Some(Err((rules, error)))) => {
                refused += 1;
                let is_same = sentence.is_empty() || *sentence == error.to_string();
                assert!(is_same || is_early(error), "{rules:?}: {error}: {line}");
            }
            (_, _, Some(Err((rules, error)))) => {
                early += 1;
                assert!(is_early(error), "{rules:?}: {error}: {line}");
            }
            ("name", [principal, short], Some(Ok(names))) => {
                made += 1;
                assert_eq!(names.short_name(principal).as_deref(), Ok(*short), "{names:?}: {line}");
            }
            ("none", [principal], Some(Ok(names))) => {
                assert!(names.short_name(principal).is_err(), "{names:?}: {line}");
            }
            _ => panic!("{names:?}: {line}"),
        }
    }
    assert!(made > 100 && refused > 5 && early > 10, "{made} names, {refused} refused, {early} early");
}

/// What fails for each principal that it is for there is refused at start here.
fn is_early(error: &LocalRuleError) -> bool {
    matches!(error, LocalRuleError::Component(_) | LocalRuleError::Group(_))
}
