//! What a run was expected to show and what it has shown, as tables: figures, signatures, stages,
//! safepoints.
//!
//! What always holds: a verdict is written in words, and coloured only besides.

use super::axes::{self, Frame, Scale};
use super::headline::STAYED;
use super::series;
use super::special;
use super::units;
use super::waits;
use super::who::Who;
use crate::record::{BrokerRun, Ended, Latency, Run, Sighting};
use aplomb_doctor::html::{Element, el};

/// A table with a head and rows; the columns behind the first are figures.
pub(super) fn table(
    class: &'static str,
    head: &[&str],
    rows: impl IntoIterator<Item = Vec<Element>>,
) -> Element {
    let head = el("tr").children(head.iter().map(|text| el("th").attr("scope", "col").text(text)));
    el("div").class("wide").child(
        el("table")
            .class(class)
            .child(el("thead").child(head))
            .child(el("tbody").children(rows.into_iter().map(|cells| el("tr").children(cells)))),
    )
}

/// A cell with a figure.
pub(super) fn figure(text: impl std::fmt::Display) -> Element {
    el("td").class("figure").text(text)
}

/// Percentiles by broker and phase.
pub(super) fn figures(run: &Run, names: &[Who]) -> Element {
    let mut rows = Vec::new();
    for (run, who) in run.brokers.iter().zip(names) {
        let phases =
            [("calm", &run.latency.calm), ("during", &run.latency.during), ("after", &run.latency.after)];
        rows.push(vec![el("th").attr("scope", "row").attr("colspan", 7).class(who.class).text(&who.name)]);
        for (name, latency) in phases {
            rows.push(match latency {
                Some(latency) => row(name, latency),
                None => {
                    vec![el("td").text(name), el("td").attr("colspan", 6).text("nothing was acknowledged")]
                }
            });
        }
        if let Some(amplification) = &run.amplification {
            let cell = |factor: f64| {
                let class = if factor >= STAYED { "figure strong" } else { "figure" };
                el("td").class(class).text(units::times(factor))
            };
            rows.push(vec![
                el("td").text("during ÷ calm"),
                el("td"),
                el("td").class("minor"),
                cell(amplification.p99),
                cell(amplification.p999),
                el("td").class("minor"),
                cell(amplification.max),
            ]);
        }
    }
    table("figures", &["", "p50", "p90", "p99", "p99.9", "p99.99", "max"], rows)
}

fn row(name: &str, latency: &Latency) -> Vec<Element> {
    let minor = |us: u64| figure(units::time_us(us)).class("figure minor");
    vec![
        el("td").attr("title", format_args!("{} records", units::count(latency.count))).text(name),
        figure(units::time_us(latency.p50_us)),
        minor(latency.p90_us),
        figure(units::time_us(latency.p99_us)),
        figure(units::time_us(latency.p999_us)),
        minor(latency.p9999_us),
        figure(units::time_us(latency.max_us)),
    ]
}

/// Whether each broker did what was expected of it.
pub(super) fn verdicts(run: &Run, names: &[Who]) -> Element {
    let verdicts = run.brokers.iter().zip(names).map(|(run, who)| {
        let (class, word) = match (&run.ended, run.expectation.met) {
            (Ended::Failed(_), _) => ("bad", "cut short"),
            (Ended::Completed, true) => ("good", "as expected"),
            (Ended::Completed, false) => ("bad", "not as expected"),
        };
        let mut verdict = el("div")
            .class(format_args!("verdict {}", who.class))
            .child(el("h2").text(&who.name))
            .children(hero(run))
            .child(
                el("p").child(el("strong").class(class).text(word)).text(": ").text(&run.expectation.text),
            );
        if let Some(without) = run.expectation.reservation() {
            verdict =
                verdict.child(el("p").text(format!("This run is {without}: it says nothing of that part.")));
        }
        if let Ended::Failed(why) = &run.ended {
            verdict = verdict.child(el("p").text(why));
        }
        if let Some(recovery) = &run.recovery {
            let class = if recovery.missing == 0 { "good" } else { "bad" };
            verdict = verdict
                .child(
                    el("p")
                        .child(el("strong").class(class).text("read back"))
                        .text(": ")
                        .text(special::kept(recovery)),
                )
                .child(el("p").class("small").text(special::steps(recovery)));
        }
        if let Some(counted) = &run.counted {
            verdict = verdict.child(el("p").class("small").text(special::counted(counted)));
        }
        if let Some(witness) = &run.witness {
            let text = if witness.silent {
                "silent: no request thread was found waiting for a disk, and the guard refused nothing."
                    .to_owned()
            } else {
                format!(
                    "request threads were found waiting {}, and the guard refused {}.",
                    units::plural(witness.stalls.len() as u64, "time"),
                    units::plural(witness.guard_violations, "call"),
                )
            };
            let class = if witness.silent { "good" } else { "bad" };
            verdict =
                verdict.child(el("p").child(el("strong").class(class).text("witness")).text(" ").text(text));
        }
        verdict
    });
    el("div").class("pair").children(verdicts)
}

/// The figure to remember.
fn hero(run: &BrokerRun) -> Option<Element> {
    if let Some(recovery) = &run.recovery {
        let figure = el("strong").text(special::away(recovery));
        return Some(
            el("p").class("hero").child(figure).child(el("span").text("from the kill to an acknowledgement")),
        );
    }
    let (calm, during) = (run.latency.calm.as_ref()?, run.latency.during.as_ref()?);
    let from_to = format!("p99.9 {} → {}", units::time_us(calm.p999_us), units::time_us(during.p999_us));
    let factor = units::times(run.amplification.as_ref()?.p999);
    Some(el("p").class("hero").child(el("strong").text(factor)).child(el("span").text(from_to)))
}

/// Signatures of one broker; `None` if the incident has none for it.
pub(super) fn signatures(run: &BrokerRun, who: &Who) -> Option<Element> {
    if run.signatures.is_empty() {
        return None;
    }
    let rows = run.signatures.iter().map(|signature| {
        let (class, word) = match (signature.expected, signature.seen) {
            (true, true) => ("good", "✓ seen, as expected"),
            (true, false) => ("bad", "✗ expected, not seen"),
            (false, true) => ("bad", "✗ seen, not expected"),
            (false, false) => ("good", "✓ not seen, as expected"),
        };
        vec![told(signature), el("td").class(class).text(word), figure(units::count(signature.count))]
    });
    Some(el("div").class(who.class).child(el("h3").text(&who.name)).child(table(
        "signatures",
        &["who waits where", "", "times"],
        rows,
    )))
}

fn told(signature: &Sighting) -> Element {
    let cell = el("td").text(&signature.name);
    if signature.example.is_empty() {
        return cell;
    }
    let line = el("summary").child(el("code").text(waits::in_a_line(&signature.example, 2)));
    cell.child(el("details").child(line).child(el("pre").text(signature.example.join("\n"))))
}

/// Stages of requests; `None` if the broker gives no account of them.
pub(super) fn stages(run: &BrokerRun, who: &Who) -> Option<Element> {
    if run.stages.is_empty() {
        return None;
    }
    let time = |ms: f64| units::time(ms * 1e3);
    let rows = run.stages.iter().map(|stage| {
        vec![
            el("td").text(&stage.request),
            el("td").text(&stage.stage),
            figure(stage.before_mean_ms.map(time).unwrap_or_default()),
            figure(stage.after_mean_ms.map(time).unwrap_or_default()),
            figure(time(stage.before_p99_ms)),
            figure(time(stage.after_p99_ms)),
        ]
    });
    Some(el("div").class(who.class).child(el("h3").text(&who.name)).child(table(
        "stages",
        &["request", "stage", "mean before", "mean since", "p99 before", "p99 after"],
        rows,
    )))
}

/// Safepoints shown in words.
const MOST_SAFEPOINTS: usize = 10;

const FRAME: Frame = Frame { width: 580.0, height: 190.0, left: 74.0, right: 66.0, top: 10.0, bottom: 32.0 };

/// Safepoints of one broker over time, and the longest of them; `None` if it has none.
pub(super) fn safepoints(run: &BrokerRun, who: &Who, time: Scale) -> Option<Element> {
    if run.safepoints.is_empty() {
        return None;
    }
    let us = |ms: f64| (ms * 1e3).max(1.0);
    let scale = Scale::log_over(run.safepoints.iter().map(|safepoint| us(safepoint.total_ms)));
    let mut picture = FRAME
        .svg(&format!("Safepoints of {} over time, by how long threads were stopped", who.name))
        .class("safepoints")
        .children(series::disturbed(run, &FRAME, time, false))
        .child(FRAME.latency_axis(scale));
    for safepoint in &run.safepoints {
        let x = FRAME.x(time, safepoint.at_ms);
        let y = FRAME.y(scale, us(safepoint.total_ms));
        let told = format!(
            "{} at {}: {} in all, {} of it until all threads stood",
            safepoint.reason,
            units::moment(safepoint.at_ms),
            units::time(us(safepoint.total_ms)),
            units::time(us(safepoint.reaching_ms)),
        );
        picture = picture.child(
            el("g")
                .child(axes::line(x, FRAME.y_end(), x, y).class("stem"))
                .child(el("circle").class("dot").at("cx", x).at("cy", y).attr("r", "3"))
                .child(el("title").text(told)),
        );
    }
    let mut longest: Vec<_> = run.safepoints.iter().collect();
    longest.sort_by(|a, b| b.total_ms.total_cmp(&a.total_ms));
    let rows = longest.iter().take(MOST_SAFEPOINTS).map(|safepoint| {
        vec![
            el("td").text(&safepoint.reason),
            figure(units::moment(safepoint.at_ms)),
            figure(units::time(us(safepoint.reaching_ms))),
            figure(units::time(us(safepoint.total_ms))),
        ]
    });
    let title = format!("{}: {}", who.name, units::plural(run.safepoints.len() as u64, "safepoint"));
    Some(
        el("div")
            .class(who.class)
            .child(el("h3").text(title))
            .child(picture.child(FRAME.time_axis(time)))
            .child(table("longest", &["the longest", "at", "until all stood", "in all"], rows)),
    )
}
