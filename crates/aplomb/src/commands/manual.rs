//! `aplomb completions` and `aplomb man`: what shells and readers are told, from the same table of
//! commands that the program obeys.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use super::fail;

/// For which shell.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Where to.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The directory for the pages; it is made if it is not there.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Writes a shell's completions to the standard output.
pub(super) fn completions(args: &CompletionsArgs, mut command: Command) -> ExitCode {
    clap_complete::generate(args.shell, &mut command, "aplomb", &mut io::stdout());
    ExitCode::SUCCESS
}

/// Writes a page for the program and one for each of its commands.
pub(super) fn man(args: &ManArgs, command: Command) -> ExitCode {
    let made = fs::create_dir_all(&args.directory);
    match made.and_then(|()| clap_mangen::generate_to(command, &args.directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}
