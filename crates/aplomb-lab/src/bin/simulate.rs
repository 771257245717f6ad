//! Runs simulations: one that is described (`--seed 17 --millis 2500 --without-faults 1,2`, with `--trace` for what happened, `--shrink` to make it
//! smaller), or many by their seeds (`--from 0 --count 1000 --threads 2`).

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use aplomb_lab::simulation::{Outcome, Scenario, run, shrink};

#[derive(Default)]
struct Arguments {
    scenario: String,
    trace: bool,
    shrink: bool,
    from: u64,
    count: Option<u64>,
    threads: u64,
    keep_going: bool,
}

fn parse() -> Result<Arguments, String> {
    let mut arguments = Arguments { threads: 1, ..Arguments::default() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("'{text}' is no number"));
        match word.as_str() {
            "--trace" => arguments.trace = true,
            "--shrink" => arguments.shrink = true,
            "--keep-going" => arguments.keep_going = true,
            "--from" => arguments.from = number(value()?)?,
            "--count" => arguments.count = Some(number(value()?)?),
            "--threads" => arguments.threads = number(value()?)?.max(1),
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
        Some(count) => many(&arguments, count),
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
    let Outcome { failure, summary, lines } = run(&scenario, arguments.trace);
    lines.iter().for_each(|line| println!("{line}"));
    println!("{summary:?}");
    let Some(failure) = failure else { return ExitCode::SUCCESS };
    println!("{failure}");
    if arguments.shrink
        && let Some((smaller, failure)) = shrink(&scenario)
    {
        println!("{failure}\n{smaller}\n{}", replay(&smaller));
    }
    ExitCode::FAILURE
}

fn replay(scenario: &Scenario) -> String {
    format!("cargo run --profile sim -p aplomb-lab --bin simulate -- {} --trace", scenario.arguments())
}

fn many(arguments: &Arguments, count: u64) -> ExitCode {
    let next = AtomicU64::new(arguments.from);
    let end = arguments.from + count;
    let failures = Mutex::new(0_u64);
    let totals = Mutex::new((0_u64, 0_u64, 0_u64, 0_u64));
    std::thread::scope(|scope| {
        for _ in 0..arguments.threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    let Outcome { failure, summary, .. } = run(&Scenario::of_seed(seed), false);
                    if let Ok(mut totals) = totals.lock() {
                        totals.0 += summary.acknowledged;
                        totals.1 += summary.read;
                        totals.2 += summary.lost;
                        totals.3 += summary.starts;
                    }
                    let Some(failure) = failure else { continue };
                    println!("seed {seed} {failure}\n    {}", replay(&Scenario::of_seed(seed)));
                    if let Ok(mut failures) = failures.lock() {
                        *failures += 1;
                    }
                    if !arguments.keep_going {
                        next.store(end, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let failed = failures.into_inner().unwrap_or(1);
    let (acknowledged, read, lost, starts) = totals.into_inner().unwrap_or_default();
    println!(
        "{failed} failed; {acknowledged} batches acknowledged, {read} read, {lost} lost to power cuts, {starts} starts"
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
