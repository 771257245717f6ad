//! `cargo xtask layers`: who may know whom. Between crates that is a table ([`arrows`]); inside a
//! crate it is whatever the files say, as long as it has no circle ([`circles`]).

mod arrows;
mod circles;
mod modules;
mod names;

pub(crate) use modules::is_for_tests;

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use self::circles::Circle;

/// Compares the workspace with the table of arrows, and looks for circles of modules.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--locked"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let metadata = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata is not understood: {error}"))?;
    let mut faults = arrows::faults(&metadata)?;
    faults.extend(circles::of_workspace(&metadata)?.iter().map(Circle::to_string));
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n       ")) }
}

fn array<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>, String> {
    value[key].as_array().ok_or_else(|| format!("cargo metadata has no {key}"))
}
