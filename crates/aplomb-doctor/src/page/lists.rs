//! What took longest, as tables: times at which requests stood still, waits, and pauses. With a
//! script a row leads into the picture; without, a wait leads to its stack.
//!
//! What always holds: the numbers that rows carry (`data-wait`, `data-stop`, `data-slow`) are the
//! positions in the recording and the diagnosis, as in the script's data.

use super::places::{self, Places};
use super::words;
use crate::diagnosis::Diagnosis;
use crate::html::{Element, el};
use crate::recording::{Recording, Role, Wait};
use crate::units;

/// Rows of a table.
const MOST: usize = 25;

/// Positions of the waits that are listed, the longest first: of threads that carry requests, if
/// any of these waited.
pub(super) fn longest(recording: &Recording) -> Vec<usize> {
    let all = recording.waits.iter().enumerate();
    let carrying: std::collections::HashSet<u32> = recording
        .threads
        .iter()
        .filter(|thread| thread.role.carries_requests())
        .map(|thread| thread.tid)
        .collect();
    let mut some: Vec<_> = all.clone().filter(|(_, wait)| carrying.contains(&wait.tid)).collect();
    if some.is_empty() {
        some = all.collect();
    }
    some.sort_by(|(_, a), (_, b)| places::length(b).total_cmp(&places::length(a)));
    some.truncate(MOST);
    some.into_iter().map(|(at, _)| at).collect()
}

/// All tables that have rows.
pub(super) fn of(recording: &Recording, diagnosis: &Diagnosis, places: &Places<'_>) -> Vec<Element> {
    [slow(diagnosis), waits(recording, places), pauses(recording)].into_iter().flatten().collect()
}

fn table(title: &str, all: usize, open: bool, columns: [&str; 3], rows: Vec<Element>) -> Option<Element> {
    if rows.is_empty() {
        return None;
    }
    let [when, long, what] = columns.map(|name| el("th").attr("scope", "col").text(name));
    let head = el("thead").child(el("tr").child(when).child(long.class("figure")).child(what));
    let shown = el("span").class("small").text(of_all(rows.len(), all));
    let table = el("table").child(head).child(el("tbody").children(rows));
    let summary = el("summary").text(title).text(" ").child(shown);
    let list = el("details").class("list").child(summary).child(table);
    Some(if open { list.attr("open", "open") } else { list })
}

fn row(link: Element, from_ms: f64, long_ms: f64, what: Element) -> Element {
    el("tr")
        .child(el("td").child(link.text(units::moment(from_ms))))
        .child(el("td").class("figure").text(units::time(long_ms)))
        .child(what)
}

fn link(name: &'static str, at: usize) -> Element {
    el("a").attr("href", "#picture").attr(name, at)
}

/// How many of all are shown, where these are not all.
fn of_all(shown: usize, all: usize) -> String {
    if shown < all { format!("the longest {shown} of {}", units::count(all as u64)) } else { String::new() }
}

fn slow(diagnosis: &Diagnosis) -> Option<Element> {
    let mut all: Vec<_> = diagnosis.slow.iter().enumerate().collect();
    all.sort_by(|(_, a), (_, b)| (b.to_ms - b.from_ms).total_cmp(&(a.to_ms - a.from_ms)));
    let rows: Vec<Element> = all
        .iter()
        .take(MOST)
        .map(|(at, span)| {
            let unexplained = diagnosis
                .unexplained
                .iter()
                .any(|part| part.from_ms < span.to_ms && part.to_ms > span.from_ms);
            let what = if unexplained { "not all of it is explained" } else { "requests stood still" };
            row(link("data-slow", *at), span.from_ms, span.to_ms - span.from_ms, el("td").text(what))
        })
        .collect();
    table("Requests stood still", all.len(), false, ["At", "For", ""], rows)
}

fn waits(recording: &Recording, places: &Places<'_>) -> Option<Element> {
    let longest = longest(recording);
    let rows: Vec<Element> =
        longest.iter().map(|at| wait(*at, &recording.waits[*at], recording, places)).collect();
    table("Waits", recording.waits.len(), true, ["At", "For", "Who, in what, held by whom"], rows)
}

fn wait(at: usize, wait: &Wait, recording: &Recording, places: &Places<'_>) -> Element {
    let place = places.at(wait).map_or_else(|| "#picture".to_owned(), |place| format!("#place-{place}"));
    let link = el("a").attr("href", place).attr("data-wait", at);
    let held = match wait.holders.as_slice() {
        [] => String::new(),
        [one] => format!(" → {}", brief(recording, *one)),
        [first, rest @ ..] => format!(" → {} and {} more", brief(recording, *first), rest.len()),
    };
    let held = if wait.holders_known || held.is_empty() { held } else { format!("{held} (likely)") };
    let (key, word, _) = words::class(wait.class);
    let what = el("td").child(el("span").class("who").text(brief(recording, wait.tid))).child(
        el("span")
            .class("small")
            .child(el("i").class(format_args!("dot c-{key}")))
            .text(format_args!("{word}{held}")),
    );
    row(link, wait.from_ms, places::length(wait), what)
}

fn pauses(recording: &Recording) -> Option<Element> {
    let mut all: Vec<_> = recording.safepoints.iter().enumerate().collect();
    all.sort_by(|(_, a), (_, b)| b.total_ms.total_cmp(&a.total_ms));
    let rows: Vec<Element> = all
        .iter()
        .take(MOST)
        .map(|(at, stop)| {
            let reason = if stop.reason.is_empty() { "a safepoint" } else { &stop.reason };
            let several = if stop.count > 1 {
                format!(", {} of them", units::count(stop.count))
            } else {
                String::new()
            };
            let reaching = stop.reaching_ms.map(|ms| format!("{} until all stood", units::time(ms)));
            let what = el("td")
                .child(el("span").class("who").text(format_args!("{reason}{several}")))
                .children(reaching.map(|text| el("span").class("small").text(text)));
            row(link("data-stop", *at), stop.at_ms, stop.total_ms, what)
        })
        .collect();
    table("Pauses of the JVM", all.len(), false, ["At", "For", "Reason"], rows)
}

/// A thread's name, or its number where it has none.
pub(super) fn name(recording: &Recording, tid: u32) -> String {
    let name = recording.thread(tid).map(|thread| thread.name.as_str()).unwrap_or_default();
    if name.is_empty() { format!("thread {tid}") } else { name.to_owned() }
}

/// The same for tables, where there is little room.
pub(super) fn brief(recording: &Recording, tid: u32) -> String {
    words::brief(&name(recording, tid))
}

/// What a thread is there for.
pub(super) fn role(recording: &Recording, tid: u32) -> Role {
    recording.thread(tid).map(|thread| thread.role).unwrap_or_default()
}
