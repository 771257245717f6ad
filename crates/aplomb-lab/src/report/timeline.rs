//! Who waited, when and where: a row a thread, a mark a wait; and the stacks to read.
//!
//! What always holds: a mark leads to its stack by an ordinary link, which opens it without a
//! script too; the time axis is that of the latencies above.

use super::axes::{self, Frame, Scale};
use super::series;
use super::units;
use super::waits::{self, WaitPlace, Waits};
use super::who::{self, Who};
use crate::record::BrokerRun;
use aplomb_doctor::html::{Element, Number, el};

const ROW: f64 = 37.0;
/// The margins of the latencies' pictures.
const FRAME: Frame = Frame { width: 580.0, height: 0.0, left: 74.0, right: 66.0, top: 8.0, bottom: 32.0 };

/// One broker's threads and stacks. `number` tells its stacks from those of the page's other
/// brokers.
pub(super) fn of(run: &BrokerRun, who: &Who, number: usize, time: Scale) -> Element {
    let waits = waits::folded(&run.stalls);
    let all = el("div").class(format_args!("waits {}", who.class)).child(el("h3").text(&who.name));
    if waits.threads.is_empty() {
        let sampled = format!("No thread was seen waiting, in a look every {} ms.", run.sampling_ms);
        return all.child(el("p").class("none").text(sampled));
    }
    let mut all = all.child(rows(run, who, &waits, number, time));
    if waits.more_threads > 0 {
        let text = format!("And {} that waited less.", units::plural(waits.more_threads, "thread"));
        all = all.child(el("p").class("small").text(text));
    }
    let stacks = waits.stacks.iter().enumerate().map(|(at, place)| stack(place, number, at));
    all = all.children(stacks);
    if waits.more_stacks > 0 {
        let text = format!("And {} more; all are in the record.", units::plural(waits.more_stacks, "stack"));
        all = all.child(el("p").class("small").text(text));
    }
    all
}

fn rows(run: &BrokerRun, who: &Who, waits: &Waits<'_>, number: usize, time: Scale) -> Element {
    let frame = Frame { height: FRAME.top + FRAME.bottom + ROW * waits.threads.len() as f64, ..FRAME };
    let mut picture = frame
        .svg(&format!("Threads of {} in uninterruptible sleep, over time", who.name))
        .class("timeline")
        .children(series::disturbed(run, &frame, time, false));
    for (at, thread) in waits.threads.iter().enumerate() {
        let y = frame.top + ROW * at as f64 + 16.0;
        let name = format!("{} · {}", who::without_middle(thread.name, 34), waits::word(thread.role));
        picture = picture
            .child(axes::label(frame.left, y, "start", &name).class("thread"))
            .child(
                axes::label(frame.width - 4.0, y + 15.0, "end", &units::time(thread.total_ms * 1e3))
                    .class("total"),
            )
            .child(axes::line(frame.left, y + 10.5, frame.x_end(), y + 10.5).class("rail"));
        for (place, stretches) in &thread.waits {
            let marks =
                el("path").class(waits::word(thread.role)).attr("d", marks(&frame, time, y + 6.0, stretches));
            picture = picture.child(match place {
                Some(place) => el("a")
                    .attr("href", format_args!("#{}", id(number, *place)))
                    .attr("data-stack", id(number, *place))
                    .attr("aria-label", format_args!("the stack of {}", thread.name))
                    .child(marks),
                None => marks,
            });
        }
    }
    picture.child(frame.time_axis(time))
}

fn marks(frame: &Frame, time: Scale, y: f64, stretches: &[(f64, f64)]) -> String {
    let mut d = String::new();
    for (from, to) in stretches {
        let (x, end) = (frame.x(time, *from), frame.x(time, *to));
        // A wait of a moment is to be seen, too.
        d += &format!(
            "M{} {}h{}v9h-{}z",
            Number(x),
            Number(y),
            Number((end - x).max(1.2)),
            Number((end - x).max(1.2))
        );
    }
    d
}

fn id(broker: usize, place: usize) -> String {
    format!("stack-{broker}-{place}")
}

fn stack(place: &WaitPlace<'_>, number: usize, at: usize) -> Element {
    let id = id(number, at);
    let long = |ms: f64| units::time(ms * 1e3);
    let figures = format!(
        "{} · {}, {} in all, longest {}",
        waits::word(place.role),
        units::plural(place.count, "wait"),
        long(place.total_ms),
        long(place.longest_ms)
    );
    let summary = el("summary")
        .child(el("code").text(waits::in_a_line(place.stack, 3)))
        .child(el("span").class("small").text(figures));
    let mut who: Vec<String> =
        place.threads.iter().take(8).map(|(name, ms)| format!("{name} ({})", long(*ms))).collect();
    if place.threads.len() > who.len() {
        who.push(format!("{} more", place.threads.len() - who.len()));
    }
    el("details").class("stack").attr("data-stack", &id).child(summary).child(
        el("div")
            .attr("id", id)
            .child(el("pre").text(place.stack.join("\n")))
            .child(el("p").class("small").text(who.join(", "))),
    )
}
