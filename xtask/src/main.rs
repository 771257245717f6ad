//! Chores of the workspace: `cargo xtask ci`, `layers`, `settings`, `tidy`, `deny`, `codegen`,
//! `docs`.

mod ci;
mod codegen;
mod deny;
mod docs;
mod layers;
mod settings;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
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
