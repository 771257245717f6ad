//! `aplomb lab`: what a slow disk does to a broker.

mod disk;
mod machine;
mod report;
mod run;
mod simulate;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::{fail, parse_duration};

/// What to do in the lab.
#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make disks that are slow, frozen, failing or full at will. For root.
    Disk(disk::DiskArgs),
    /// Say which incidents there are.
    List(run::ListArgs),
    /// See whether this machine is steady enough to compare figures on it. Ends with status 1 where
    /// it is not.
    Machine(machine::MachineArgs),
    /// Run an incident: put a broker on a slow disk, disturb it, and see who waits. For root.
    Run(Box<run::RunArgs>),
    /// Make the pages of runs again, from their records.
    Report(report::ReportArgs),
    /// Lay many runs side by side: a page, a picture and a table.
    Compare(report::CompareArgs),
    /// Run a broker with its disks, its clients and what goes wrong with them on a virtual clock,
    /// by seed.
    Simulate(simulate::SimulateArgs),
}

/// Does what was asked.
pub(super) fn run(args: &LabArgs) -> ExitCode {
    match &args.what {
        What::Disk(args) => disk::run(args),
        What::List(args) => run::list(args),
        What::Machine(args) => machine::run(args),
        What::Run(args) => run::run(args),
        What::Report(args) => report::report(args),
        What::Compare(args) => report::compare(args),
        What::Simulate(args) => simulate::run(args),
    }
}
