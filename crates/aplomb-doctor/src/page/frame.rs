//! The page as a whole: its head with the policy, its parts in order, the script and its data.
//!
//! What always holds: what only a script can fill is hidden until it runs.

use super::digest;
use super::facts;
use super::lists;
use super::model::Model;
use super::overview;
use super::places::{self, Places};
use super::sight;
use super::stacks;
use super::verdicts;
use super::words;
use crate::diagnosis::Diagnosis;
use crate::html::{Element, el};
use crate::recording::Recording;
use crate::units;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(
    include_str!("data.js"),
    include_str!("draw.js"),
    include_str!("tell.js"),
    include_str!("page.js")
);

/// What is said above the picture that stands in where no script runs.
const ROUGH: &str = "No script runs here: this is the rough picture, of the threads that waited longest. Marks that are closer \
                     than a column are one. Who held what is in the tables.";

/// What the keys do, for the help of the page.
const KEYS: [(&str, &str); 10] = [
    ("← →", "earlier, later"),
    ("↑ ↓", "the lane above or below, when a wait is selected"),
    ("+ −", "closer, farther; also the wheel and two fingers"),
    ("0", "the whole recording"),
    ("f", "fit what is selected"),
    (
        "n p",
        "next and previous wait: of what was searched, of the cause that is shown, or of all that carry requests",
    ),
    ("N P", "next and previous cause"),
    ("/", "search"),
    ("Esc", "let go: of the selection, the search, the cause"),
    ("?", "this help"),
];

/// The page: a whole HTML document that needs nothing else.
#[must_use]
pub fn page(recording: &Recording, diagnosis: &Diagnosis) -> String {
    let places = Places::of(recording);
    let main = el("main")
        .child(head(recording, diagnosis))
        .child(verdicts::of(diagnosis))
        .child(picture(recording, diagnosis, &places))
        .children(stacks::of(recording, &places))
        .child(sight::of(recording, diagnosis));
    let data = Model::of(recording, diagnosis).to_json();
    let body = el("body")
        .child(el("a").class("skip").attr("href", "#picture").text("To the picture"))
        .child(main)
        .child(dock())
        .child(help())
        .child(el("script").attr("type", "application/json").attr("id", "model").data(&data))
        .child(el("script").source(SCRIPT));
    let title = format!("{} · aplomb doctor", facts::headline(recording, diagnosis));
    let document = el("html").attr("lang", "en").child(document_head(&title)).child(body);
    format!("<!doctype html>\n{document}\n")
}

fn document_head(title: &str) -> Element {
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        digest::source(SCRIPT),
        digest::source(STYLE)
    );
    let meta = |name: &str, content: &str| el("meta").attr("name", name).attr("content", content);
    el("head")
        .child(el("meta").attr("charset", "utf-8"))
        .child(el("meta").attr("http-equiv", "Content-Security-Policy").attr("content", policy))
        .child(meta("viewport", "width=device-width, initial-scale=1"))
        .child(meta("color-scheme", "light dark"))
        .child(meta("referrer", "no-referrer"))
        .child(el("link").attr("rel", "icon").attr("href", "data:,"))
        .child(el("title").text(title))
        .child(el("style").source(STYLE))
}

fn head(recording: &Recording, diagnosis: &Diagnosis) -> Element {
    let theme = button("theme", "Colours: auto", "t").flag("hidden");
    let subject = format!("aplomb doctor · {}", facts::subject(recording));
    let missing = recording.sight.missing.len();
    let missing = (missing > 0).then(|| {
        let text = format!("{} could not be seen", units::plural(missing, "thing"));
        el("p").class("small").child(el("a").attr("href", "#sight").text(text))
    });
    el("header")
        .child(el("div").class("top").child(el("p").class("eyebrow").text(subject)).child(theme))
        .child(el("h1").text(facts::headline(recording, diagnosis)))
        .child(el("p").class("lead").text(facts::lead(recording, diagnosis)))
        .children(missing)
}

fn picture(recording: &Recording, diagnosis: &Diagnosis, places: &Places<'_>) -> Element {
    let caption = "A lane is a thread, a bar a wait; an arrow leads from who waits to who holds what is waited for, \
                   dashed where that is only likely. Threads that never waited are folded away.";
    let heading = el("div")
        .class("heading")
        .child(el("h2").text("Who waited for whom"))
        .child(el("p").class("caption").text(caption));
    let canvas = el("canvas")
        .attr("tabindex", 0)
        .attr("role", "application")
        .attr("aria-describedby", "keys")
        .attr("aria-label", "Waits of threads over time. The tables beside it say the same of the longest.");
    let lanes = el("div")
        .class("lanes")
        .flag("hidden")
        .child(el("div").class("port").child(canvas))
        .child(el("div").class("tip").flag("hidden"))
        .child(el("p").class("unseen").attr("id", "keys").text("Press the question mark for the keys."));
    let lists = el("aside")
        .class("lists")
        .attr("aria-label", "What took longest")
        .children(lists::of(recording, diagnosis, places));
    el("section")
        .attr("id", "picture")
        .attr("aria-label", "Who waited for whom")
        .child(heading)
        .child(tools())
        .child(legend(recording))
        .child(
            el("noscript")
                .child(el("p").class("small").text(ROUGH))
                .children(overview::of(recording, diagnosis)),
        )
        .child(el("div").class("stage").child(lanes).child(lists))
}

fn button(action: &str, text: &str, key: &str) -> Element {
    el("button").attr("type", "button").attr("data-do", action).attr("aria-keyshortcuts", key).text(text)
}

fn tools() -> Element {
    let search = el("input")
        .attr("type", "search")
        .attr("id", "search")
        .attr("placeholder", "Thread, function, file…")
        .attr("aria-label", "Search threads, functions and files")
        .attr("aria-keyshortcuts", "/")
        .attr("autocomplete", "off")
        .attr("spellcheck", "false");
    let group = |name: &str| el("div").class("group").attr("role", "group").attr("aria-label", name);
    el("div")
        .class("tools")
        .flag("hidden")
        .child(search)
        .child(el("output").attr("id", "found").attr("aria-live", "polite"))
        .child(
            group("Waits")
                .child(button("previous", "‹", "p").attr("aria-label", "Previous wait"))
                .child(button("next", "›", "n").attr("aria-label", "Next wait")),
        )
        .child(
            group("Zoom")
                .child(button("out", "−", "-").attr("aria-label", "Farther"))
                .child(button("in", "+", "+").attr("aria-label", "Closer"))
                .child(button("all", "Whole", "0")),
        )
        .child(button("help", "?", "?").attr("aria-label", "Keys"))
}

/// The classes that occur, with the time spent in each; a script makes switches of them.
fn legend(recording: &Recording) -> Element {
    let total = |class| -> f64 {
        recording.waits.iter().filter(|wait| wait.class == class).map(places::length).sum()
    };
    let keys = words::CLASSES.into_iter().enumerate().filter_map(|(at, class)| {
        let total = total(class);
        let occurs = total > 0.0 || recording.waits.iter().any(|wait| wait.class == class);
        let (key, word, what) = words::class(class);
        occurs.then(|| {
            el("li")
                .attr("data-class", at)
                .attr("title", what)
                .child(el("i").class(format_args!("dot c-{key}")))
                .text(word)
                .child(el("span").class("small").text(units::time(total)))
        })
    });
    let late = recording.threads.iter().any(|thread| thread.usage.iter().any(|row| row.runnable_ms > 0.0));
    let late = late.then(|| {
        let what = "The thread could have run and had no processor";
        el("li").attr("title", what).child(el("i").class("line")).text("no processor")
    });
    el("ul").class("legend").attr("aria-label", "What was waited in").children(keys).children(late)
}

/// Where the script writes about what is selected.
fn dock() -> Element {
    let close = button("close", "×", "Escape").attr("aria-label", "Close");
    el("section")
        .class("dock")
        .attr("aria-label", "What is selected")
        .flag("hidden")
        .child(close)
        .child(el("div").class("told").attr("aria-live", "polite"))
}

fn help() -> Element {
    let keys = KEYS.iter().flat_map(|(keys, what)| {
        let keys = keys.split(' ').map(|key| el("kbd").text(key));
        [el("dt").children(keys), el("dd").text(what)]
    });
    let how = "Drag to move, click a bar for its stack, double-click to fit it. A bar is as high as the share of the time \
               waited, where several fall into one column. Soft ends were seen only from look to look; a bar with gaps \
               stands for several waits. ";
    el("dialog")
        .attr("id", "help")
        .attr("aria-label", "Keys")
        .child(el("h2").text("Keys"))
        .child(el("dl").children(keys))
        .child(el("p").class("small").text(how))
        .child(button("close-help", "Close", "Escape"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Cause, Confidence, Remedy, Span};
    use crate::recording::{Clock, Role, Safepoint, Sighting, Thread, Wait, WaitClass};

    const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{2028}";

    /// A thread that held another up, and every text that can be foreign is hostile.
    fn hostile() -> (Recording, Diagnosis) {
        let text = || HOSTILE.to_owned();
        let thread = |tid, role| Thread { tid, name: text(), role, usage: vec![] };
        let recording = Recording {
            clock: Clock { length_ms: 1_000.0, ..Clock::default() },
            threads: vec![thread(1, Role::Request), thread(2, Role::Network), thread(3, Role::Other)],
            waits: vec![Wait {
                tid: 1,
                from_ms: 10.0,
                to_ms: 60.0,
                sighting: Sighting::Exact,
                class: WaitClass::Inode,
                call: None,
                kernel: vec![text()],
                frames: vec![text()],
                holders: vec![2],
                holders_known: true,
                woken_by: None,
            }],
            safepoints: vec![Safepoint {
                at_ms: 5.0,
                total_ms: 1.0,
                reason: text(),
                count: 1,
                ..Safepoint::default()
            }],
            ..Recording::default()
        };
        let cause = Cause {
            name: text(),
            confidence: Confidence::Likely,
            share: 0.5,
            summary: text(),
            evidence: vec!["for one".to_owned(), text()],
            against: vec!["against one".to_owned()],
            mechanism: text(),
            remedy: vec![Remedy { change: text(), cost: text() }],
            threads: vec![1],
            when: vec![],
        };
        let slow = vec![Span { from_ms: 10.0, to_ms: 60.0 }];
        (recording, Diagnosis { causes: vec![cause.clone(), cause], slow, ..Diagnosis::default() })
    }

    #[test]
    fn no_foreign_text_becomes_an_element() {
        let (recording, diagnosis) = hostile();
        let page = page(&recording, &diagnosis);
        assert!(!page.contains("<img"));
        assert_eq!(page.matches("</script>").count(), 2, "its own, and the data's");
        assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"));
        assert!(page.contains(r"\u003c/script\u003e\u003cimg src=x"));
    }

    #[test]
    fn it_asks_nothing_of_a_network_and_runs_its_own_script_alone() {
        let (recording, diagnosis) = hostile();
        let page = page(&recording, &diagnosis);
        let policy = page.split("content=\"default-src ").nth(1).and_then(|rest| rest.split('"').next());
        let policy = policy.expect("a policy").replace("&#39;", "'");
        assert!(policy.starts_with("'none'; script-src 'sha256-"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        for address in ["http:", "https:", "//cdn", "url(", "@import", "src=\""] {
            assert!(!page.contains(address), "{address}");
        }
        assert!(!page.contains(" style=\""), "the policy knows no styles of elements");
        let scripts = page.matches("<script").count();
        assert_eq!(scripts, 2);
    }

    #[test]
    fn causes_the_longest_waits_and_a_picture_need_no_script() {
        let (recording, diagnosis) = hostile();
        let page = page(&recording, &diagnosis);
        for wanted in [
            "for one",
            "against one",
            "id=\"cause-1\"",
            "data-wait=\"0\"",
            "data-stop=\"0\"",
            "data-slow=\"0\"",
        ] {
            assert!(page.contains(wanted), "{wanted}");
        }
        assert!(
            page.contains("href=\"#place-0\"") && page.contains("id=\"place-0\""),
            "a wait leads to its stack"
        );
        assert!(page.contains("<noscript>") && page.contains("class=\"overview\""));
    }

    #[test]
    fn a_recording_of_nothing_is_a_page_too() {
        let page = page(&Recording::default(), &Diagnosis::default());
        assert!(page.starts_with("<!doctype html>\n<html lang=\"en\">"));
        assert!(page.contains("Nothing was recorded"));
        assert!(page.contains("There is none: requests were not held up."));
        assert!(!page.contains("class=\"overview\""));
    }
}
