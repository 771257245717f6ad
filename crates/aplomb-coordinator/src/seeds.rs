//! Which seeds simulations of coordinators run: always the same, unless the environment says
//! otherwise. `GROUP_SEED=N` runs one, `GROUP_SEEDS=N` so many fresh ones, from `GROUP_SEEDS_FROM`
//! on.

use std::ops::Range;

/// Others than those that always run.
const FRESH: u64 = 1_000_000;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not '{text}'")))
}

/// What is asked for by hand, or the first `always`.
pub(crate) fn seeds(always: u64) -> Range<u64> {
    if let Some(seed) = number("GROUP_SEED") {
        return seed..seed + 1;
    }
    let from = number("GROUP_SEEDS_FROM").unwrap_or(FRESH);
    number("GROUP_SEEDS").map_or(0..always, |count| from..from + count)
}
