//! The simulator is shown a planted fault: disks that lose what they were told to sync. It has to
//! find it, make the scenario smaller, keep it, and run it first the next time. `aplomb lab
//! simulate` does the same; only its disks cannot be made to lie.

use std::path::Path;
use std::process::{Command, Output};

use aplomb_sim::{Corpus, Outcome, Scenario, Syncs, run, run_on, shrink};

/// Fresh seeds: a power cut comes in every third, and mostly takes something that matters.
const SEEDS: u64 = 60;

fn simulate(corpus: &Path, words: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_simulate");
    let done = Command::new(program).arg("--corpus").arg(corpus).arg("--shrink").args(words).output();
    done.unwrap_or_else(|error| panic!("{program}: {error}"))
}

fn kept(corpus: &Path) -> Vec<Scenario> {
    Corpus::open(corpus).unwrap_or_else(|error| panic!("{error}")).scenarios().to_vec()
}

fn failure_on_lying_disks(scenario: &Scenario) -> Option<String> {
    let Outcome { failure, .. } = run_on(scenario, Syncs::Forgotten, false);
    failure.map(|failure| failure.what)
}

#[test]
fn what_fails_is_made_smaller_and_kept_and_run_first_the_next_time() {
    let place = tempfile::tempdir().expect("a directory");
    let corpus = place.path().join("corpus");
    let count = SEEDS.to_string();

    let found = simulate(&corpus, &["--from", "0", "--count", &count, "--forget-syncs"]);
    let said = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(!found.status.success(), "{said}");
    let scenarios = kept(&corpus);
    let [scenario] = &scenarios[..] else { panic!("one thread ends at its first: {scenarios:?}\n{said}") };
    assert!(said.contains(&format!("smaller: {scenario} fails")), "{said}");
    assert!(
        said.contains(&format!("--bin simulate -- --forget-syncs {} --trace", scenario.arguments())),
        "{said}"
    );

    let whole = Scenario::of_seed(scenario.seed);
    assert!(said.contains(&format!("{whole} fails")), "{said}");
    assert!(failure_on_lying_disks(&whole).is_some());
    assert!(scenario.millis.is_some() && !scenario.without_clients.is_empty(), "it is smaller: {scenario}");
    let again = failure_on_lying_disks(scenario).expect("the smaller one fails too");
    let line = std::fs::read_to_string(corpus.join("found.txt")).expect("it was kept");
    assert_eq!(line, format!("{scenario} # {}\n", again.lines().next().unwrap_or_default()));
    assert_eq!(run(scenario, false).failure, None, "it is the disks' fault and nobody else's");

    // No fresh seed: what was kept is run, fails, and is not kept twice.
    let next = simulate(&corpus, &["--count", "0", "--forget-syncs"]);
    assert!(!next.status.success());
    let said = String::from_utf8_lossy(&next.stdout).into_owned();
    assert!(said.contains("1 failed; 1 scenarios"), "{said}");
    assert_eq!(kept(&corpus), scenarios);
    // The fault is mended: the same scenario holds.
    assert!(simulate(&corpus, &["--count", "0"]).status.success());
}

#[test]
fn nothing_can_be_left_out_of_the_smallest() {
    let fails = |seed: &u64| failure_on_lying_disks(&Scenario::of_seed(*seed)).is_some();
    let seed = (0..SEEDS).find(fails).expect("a simulator that misses this is worth nothing");
    let (smallest, _) = shrink(&Scenario::of_seed(seed), Syncs::Forgotten).expect("it fails");
    assert_eq!(shrink(&smallest, Syncs::Forgotten).map(|(scenario, _)| scenario), Some(smallest));
    assert_eq!(shrink(&Scenario::of_seed(seed), Syncs::Kept), None, "what holds is not made smaller");
}
