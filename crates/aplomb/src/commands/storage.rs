//! `aplomb storage`: what log directories hold, whether they can be taken over, and how they are
//! given back. For a broker that does not run: every command here takes the directories' locks.
//!
//! What always holds: `info` and `adopt` change nothing; `format` touches nothing that belongs to a
//! cluster already; `release` does nothing but write back what
//! only the tail has, and remove our own traces.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::scram::{NewUser, NotAUser, parse_user};
use crate::config;
use crate::wiring::storage::{self, StorageError};

/// What to do with log directories.
#[derive(Debug, Args)]
pub(crate) struct StorageArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Say what is in the log directories, and whether `aplomb serve` can take them over.
    Info(Place),
    /// Say what `aplomb serve`, which takes the directories over, will change in them.
    Adopt {
        /// Change nothing. The change itself is made by `aplomb serve`.
        #[arg(long, required = true)]
        dry_run: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Make the log directories a new cluster's, with its first users if some are named. `aplomb
    /// serve` does it too where it has not been done.
    Format {
        /// The cluster's id; without it, one by chance.
        #[arg(short = 't', long, value_name = "ID")]
        cluster_id: Option<String>,
        /// A user for SCRAM: 'SCRAM-SHA-256=[name=alice,password=...]', with iterations, or salt
        /// and saltedpassword in base64 instead of a password; may be given several times.
        #[arg(short = 'S', long, value_name = "USER")]
        add_scram: Vec<String>,
        /// Directories that belong to the cluster already are no error.
        #[arg(short = 'g', long)]
        ignore_formatted: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Leave the directories as Apache Kafka expects them: write back what only the tail has, and
    /// remove what is Aplomb's.
    Release(Place),
}

/// Which broker's.
#[derive(Debug, Args)]
struct Place {
    /// The broker's server.properties.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The same by a flag.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    config: Option<PathBuf>,
    /// A setting that wins over the file's; may be given several times.
    #[arg(long = "override", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

/// Does what was asked. Fails with one sentence on the standard error when the directories cannot
/// be taken over or given back.
pub(super) fn run(args: &StorageArgs) -> ExitCode {
    let place = match &args.what {
        What::Info(place) | What::Release(place) | What::Adopt { place, .. } | What::Format { place, .. } => {
            place
        }
    };
    let settings = match config::load(place.config.as_deref().or(place.file.as_deref()), &place.overrides) {
        Ok(settings) => settings,
        Err(error) => return super::fail(&error),
    };
    let done: Result<Vec<String>, StorageError> = match &args.what {
        What::Format { cluster_id, add_scram, ignore_formatted, .. } => {
            // Not by the parser of arguments, which would quote what cannot be understood.
            let users = add_scram.iter().map(|user| parse_user(user)).collect::<Result<Vec<_>, _>>();
            let users = match users {
                Ok(users) => users.iter().map(NewUser::record).collect(),
                Err(why) => return super::fail(&NotAUser(why)),
            };
            let wanted = cluster_id.as_deref().or(settings.cluster_id.as_deref());
            storage::format(&settings.broker, wanted, users, *ignore_formatted)
        }
        What::Info(_) => storage::info(&settings.broker),
        What::Adopt { .. } => storage::would_change(&settings.broker),
        What::Release(_) => storage::release(&settings.broker),
    };
    match done {
        Ok(lines) => {
            for line in lines {
                println!("{line}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => super::fail(&error),
    }
}
