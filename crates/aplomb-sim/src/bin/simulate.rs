//! Runs one scenario (`--seed 17 --millis 2500 --without-faults 1,2`, with `--trace` for what
//! happened and `--shrink` to make it smaller), or many by their seeds (`--from 0 --count 1000
//! --threads 2 --keep-going`, with `--stride 4` every fourth of them: seeds that can be divided by
//! 4 have groups), with a corpus of those that failed (`--corpus DIR`).
//!
//! `aplomb lab simulate` does the same; this program is built in a fraction of the time, with every
//! check that the tests have. `--forget-syncs` plants a fault: disks that lose what they were told
//! to sync.

use std::path::PathBuf;
use std::process::ExitCode;

use aplomb_sim::{
    Campaign, Corpus, CorpusError, Outcome, Scenario, Syncs, Tally, keeping, run_on, shrink, told,
};

/// The command that runs one scenario.
const REPLAY: &str = "cargo run --profile sim --bin simulate --";

#[derive(Default)]
struct Arguments {
    scenario: String,
    trace: bool,
    shrink: bool,
    from: u64,
    count: Option<u64>,
    stride: u64,
    threads: usize,
    keep_going: bool,
    corpus: Option<PathBuf>,
    syncs: Syncs,
}

fn parse() -> Result<Arguments, String> {
    let mut arguments = Arguments { threads: 1, stride: 1, ..Arguments::default() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("'{text}' is no number"));
        match word.as_str() {
            "--trace" => arguments.trace = true,
            "--shrink" => arguments.shrink = true,
            "--keep-going" => arguments.keep_going = true,
            "--forget-syncs" => arguments.syncs = Syncs::Forgotten,
            "--corpus" => arguments.corpus = Some(value()?.into()),
            "--from" => arguments.from = number(value()?)?,
            "--stride" => arguments.stride = number(value()?)?,
            "--count" => arguments.count = Some(number(value()?)?),
            "--threads" => {
                arguments.threads = usize::try_from(number(value()?)?).unwrap_or(usize::MAX).max(1)
            }
            name @ ("--seed" | "--millis" | "--without-clients" | "--without-faults") => {
                let value = value()?;
                arguments.scenario = format!("{} {}={value}", arguments.scenario, &name[2..]);
            }
            other => return Err(format!("'{other}' is not understood; see the head of simulate.rs")),
        }
    }
    Ok(arguments)
}

fn main() -> ExitCode {
    let arguments = match parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("simulate: {error}");
            return ExitCode::FAILURE;
        }
    };
    match arguments.count {
        Some(count) => match many(&arguments, count) {
            Ok(tally) => {
                println!("{tally}");
                if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
            }
            Err(error) => {
                eprintln!("simulate: {error}");
                ExitCode::FAILURE
            }
        },
        None => one(&arguments),
    }
}

fn one(arguments: &Arguments) -> ExitCode {
    let scenario: Scenario = match arguments.scenario.parse() {
        Ok(scenario) => scenario,
        Err(error) => {
            eprintln!("simulate: {error}");
            return ExitCode::FAILURE;
        }
    };
    let Outcome { failure, summary, lines } = run_on(&scenario, arguments.syncs, arguments.trace);
    lines.iter().for_each(|line| println!("{line}"));
    println!("{summary:?}");
    let Some(failure) = failure else { return ExitCode::SUCCESS };
    println!("{failure}");
    if arguments.shrink
        && let Some((smaller, failure)) = shrink(&scenario, arguments.syncs)
    {
        println!("{failure}\n{smaller}\n{} {} --trace", replay(arguments.syncs), smaller.arguments());
    }
    ExitCode::FAILURE
}

/// The command that runs one scenario on this kind of disks.
fn replay(syncs: Syncs) -> String {
    match syncs {
        Syncs::Kept => REPLAY.to_owned(),
        Syncs::Forgotten => format!("{REPLAY} --forget-syncs"),
    }
}

fn many(arguments: &Arguments, count: u64) -> Result<Tally, CorpusError> {
    let campaign = Campaign {
        kept: Vec::new(),
        from: arguments.from,
        count,
        stride: arguments.stride,
        threads: arguments.threads,
        keep_going: arguments.keep_going,
        shrink: arguments.shrink,
        syncs: arguments.syncs,
    };
    let replay = replay(arguments.syncs);
    match &arguments.corpus {
        Some(directory) => keeping(campaign, Corpus::open(directory)?, &replay, &|lines| println!("{lines}")),
        None => Ok(campaign.run(&|found| println!("{}", told(&found, &replay)))),
    }
}
