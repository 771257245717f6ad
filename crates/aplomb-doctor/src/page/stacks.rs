//! Where threads waited, and for whom, without a picture: a stack each place, with who waited in it
//! and who held what they waited for.
//!
//! What always holds: the place of every wait in the tables of the longest is among those shown.

use super::lists;
use super::model;
use super::places::{self, PlaceWaits, Places};
use super::words;
use crate::html::{Element, el};
use crate::recording::Recording;
use crate::units;

/// Places that are shown because much time was spent in them.
const MOST: usize = 24;
/// Threads and files that are named for each.
const NAMED: usize = 6;

/// The part, if anything waited.
pub(super) fn of(recording: &Recording, places: &Places<'_>) -> Option<Element> {
    if places.all.is_empty() {
        return None;
    }
    let mut shown: Vec<usize> = (0..places.all.len().min(MOST)).collect();
    let listed = lists::longest(recording);
    shown.extend(listed.iter().filter_map(|at| places.at(&recording.waits[*at])));
    shown.sort_unstable();
    shown.dedup();
    let caption = "All waits in one stack together, the costliest first. Frames go from the outermost, at the top, to \
                   the one that waited.";
    let heading = el("div")
        .class("heading")
        .child(el("h2").attr("id", "stacks").text("Where they waited, and for whom"))
        .child(el("p").class("caption").text(caption));
    let rest = places.all.len() - shown.len();
    let rest = (rest > 0).then(|| {
        let text = format!("And {} that took less; the picture has them all.", units::plural(rest, "place"));
        el("p").class("small").text(text)
    });
    Some(
        el("section")
            .attr("aria-labelledby", "stacks")
            .child(heading)
            .children(shown.iter().map(|at| place(*at, &places.all[*at], recording)))
            .children(rest),
    )
}

fn place(at: usize, place: &PlaceWaits<'_>, recording: &Recording) -> Element {
    let (key, word, what) = words::class(place.wait.class);
    let first = place.threads.keys().next().copied().unwrap_or_default();
    let figures = format!(
        "{} · {word}: {} in {}, longest {}",
        words::role(lists::role(recording, first)),
        units::time(place.total_ms),
        units::plural(place.waits, "wait"),
        units::time(place.longest_ms)
    );
    let summary = el("summary")
        .child(el("i").class(format_args!("dot c-{key}")))
        .child(el("code").text(places::in_a_line(place.wait, 3)))
        .child(el("span").class("small").text(figures));
    let mut facts = el("dl").child(el("dt").text("In")).child(el("dd").text(what));
    let mut fact = |name: &str, values: Vec<String>| {
        if !values.is_empty() {
            let value = shortened(values).join(", ");
            facts = std::mem::replace(&mut facts, el("dl"))
                .child(el("dt").text(name))
                .child(el("dd").text(value));
        }
    };
    fact("Call", place.wait.call.iter().map(|call| call.name.clone()).collect());
    fact("Files", most(place.paths.iter().map(|(path, waits)| (*waits as f64, (*path).to_owned()))));
    let device = place.wait.call.as_ref().and_then(|call| model::device_of(call, recording));
    fact("Device", device.iter().map(|device| format!("{} ({})", device.name, device.number)).collect());
    let who = place
        .threads
        .iter()
        .map(|(tid, ms)| (*ms, format!("{} ({})", lists::brief(recording, *tid), units::time(*ms))));
    fact("Waited", most(who));
    fact(
        "Held by",
        most(
            place
                .holders
                .iter()
                .map(|(tid, held)| (held.0 as f64 + held.1 as f64, holder(recording, *tid, *held))),
        ),
    );
    el("details")
        .class("stack")
        .child(summary)
        .child(el("div").attr("id", format_args!("place-{at}")).child(facts).child(frames(place)))
}

/// The stack from the program's outermost frame to the kernel's innermost function.
fn frames(place: &PlaceWaits<'_>) -> Element {
    let (program, kernel) = (&place.wait.frames, &place.wait.kernel);
    if program.is_empty() && kernel.is_empty() {
        return el("p").class("none").text("No stack could be read.");
    }
    let mut lines: Vec<&str> = program.iter().rev().map(String::as_str).collect();
    if !program.is_empty() && !kernel.is_empty() {
        lines.push("── kernel ──");
    }
    lines.extend(kernel.iter().rev().map(String::as_str));
    el("pre").attr("tabindex", 0).text(lines.join("\n"))
}

fn holder(recording: &Recording, tid: u32, (known, likely): (usize, usize)) -> String {
    let how = match (known, likely) {
        (known, 0) => format!("known, {} times", units::count(known as u64)),
        (0, likely) => format!("likely, {} times", units::count(likely as u64)),
        (known, likely) => {
            format!("known {}, likely {} times", units::count(known as u64), units::count(likely as u64))
        }
    };
    format!("{} ({how})", lists::brief(recording, tid))
}

/// Texts by weight, the heaviest first.
fn most(weighed: impl Iterator<Item = (f64, String)>) -> Vec<String> {
    let mut all: Vec<_> = weighed.collect();
    all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    all.into_iter().map(|(_, text)| text).collect()
}

fn shortened(mut texts: Vec<String>) -> Vec<String> {
    let rest = texts.len().saturating_sub(NAMED);
    texts.truncate(NAMED);
    texts.extend((rest > 0).then(|| format!("{rest} more")));
    texts
}
