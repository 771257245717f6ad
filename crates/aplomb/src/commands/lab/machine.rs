//! `aplomb lab machine`: whether this machine is steady enough to compare figures on it, before
//! anything is run.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use aplomb_lab::evidence::machine;
use aplomb_lab::evidence::metronome::Metronome;
use aplomb_lab::record::MachineStandstill;
use aplomb_lab::report;
use clap::Args;

use super::{fail, parse_duration};

/// How long to look.
#[derive(Debug, Args)]
pub(crate) struct MachineArgs {
    /// As long as the disturbance of a full run, so that the figures can be laid beside each other.
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    time: Duration,
}

/// Not one beat was due.
#[derive(Debug, thiserror::Error)]
#[error("--for is too short to see anything")]
struct TooShort;

/// Looks, and says. Fails when the machine is not steady.
pub(super) fn run(args: &MachineArgs) -> ExitCode {
    let metronome = match Metronome::start(Instant::now()) {
        Ok(metronome) => metronome,
        Err(error) => return fail(&error),
    };
    thread::sleep(args.time);
    let Some(idle) = metronome.finish().between(&(Duration::ZERO..args.time)) else {
        return fail(&TooShort);
    };
    let steady = MachineStandstill { calm: None, during: Some(idle), after: None }.is_steady();
    println!("{}", report::idle_machine(&machine::describe(), &idle, steady));
    if steady { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
