//! What Apache Kafka counts of its own requests, against the moments in which a cause was felt.

use super::evidence::Evidence;
use super::finding::time;
use super::spans::Spans;
use super::verdict::Span;
use crate::recording::StageSample;

/// A row has what ended since the row before, so that a request of a stall may be in the next.
const LATE_MS: f64 = 1_000.0;
/// A stage has grown if it is so many times as long, and longer by so much.
const TIMES: f64 = 3.0;
const LEAST_MS: f64 = 5.0;
/// The stage that has all others in it.
const WHOLE: &str = "TotalTimeMs";

/// A stage that is longer in some moments than in all others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grown<'a> {
    request: &'a str,
    stage: &'a str,
    then_ms: f64,
    else_ms: f64,
}

impl Grown<'_> {
    /// For people.
    pub(super) fn said(&self) -> String {
        let Self { request, stage, .. } = self;
        let (then, usual) = (time(self.then_ms), time(self.else_ms));
        format!("{stage} of {request} requests was {then} on average in these moments, {usual} in others")
    }
}

/// The stage that has grown most in these moments, of those that are `wanted`; `None` where none
/// has, or where the broker was not asked.
pub(super) fn grown<'a>(
    evidence: &Evidence<'a>,
    when: &Spans,
    wanted: impl Fn(&str) -> bool,
) -> Option<Grown<'a>> {
    let rows = &evidence.recording.stages;
    let inside = |row: &&StageSample| {
        let span: Spans =
            [Span { from_ms: row.at_ms - 2.0 * LATE_MS, to_ms: row.at_ms }].into_iter().collect();
        !span.within(when).is_empty()
    };
    let (then, usually): (Vec<&StageSample>, Vec<&StageSample>) = rows.iter().partition(inside);
    let mean = |rows: &[&StageSample], like: &StageSample| {
        let alike = rows.iter().filter(|row| row.request == like.request && row.stage == like.stage);
        let (count, total) =
            alike.fold((0, 0.0), |(count, total), row| (count + row.count, total + row.total_ms));
        (count > 0).then(|| total / count as f64)
    };
    let mut seen: Vec<(&str, &str)> = Vec::new();
    let stages = then.iter().filter(|row| {
        let name = (row.request.as_str(), row.stage.as_str());
        let is_new = row.stage != WHOLE && wanted(&row.stage) && !seen.contains(&name);
        seen.extend(is_new.then_some(name));
        is_new
    });
    let grown = stages.filter_map(|row| {
        let (then_ms, else_ms) = (mean(&then, row)?, mean(&usually, row)?);
        let has_grown = then_ms >= TIMES * else_ms && then_ms - else_ms >= LEAST_MS;
        has_grown.then_some(Grown { request: &row.request, stage: &row.stage, then_ms, else_ms })
    });
    grown.max_by(|a, b| (a.then_ms - a.else_ms).total_cmp(&(b.then_ms - b.else_ms)))
}

#[cfg(test)]
mod tests {
    use super::super::story::Story;
    use super::*;

    #[test]
    fn the_stage_that_grew_most_is_told_with_what_it_is_usually() {
        let mut story = Story::of_kafka("xfs");
        for second in 1..30 {
            for (stage, slow_ms) in [("LocalTimeMs", 400.0), ("ResponseQueueTimeMs", 30.0), (WHOLE, 430.0)] {
                let is_slow = (10..=13).contains(&second);
                story.0.stages.push(StageSample {
                    at_ms: f64::from(second) * 1_000.0,
                    request: "Produce".to_owned(),
                    stage: stage.to_owned(),
                    count: if is_slow { 10 } else { 1_000 },
                    total_ms: if is_slow { 10.0 * slow_ms } else { 500.0 },
                });
            }
        }
        let evidence = Evidence::of(&story.0);
        let when: Spans = [Span { from_ms: 9_500.0, to_ms: 12_900.0 }].into_iter().collect();
        let found = grown(&evidence, &when, |_| true).expect("it has grown");
        let Grown { stage, then_ms, .. } = found;
        assert_eq!(stage, "LocalTimeMs");
        assert!(then_ms > 10.0 && found.said().contains("of Produce requests"), "{}", found.said());
        assert_eq!(grown(&evidence, &when, |stage| stage == "ThrottleTimeMs"), None);
        let calm: Spans = [Span { from_ms: 20_000.0, to_ms: 22_000.0 }].into_iter().collect();
        assert_eq!(grown(&evidence, &calm, |_| true), None);
    }
}
