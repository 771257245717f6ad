//! What can be asked of `aplomb` on the command line.

mod bench;
mod bench_group;
mod doctor;
mod lab;
mod log;
mod manual;
mod scram;
mod serve;
mod storage;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory as _, Parser, Subcommand};

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
    /// Put a load on any Kafka broker and measure it, from the moments at which records are due.
    Bench(Box<bench::BenchArgs>),
    /// Say what the requests of a broker waited for, of any broker, and what to change.
    Doctor(doctor::DoctorArgs),
    /// See what a slow disk does to a broker.
    Lab(lab::LabArgs),
    /// Look at the files of a log, offline.
    Log(log::LogArgs),
    /// Write a shell's completions to the standard output.
    Completions(manual::CompletionsArgs),
    /// Write the manual's pages.
    Man(manual::ManArgs),
    /// Say which version this is.
    Version,
}

impl Cli {
    /// Does what was asked.
    pub(crate) fn run(self) -> ExitCode {
        match self.command {
            Command::Serve(args) => serve::run(&args),
            Command::Storage(args) => storage::run(&args),
            Command::Bench(args) => bench::run(&args),
            Command::Doctor(args) => doctor::run(&args),
            Command::Lab(args) => lab::run(&args),
            Command::Log(args) => log::run(&args),
            Command::Completions(args) => manual::completions(&args, Self::command()),
            Command::Man(args) => manual::man(&args, Self::command()),
            Command::Version => {
                println!("aplomb {}", env!("CARGO_PKG_VERSION"));
                ExitCode::SUCCESS
            }
        }
    }
}

/// Says on the standard error why a command has failed.
fn fail(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("aplomb: {error}");
    ExitCode::FAILURE
}

/// Reads a time: a number with `ms`, `s`, `m` or `h`; without one it is in seconds.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let expected = || "a time is expected, for example 500ms, 30s, 5m or 1h".to_owned();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.trim().parse().map_err(|_| expected())?;
    let seconds = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(expected()),
    };
    Duration::try_from_secs_f64(number * seconds).map_err(|_| expected())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_with_a_unit() {
        let ms = |text: &str| parse_duration(text).map(|time| time.as_millis());
        assert_eq!(ms("250ms"), Ok(250));
        assert_eq!(ms("1.5"), Ok(1_500));
        assert_eq!(ms("2s"), Ok(2_000));
        assert_eq!(ms("3m"), Ok(180_000));
        assert_eq!(ms("1h"), Ok(3_600_000));
        for text in ["", "s", "-1s", "5d", "1e400"] {
            assert!(ms(text).is_err(), "{text}");
        }
    }

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
