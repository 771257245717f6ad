//! `aplomb serve`: a broker, from its configuration to its last line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::config;
use crate::wiring::Broker;

/// How a broker is started.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// A server.properties; without one the broker listens on localhost:9092 and keeps its data in
    /// ./aplomb-data.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The same by a flag.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    config: Option<PathBuf>,
    /// A setting that wins over the file's; may be given several times.
    #[arg(long = "override", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Runs until the process is told to end. Fails with one sentence on the standard error.
pub(super) fn run(args: &ServeArgs) -> ExitCode {
    let file = args.config.as_deref().or(args.file.as_deref());
    let settings = match config::load(file, &args.overrides) {
        Ok(settings) => settings,
        Err(error) => return super::fail(&error),
    };
    match Broker::start(&settings) {
        Ok(broker) => broker.run(),
        Err(error) => super::fail(&error),
    }
}
