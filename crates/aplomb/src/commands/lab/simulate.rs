//! `aplomb lab simulate`: brokers on a virtual clock, by the thousand, and what they find kept.

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use aplomb_sim::{Campaign, Corpus, CorpusError, Outcome, Scenario, Syncs};
use clap::Args;

use super::fail;

/// Which simulations.
#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// The first seed.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    from: u64,
    /// How many seeds.
    #[arg(long, value_name = "SEEDS", default_value_t = 1_000)]
    count: u64,
    /// On how many threads; without it, on all processors.
    #[arg(long)]
    threads: Option<usize>,
    /// Go on after a failure.
    #[arg(long)]
    keep_going: bool,
    /// Leave failing scenarios as large as they are.
    #[arg(long)]
    no_shrink: bool,
    /// A directory of scenarios that found something once: they are run first, and new ones are
    /// added.
    #[arg(long, value_name = "DIR", default_value = "simulation-corpus")]
    corpus: PathBuf,
    /// Run this seed alone.
    #[arg(long, conflicts_with_all = ["from", "count", "threads", "keep_going"])]
    seed: Option<u64>,
    /// End after so many virtual milliseconds.
    #[arg(long, requires = "seed")]
    millis: Option<u64>,
    /// Clients that do nothing, by number.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', requires = "seed")]
    without_clients: Vec<usize>,
    /// Faults that do not happen, by number.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', requires = "seed")]
    without_faults: Vec<usize>,
    /// Tell what happens.
    #[arg(long, requires = "seed")]
    trace: bool,
}

/// Runs them. Fails when a simulation does.
pub(super) fn run(args: &SimulateArgs) -> ExitCode {
    match args.seed {
        Some(seed) => one(args, seed),
        None => match many(args) {
            Ok(code) => code,
            Err(error) => fail(&error),
        },
    }
}

fn one(args: &SimulateArgs, seed: u64) -> ExitCode {
    let scenario = Scenario {
        seed,
        millis: args.millis,
        without_clients: args.without_clients.iter().copied().collect(),
        without_faults: args.without_faults.iter().copied().collect(),
    };
    let Outcome { failure, summary, lines } = aplomb_sim::run(&scenario, args.trace);
    lines.iter().for_each(|line| println!("{line}"));
    println!(
        "{:.3} virtual seconds: {} batches acknowledged, {} read, {} lost to power cuts, {} starts; slowest answer {} µs; digest {:016x}",
        summary.time.as_secs_f64(),
        summary.acknowledged,
        summary.read,
        summary.lost,
        summary.starts,
        summary.slowest.as_micros(),
        summary.digest
    );
    let Some(failure) = failure else { return ExitCode::SUCCESS };
    println!("{failure}");
    ExitCode::FAILURE
}

fn many(args: &SimulateArgs) -> Result<ExitCode, CorpusError> {
    let corpus = Corpus::open(&args.corpus)?;
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let campaign = Campaign {
        kept: Vec::new(),
        from: args.from,
        count: args.count,
        stride: 1,
        threads: args.threads.unwrap_or(processors),
        keep_going: args.keep_going,
        shrink: !args.no_shrink,
        syncs: Syncs::Kept,
    };
    let tally = aplomb_sim::keeping(campaign, corpus, "aplomb lab simulate", &|line| println!("{line}"))?;
    println!("{tally}");
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
