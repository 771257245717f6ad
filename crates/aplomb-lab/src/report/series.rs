//! Latency over time: one picture a broker, all on the same axes, and below it what was carried
//! meanwhile.
//!
//! What always holds: every picture of a run has the same scales, so that they can be laid side by
//! side; a second without an acknowledgement is a gap, never a bridge. Each picture has its lines
//! twice, on a logarithmic axis and on a linear one, and the style sheet shows one of them; nothing
//! has to be drawn by a script.

use super::axes::{self, Frame, Scale};
use super::units;
use super::who::Who;
use crate::record::{BrokerRun, Percentiles, Phase, PhaseName, Run, Second};
use aplomb_doctor::html::{Element, Number, el};

const FRAME: Frame = Frame { width: 580.0, height: 330.0, left: 74.0, right: 66.0, top: 34.0, bottom: 32.0 };
const CARRIED: Frame = Frame { width: 580.0, height: 96.0, left: 74.0, right: 66.0, top: 30.0, bottom: 12.0 };

/// The percentiles that are drawn, the uppermost first: class, name, and where it is.
type Line = (&'static str, &'static str, fn(&Percentiles) -> u64);
const LINES: &[Line] = &[
    ("max", "max", |p| p.max_us),
    ("p999", "p99.9", |p| p.p999_us),
    ("p99", "p99", |p| p.p99_us),
    ("p50", "p50", |p| p.p50_us),
];

/// The scales that all pictures of a run share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scales {
    /// Milliseconds of the run.
    pub(super) time: Scale,
    /// Microseconds, logarithmic.
    pub(super) log: Scale,
    linear: Scale,
    records: Scale,
    bytes: Scale,
}

impl Scales {
    /// Over everything in a run.
    pub(super) fn over(run: &Run) -> Self {
        let seconds = || run.brokers.iter().flat_map(|run| &run.seconds);
        let measured = || seconds().filter_map(|second| second.produce.as_ref());
        let latencies = || measured().flat_map(|p| LINES.iter().map(move |(_, _, of)| of(p) as f64));
        let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        Self {
            time: Scale::Linear { from: 0.0, to: end_ms(run).max(1_000.0) },
            log: Scale::log_over(latencies()),
            linear: Scale::linear_to(largest(&mut latencies())),
            records: Scale::linear_to(largest(&mut seconds().map(|s| s.acknowledged.max(s.failed) as f64))),
            bytes: Scale::linear_to(largest(&mut seconds().map(|s| s.lagging_bytes as f64))),
        }
    }
}

fn end_ms(run: &Run) -> f64 {
    let phases = run.brokers.iter().flat_map(|run| run.phases.iter().map(|phase| phase.to_ms));
    let seconds =
        run.brokers.iter().filter_map(|run| run.seconds.last()).map(|s| (s.second as f64 + 1.0) * 1e3);
    phases.chain(seconds).fold(0.0, f64::max)
}

/// Latency from due to acknowledged, second by second.
pub(super) fn latency(run: &BrokerRun, who: &Who, scales: &Scales) -> Element {
    let mut picture = FRAME
        .svg(&format!("Latency of produce requests of {} over time", who.name))
        .class(format_args!("series {}", who.class))
        .children(disturbed(run, &FRAME, scales.time, true));
    for (class, scale) in [("log", scales.log), ("linear", scales.linear)] {
        picture = picture.child(lines(run, class, scale, scales.time));
    }
    picture.child(FRAME.time_axis(scales.time)).child(seconds(run, &FRAME, scales.time))
}

fn lines(run: &BrokerRun, class: &str, scale: Scale, time: Scale) -> Element {
    let mut group = el("g").class(class).child(FRAME.latency_axis(scale));
    let at = |second: &Second, us: u64| (FRAME.x(time, middle(second)), FRAME.y(scale, us as f64));
    if let Some(band) = band(run, &at) {
        group = group.child(band);
    }
    for (class, _, of) in LINES.iter().rev() {
        let stretches = stretches(run).map(|stretch| {
            let points: Vec<_> = stretch.iter().map(|(second, p)| at(second, of(p))).collect();
            path(&points)
        });
        group = group
            .child(el("path").class(format_args!("line {class}")).attr("d", stretches.collect::<String>()));
        if *class == "max" {
            let dots = measured(run).map(|(second, p)| at(second, of(p)));
            group = group.children(
                dots.map(|(x, y)| el("circle").class("dot").at("cx", x).at("cy", y).attr("r", "2.2")),
            );
        }
    }
    let Some((last, p)) = measured(run).last() else {
        let middle = (FRAME.left + FRAME.x_end()) / 2.0;
        return group.child(
            axes::label(middle, FRAME.height / 2.0, "middle", "nothing was acknowledged").class("note"),
        );
    };
    let places: Vec<f64> = LINES.iter().map(|(_, _, of)| at(last, of(p)).1 + 4.0).collect();
    let places = axes::apart(places, 17.0, FRAME.y_end());
    let x = FRAME.x(time, middle(last)) + 10.0;
    let names = LINES
        .iter()
        .zip(places)
        .map(|((class, name, _), y)| axes::label(x, y, "start", name).class(format_args!("name {class}")));
    group.children(names)
}

/// What lies between the median and the largest.
fn band(run: &BrokerRun, at: &impl Fn(&Second, u64) -> (f64, f64)) -> Option<Element> {
    let mut d = String::new();
    for stretch in stretches(run) {
        let upper = stretch.iter().map(|(second, p)| at(second, p.max_us));
        let lower = stretch.iter().rev().map(|(second, p)| at(second, p.p50_us));
        d += &path(&upper.chain(lower).collect::<Vec<_>>());
        d += "Z";
    }
    (!d.is_empty()).then(|| el("path").class("band").attr("d", d))
}

fn measured(run: &BrokerRun) -> impl Iterator<Item = (&Second, &Percentiles)> {
    run.seconds.iter().filter_map(|second| Some((second, second.produce.as_ref()?)))
}

/// Seconds that follow one another and have a latency.
fn stretches(run: &BrokerRun) -> impl Iterator<Item = Vec<(&Second, &Percentiles)>> {
    let mut all: Vec<Vec<(&Second, &Percentiles)>> = Vec::new();
    for (second, p) in measured(run) {
        match all.last_mut() {
            Some(stretch)
                if stretch
                    .last()
                    .is_some_and(|(before, _)| before.second.checked_add(1) == Some(second.second)) =>
            {
                stretch.push((second, p));
            }
            _ => all.push(vec![(second, p)]),
        }
    }
    all.into_iter()
}

fn middle(second: &Second) -> f64 {
    (second.second as f64 + 0.5) * 1e3
}

/// The commands of a line through points.
pub(super) fn path(points: &[(f64, f64)]) -> String {
    let mut d = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        d += &format!("{}{} {}", if at == 0 { "M" } else { "L" }, Number(*x), Number(*y));
    }
    d
}

/// The disturbance's time, shaded, if anything was disturbed; with words, what it was.
pub(super) fn disturbed(run: &BrokerRun, frame: &Frame, time: Scale, words: bool) -> Vec<Element> {
    let mut shades = Vec::new();
    let is_disturbed = |phase: &&Phase| phase.name == PhaseName::During && !phase.disturbance.is_empty();
    for phase in run.phases.iter().filter(is_disturbed) {
        let (from, to) = (frame.x(time, phase.from_ms), frame.x(time, phase.to_ms));
        shades.push(axes::rect(from, frame.top, to - from, frame.y_end() - frame.top).class("shade"));
        if words {
            let text = super::who::shortened(&phase.disturbance, 44);
            shades.push(axes::label((from + to) / 2.0, frame.top - 8.0, "middle", &text).class("what"));
        }
    }
    shades
}

/// A column for each second that tells its figures, to whoever points at it.
fn seconds(run: &BrokerRun, frame: &Frame, time: Scale) -> Element {
    let mut group = el("g").class("hits");
    for second in &run.seconds {
        let (from, to) = (second.second as f64 * 1e3, (second.second as f64 + 1.0) * 1e3);
        let (x, end) = (frame.x(time, from), frame.x(time, to));
        let column = axes::rect(x, frame.top, end - x, frame.y_end() - frame.top);
        group = group.child(
            el("g").attr("data-second", second.second).child(column).child(el("title").text(told(second))),
        );
    }
    group
}

fn told(second: &Second) -> String {
    let mut text = format!("{} s: ", second.second);
    match &second.produce {
        Some(p) => {
            let figures = LINES.iter().rev().map(|(_, name, of)| format!("{name} {}", units::time_us(of(p))));
            text += &figures.collect::<Vec<_>>().join(", ");
        }
        None => text += "nothing acknowledged",
    }
    if let Some(arrived) = &second.end_to_end {
        text += &format!("; to the consumer p99.9 {}", units::time_us(arrived.p999_us));
    }
    text += &format!("; {} records", units::count(second.acknowledged));
    if second.failed > 0 {
        text += &format!(", {} failed", units::count(second.failed));
    }
    text
}

/// What was carried: records acknowledged each second, and what the lagging consumer received, if
/// there was one.
pub(super) fn carried(run: &BrokerRun, who: &Who, scales: &Scales) -> Vec<Element> {
    let largest = |of: fn(&Second) -> u64| run.seconds.iter().map(of).max().unwrap_or(0);
    let failed: u64 = run.seconds.iter().map(|second| second.failed).sum();
    let mut title =
        format!("records acknowledged, at most {} a second", units::count(largest(|s| s.acknowledged)));
    if failed > 0 {
        title += &format!("; {} failed (below)", units::count(failed));
    }
    let records = columns(run, who, &title, scales.time, scales.records, |s| s.acknowledged, |s| s.failed);
    let lagging = largest(|s| s.lagging_bytes);
    let bytes = (lagging > 0).then(|| {
        let title = format!("to the lagging consumer, at most {}", units::rate(lagging));
        columns(run, who, &title, scales.time, scales.bytes, |s| s.lagging_bytes, |_| 0)
    });
    [Some(records), bytes].into_iter().flatten().collect()
}

fn columns(
    run: &BrokerRun,
    who: &Who,
    title: &str,
    time: Scale,
    scale: Scale,
    of: fn(&Second) -> u64,
    failed: fn(&Second) -> u64,
) -> Element {
    let frame = &CARRIED;
    let mut picture = frame
        .svg(&format!("{}: {title}", who.name))
        .class(format_args!("carried {}", who.class))
        .children(disturbed(run, frame, time, false))
        .child(axes::label(frame.left, frame.top - 10.0, "start", title).class("what"));
    for second in &run.seconds {
        let x = frame.x(time, second.second as f64 * 1e3);
        let width = frame.x(time, (second.second as f64 + 1.0) * 1e3) - x - 1.0;
        for (class, value) in [("amount", of(second)), ("failed", failed(second))] {
            if value > 0 {
                let y = frame.y(scale, value as f64);
                picture = picture.child(axes::rect(x, y, width, frame.y_end() - y).class(class));
            }
        }
    }
    picture.child(axes::line(frame.left, frame.y_end(), frame.x_end(), frame.y_end()).class("base"))
}
