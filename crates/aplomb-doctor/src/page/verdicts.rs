//! The causes, as one reads them first: how sure, how much, what speaks for and against, and what
//! to change.
//!
//! What always holds: what speaks against a cause stands beside what speaks for it, in the same
//! size; where nothing does, that is said too.

use super::facts;
use super::words;
use crate::diagnosis::{Cause, Diagnosis, Remedy};
use crate::html::{Element, el};
use crate::units;

/// The part with all causes.
pub(super) fn of(diagnosis: &Diagnosis) -> Element {
    let heading = el("div").class("heading").child(el("h2").attr("id", "causes").text("Causes"));
    let part = el("section").attr("aria-labelledby", "causes");
    if diagnosis.causes.is_empty() {
        let words = if diagnosis.slow.is_empty() {
            "There is none: requests were not held up. What was looked at, and what could not be seen, is at the end of this page."
        } else {
            "None was found for the times at which requests stood still. What would help to find it is at the end of this page."
        };
        return part.child(heading).child(el("p").class("none").text(words));
    }
    let caption = format!(
        "Shares are of the time for which requests stood still; {} Proved: effect, wait and ground were seen together.",
        words::ORDER
    );
    part.child(heading.child(el("p").class("caption").text(&caption)))
        .children(diagnosis.causes.iter().enumerate().map(|(at, each)| cause(at, each)))
}

fn cause(at: usize, cause: &Cause) -> Element {
    let confidence = words::confidence(cause.confidence);
    let show =
        el("a").class("show").attr("href", "#picture").attr("data-cause", at).text("Show in the picture");
    let head = el("div")
        .class("verdict-head")
        .child(el("h3").text(&cause.name))
        .child(
            el("span")
                .class(format_args!("badge {confidence}"))
                .attr("title", words::witnesses(cause.confidence))
                .text(confidence),
        )
        .child(share(cause.share))
        .child(show);
    let nothing = "Nothing of what was looked at.";
    let both = el("div")
        .class("pair")
        .child(
            el("div")
                .class("for")
                .child(el("h4").text("Speaks for it"))
                .child(list(&cause.evidence, nothing)),
        )
        .child(
            el("div")
                .class("against")
                .child(el("h4").text("Speaks against it"))
                .child(list(&cause.against, nothing)),
        );
    let mut all = el("article")
        .class(format_args!("verdict {confidence}"))
        .attr("id", format_args!("cause-{at}"))
        .child(head)
        .child(el("p").class("summary").text(&cause.summary))
        .child(both);
    if !cause.mechanism.is_empty() {
        all = all.child(el("p").class("mechanism").text(&cause.mechanism));
    }
    if cause.remedy.is_empty() {
        return all;
    }
    all.child(el("h4").text("What to change"))
        .child(el("ol").class("remedy").children(cause.remedy.iter().map(remedy)))
}

/// The share as a figure and as a bar.
fn share(share: f64) -> Element {
    let width = if share.is_finite() { share.clamp(0.0, 1.0) * 80.0 } else { 0.0 };
    let bar =
        |class: &str, width: f64| el("rect").class(class).attr("height", 8).at("width", width).attr("rx", 2);
    let picture = el("svg")
        .attr("viewBox", "0 0 80 8")
        .attr("width", 80)
        .attr("height", 8)
        .attr("aria-hidden", "true")
        .child(bar("rest", 80.0))
        .child(bar("part", width));
    el("span").class("share").text(format_args!("explains {}", units::share(share))).child(picture)
}

fn list(texts: &[String], nothing: &str) -> Element {
    if texts.is_empty() {
        return el("p").class("none").text(nothing);
    }
    el("ul").children(texts.iter().map(|text| el("li").text(text)))
}

fn remedy(remedy: &Remedy) -> Element {
    let item = el("li").child(el("strong").text(&remedy.change));
    if remedy.cost.is_empty() {
        return item;
    }
    item.child(el("p").class("cost").text(format_args!("What it costs: {}", facts::sentence(&remedy.cost))))
}
