//! Writes records of runs that never were into a directory, and their pages: something to look at.

#[path = "../tests/sample/mod.rs"]
mod sample;

use std::path::PathBuf;
use std::process::ExitCode;

use aplomb_lab::report::{write_comparison, write_run};

fn main() -> ExitCode {
    let Some(directory) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("sample_runs: a directory is needed");
        return ExitCode::FAILURE;
    };
    let mut hostile = sample::hostile();
    "hostile".clone_into(&mut hostile.incident.name);
    // Apart from the others, which are compared.
    let apart = directory.join("hostile");
    let mut runs = sample::runs();
    runs.extend([sample::killed(), sample::half(), sample::groups::run()]);
    let all = runs.iter().map(|run| (run, &directory)).chain([(&hostile, &apart)]);
    for (run, directory) in all {
        if let Err(error) = write_run(directory, run) {
            eprintln!("sample_runs: {error}");
            return ExitCode::FAILURE;
        }
    }
    match write_comparison(&directory, &directory) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sample_runs: {error}");
            ExitCode::FAILURE
        }
    }
}
