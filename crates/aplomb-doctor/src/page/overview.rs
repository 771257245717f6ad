//! The picture for those without scripts: what was slow, when the JVM stood, and the threads that
//! waited most, a row each.
//!
//! What always holds: its size does not grow with the number of waits: what falls into one column
//! of a row is one mark.

use super::lists;
use super::places;
use super::words;
use crate::diagnosis::Diagnosis;
use crate::html::{Element, Number, el};
use crate::recording::{Recording, Wait};
use crate::units;

/// Threads that have a row.
const MOST: usize = 24;
const LEFT: f64 = 250.0;
const RIGHT: f64 = 1190.0;
const WIDTH: f64 = 1200.0;
const ROW: f64 = 18.0;

/// The picture; `None` of a recording without a length.
pub(super) fn of(recording: &Recording, diagnosis: &Diagnosis) -> Option<Element> {
    let length = recording.clock.length_ms;
    if !(length.is_finite() && length > 0.0) {
        return None;
    }
    let x = |ms: f64| LEFT + (ms / length).clamp(0.0, 1.0) * (RIGHT - LEFT);
    let threads = threads(recording);
    let height = ROW * (threads.len() as f64 + 3.0) + 8.0;
    let mut picture = el("svg")
        .attr("viewBox", format_args!("0 0 {WIDTH} {}", Number(height)))
        .attr("role", "img")
        .attr("aria-label", "When requests stood still, when the JVM stood, and which threads waited when")
        .class("overview");
    picture = picture
        .children(axis(length, height, &x))
        .child(label(0, "requests stood still"))
        .child(
            el("path")
                .class("slow")
                .attr("d", spans(diagnosis.slow.iter().map(|s| (x(s.from_ms), x(s.to_ms))), 0)),
        )
        .child(label(1, "safepoints"));
    let stops = recording.safepoints.iter().map(|stop| (x(stop.at_ms), x(stop.at_ms + stop.total_ms)));
    picture = picture.child(el("path").class("stop").attr("d", spans(stops, 1)));
    for (at, (tid, waits)) in threads.iter().enumerate() {
        let row = at + 2;
        picture = picture.child(label(row, &lists::brief(recording, *tid)));
        for class in words::CLASSES {
            let of_class = waits.iter().filter(|wait| wait.class == class);
            let marks = spans(of_class.map(|wait| (x(wait.from_ms), x(wait.to_ms))), row);
            if !marks.is_empty() {
                let path = el("path").class(format_args!("c-{}", words::class(class).0)).attr("d", marks);
                picture = picture.child(path);
            }
        }
    }
    Some(picture)
}

/// The threads that waited longest, those that carry requests first, with their waits.
fn threads(recording: &Recording) -> Vec<(u32, Vec<&Wait>)> {
    let mut all: std::collections::BTreeMap<u32, (f64, Vec<&Wait>)> = std::collections::BTreeMap::new();
    for wait in &recording.waits {
        let (total, waits) = all.entry(wait.tid).or_default();
        *total += places::length(wait);
        waits.push(wait);
    }
    let mut all: Vec<_> = all.into_iter().collect();
    let carries = |tid: u32| lists::role(recording, tid).carries_requests();
    all.sort_by(|(a, (of_a, _)), (b, (of_b, _))| {
        carries(*b).cmp(&carries(*a)).then_with(|| of_b.total_cmp(of_a))
    });
    all.truncate(MOST);
    all.into_iter().map(|(tid, (_, waits))| (tid, waits)).collect()
}

fn y(row: usize) -> f64 {
    ROW * row as f64 + 4.0
}

fn label(row: usize, text: &str) -> Element {
    let all: Vec<char> = text.chars().collect();
    // Threads of a pool differ at the ends of their names.
    let text: String = if all.len() > 36 {
        all[..20].iter().chain(&['…']).chain(&all[all.len() - 15..]).collect()
    } else {
        text.to_owned()
    };
    el("text").at("x", LEFT - 8.0).at("y", y(row) + 11.0).attr("text-anchor", "end").text(text)
}

fn axis(length: f64, height: f64, x: &impl Fn(f64) -> f64) -> Vec<Element> {
    let mut step = 1e-3;
    for factor in [2.0, 2.5, 2.0].iter().cycle() {
        if length / step <= 10.0 {
            break;
        }
        step *= factor;
    }
    let ticks = (0..=(length / step) as u32).map(|at| f64::from(at) * step);
    ticks
        .flat_map(|ms| {
            let line = el("line")
                .class("faint")
                .at("x1", x(ms))
                .at("x2", x(ms))
                .attr("y1", 0)
                .at("y2", height - 16.0);
            // The last would stand out of the picture.
            let anchor = if x(ms) > RIGHT - 20.0 { "end" } else { "middle" };
            let text = el("text").at("x", x(ms)).at("y", height - 2.0).attr("text-anchor", anchor);
            [line, text.text(if ms > 0.0 { units::round_time(ms) } else { "0".to_owned() })]
        })
        .collect()
}

/// Marks in a row, in order; what is closer than a column to the mark before is one with it.
fn spans(all: impl Iterator<Item = (f64, f64)>, row: usize) -> String {
    let mut d = String::new();
    let mut open: Option<(f64, f64)> = None;
    let mut close = |open: Option<(f64, f64)>| {
        if let Some((from, to)) = open {
            let wide = Number((to - from).max(1.0)).to_string();
            d += &format!("M{} {}h{wide}v13h-{wide}z", Number(from), Number(y(row)));
        }
    };
    for (from, to) in all {
        open = match open {
            Some((before, end)) if from < end + 1.0 => Some((before, end.max(to))),
            _ => {
                close(open);
                Some((from, to))
            }
        };
    }
    close(open);
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_that_are_closer_than_a_column_are_one() {
        let marks = [(300.0, 300.2), (300.6, 301.0), (310.0, 320.0), (312.0, 313.0)];
        assert_eq!(spans(marks.into_iter(), 0), "M300 4h1v13h-1zM310 4h10v13h-10z");
        assert_eq!(spans(std::iter::empty(), 0), "");
    }
}
