//! `cargo xtask docs`: pages that are made from tables in the code. `docs --check` only says
//! whether that would change anything.

use std::path::Path;
use std::process::{Command, Stdio};

/// A page, and the example program that writes it.
const PAGES: &[(&str, &str)] = &[("docs/configuration.md", "configuration_page")];

/// Runs `cargo xtask docs ARGS` in the workspace at `root`.
pub(crate) fn run(root: &Path, args: &[&str]) -> Result<(), String> {
    let check = match args {
        [] => false,
        ["--check"] => true,
        _ => return Err("usage: cargo xtask docs [--check]".to_owned()),
    };
    for (page, example) in PAGES {
        let text = written_by(root, example)?;
        let path = root.join(page);
        if !check {
            std::fs::write(&path, text).map_err(|why| format!("{page}: {why}"))?;
        } else if std::fs::read(&path).ok() != Some(text) {
            return Err(format!("{page} is not what `cargo xtask docs` writes"));
        }
    }
    Ok(())
}

fn written_by(root: &Path, example: &str) -> Result<Vec<u8>, String> {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--profile", "sim", "--quiet", "--locked", "--example", example])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|why| format!("cargo cannot be run: {why}"))?;
    if output.status.success() { Ok(output.stdout) } else { Err(format!("{example}: {}", output.status)) }
}
