//! From findings to a diagnosis: what they explain, and which is a part of which.
//!
//! What always holds: a cause below a fifth of the slow time, and of what requests waited, is
//! none; where nothing was slow there is no cause; what another cause brings about is not named
//! beside it.

use super::evidence::{Evidence, LOOK_MS};
use super::finding::{Finding, time};
use super::lift::Lift;
use super::rules;
use super::spans::Spans;
use super::stages;
use super::verdict::{Cause, Confidence, Diagnosis, Span};
use crate::recording::{Kind, Recording};

/// Less than this altogether is how every machine is.
const LEAST_SLOW_MS: f64 = 150.0;
/// It counts if it is so much of the recording, or so long at once.
const LEAST_SHARE: f64 = 0.01;
const LEAST_AT_ONCE_MS: f64 = 80.0;
const _: () = assert!(LOOK_MS < LEAST_AT_ONCE_MS, "what one look has found is no stall");
/// A cause explains at least so much of the slow time, or of what requests waited in it.
const LEAST_EXPLAINED: f64 = 0.2;
/// A cause that explains so much of another's time swallows it, if it is one of its consequences.
const SWALLOWS: f64 = 0.15;
/// A consequence is felt at once, or as soon as what it waits behind goes on.
const NEAR_MS: f64 = 500.0;
/// With less calm time than this there is nothing to compare with.
const LEAST_CALM: f64 = 0.05;
/// With less of the slow time explained, more has to be collected.
const ENOUGH: f64 = 0.5;

/// Says what a recording shows.
#[must_use]
pub fn diagnose(recording: &Recording) -> Diagnosis {
    let evidence = Evidence::of(recording);
    let findings = rules::all(&evidence);
    let felt = findings.iter().fold(evidence.stands(), |all, finding| all.and(&finding.explained));
    let mut observations = rules::observations(&evidence);
    if !is_slow(&felt, recording.clock.length_ms) {
        return Diagnosis { observations, ..Diagnosis::default() };
    }
    let kept = swallowed(findings);
    let known = kept.iter().fold(Spans::default(), |all, finding| all.and(&finding.explained));
    let unknown = Finding { explained: felt.without(&known), ..Finding::default() };
    let all_harm = kept.iter().chain([&unknown]).map(Finding::harm).sum::<f64>().max(f64::MIN_POSITIVE);
    let mut explained = Spans::default();
    let mut causes = Vec::new();
    for finding in kept {
        let share = felt.share_in(&finding.explained);
        let harm = finding.harm() / all_harm;
        if share.max(harm) < LEAST_EXPLAINED {
            observations.push(format!(
                "{}: {} (explains only {:.0} % of the slow time)",
                finding.name,
                finding.summary,
                share * 100.0
            ));
            continue;
        }
        explained = explained.and(&finding.explained);
        let finding = compared(finding, &felt, &evidence);
        causes.push((harm, cause(finding, share, recording.clock.length_ms)));
    }
    // The surest first where they are alike: a tenth more or less is chance.
    causes.sort_by(|(harm, a), (other, b)| {
        let tenth = |harm: &f64| (harm * 10.0).round();
        let by_harm = tenth(other).total_cmp(&tenth(harm));
        by_harm.then(b.confidence.cmp(&a.confidence)).then(other.total_cmp(harm))
    });
    let causes = causes.into_iter().map(|(_, cause)| cause).collect();
    let unexplained = felt.without(&explained);
    let next = if felt.share_in(&explained) < ENOUGH { next(recording) } else { Vec::new() };
    Diagnosis { causes, unexplained: unexplained.into_vec(), slow: felt.into_vec(), observations, next }
}

fn is_slow(felt: &Spans, length_ms: f64) -> bool {
    let total = felt.total_ms();
    let at_once = felt.longest_ms() >= LEAST_AT_ONCE_MS;
    total >= LEAST_SLOW_MS && (at_once || total >= LEAST_SHARE * length_ms)
}

/// Findings without those that others bring about.
fn swallowed(findings: Vec<Finding>) -> Vec<Finding> {
    let names = |one: usize, other: usize| findings[one].absorbs.contains(&findings[other].name);
    let covers = |larger: usize, smaller: usize| {
        // Of two that name each other the one that explains more is the cause.
        let is_larger = !names(smaller, larger)
            || (findings[larger].explained.total_ms(), smaller)
                > (findings[smaller].explained.total_ms(), larger);
        let near = findings[larger].explained.widened(NEAR_MS.max(findings[larger].near_ms));
        larger != smaller
            && names(larger, smaller)
            && is_larger
            && findings[smaller].explained.share_in(&near) >= SWALLOWS
            && findings[larger].explained.total_ms() >= SWALLOWS * findings[smaller].explained.total_ms()
    };
    let all = 0..findings.len();
    let parents: Vec<Option<usize>> =
        all.clone().map(|index| all.clone().find(|&other| covers(other, index))).collect();
    let mut kept = findings.clone();
    for child in all {
        // A chain is no longer than there are findings, also if three should name each other.
        let chain = std::iter::successors(parents[child], |&parent| parents[parent]);
        let Some(root) = chain.take(findings.len()).last() else { continue };
        kept[root].explained = kept[root].explained.and(&findings[child].explained);
        kept[root].evidence.push(format!("with it: {}", findings[child].summary));
    }
    let whole = |(index, finding): (usize, Finding)| parents[index].is_none().then_some(finding);
    kept.into_iter().enumerate().filter_map(whole).collect()
}

/// The finding with what a comparison of slow moments with calm ones says of it: what is below the
/// wait is no evidence if it was there all the time, unless it is known to have been the holder.
fn compared(mut finding: Finding, felt: &Spans, evidence: &Evidence<'_>) -> Finding {
    let whole: Spans = [Span { from_ms: 0.0, to_ms: evidence.length_ms() }].into_iter().collect();
    if let Some((ground, what)) = finding.ground_when.take()
        && let Some(lift) = Lift::of(&ground, &finding.explained, felt, &whole, LEAST_CALM)
    {
        let belongs = finding.ground_known || lift.is_enough();
        let said = lift.said(what);
        if belongs {
            finding.evidence.push(said)
        } else {
            finding.against.push(said)
        }
        finding.ground &= belongs;
    }
    let grown = stages::grown(evidence, &finding.explained, |_| true);
    finding.evidence.extend(grown.map(|stage| stage.said()));
    finding
}

fn cause(finding: Finding, share: f64, length_ms: f64) -> Cause {
    let mut against = finding.against;
    let calm = 1.0 - finding.explained.total_ms() / length_ms.max(1.0);
    if calm < LEAST_CALM {
        against.push("it went on for the whole recording: there is no calm time to compare with".to_owned());
    }
    let witnesses = 1 + usize::from(finding.waited) + usize::from(finding.ground);
    let confidence = match witnesses {
        3 if calm >= LEAST_CALM => Confidence::Proved,
        2 | 3 => Confidence::Likely,
        _ => Confidence::Possible,
    };
    let when = finding.explained.into_vec();
    Cause {
        name: finding.name.to_owned(),
        confidence,
        share,
        summary: finding.summary,
        evidence: finding.evidence,
        against,
        mechanism: finding.mechanism.to_owned(),
        remedy: finding.remedy,
        threads: finding.threads,
        when,
    }
}

/// What to collect where causes do not explain enough.
fn next(recording: &Recording) -> Vec<String> {
    let mut next: Vec<String> =
        recording.sight.missing.iter().map(|missing| format!("not seen here: {missing}")).collect();
    if recording.process.kind == Kind::Kafka && recording.safepoints.is_empty() {
        next.push(
            "a safepoint log: jcmd PID VM.log output=file=/dev/shm/safepoints.log what=safepoint=info \
             decorators=timenanos"
                .to_owned(),
        );
    }
    if recording.process.kind == Kind::Kafka {
        next.push(
            "a wall-clock recording of async-profiler 4.5 or later: asprof -e wall -i 20ms -d 60 -f wall.jfr \
             PID, then aplomb doctor examine wall.jfr"
                .to_owned(),
        );
    }
    let length = time(recording.clock.length_ms);
    next.push(format!("a longer recording, with calm time before: this one has {length}"));
    next
}
