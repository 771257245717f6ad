//! Chores of the workspace: `cargo xtask ci`, `layers`, `settings`, `tidy`, `deny`, `codegen`,
//! `docs`.

mod ci;
mod codegen;
mod deny;
mod docs;
mod layers;
mod settings;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let Some(root) = workspace() else {
        eprintln!("xtask: neither this folder nor one that it lies in has an xtask/Cargo.toml");
        return ExitCode::FAILURE;
    };
    let root = root.as_path();
    let result = match args.as_slice() {
        ["codegen", rest @ ..] => codegen::run(root, rest),
        ["docs", rest @ ..] => docs::run(root, rest),
        ["layers"] => layers::run(root),
        ["settings"] => settings::run(root),
        ["deny", rest @ ..] => deny::run(root, rest),
        ["tidy", rest @ ..] => tidy::run(root, rest),
        ["ci", steps @ ..] => ci::run(root, steps),
        _ => Err("usage: cargo xtask ci [STEP...] | layers | settings | tidy [ARGS] | deny [ARGS] | codegen [ARGS] | docs [--check]"
            .to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace that it is called in, which need not be the one that it was built in: a `target`
/// that was copied is the other's.
fn workspace() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().find(|folder| folder.join("xtask/Cargo.toml").is_file()).map(Path::to_owned)
}
