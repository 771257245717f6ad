//! Pages, pictures and summaries of whole records: what they say, and that no text of a record
//! becomes markup.

mod sample;

use std::fs;
use std::io::Write as _;

use aplomb_lab::record::{Ended, MachineStandstill, Percentiles, PhaseName, Run};
use aplomb_lab::report::{self, Entry};
use flate2::Compression;
use flate2::write::GzEncoder;

fn inode_lock() -> Run {
    sample::runs().remove(0)
}

fn entries(runs: &[Run]) -> Vec<Entry<'_>> {
    runs.iter().map(|run| Entry { run, page: None }).collect()
}

#[test]
fn the_headline_says_how_far_p999_rose_and_where_it_stayed() {
    assert_eq!(
        report::headline(&inode_lock()),
        "While reads take 20 ms, p99.9 of Apache Kafka 4.4.0 rose from 5.7 ms to 799 ms (140×); \
         Aplomb 0.1.0’s stayed at 3.1 ms (2.9 ms before)."
    );
}

#[test]
fn the_headline_of_a_control_says_that_nothing_was_disturbed() {
    let calm = sample::runs().pop().expect("the control is the last");
    assert!(calm.incident.control);
    assert_eq!(
        report::headline(&calm),
        "With nothing disturbed, p99.9 of Apache Kafka 4.4.0 stayed at 5.7 ms (5.7 ms before); \
         Aplomb 0.1.0’s stayed at 3.1 ms (2.9 ms before)."
    );
}

#[test]
fn a_broker_that_did_not_finish_is_not_measured_against_others() {
    let mut run = inode_lock();
    run.brokers[0].ended = Ended::Failed("it did not start.".to_owned());
    assert_eq!(
        report::headline(&run),
        "While reads take 20 ms, p99.9 of Aplomb 0.1.0 stayed at 3.1 ms (2.9 ms before). \
         Apache Kafka 4.4.0 did not get to the end: it did not start."
    );
    run.brokers.clear();
    assert_eq!(report::headline(&run), "No broker has run.");
}

#[test]
fn a_page_asks_for_nothing_and_has_everything() {
    let run = inode_lock();
    let page = report::page(&run, Some("inode-lock.json"));
    // The name of SVG's vocabulary is the only address in a file, and HTML does not need it.
    for address in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(address), "{address}");
    }
    for part in [
        "Latency over time",
        "Latency by percentile",
        "Who waited where",
        "Safepoints",
        "The device itself",
        "How it was run",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("xfs_file_buffered_write\nvfs_write"), "the whole stack is there to read");
    assert!(page.contains("href=\"./inode-lock.json\""));
    assert!(page.contains("aplomb lab run inode-lock --broker kafka,aplomb --out results"));
}

#[test]
fn a_part_without_anything_to_tell_has_no_heading() {
    let mut run = inode_lock();
    for broker in &mut run.brokers {
        broker.safepoints.clear();
        broker.stages.clear();
        broker.device = Default::default();
    }
    let page = report::page(&run, None);
    for part in ["Safepoints", "Stages of requests", "The device itself"] {
        assert!(!page.contains(part), "{part}");
    }
}

#[test]
fn every_mark_of_the_timeline_leads_to_a_stack_of_the_page() {
    let page = report::page(&inode_lock(), None);
    let links: Vec<&str> =
        page.split("href=\"#").skip(1).filter_map(|rest| rest.split_once('"').map(|(id, _)| id)).collect();
    assert!(links.len() > 8, "handlers, network threads, the collector: {links:?}");
    for id in links {
        assert!(page.contains(&format!("<div id=\"{id}\">")), "{id}");
    }
}

#[test]
fn a_second_without_an_acknowledgement_is_a_gap() {
    let mut run = inode_lock();
    run.brokers.truncate(1);
    let line = |run: &Run| {
        let page = report::page(run, None);
        let (_, rest) = page.split_once("class=\"line p999\" d=\"").expect("a line");
        rest.split_once('"').expect("an end").0.to_owned()
    };
    assert_eq!(line(&run).matches('M').count(), 1);
    run.brokers[0].seconds[30].produce = None;
    assert_eq!(line(&run).matches('M').count(), 2);
}

#[test]
fn no_text_of_a_record_becomes_markup() {
    let run = sample::hostile();
    let run = Run::from_json(run.to_json().expect("finite numbers").as_bytes()).expect("our own");
    let page = report::page(&run, Some("a\"b.json"));
    let all = [page, report::compare_page(&[Entry { run: &run, page: Some("<b>.html") }])];
    for page in all {
        assert_eq!(page.matches("<script>").count(), 1, "ours");
        assert!(!page.contains("<img") && !page.contains('\u{0}') && !page.contains("NaN"));
        assert_eq!(page.matches('<').count(), page.matches('>').count() - greater_in_sources(&page));
    }
    let picture = report::compare_svg(&entries(std::slice::from_ref(&run)));
    assert!(!picture.contains("<img") && !picture.contains('\u{1b}'));
    let summary = report::summary(&run);
    assert!(!summary.chars().any(|c| c.is_control() && c != '\n'));
    let table = report::compare_markdown(&entries(std::slice::from_ref(&run)));
    assert_eq!(table.lines().count(), 3, "{table}");
}

/// The style sheet and the script have some of their own, and none that opens an element.
fn greater_in_sources(page: &str) -> usize {
    let inside = |from: &str, to: &str| {
        let (_, rest) = page.split_once(from).expect(from);
        let (source, _) = rest.split_once(to).expect(to);
        source.matches('>').count() - source.matches('<').count()
    };
    inside("<style>", "</style>") + inside("<script>", "</script>")
}

#[test]
fn a_run_without_brokers_or_measurements_has_a_page() {
    let mut run = inode_lock();
    for broker in &mut run.brokers {
        broker.seconds.clear();
        broker.phases.clear();
    }
    assert!(report::page(&run, None).contains("nothing was acknowledged"));
    run.brokers.clear();
    assert!(report::page(&run, None).contains("No broker has run."));
    assert!(report::summary(&run).contains("No broker has run."));
    assert!(report::compare_page(&entries(&[run])).contains("inode-lock"));
    assert!(report::compare_svg(&[]).starts_with("<svg"));
}

#[test]
fn a_summary_tells_figures_waits_and_verdicts() {
    let summary = report::summary(&inode_lock());
    for text in [
        "inode-lock: A lagging reader holds the inode that appends need",
        "rwsem_down_write_slowpath < down_write < xfs_ilock",
        "witness      silent",
        "Apache Kafka 4.4.0: as expected",
    ] {
        assert!(summary.contains(text), "{text} is not in\n{summary}");
    }
    let bars = summary.lines().find(|line| line.starts_with("Apache Kafka 4.4.0") && line.contains('|'));
    let parts: Vec<_> = bars.expect("bars by second").split('|').collect();
    assert_eq!(parts[1].chars().count(), 30, "a bar for each second of the disturbance");
}

#[test]
fn of_a_broker_that_was_killed_it_is_told_how_long_it_was_away_and_what_it_lost() {
    let run = sample::killed();
    assert_eq!(
        report::headline(&run),
        "Killed and started again, Apache Kafka 4.4.0 acknowledged again after 12 s, and 3 of 240,000 acknowledged records \
         were missing; Aplomb 0.1.0 acknowledged again after 400 ms, and all 240,000 acknowledged records were there."
    );
    let both = [Entry { run: &run, page: None }];
    let comparison = report::compare_page(&both);
    let all = [
        report::page(&run, None),
        report::summary(&run),
        comparison,
        report::compare_markdown(&both),
        report::compare_svg(&both),
    ];
    for text in all {
        assert!(text.contains("3 of 240,000 acknowledged records were missing"), "{text}");
        assert!(!text.contains('×'), "a factor says nothing of a broker that is away: {text}");
    }
    assert!(report::compare_markdown(&both).contains("away for 400 ms; all 240,000"));
}

#[test]
fn figures_of_some_say_of_whom_they_are() {
    let run = sample::half();
    assert!(report::headline(&run).ends_with("All figures are of producers of the other log directory."));
    let told =
        "producers of the other log directory (partitions 1, 3, 5, 7); of 60,000 records of the others";
    assert!(report::page(&run, None).contains(told) && report::summary(&run).contains(told));
    let both = [Entry { run: &run, page: None }];
    assert!(report::compare_page(&both).contains("producers of the other log directory"));
}

#[test]
fn what_became_of_groups_is_told_wherever_a_run_is() {
    let run = sample::groups::run();
    let page = report::page(&run, None);
    for text in [
        "Consumer groups",
        "10 classic and 10 consumer groups of 5 members; session timeout 6 s, heartbeats every 1 s, commits every 500 ms; \
         their coordinators write to the disk that is disturbed.",
        "No groups of the consumer protocol: the broker does not speak it.",
        "2,000×",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let summary = report::summary(&run);
    for text in [
        "rebalances   0 before, 12 during, 2 after; no owner for 14 s at most",
        "heartbeats   48 of 1,000 failed during, 0 of 1,000 before",
        "commits      p99.9 9.0 ms → 18 s (2,000×), max 18 s; 12 failed during",
        "no groups    of the consumer protocol: the broker does not speak it",
        "commits      p99.9 3.0 ms → 3.3 ms (1.1×)",
    ] {
        assert!(summary.contains(text), "{text} is not in\n{summary}");
    }
    let both = [Entry { run: &run, page: None }];
    for text in [report::compare_page(&both), report::compare_markdown(&both)] {
        assert!(text.contains("14 rebalances; commits 9.0 ms → 18 s (2,000×)"), "{text}");
        assert!(text.contains("0 rebalances; commits 3.0 ms → 3.3 ms (1.1×)"), "{text}");
    }
    let without = inode_lock();
    assert!(!report::page(&without, None).contains("Consumer groups"));
    assert!(!report::summary(&without).contains("rebalances"));
    assert!(!report::compare_markdown(&entries(&[without])).contains("groups"));
}

#[test]
fn a_comparison_has_the_worst_first_and_controls_last_and_each_brokers_own_runs() {
    let mut runs = sample::runs();
    let mut again = runs[1].clone();
    again.began = "2026-11-23T00:00:00Z".to_owned();
    again.brokers.truncate(1);
    let during = again.brokers[0].latency.during.as_mut().expect("measured");
    during.p999_us = 9_999_000;
    again.brokers[0].amplification = again.brokers[0].latency.amplification();
    runs.insert(0, again);
    let table = report::compare_markdown(&entries(&runs));
    let names: Vec<&str> = table.lines().skip(2).filter_map(|line| line.split("**").nth(1)).collect();
    assert_eq!(names, ["journal", "freeze", "inode-lock", "gc-log", "calm"]);
    let journal = table.lines().nth(2).expect("a row");
    assert!(journal.contains("5.7 ms → 10 s (**1,754×**)"), "{journal}");
    assert!(journal.contains("2.9 ms → 3.1 ms (1.1×)"), "Aplomb's of the earlier run: {journal}");
    assert!(table.lines().last().is_some_and(|line| line.contains("negative control")));
}

#[test]
fn of_several_runs_the_one_in_the_middle_stands_for_all() {
    let one = sample::runs().remove(1);
    let with = |day: u32, during_us: u64| {
        let mut run = one.clone();
        run.began = format!("2026-11-{day}T00:00:00Z");
        for broker in &mut run.brokers {
            broker.latency.calm.as_mut().expect("measured").p999_us = 5_000;
            broker.latency.during.as_mut().expect("measured").p999_us = during_us;
            broker.amplification = broker.latency.amplification();
        }
        run
    };
    let mut runs = vec![with(22, 6_000), with(23, 90_000), with(24, 5_500)];
    let mut failed = with(25, 1);
    failed.brokers[0].ended = Ended::Failed("the broker has died".to_owned());
    failed.brokers.truncate(1);
    runs.push(failed);
    let table = report::compare_markdown(&entries(&runs));
    assert_eq!(table.matches("5.0 ms → 6.0 ms (1.2×), of 3 runs, 1.1× to 18×").count(), 2, "{table}");
    let page = report::compare_page(&entries(&runs));
    assert_eq!(page.matches("of 3 runs, 1.1× to 18×").count(), 2);
    assert_eq!([table, page].map(|text| text.matches("1 more failed").count()), [1, 1]);
    assert!(!report::compare_markdown(&entries(&runs[..1])).contains(" runs"));
}

#[test]
fn a_run_on_a_machine_that_stood_still_itself_counts_where_there_is_no_other() {
    let mut late = inode_lock();
    let percentiles = |p999_us| Some(Percentiles { p50_us: 60, p99_us: 300, p999_us, max_us: 90_000 });
    for broker in &mut late.brokers {
        let standstill =
            MachineStandstill { calm: percentiles(2_000), during: percentiles(44_000), after: None };
        broker.machine_standstill = Some(standstill);
    }
    let table = |runs: &[Run]| report::compare_markdown(&entries(runs));
    let remark = "on a machine that stood still for 44 ms itself";
    let alone = std::slice::from_ref(&late);
    assert_eq!(table(alone).matches(remark).count(), 2);
    assert_eq!(report::compare_page(&entries(alone)).matches(remark).count(), 2);
    let both = table(&[inode_lock(), late.clone()]);
    assert!(!both.contains(remark) && both.contains(" of 2 runs"), "{both}");
    let mut less_late = late.clone();
    for broker in &mut less_late.brokers {
        broker.machine_standstill.as_mut().expect("measured").during = percentiles(12_000);
    }
    let neither = table(&[late, less_late]);
    assert_eq!(neither.matches("on a machine that stood still for 12 ms itself").count(), 2, "{neither}");
}

#[test]
fn how_long_the_machine_stood_still_is_told_where_it_is_known() {
    let mut run = inode_lock();
    let told = |run: &Run| {
        [report::page(run, None), report::summary(run)]
            .map(|text| text.matches("stood still for 2.0 ms at p99.9").count())
    };
    assert_eq!(told(&run), [0, 0]);
    let percentiles = |p999_us| Some(Percentiles { p50_us: 60, p99_us: 300, p999_us, max_us: 9_000 });
    let standstill = MachineStandstill { calm: percentiles(2_000), during: percentiles(3_000), after: None };
    run.brokers[0].machine_standstill = Some(standstill);
    assert_eq!(told(&run), [1, 1]);
}

#[test]
fn a_comparison_says_which_run_was_not_as_expected() {
    let mut runs = sample::runs();
    let told = |runs: &[Run]| {
        let [page, table] = [report::compare_page(&entries(runs)), report::compare_markdown(&entries(runs))];
        [page, table].map(|text| text.matches("not as expected").count())
    };
    assert_eq!(told(&runs), [0, 0]);
    runs[1].brokers[0].expectation.met = false;
    assert_eq!(told(&runs), [1, 1]);
}

#[test]
fn a_figure_without_a_part_of_the_incident_says_so_wherever_it_stands() {
    let mut runs = sample::runs();
    runs.truncate(1);
    let told = |runs: &[Run]| {
        let all = [
            report::page(&runs[0], None),
            report::summary(&runs[0]),
            report::compare_page(&entries(runs)),
            report::compare_markdown(&entries(runs)),
        ];
        all.map(|text| text.matches("without a cleaner, which it has not got yet").count())
    };
    assert_eq!(told(&runs), [0; 4]);
    runs[0].brokers[1].expectation.lacks = "a cleaner".to_owned();
    assert_eq!(told(&runs), [1; 4]);
}

#[test]
fn the_picture_is_a_file_of_its_own() {
    let picture = report::compare_svg(&entries(&sample::runs()));
    assert!(picture.starts_with("<svg") && picture.contains("xmlns=\"http://www.w3.org/2000/svg\""));
    assert!(picture.contains("799 ms (140×)") && picture.contains("prefers-color-scheme: dark"));
}

#[test]
fn the_disturbance_is_shaded_where_it_was() {
    let mut run = inode_lock();
    run.brokers.truncate(1);
    let shades = |run: &Run| report::page(run, None).matches("class=\"shade\"").count();
    assert!(shades(&run) > 0);
    run.brokers[0].phases.retain(|phase| phase.name != PhaseName::During);
    assert_eq!(shades(&run), 0);
}

#[test]
fn a_packed_record_is_the_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let (plain, packed) = (folder.path().join("plain"), folder.path().join("packed"));
    let (record, _) = report::write_run(&plain, &inode_lock()).expect("written");
    let json = fs::read(&record).expect("there");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&json).expect("memory takes all");
    fs::create_dir(&packed).expect("made");
    fs::write(packed.join("inode-lock.json.gz"), gzip.finish().expect("memory takes all")).expect("written");

    let pages = [&plain, &packed].map(|records| {
        let out = records.join("pages");
        let compared = report::write_comparison(records, &out).expect("a record");
        assert!(compared.left_out.is_empty());
        ["comparison.html", "comparison.md", "inode-lock.html"]
            .map(|page| fs::read(out.join(page)).expect(page))
    });
    assert_eq!(pages[0], pages[1]);

    fs::write(packed.join("broken.json.gz"), &json).expect("written");
    let compared = report::write_comparison(&packed, &packed.join("pages")).expect("the other record");
    assert!(compared.left_out[0].to_string().contains("broken.json.gz"));
}
