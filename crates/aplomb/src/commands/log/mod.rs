//! `aplomb log dump|verify`: what is in the files of a log directory, and whether it is in order.
//!
//! What always holds: files are opened for reading only, and as far as memory goes one batch is
//! held at a time. [`dump`] shows, [`verify`] judges;
//! [`kind`] says what a file is, [`batches`] walks a segment, [`mod@line`] is what is printed.

mod batches;
mod dump;
mod kind;
mod line;
mod verify;

use std::io::{self, BufWriter};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::fail;

/// Looks at files of a log, offline.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    command: LogCommand,
}

#[derive(Debug, Subcommand)]
enum LogCommand {
    /// Show what is in a file, or in the files of a directory.
    Dump(DumpArgs),
    /// Check a log directory, or a partition's, without changing anything.
    Verify(VerifyArgs),
}

/// What is shown.
#[derive(Debug, Args)]
struct DumpArgs {
    /// Segments, indexes, producer snapshots, checkpoints and the small files of a log directory; a
    /// directory stands for those in it.
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// The records of each batch too.
    #[arg(long, short = 'd')]
    deep: bool,
    /// Only what lies at these offsets, both included; the second one may be left out.
    #[arg(long, value_name = "FIRST-LAST", value_parser = parse_offsets)]
    offsets: Option<RangeInclusive<u64>>,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
    /// Take records for those of the metadata log; without this the name of the directory or file
    /// decides.
    #[arg(long)]
    metadata: bool,
}

/// What is checked.
#[derive(Debug, Args)]
struct VerifyArgs {
    /// A log directory, or the directory of one partition.
    #[arg(required = true, value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// Unpack the batches and check the records in them.
    #[arg(long, short = 'd')]
    deep: bool,
}

/// Does what was asked. Fails with 1 when something is not in order, and with 2 when it could not
/// be looked at.
pub(super) fn run(args: &LogArgs) -> ExitCode {
    let out = BufWriter::new(io::stdout().lock());
    match &args.command {
        LogCommand::Dump(args) => dump::run(args, out),
        LogCommand::Verify(args) => verify::run(args, out),
    }
}

/// Ends the output. A reader that has gone away (`| head`) has seen enough.
fn finish(result: io::Result<ExitCode>, mut out: impl io::Write) -> ExitCode {
    match result.and_then(|code| out.flush().map(|()| code)) {
        Ok(code) => code,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            fail(&error);
            ExitCode::from(2)
        }
    }
}

fn parse_offsets(text: &str) -> Result<RangeInclusive<u64>, String> {
    let expected =
        || "FIRST-LAST is expected, two offsets with the second not below the first, or FIRST-".to_owned();
    let (first, last) = text.split_once('-').ok_or_else(expected)?;
    let first = first.parse().map_err(|_| expected())?;
    let last = if last.is_empty() { u64::MAX } else { last.parse().map_err(|_| expected())? };
    if first > last { Err(expected()) } else { Ok(first..=last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_two_numbers_in_order() {
        assert_eq!(parse_offsets("3-9"), Ok(3..=9));
        assert_eq!(parse_offsets("3-"), Ok(3..=u64::MAX));
        for text in ["", "3", "9-3", "-3", "a-b"] {
            assert!(parse_offsets(text).is_err(), "{text}");
        }
    }
}
