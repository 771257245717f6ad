//! Simulations that found something once, and some fresh seeds.
//!
//! `tests/seeds/*.txt` has a scenario a line, with the reason behind a `#`. `SIM_SEED=N` runs one
//! seed instead, `SIM_SEEDS=N` so many fresh ones; `make test` runs thousands with the program
//! `simulate`, which is built with optimization.

use std::path::Path;

use aplomb_sim::{Corpus, Outcome, Scenario, run};

/// Fresh seeds by default: a few, since a test build is slow.
const FRESH: u64 = 12;

fn must_hold(scenario: &Scenario) {
    let Outcome { failure, summary, .. } = run(scenario, false);
    if let Some(failure) = failure {
        panic!(
            "{failure}\n{summary:?}\nto see it again: cargo run --profile sim --bin simulate -- {} --trace",
            scenario.arguments()
        );
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number, not '{text}'")))
}

#[test]
fn what_was_found_once_is_not_found_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/seeds");
    let corpus = Corpus::open(&folder).unwrap_or_else(|error| panic!("{error}"));
    assert!(!corpus.scenarios().is_empty(), "the corpus in {} is not empty", folder.display());
    corpus.scenarios().iter().for_each(must_hold);
}

#[test]
fn what_nobody_has_seen_holds() {
    if let Some(seed) = number("SIM_SEED") {
        return must_hold(&Scenario::of_seed(seed));
    }
    // Others than those that the program `simulate` begins with.
    for seed in
        (1_000_000..).take(usize::try_from(number("SIM_SEEDS").unwrap_or(FRESH)).unwrap_or(usize::MAX))
    {
        must_hold(&Scenario::of_seed(seed));
    }
}

#[test]
fn one_seed_is_one_history() {
    for seed in 0..4 {
        let scenario = Scenario::of_seed(seed);
        assert_eq!(run(&scenario, true), run(&scenario, true), "seed {seed}");
    }
}
