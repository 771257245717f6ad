//! `aplomb doctor`: who waited, where, for whom, and what to change.

mod answer;
mod examine;
mod let_go;
mod slow;
mod watch;

use std::process::ExitCode;

use clap::{Args, Subcommand};

/// What to look at.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Debug, Subcommand)]
enum Subject {
    /// Watch a broker that runs, Apache Kafka or any other, and say what its requests waited for.
    Watch(watch::WatchArgs),
    /// Say the same from files: recordings of `watch`, of JFR and async-profiler, logs of a JVM,
    /// thread dumps, records of the lab.
    Examine(examine::ExamineArgs),
    /// Show the slow requests of an Aplomb that runs, and what each has waited for.
    Slow(slow::SlowArgs),
    /// Wait for the end of a `watch --attach`, and end what its JVM still records.
    #[command(hide = true)]
    LetGo(let_go::LetGoArgs),
}

/// Does what was asked.
pub(super) fn run(args: &DoctorArgs) -> ExitCode {
    let done = match &args.subject {
        Subject::Watch(args) => watch::run(args),
        Subject::Examine(args) => examine::run(args),
        Subject::Slow(args) => return slow::run(args),
        Subject::LetGo(args) => let_go::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => super::fail(&*error),
    }
}
