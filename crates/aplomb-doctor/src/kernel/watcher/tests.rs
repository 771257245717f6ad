//! Watching processes of our own.

use std::process::{Command, Stdio};
use std::thread;

use super::*;

fn watch_for(pid: u32, time: Duration) -> Watcher {
    let mut watcher = Watcher::start(pid, Bpf::Off).expect("it is there");
    let end = Instant::now() + time;
    while Instant::now() < end {
        let Some(next) = watcher.step() else { break };
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    watcher
}

#[test]
fn an_idle_process_waits_for_nothing_and_costs_little() {
    let recording = watch_for(std::process::id(), Duration::from_millis(900)).finish();
    assert!(recording.sight.looks > 3, "{:?}", recording.sight);
    assert!(recording.host.len() >= 2, "{:?}", recording.host);
    assert!(recording.threads.iter().any(|thread| thread.name == "main" || !thread.name.is_empty()));
    let back = Recording::from_json(recording.to_json().expect("finite").as_bytes());
    assert_eq!(back.expect("what was written"), recording);
}

#[test]
fn of_a_long_watch_the_oldest_rows_are_forgotten_everywhere() {
    let mut watcher = watch_for(std::process::id(), Duration::from_millis(1_300));
    let rows = watcher.samples.len();
    assert!(rows >= 3, "{rows}");
    watcher.forget(2);
    let recording = watcher.finish();
    assert_eq!(recording.host.len(), rows - 2);
    let longest = recording.threads.iter().map(|thread| thread.usage.len()).max();
    assert!(longest.is_some_and(|longest| longest <= rows - 2), "{longest:?}");
    assert!(recording.sight.missing.iter().any(|line| line.contains("not kept as long")));
}

#[test]
fn a_process_that_ends_is_said_to_have() {
    let mut child =
        Command::new("sleep").arg("0.3").stdin(Stdio::null()).spawn().expect("a process to watch");
    let pid = child.id();
    let reaper = thread::spawn(move || child.wait());
    let recording = watch_for(pid, Duration::from_secs(30)).finish();
    reaper.join().expect("it does not panic").expect("it ends");
    assert!(recording.sight.missing.iter().any(|line| line.contains("ended")), "{:?}", recording.sight);
    assert!(recording.clock.length_ms < 20_000.0);
}

#[test]
fn what_is_not_there_is_not_watched() {
    assert!(matches!(Watcher::start(u32::MAX, Bpf::Off), Err(WatchError::NoProcess(_))));
}

#[test]
fn what_is_switched_off_is_said_to_be() {
    let mut watcher = Watcher::start(std::process::id(), Bpf::Off).expect("it is there");
    watcher.step();
    let recording = watcher.finish();
    assert_eq!(recording.sight.trace, None);
    assert!(recording.sight.missing.iter().any(|line| line.contains("--bpf off")), "{:?}", recording.sight);
    assert!(recording.waits.iter().all(|wait| wait.woken_by.is_none()));
}
