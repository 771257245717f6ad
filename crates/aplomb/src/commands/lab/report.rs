//! `aplomb lab report` and `aplomb lab compare`: pages from records that runs have left.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aplomb_lab::report::{self, FileError};
use clap::Args;

use super::fail;

/// Which records.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Records of runs, as `lab run` has written them.
    #[arg(value_name = "RECORD.json", required = true)]
    records: Vec<PathBuf>,
    /// Where the pages go; without it, beside their records.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Writes a page for each record, and tells each on the standard output. Fails at the first that is
/// none, with one sentence.
pub(super) fn report(args: &ReportArgs) -> ExitCode {
    for record in &args.records {
        match page(record, args.out.as_deref()) {
            Ok(told) => println!("{told}"),
            Err(error) => return fail(&error),
        }
    }
    ExitCode::SUCCESS
}

fn page(record: &Path, out: Option<&Path>) -> Result<String, FileError> {
    let run = report::read(record)?;
    let beside = record.parent().unwrap_or(Path::new(""));
    let page = report::write_page(&run, record, out.unwrap_or(beside))?;
    Ok(format!("{}\npage: {}\n", report::summary(&run), page.display()))
}

/// Which runs.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// A directory with records of runs.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Where the comparison and the runs' pages go; without it, beside the records.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Writes the comparison. Fails with one sentence when there is nothing to compare; JSON of
/// something else is named and left out.
pub(super) fn compare(args: &CompareArgs) -> ExitCode {
    let out = args.out.as_deref().unwrap_or(&args.directory);
    match report::write_comparison(&args.directory, out) {
        Ok(compared) => {
            for error in compared.left_out {
                eprintln!("aplomb: left out: {error}");
            }
            for path in compared.written {
                println!("{}", path.display());
            }
            ExitCode::SUCCESS
        }
        Err(error) => fail(&error),
    }
}
