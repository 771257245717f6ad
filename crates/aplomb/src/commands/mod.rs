//! What can be asked of `aplomb` on the command line.

mod serve;
mod storage;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A Kafka broker whose requests are answered from memory and never wait for a disk.
#[derive(Debug, Parser)]
#[command(name = "aplomb", version, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a broker.
    Serve(serve::ServeArgs),
    /// Look at log directories, and give them back to Apache Kafka.
    Storage(storage::StorageArgs),
    /// Say which version this is.
    Version,
}

impl Cli {
    /// Does what was asked.
    pub(crate) fn run(self) -> ExitCode {
        match self.command {
            Command::Serve(args) => serve::run(&args),
            Command::Storage(args) => storage::run(&args),
            Command::Version => {
                println!("aplomb {}", env!("CARGO_PKG_VERSION"));
                ExitCode::SUCCESS
            }
        }
    }
}

/// One sentence on the standard error.
fn fail(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("aplomb: {error}");
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_configuration_is_named_as_kafkas_start_script_does_or_by_a_flag_but_not_twice() {
        let parse = |args: &[&str]| Cli::try_parse_from([&["aplomb", "serve"], args].concat());
        assert!(parse(&[]).is_ok());
        assert!(parse(&["server.properties", "--override", "node.id=2", "--override", "a=b"]).is_ok());
        assert!(parse(&["--config", "server.properties"]).is_ok());
        assert!(parse(&["one.properties", "--config", "two.properties"]).is_err());
    }
}
