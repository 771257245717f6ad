//! p99.9 before and during, one row an incident, as one picture: on the comparison's page, and as a
//! file of its own for a README or a talk.
//!
//! What always holds: the file brings its own style, for light and dark, and asks for nothing from
//! outside.

use super::axes::{self, Frame, Scale};
use super::comparison::{Comparison, Entry, IncidentRow};
use super::special;
use super::units;
use super::who::{self, Who};
use crate::record::BrokerRun;
use aplomb_doctor::html::{Element, el};

const WIDTH: f64 = 960.0;
const LEFT: f64 = 300.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 18.0;
/// Between two brokers of a row.
const LANE: f64 = 20.0;
/// Between two rows, besides their lanes.
const GAP: f64 = 18.0;

/// The picture as a file.
#[must_use]
pub fn compare_svg(entries: &[Entry<'_>]) -> String {
    let comparison = Comparison::of(entries);
    let (frame, body) = drawn(&comparison);
    let background = axes::rect(0.0, 0.0, frame.width, frame.height).class("paper");
    let picture = frame
        .svg("p99.9 of produce latency before and during each incident")
        .attr("xmlns", "http://www.w3.org/2000/svg")
        .attr("width", frame.width)
        .attr("height", frame.height)
        .class("dumbbells")
        .child(el("style").source(include_str!("picture.css")))
        .child(background)
        .children(body);
    format!("{picture}\n")
}

/// The picture as a part of a page.
pub(super) fn inline(comparison: &Comparison<'_>) -> Element {
    let (frame, body) = drawn(comparison);
    frame.svg("p99.9 of produce latency before and during each incident").class("dumbbells").children(body)
}

fn drawn(comparison: &Comparison<'_>) -> (Frame, Vec<Element>) {
    let lanes = comparison.names.len() as f64;
    let height = TOP + BOTTOM + comparison.rows.len() as f64 * (lanes * LANE + GAP);
    let frame = Frame { width: WIDTH, height, left: LEFT, right: RIGHT, top: TOP, bottom: BOTTOM };
    let runs = comparison.rows.iter().flat_map(|row| row.cells.iter().flatten().map(|cell| cell.run));
    // Of a broker that was killed, the time for which it was away is no latency.
    let runs = runs.filter(|run| run.recovery.is_none());
    let measured = runs.flat_map(|run| [&run.latency.calm, &run.latency.during]).flatten();
    let scale = Scale::log_over(measured.map(|latency| latency.p999_us as f64));
    let mut body = Vec::new();
    for tick in scale.ticks() {
        let x = frame.x(scale, tick);
        body.push(axes::line(x, TOP - 8.0, x, frame.y_end()).class("faint"));
        body.push(axes::label(x, TOP - 14.0, "middle", &units::round_time(tick)));
    }
    body.extend(key(&comparison.names));
    for (at, row) in comparison.rows.iter().enumerate() {
        let top = TOP + at as f64 * (lanes * LANE + GAP);
        body.extend(incident(row, &comparison.names, &frame, scale, top));
    }
    (frame, body)
}

/// What rings, dots and colours mean.
fn key(names: &[Who]) -> Vec<Element> {
    let mut x = LEFT;
    let mut key = Vec::new();
    for who in names {
        let name = who::shortened(&who.name, 24);
        let group = el("g")
            .class(who.class)
            .child(axes::line(x + 4.0, 17.0, x + 26.0, 17.0).class("span"))
            .child(ring(x + 4.0, 17.0))
            .child(dot(x + 26.0, 17.0))
            .child(axes::label(x + 38.0, 21.5, "start", &name).class("name"));
        key.push(group);
        x += 38.0 + 7.6 * name.chars().count() as f64 + 26.0;
    }
    key.push(axes::label(16.0, 21.5, "start", "p99.9:  ○ before   ● during").class("soft"));
    key
}

fn incident(row: &IncidentRow<'_>, names: &[Who], frame: &Frame, scale: Scale, top: f64) -> Vec<Element> {
    let mut drawn = vec![
        axes::line(16.0, top, WIDTH - 16.0, top).class("rail"),
        axes::label(16.0, top + 21.0, "start", &row.story.name).class("incident"),
    ];
    let what = match (row.story.control, row.disturbance) {
        (true, _) => "negative control".to_owned(),
        (false, what) => who::shortened(what.unwrap_or_default(), 42),
    };
    drawn.push(axes::label(16.0, top + 38.0, "start", &what).class("soft"));
    for (at, (run, who)) in row.cells.iter().zip(names).enumerate() {
        let y = top + GAP / 2.0 + LANE * (at as f64 + 0.5);
        let run = run.as_ref().map(|cell| cell.run);
        drawn.push(el("g").class(who.class).children(lane(run, who, frame, scale, y)));
    }
    drawn
}

fn lane(run: Option<&BrokerRun>, who: &Who, frame: &Frame, scale: Scale, y: f64) -> Vec<Element> {
    let Some(run) = run else { return Vec::new() };
    if let Some(recovery) = &run.recovery {
        let text = format!("killed, and away for {}; {}", special::away(recovery), special::kept(recovery));
        return vec![axes::label(frame.left, y + 4.5, "start", &text).class("name")];
    }
    let (Some(calm), Some(during)) = (&run.latency.calm, &run.latency.during) else {
        return vec![axes::label(frame.left, y + 4.5, "start", "nothing was acknowledged").class("name")];
    };
    let (from, to) = (frame.x(scale, calm.p999_us as f64), frame.x(scale, during.p999_us as f64));
    let factor = units::times(during.p999_us as f64 / calm.p999_us.max(1) as f64);
    let text = format!("{} ({factor})", units::time_us(during.p999_us));
    let told = format!(
        "{}: p99.9 {} before, {} during",
        who.name,
        units::time_us(calm.p999_us),
        units::time_us(during.p999_us)
    );
    vec![
        axes::line(from, y, to, y).class("span"),
        ring(from, y),
        dot(to, y).child(el("title").text(told)),
        axes::label(from.max(to) + 12.0, y + 4.5, "start", &text).class("name"),
    ]
}

fn ring(x: f64, y: f64) -> Element {
    el("circle").class("ring").at("cx", x).at("cy", y).attr("r", "4.5")
}

fn dot(x: f64, y: f64) -> Element {
    el("circle").class("dot").at("cx", x).at("cy", y).attr("r", "5.5")
}
