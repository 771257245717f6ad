//! `aplomb lab`: what a slow disk does to a broker.

mod disk;

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
}

/// Does what was asked.
pub(super) fn run(args: &LabArgs) -> ExitCode {
    match &args.what {
        What::Disk(args) => disk::run(args),
    }
}
