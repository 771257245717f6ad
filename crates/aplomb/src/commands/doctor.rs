//! `aplomb doctor`: who waited, where, for whom, and what to change.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use aplomb_doctor::diagnosis::diagnose;
use aplomb_doctor::recording::Recording;
use aplomb_doctor::watch;
use clap::{Args, Subcommand};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::doctor_slow::{self, SlowArgs};
use super::{fail, parse_duration};

/// What to look at.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(subcommand)]
    what: Subject,
}

#[derive(Debug, Subcommand)]
enum Subject {
    /// Watch a broker that runs, Apache Kafka or any other, and say what its requests waited for.
    Watch(WatchArgs),
    /// Show the slow requests of an Aplomb that runs, and what each has waited for.
    Slow(SlowArgs),
}

/// What to watch, and for how long.
#[derive(Debug, Args)]
struct WatchArgs {
    #[command(flatten)]
    whom: Whom,
    /// How long; until Ctrl-C without it.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    length: Option<Duration>,
    /// Keep what was seen, for `aplomb doctor examine`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Whom {
    /// The process of this number.
    #[arg(long)]
    pid: Option<u32>,
    /// The process that listens on this port.
    #[arg(long)]
    port: Option<u16>,
    /// The main process of a unit of systemd.
    #[arg(long)]
    unit: Option<String>,
    /// The main process of a container, by the beginning of its id.
    #[arg(long)]
    container: Option<String>,
}

/// Does what was asked.
pub(super) fn run(args: &DoctorArgs) -> ExitCode {
    match &args.what {
        Subject::Watch(args) => watch(args),
        Subject::Slow(args) => doctor_slow::run(args),
    }
}

fn watch(args: &WatchArgs) -> ExitCode {
    match watched(args) {
        Ok(recording) => told(&recording, args),
        Err(error) => fail(&*error),
    }
}

fn watched(args: &WatchArgs) -> Result<Recording, Box<dyn std::error::Error>> {
    let pid = args.whom.pid()?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(watch::watch(pid, args.length, &stop)?)
}

impl Whom {
    fn pid(&self) -> Result<u32, watch::FindError> {
        match self {
            Self { pid: Some(pid), .. } => Ok(*pid),
            Self { port: Some(port), .. } => watch::by_port(*port),
            Self { unit, container, .. } => {
                watch::by_cgroup(unit.as_ref().or(container.as_ref()).map_or("", String::as_str))
            }
        }
    }
}

fn told(recording: &Recording, args: &WatchArgs) -> ExitCode {
    if let Some(file) = &args.record {
        let written =
            recording.to_json().map_err(std::io::Error::other).and_then(|json| std::fs::write(file, json));
        if let Err(error) = written {
            return fail(&error);
        }
    }
    let diagnosis = diagnose(recording);
    println!("{}", serde_json::to_string_pretty(&diagnosis).unwrap_or_default());
    ExitCode::SUCCESS
}
