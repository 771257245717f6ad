//! A campaign over a corpus: its scenarios run first, and what fails is told, with the command that
//! shows it again, and added.

use std::sync::{Mutex, PoisonError};

use super::{Campaign, Corpus, CorpusError, Found, Tally};

/// Runs `campaign`, the scenarios of `corpus` first, and adds there what fails, made smaller if the
/// campaign does that. `replay` is the beginning of the command that runs one scenario; `tell`
/// hears of each failure when it is found.
///
/// # Errors
/// When what was found could not be written; the campaign has come to its end nevertheless.
pub fn keeping(
    campaign: Campaign,
    corpus: Corpus,
    replay: &str,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Tally, CorpusError> {
    let campaign = Campaign { kept: corpus.scenarios().to_vec(), ..campaign };
    let keeper = Mutex::new((corpus, Ok(())));
    let tally = campaign.run(&|found| {
        tell(&told(&found, replay));
        let (corpus, kept) = &mut *keeper.lock().unwrap_or_else(PoisonError::into_inner);
        let (scenario, failure) = found.smaller.unwrap_or((found.scenario, found.failure));
        if let Err(error) = corpus.keep(&scenario, &failure) {
            *kept = Err(error);
        }
    });
    keeper.into_inner().unwrap_or_else(PoisonError::into_inner).1?;
    Ok(tally)
}

/// What failed, in lines: the scenario, a smaller one if there is one, and the command that shows
/// it again.
#[must_use]
pub fn told(found: &Found, replay: &str) -> String {
    let Found { scenario, failure, smaller } = found;
    let mut lines = format!("{scenario} fails {failure}\n");
    if let Some((smaller, failure)) = smaller {
        lines += &format!("    smaller: {smaller} fails {failure}\n");
    }
    let smallest = smaller.as_ref().map_or(scenario, |(smaller, _)| smaller);
    lines + &format!("    to see it again: {replay} {} --trace", smallest.arguments())
}
