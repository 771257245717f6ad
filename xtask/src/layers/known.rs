//! The circles of modules that there still are. The list only shrinks: a circle that is not in it
//! is a fault, and so is an entry that is no longer true.

use std::collections::BTreeSet;

use super::circles::Circle;

/// A crate, a folder of it (empty: its root), and what goes round there.
pub(super) type Known = (&'static str, &'static str, &'static [&'static str]);

/// To become empty, and then to go, with the rest of this file.
pub(super) const CIRCLES: &[Known] = &[
    ("aplomb-protocol", "", &["api", "generated", "message"]),
    ("aplomb-protocol", "primitives", &["arrays", "reader"]),
];

/// One sentence for each circle that is not known, and for each entry that is not true.
pub(super) fn faults(found: &[Circle], known: &[Known]) -> Vec<String> {
    let is = |circle: &Circle, (package, folder, members): &Known| {
        circle.package == *package
            && circle.folder == *folder
            && circle.members.iter().map(String::as_str).eq(members.iter().copied().collect::<BTreeSet<_>>())
    };
    let new = found.iter().filter(|circle| !known.iter().any(|entry| is(circle, entry))).map(|circle| {
        format!(
            "modules in a circle, (\"{}\", \"{}\", &{:?}):\n           {}",
            circle.package,
            circle.folder,
            circle.members.iter().collect::<Vec<_>>(),
            circle.uses.join("\n           ")
        )
    });
    let gone = known.iter().filter(|entry| !found.iter().any(|circle| is(circle, entry))).map(|entry| {
        format!("{entry:?} is not a circle (any more): take it out of xtask/src/layers/known.rs")
    });
    new.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle(members: &[&str]) -> Circle {
        Circle {
            package: "aplomb-x".to_owned(),
            folder: "room".to_owned(),
            members: members.iter().map(ToString::to_string).collect(),
            uses: vec!["a uses b: a.rs:1: b".to_owned()],
        }
    }

    #[test]
    fn the_list_is_what_is_found_neither_more_nor_less() {
        let known: Known = ("aplomb-x", "room", &["b", "a"]);
        assert!(faults(&[circle(&["a", "b"])], &[known]).is_empty());
        assert_eq!(
            faults(&[circle(&["a", "b"])], &[]),
            [
                "modules in a circle, (\"aplomb-x\", \"room\", &[\"a\", \"b\"]):\n           a uses b: a.rs:1: b"
            ]
        );
        assert_eq!(
            faults(&[], &[known]),
            [
                "(\"aplomb-x\", \"room\", [\"b\", \"a\"]) is not a circle (any more): take it out of xtask/src/layers/known.rs"
            ]
        );
        assert_eq!(faults(&[circle(&["a", "b", "c"])], &[known]).len(), 2);
    }
}
