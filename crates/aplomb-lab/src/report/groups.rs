//! What became of consumer groups, in words and as a table.
//!
//! What always holds: a run without groups says nothing of them; one whose broker had none says
//! why.

use super::evidence::{figure, table};
use super::headline::STAYED;
use super::units;
use super::who::Who;
use crate::record::{BrokerRun, GroupFigures, GroupPhase, Groups, GroupsOf, Percentiles};
use aplomb_doctor::html::{Element, el};

/// The caption of a page's part.
pub(super) const CAPTION: &str = "Groups of members that hold their partitions, heartbeat and commit, and read nothing, beside the producers. A rebalance \
     belongs to the part in which it began; “no owner” is the longest time for which partitions of a group had none, as its members know it. Commits and \
     heartbeats count from the moment at which they were due.";

/// Rebalances and commits in a few words, for a cell; nothing without figures.
pub(super) fn in_a_cell(run: &BrokerRun) -> Option<String> {
    let figures = run.groups.as_ref()?.figures.as_ref()?;
    let rebalances = units::plural(figures.caused(), "rebalance");
    Some(match commits(figures) {
        Some(commits) if run.recovery.is_none() => format!("{rebalances}; commits {commits}"),
        _ => rebalances,
    })
}

/// p99.9 of commits before and during: `3.1 ms → 20 s (6,452×)`.
fn commits(figures: &GroupFigures) -> Option<String> {
    let (calm, during) = (figures.calm.commit?, figures.during.commit?);
    let (calm, during) = (units::time_us(calm.p999_us), units::time_us(during.p999_us));
    Some(format!("{calm} → {during} ({})", units::times(figures.commits_rose()?)))
}

/// Lines for a terminal, each with a first word.
pub(super) fn lines(run: &BrokerRun) -> Vec<(&'static str, String)> {
    let Some(groups) = &run.groups else { return Vec::new() };
    let mut lines = vec![("groups", about(groups))];
    for load in groups.loads.iter().filter(|load| !load.lacks.is_empty()) {
        lines.push(("no groups", lacking(load)));
    }
    if let Some(figures) = &groups.figures {
        let GroupFigures { calm, during, after } = figures;
        lines.push((
            "rebalances",
            format!(
                "{} before, {} during, {} after; no owner for {} at most",
                units::count(calm.rebalances),
                units::count(during.rebalances),
                units::count(after.rebalances),
                units::time(figures.longest_unowned_ms() * 1e3)
            ),
        ));
        lines.push((
            "heartbeats",
            format!(
                "{} of {} failed during, {} of {} before",
                units::count(during.failed_heartbeats),
                units::count(during.heartbeats),
                units::count(calm.failed_heartbeats),
                units::count(calm.heartbeats)
            ),
        ));
        if let Some(commits) = commits(figures) {
            let most = during.commit.map_or(0, |commit| commit.max_us);
            lines.push((
                "commits",
                format!(
                    "p99.9 {commits}, max {}; {} failed during",
                    units::time_us(most),
                    units::count(during.failed_commits)
                ),
            ));
        }
    }
    lines
}

/// Which groups there were, and where their coordinators write.
fn about(groups: &Groups) -> String {
    let there: Vec<&GroupsOf> = groups.loads.iter().filter(|load| load.lacks.is_empty()).collect();
    let Some(first) = there.first() else { return "none".to_owned() };
    let kinds: Vec<String> =
        there.iter().map(|load| format!("{} {}", units::count(load.groups), load.protocol)).collect();
    format!(
        "{} groups of {}; session timeout {}, heartbeats every {}, commits every {}; {}",
        kinds.join(" and "),
        units::plural(first.members, "member"),
        units::round_time(first.session_timeout_ms as f64 * 1e3),
        units::round_time(first.heartbeat_interval_ms as f64 * 1e3),
        units::round_time(first.commit_interval_ms as f64 * 1e3),
        groups.placed
    )
}

fn lacking(load: &GroupsOf) -> String {
    format!("of the {} protocol: {}", load.protocol, load.lacks)
}

/// The groups of one broker, as a part of its page; `None` without any.
pub(super) fn of(run: &BrokerRun, who: &Who) -> Option<Element> {
    let groups = run.groups.as_ref()?;
    let mut part = el("div")
        .class(who.class)
        .child(el("h3").text(&who.name))
        .child(el("p").class("small").text(format!("{}.", about(groups))));
    for load in groups.loads.iter().filter(|load| !load.lacks.is_empty()) {
        part = part.child(el("p").class("small").text(format!("No groups {}.", lacking(load))));
    }
    let rows: Vec<Vec<Element>> = groups.loads.iter().flat_map(rows).collect();
    if rows.is_empty() {
        return Some(part);
    }
    let head =
        ["", "rebalances", "no owner", "commits: p50", "p99", "p99.9", "max", "failed", "heartbeats failed"];
    Some(part.child(table("groups", &head, rows)))
}

fn rows(load: &GroupsOf) -> Vec<Vec<Element>> {
    let Some(figures) = &load.figures else { return Vec::new() };
    let name = format!("{} protocol", load.protocol);
    let mut rows = vec![vec![el("th").attr("scope", "row").attr("colspan", 9).text(name)]];
    let phases = [("calm", &figures.calm), ("during", &figures.during), ("after", &figures.after)];
    rows.extend(phases.map(|(name, phase)| row(name, phase)));
    if let (Some(calm), Some(during)) = (figures.calm.commit, figures.during.commit) {
        let mut cells = vec![el("td").text("during ÷ calm"), el("td"), el("td")];
        cells.extend(each(&calm).iter().zip(each(&during)).map(|(calm, during)| {
            let times = during as f64 / (*calm).max(1) as f64;
            el("td").class(if times >= STAYED { "figure strong" } else { "figure" }).text(units::times(times))
        }));
        cells.extend([el("td"), el("td")]);
        rows.push(cells);
    }
    rows
}

fn row(name: &str, phase: &GroupPhase) -> Vec<Element> {
    let strong =
        |count: u64| figure(units::count(count)).class(if count > 0 { "figure strong" } else { "figure" });
    let mut cells = vec![
        el("td").attr("title", format_args!("{} commits", units::count(phase.commits))).text(name),
        strong(phase.rebalances),
        figure(if phase.longest_unowned_ms > 0.0 {
            units::time(phase.longest_unowned_ms * 1e3)
        } else {
            "–".to_owned()
        }),
    ];
    match &phase.commit {
        Some(commit) => cells.extend(each(commit).map(|us| figure(units::time_us(us)))),
        None => cells.extend([(); 4].map(|()| figure("–"))),
    }
    cells.extend([figure(units::count(phase.failed_commits)), figure(units::count(phase.failed_heartbeats))]);
    cells
}

fn each(of: &Percentiles) -> [u64; 4] {
    [of.p50_us, of.p99_us, of.p999_us, of.max_us]
}
