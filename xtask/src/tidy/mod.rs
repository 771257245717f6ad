//! `cargo xtask tidy`: what a program can see of how the code reads. Start at [`rules::RULES`].
//!
//! Of some things there are many; a crate may have as many as `xtask/tidy.toml` says, and neither
//! more nor, so that the file stays true, less. `tidy --update` lowers the numbers and never raises
//! one; `tidy --list RULE [CRATE]` says where they are.

mod ratchet;
mod rules;
mod source;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use ratchet::Ratchets;
use rules::{MAX_LINES, RULES};
use source::Source;

/// Files of more than [`MAX_LINES`] lines.
const LONG_FILES: &str = "long-files";

/// Names that more than one type of a crate has: a search for one should find one.
const SAME_NAMES: &str = "same-names";

/// Languages in which files have [`MAX_LINES`] at most.
const CODE: [&str; 6] = ["go", "java", "js", "py", "rs", "sh"];

/// Written by programs.
const GENERATED: [&str; 2] =
    ["crates/aplomb-protocol/src/generated/", "crates/aplomb-protocol/src/api/key.rs"];

/// By rule and by crate: where it is broken.
type Places = BTreeMap<(&'static str, String), Vec<String>>;

/// Runs `cargo xtask tidy ARGS` in the workspace at `root`.
pub(crate) fn run(root: &Path, args: &[&str]) -> Result<(), String> {
    let found = look(root)?;
    let mut ratchets = Ratchets::read(&root.join("xtask/tidy.toml"))?;
    match args {
        [] => ratchets.check(&found),
        ["--update"] => ratchets.lower(&found),
        ["--list", rule, only @ ..] if only.len() < 2 => {
            let wanted = |name: &str, room: &String| name == *rule && only.iter().all(|only| room == only);
            let places =
                found.iter().filter(|((name, room), _)| wanted(name, room)).flat_map(|(_, places)| places);
            places.for_each(|place| println!("{place}"));
            Ok(())
        }
        _ => Err("usage: cargo xtask tidy [--update | --list RULE [CRATE]]".to_owned()),
    }
}

fn look(root: &Path) -> Result<Places, String> {
    let mut found = Places::new();
    let mut types: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for file in files(root)? {
        let Some(extension) = CODE.iter().find(|extension| file.ends_with(&format!(".{extension}"))) else {
            continue;
        };
        let text = std::fs::read_to_string(root.join(&file)).map_err(|why| format!("{file}: {why}"))?;
        let room = room(&file);
        let mut add = |rule, line| {
            found.entry((rule, room.to_owned())).or_default().push(format!("{file}:{line}"));
        };
        let length = text.lines().count();
        if length > MAX_LINES {
            add(LONG_FILES, length);
        }
        if *extension == "rs" {
            let source = Source::of(&text);
            for rule in RULES {
                (rule.find)(&source).into_iter().for_each(|line| add(rule.name, line));
            }
            for (name, line) in rules::types(&source).into_iter().filter(|_| is_of_the_crate(&file)) {
                types.entry((room.to_owned(), name)).or_default().push(format!("{file}:{line}"));
            }
        }
    }
    for ((room, name), places) in types.into_iter().filter(|(_, places)| places.len() > 1) {
        let named = places.into_iter().map(|place| format!("{place} {name}"));
        found.entry((SAME_NAMES, room)).or_default().extend(named);
    }
    Ok(found)
}

/// What is written by hand and belongs to the project, or would if it were added.
fn files(root: &Path) -> Result<Vec<String>, String> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("git cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(format!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let names = String::from_utf8(output.stdout).map_err(|_| "a file's name is not UTF-8".to_owned())?;
    let names = names.split_terminator('\0').filter(|name| root.join(name).is_file());
    Ok(names
        .filter(|name| !GENERATED.iter().any(|folder| name.starts_with(folder)))
        .map(str::to_owned)
        .collect())
}

/// Whether a file's types are those of its crate: those of tests and examples are their own.
fn is_of_the_crate(file: &str) -> bool {
    file.contains("/src/") && !file.ends_with("/tests.rs") && !file.contains("/tests/")
}

/// The crate of a file, or the folder at the root that it is in.
fn room(file: &str) -> &str {
    let file = file.strip_prefix("crates/").unwrap_or(file);
    file.split('/').next().unwrap_or(file)
}

/// What breaking a rule means.
fn says(rule: &str) -> &'static str {
    match rule {
        LONG_FILES => "a file has 500 lines at most: it is two files",
        SAME_NAMES => "a type has a name that no other of its crate has",
        _ => RULES.iter().find(|each| each.name == rule).map_or("there is no such rule", |rule| rule.says),
    }
}
