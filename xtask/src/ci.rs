//! `cargo xtask ci [STEP...]`: what has to hold before a change is merged, on any machine, in the
//! same order.
//!
//! All steps, and the simulator, share what is built: one profile, and the features of the whole
//! workspace, which another choice of packages would change.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// What a step does.
enum Step {
    /// A cargo command, with an environment variable where it needs one.
    Cargo(&'static [&'static str], Option<(&'static str, &'static str)>),
    /// A chore of our own.
    Chore(fn(&Path) -> Result<(), String>),
}

/// The steps: what is quick comes first, and what takes others' results last.
const STEPS: &[(&str, Step)] = &[
    ("fmt", Step::Cargo(&["fmt", "--all", "--check"], None)),
    ("layers", Step::Chore(crate::layers::run)),
    ("settings", Step::Chore(crate::settings::run)),
    ("tidy", Step::Chore(|root| crate::tidy::run(root, &[]))),
    ("deny", Step::Chore(|root| crate::deny::run(root, &[]))),
    ("codegen", Step::Chore(|root| crate::codegen::run(root, &["--check"]))),
    (
        "clippy",
        Step::Cargo(
            &[
                "clippy",
                "--profile",
                "sim",
                "--workspace",
                "--all-targets",
                "--locked",
                "--quiet",
                "--",
                "-D",
                "warnings",
            ],
            None,
        ),
    ),
    (
        "doc",
        Step::Cargo(
            // Private rooms too: the opening words of a file send the reader on to them.
            &[
                "doc",
                "--profile",
                "sim",
                "--workspace",
                "--no-deps",
                "--document-private-items",
                "--locked",
                "--quiet",
            ],
            Some(("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links")),
        ),
    ),
    ("test", Step::Cargo(&["test", "--profile", "sim", "--workspace", "--locked", "--quiet"], None)),
    ("pages", Step::Chore(|root| crate::docs::run(root, &["--check"]))),
];

/// Runs the named steps, or all; stops at the first that fails.
pub(crate) fn run(root: &Path, wanted: &[&str]) -> Result<(), String> {
    if let Some(unknown) = wanted.iter().find(|name| STEPS.iter().all(|(step, _)| step != *name)) {
        let known: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
        return Err(format!("ci has no step {unknown}; there are {}", known.join(", ")));
    }
    for (name, step) in STEPS.iter().filter(|(name, _)| wanted.is_empty() || wanted.contains(name)) {
        eprintln!("== {name}");
        let began = Instant::now();
        let result = match step {
            Step::Cargo(args, variable) => cargo(root, args, *variable),
            Step::Chore(chore) => chore(root),
        };
        eprintln!(
            "== {name}: {} after {:.1} s",
            if result.is_ok() { "ok" } else { "failed" },
            began.elapsed().as_secs_f64()
        );
        result.map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(())
}

fn cargo(root: &Path, args: &[&str], variable: Option<(&str, &str)>) -> Result<(), String> {
    let status = Command::new(env!("CARGO"))
        .args(args)
        .envs(variable)
        .current_dir(root)
        .status()
        .map_err(|error| format!("cargo cannot be run: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {} failed", args.join(" "))) }
}
