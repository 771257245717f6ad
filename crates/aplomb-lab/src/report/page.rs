//! The page of one run: everything about it in one file, without a network, and readable without
//! scripts.
//!
//! What always holds: a page follows from its record alone; a part for which the record has nothing
//! is left out, and with it its heading.

use super::axes::Scale;
use super::curve;
use super::device;
use super::evidence;
use super::groups;
use super::headline;
use super::series::{self, Scales};
use super::special;
use super::timeline;
use super::units;
use super::who::{self, Who};
use crate::record::{BrokerRun, Run};
use aplomb_doctor::html::{Element, el};

/// A whole page. `record` is the name of the JSON file beside it, for a link.
#[must_use]
pub fn page(run: &Run, record: Option<&str>) -> String {
    let names = who::all(&run.brokers.iter().map(|run| &run.broker).collect::<Vec<_>>());
    let scales = Scales::over(run);
    let main = el("main")
        .child(head(run))
        .child(evidence::verdicts(run, &names))
        .child(over_time(run, &names, &scales))
        .children(by_percentile(run, &names))
        .children(part("Consumer groups", groups::CAPTION, pair(run, &names, groups::of)))
        .child(waiting(run, &names, scales.time))
        .children(part(
            "What it is known by",
            "Signatures of this incident, in the kernel’s stacks of waiting threads and in the collector’s log.",
            pair(run, &names, evidence::signatures),
        ))
        .children(part(
            "Stages of requests",
            "Where requests spent their time, by the broker’s own account: means of the calm part and of what came after it, and p99 of the last minutes as it stood before the disturbance and at the end.",
            pair(run, &names, evidence::stages),
        ))
        .children(part(
            "Safepoints",
            "Moments at which the virtual machine has stopped all its threads, by its own log.",
            pair(run, &names, |run, who| evidence::safepoints(run, who, scales.time)),
        ))
        .children(device::scale(run).and_then(|scale| {
            part(
                "The device itself",
                "How long the disk took for what it was asked. Bars are shares of their own row.",
                pair(run, &names, |run, who| Some(device::of(run, who, scale))),
            )
        }))
        .child(how(run, &names, record));
    document(&format!("{} · Aplomb lab", run.incident.title), main)
}

/// A document with the style and the script of all pages.
pub(super) fn document(title: &str, main: Element) -> String {
    let head = el("head")
        .child(el("meta").attr("charset", "utf-8"))
        .child(el("meta").attr("name", "viewport").attr("content", "width=device-width, initial-scale=1"))
        .child(el("meta").attr("name", "color-scheme").attr("content", "light dark"))
        .child(el("title").text(title))
        .child(el("style").source(include_str!("page.css")));
    let body = el("body").child(main).child(el("script").source(include_str!("page.js")));
    format!("<!doctype html>\n{}\n", el("html").attr("lang", "en").child(head).child(body))
}

/// A part with its heading; `None` without anything in it.
pub(super) fn part(title: &str, caption: &str, content: Vec<Element>) -> Option<Element> {
    if content.is_empty() {
        return None;
    }
    let heading =
        el("div").class("heading").child(el("h2").text(title)).child(el("p").class("caption").text(caption));
    Some(el("section").child(heading).child(el("div").class("pair").children(content)))
}

fn pair(run: &Run, names: &[Who], of: impl Fn(&BrokerRun, &Who) -> Option<Element>) -> Vec<Element> {
    run.brokers.iter().zip(names).filter_map(|(run, who)| of(run, who)).collect()
}

fn head(run: &Run) -> Element {
    let kind = match (run.incident.control, run.incident.look_alike) {
        (true, _) => "negative control",
        (_, true) => "look-alike: no disk is disturbed",
        _ => "incident",
    };
    let paragraphs = run.incident.explanation.split("\n\n").filter(|text| !text.trim().is_empty());
    el("header")
        .child(el("p").class("eyebrow").text(format!("Aplomb lab · {kind} · {}", run.incident.name)))
        .child(el("h1").text(&run.incident.title))
        .child(el("p").class("lead").text(unbroken(&headline::headline(run))))
        .child(el("div").class("story").children(paragraphs.map(|text| el("p").text(text))))
}

/// A figure and its unit stay in one line.
fn unbroken(text: &str) -> String {
    [" µs", " ms", " s"].iter().fold(text.to_owned(), |text, unit| {
        let mut parts = text.split(unit);
        let mut joined = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let figure =
                joined.ends_with(|c: char| c.is_ascii_digit()) && !part.starts_with(char::is_alphanumeric);
            joined += &if figure { unit.replace(' ', "\u{a0}") } else { (*unit).to_owned() };
            joined += part;
        }
        joined
    })
}

fn over_time(run: &Run, names: &[Who], scales: &Scales) -> Element {
    let choice = |id: &'static str, text: &str, checked: bool| {
        let input = el("input").attr("type", "radio").attr("name", "scale").attr("id", id);
        let input = if checked { input.attr("checked", "checked") } else { input };
        el("label").child(input).child(el("span").text(text))
    };
    let heading = el("div")
        .class("heading")
        .child(el("h2").text("Latency over time"))
        .child(
            el("p").class("caption").text(
                "Acknowledgement of produce requests, second by second, from the moment at which a record was due. The disturbance is shaded.",
            ),
        )
        .child(
            el("fieldset")
                .class("switch")
                .child(el("legend").text("Latency axis"))
                .child(choice("scale-log", "log", true))
                .child(choice("scale-linear", "linear", false)),
        );
    let pictures = run.brokers.iter().zip(names).map(|(run, who)| {
        el("figure")
            .class(who.class)
            .child(el("figcaption").child(el("h3").text(&who.name)))
            .child(series::latency(run, who, scales))
            .child(el("p").class("readout").attr("aria-live", "off"))
            .children(series::carried(run, who, scales))
    });
    el("section").class("over-time").child(heading).child(el("div").class("pair").children(pictures))
}

fn by_percentile(run: &Run, names: &[Who]) -> Option<Element> {
    let curve = curve::percentiles(run, names)?;
    part(
        "Latency by percentile",
        "The share of records, in percent, that was acknowledged within a time; each step to the right is one more nine.",
        vec![el("figure").child(curve), evidence::figures(run, names)],
    )
}

fn waiting(run: &Run, names: &[Who], time: Scale) -> Element {
    let all = run.brokers.iter().zip(names).enumerate();
    let threads: Vec<Element> = all.map(|(at, (run, who))| timeline::of(run, who, at, time)).collect();
    let caption = "Threads in uninterruptible sleep, as seen from outside in the kernel. A mark is a wait; it leads to its stack. \
                   Threads that are there to wait for disks are grey.";
    part("Who waited where", caption, threads).unwrap_or_else(|| el("section"))
}

fn how(run: &Run, names: &[Who], record: Option<&str>) -> Element {
    let machine = format!(
        "{}, {}, {}, Linux {}",
        run.machine.cpu_model,
        units::plural(u64::from(run.machine.cpus), "processor"),
        units::memory(run.machine.memory_bytes),
        run.machine.kernel
    );
    let mut facts = vec![("Began", run.began.clone()), ("Machine", machine), ("Seed", run.seed.to_string())];
    if let Some(record) = record {
        facts.push(("Record", record.to_owned()));
    }
    let mut list = el("dl");
    for (name, value) in facts {
        let value = if name == "Record" {
            el("dd").child(el("a").attr("href", format_args!("./{}", encoded(&value))).text(&value))
        } else {
            el("dd").text(value)
        };
        list = list.child(el("dt").text(name)).child(value);
    }
    let brokers = run.brokers.iter().zip(names).map(|(run, who)| broker(run, who));
    el("section")
        .child(el("div").class("heading").child(el("h2").text("How it was run")))
        .child(list)
        .child(el("pre").class("command").text(in_a_shell(&run.command)))
        .child(el("div").class("pair").children(brokers))
}

fn broker(run: &BrokerRun, who: &Who) -> Element {
    let late = format!(
        "The sender itself was late by {} at p99 and {} at most.",
        units::time_us(run.sender_lateness_us.p99),
        units::time_us(run.sender_lateness_us.max)
    );
    let machine = special::machine(run)
        .map(|words| el("p").class("small").text(format!("The machine itself was {words}.")));
    let mut all = el("div")
        .class(who.class)
        .child(el("h3").text(&who.name))
        .child(el("p").class("small").text(late))
        .children(machine)
        .children(run.broker.java.as_ref().map(|java| el("p").class("small").text(format!("Java {java}"))));
    let texts = [
        ("The command that started it", in_a_shell(&run.broker.command)),
        ("Flags of its virtual machine", run.broker.jvm_flags.join("\n")),
        ("Everything that was run, to do it by hand", run.commands.join("\n")),
        ("Its log about that time", run.log_excerpt.clone()),
    ];
    for (title, text) in texts {
        if !text.trim().is_empty() {
            all = all.child(el("details").child(el("summary").text(title)).child(el("pre").text(text)));
        }
    }
    all
}

/// Words as a shell wants them.
pub(super) fn in_a_shell(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
    let quoted = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// A file's name in a link.
pub(super) fn encoded(name: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(byte);
    name.bytes()
        .map(|byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_given_to_a_shell_again() {
        let words = ["aplomb", "lab", "--out", "my dir", "it's", ""].map(str::to_owned);
        assert_eq!(in_a_shell(&words), r"aplomb lab --out 'my dir' 'it'\''s' ''");
    }

    #[test]
    fn a_figure_stays_with_its_unit_and_other_words_may_part() {
        assert_eq!(
            unbroken("from 5.7 ms to 1 s, so 3 seconds"),
            "from 5.7\u{a0}ms to 1\u{a0}s, so 3 seconds"
        );
    }

    #[test]
    fn a_link_holds_no_character_with_a_meaning() {
        assert_eq!(encoded("inode-lock.json"), "inode-lock.json");
        assert_eq!(encoded("a \"b\"?é"), "a%20%22b%22%3F%C3%A9");
    }
}
