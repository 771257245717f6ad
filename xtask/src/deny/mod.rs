//! `cargo xtask deny`: what dependencies may be, by `deny.toml`: their licences, whether there are
//! two versions of one, where they come from, who may know whom.
//!
//! This is what cargo-deny does with the same file. Installing that takes longer than all other
//! checks together, so the few rules that we have are checked here, and a key that is not
//! understood is an error. `--advisories FOLDER` also looks for known weaknesses, in a checkout of
//! the RustSec database.

mod advisories;
mod crates;
mod licences;
mod rules;

use std::path::Path;

use crates::Crates;
use rules::Rules;

/// Runs `cargo xtask deny ARGS` in the workspace at `root`.
pub(crate) fn run(root: &Path, args: &[&str]) -> Result<(), String> {
    let text = std::fs::read_to_string(root.join("deny.toml")).map_err(|why| format!("deny.toml: {why}"))?;
    let rules = Rules::parse(&text).map_err(|why| format!("deny.toml: {why}"))?;
    let crates = Crates::read(root, &rules.targets)?;
    let mut faults = rules.faults(&crates);
    match args {
        [] => {}
        ["--advisories", folder] => {
            faults.extend(advisories::faults(Path::new(folder), &crates, &rules.ignored)?)
        }
        _ => return Err("usage: cargo xtask deny [--advisories FOLDER]".to_owned()),
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n       ")) }
}
