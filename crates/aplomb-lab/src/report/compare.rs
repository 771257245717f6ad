//! The page over many runs: a picture, small pictures of p99.9 over time, and the figures.
//!
//! What always holds: all small pictures have one latency axis; each incident leads to its own
//! page, where there is one.

use super::axes::{Frame, Scale};
use super::comparison::{Cell, Comparison, Entry, IncidentRow};
use super::evidence;
use super::groups;
use super::headline::STAYED;
use super::page;
use super::picture;
use super::series;
use super::special;
use super::units;
use super::who::{self, Who};
use crate::record::{BrokerRun, Ended, Second};
use aplomb_doctor::html::{Element, el};

const SMALL: Frame = Frame { width: 400.0, height: 210.0, left: 66.0, right: 10.0, top: 10.0, bottom: 30.0 };

/// A page over many runs.
#[must_use]
pub fn compare_page(entries: &[Entry<'_>]) -> String {
    let comparison = Comparison::of(entries);
    let header = el("header")
        .child(
            el("p")
                .class("eyebrow")
                .text(format!("Aplomb lab · {}", units::plural(entries.len() as u64, "run"))),
        )
        .child(el("h1").text("What slow disks do to latency"))
        .child(el("p").class("lead").text(lead(&comparison)));
    let overview = el("section")
        .child(heading(
            "p99.9, before and during",
            "The 99.9th percentile of produce latency in the same run: the ring before the disturbance, the dot during it.",
        ))
        .child(el("div").class("wide").child(picture::inline(&comparison)));
    let main = el("main")
        .child(header)
        .child(overview)
        .child(over_time(&comparison))
        .child(
            el("section")
                .child(heading(
                    "Figures",
                    "p99.9 before and during, how many times larger it became, and the largest latency during the disturbance; of consumer groups, rebalances from then on and p99.9 of their commits; of a broker that was killed, how long it was away.",
                ))
                .child(figures(&comparison)),
        );
    page::document("Aplomb lab: runs compared", main)
}

fn heading(title: &str, caption: &str) -> Element {
    el("div").class("heading").child(el("h2").text(title)).child(el("p").class("caption").text(caption))
}

/// One sentence a broker: in how many incidents p99.9 rose, and how far at most.
fn lead(comparison: &Comparison<'_>) -> String {
    let mut sentences = Vec::new();
    for (column, who) in comparison.names.iter().enumerate() {
        let of_disks = |row: &&IncidentRow<'_>| !row.story.control && !row.story.look_alike;
        let incidents = comparison.rows.iter().filter(of_disks);
        let amplified: Vec<f64> =
            incidents.filter_map(|row| Some(row.cells[column].as_ref()?.run.amplification?.p999)).collect();
        if amplified.is_empty() {
            continue;
        }
        let rose = amplified.iter().filter(|factor| **factor >= STAYED).count();
        let most = amplified.iter().copied().fold(0.0, f64::max);
        let all = units::plural(amplified.len() as u64, "incident");
        let how_many = if rose == 0 { "none".to_owned() } else { units::count(rose as u64) };
        sentences.push(format!(
            "p99.9 of {} rose in {how_many} of {all}, at most {}.",
            who::shortened(&who.name, 40),
            units::times(most)
        ));
    }
    sentences.join(" ")
}

fn over_time(comparison: &Comparison<'_>) -> Element {
    let runs = || comparison.rows.iter().flat_map(|row| row.cells.iter().flatten().map(|cell| cell.run));
    let latencies = runs().flat_map(|run| run.seconds.iter().filter_map(|s| s.produce.as_ref()));
    let scale = Scale::log_over(latencies.map(|p| p.p999_us as f64));
    let key = comparison
        .names
        .iter()
        .map(|who| el("span").class(format_args!("key {}", who.class)).text(&who.name));
    let figures = comparison.rows.iter().map(|row| {
        el("figure").child(el("figcaption").child(el("h3").child(title(row)))).child(small(
            row,
            &comparison.names,
            scale,
        ))
    });
    el("section")
        .child(heading(
            "p99.9 over time",
            "Second by second, on one logarithmic axis. The disturbance is shaded.",
        ))
        .child(el("p").class("keys").children(key))
        .child(el("div").class("small-multiples").children(figures))
}

fn title(row: &IncidentRow<'_>) -> Element {
    match row.page {
        Some(page) => el("a").attr("href", format_args!("./{}", page::encoded(page))).text(&row.story.name),
        None => el("span").text(&row.story.name),
    }
}

fn small(row: &IncidentRow<'_>, names: &[Who], scale: Scale) -> Element {
    let end = |run: &BrokerRun| {
        let phases = run.phases.iter().map(|phase| phase.to_ms);
        phases.chain(run.seconds.iter().map(|s| (s.second as f64 + 1.0) * 1e3)).fold(0.0, f64::max)
    };
    let runs = || row.cells.iter().zip(names).filter_map(|(cell, who)| Some((cell.as_ref()?.run, who)));
    let time = Scale::Linear { from: 0.0, to: runs().map(|(run, _)| end(run)).fold(1_000.0, f64::max) };
    let mut picture = SMALL.svg(&format!("p99.9 over time in {}", row.story.name)).class("small");
    if let Some((run, _)) = runs().next() {
        picture = picture.children(series::disturbed(run, &SMALL, time, false));
    }
    picture = picture.child(SMALL.latency_axis(scale)).child(SMALL.time_axis(time));
    for (run, who) in runs() {
        let mut d = String::new();
        for stretch in run.seconds.chunk_by(follows) {
            let points = stretch.iter().filter_map(|second| {
                let p = second.produce.as_ref()?;
                Some((SMALL.x(time, (second.second as f64 + 0.5) * 1e3), SMALL.y(scale, p.p999_us as f64)))
            });
            d += &series::path(&points.collect::<Vec<_>>());
        }
        picture = picture.child(el("path").class(format_args!("line {}", who.class)).attr("d", d));
    }
    picture
}

fn follows(a: &Second, b: &Second) -> bool {
    a.produce.is_some() && b.produce.is_some() && a.second.checked_add(1) == Some(b.second)
}

fn figures(comparison: &Comparison<'_>) -> Element {
    let mut head = vec!["incident"];
    head.extend(comparison.names.iter().map(|who| who.name.as_str()));
    let rows = comparison.rows.iter().map(|row| {
        let mut first = el("td").child(el("span").class("what-row").child(title(row)));
        let what = row.disturbance.unwrap_or("nothing is disturbed");
        let control = if row.story.control { "negative control: " } else { "" };
        first = first.child(el("span").class("disturbance").text(format!("{control}{what}")));
        let mut cells = vec![first];
        cells.extend(row.cells.iter().map(|found| cell(found.as_ref())));
        cells
    });
    evidence::table("summary", &head, rows)
}

fn cell(found: Option<&Cell<'_>>) -> Element {
    let Some(Cell { run, .. }) = found else { return el("td").text("–") };
    if let Ended::Failed(why) = &run.ended {
        return el("td").class("bad").text(format!("cut short: {why}"));
    }
    let figures = match &run.recovery {
        Some(recovery) => vec![
            el("span").text(format!("away for {}", special::away(recovery))),
            el("span").class("disturbance").text(special::kept(recovery)),
        ],
        None => match amplified(run) {
            Some(figures) => figures,
            None => return el("td").class("bad").text("nothing was acknowledged"),
        },
    };
    let mut cell = el("td").children(figures);
    let remarks = found.into_iter().flat_map(Cell::remarks);
    cell = cell.children(remarks.map(|remark| el("span").class("disturbance").text(remark)));
    if let Some(told) = groups::in_a_cell(run) {
        cell = cell.child(el("span").class("disturbance").text(format!("groups: {told}")));
    }
    if let Some(counted) = &run.counted {
        cell = cell.child(el("span").class("disturbance").text(&counted.who));
    }
    if !run.expectation.met {
        cell = cell.child(el("span").class("disturbance bad").text("not as expected"));
    }
    if let Some(without) = run.expectation.reservation() {
        cell = cell.child(el("span").class("disturbance").text(without));
    }
    if run.witness.as_ref().is_some_and(|witness| !witness.silent) {
        cell = cell.child(el("span").class("disturbance bad").text("the witness is not silent"));
    }
    cell
}

/// p99.9 before and during, how many times larger it became, and the largest.
fn amplified(run: &BrokerRun) -> Option<Vec<Element>> {
    let (calm, during, a) = (run.latency.calm.as_ref()?, run.latency.during.as_ref()?, run.amplification?);
    let factor = el("span").class(if a.p999 >= STAYED { "strong" } else { "" }).text(units::times(a.p999));
    let both = format!("{} → {} ", units::time_us(calm.p999_us), units::time_us(during.p999_us));
    let most = format!("max {}", units::time_us(during.max_us));
    Some(vec![el("span").text(both), factor, el("span").class("disturbance").text(most)])
}
