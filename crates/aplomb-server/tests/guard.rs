//! The guard and the panic hook end processes, so each story runs in a child: this program again,
//! told which part to play.

mod support;

use std::process::{Command, Output, Stdio};

use aplomb_server::guard::GuardMode;
use aplomb_server::log::{Log, panic::abort_on_panic};
use support::{Running, Wishes};

/// Says which part a child plays.
const PART: &str = "APLOMB_TEST_PART";

/// What a child does: a server that logs to the standard output, and a client with one letter.
#[test]
fn child() {
    let Ok(part) = std::env::var(PART) else { return };
    let (mode, letter) = match part.as_str() {
        "enforce-echo" => (GuardMode::Enforce, b"e"),
        "enforce-open" => (GuardMode::Enforce, b"f"),
        "log-open" => (GuardMode::Log, b"f"),
        "off-open" => (GuardMode::Off, b"f"),
        "panic" | "panic-unread" => (GuardMode::Enforce, b"x"),
        other => panic!("no part is called {other}"),
    };
    #[expect(clippy::disallowed_methods, reason = "the parent reads the log there")]
    let (log, writer) = Log::start(Box::new(std::io::stdout())).expect("a thread starts");
    abort_on_panic(log.clone());
    if part == "panic-unread" {
        // More than a pipe holds.
        for _ in 0..200 {
            log.info("test", "x".repeat(1000));
        }
    }
    let running = Running::start(Wishes { guard: mode, log: log.clone(), ..Wishes::default() });
    let mut client = running.client();
    client.send(letter);
    let answer = String::from_utf8(client.receive()).expect("letters");
    // A second time, to see it counted.
    client.send(letter);
    client.receive();
    log.info("test", format!("the answer is {answer}; violations: {}", running.guard.counters().total()));
    running.stop();
    writer.close();
}

fn command(part: &str) -> Command {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command.args(["--exact", "child", "--nocapture", "--test-threads=1"]).env(PART, part);
    command
}

fn play(part: &str) -> (Output, String) {
    let output = command(part).output().expect("it runs again");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, text)
}

#[test]
fn under_enforce_sockets_work() {
    let (output, text) = play("enforce-echo");
    assert!(output.status.success(), "{text}");
    assert!(text.contains("INFO test: the answer is e; violations: 0"), "{text}");
}

#[test]
fn under_enforce_a_shard_that_opens_a_file_ends_the_process_and_says_so() {
    use std::os::unix::process::ExitStatusExt;
    let (output, text) = play("enforce-open");
    assert_eq!(output.status.signal(), Some(6), "{text}");
    assert!(text.contains("ERROR server/guard: thread aplomb-shard-"), "{text}");
    assert!(
        text.contains(
            "called openat(\"/etc/hostname\"), which may wait for a file system; the process is aborted"
        ),
        "{text}"
    );
}

#[test]
fn under_log_it_passes_and_is_seen() {
    let (output, text) = play("log-open");
    assert!(output.status.success(), "{text}");
    assert!(text.contains("WARN server/guard: thread aplomb-shard-"), "{text}");
    assert!(
        text.contains("called openat(\"/etc/hostname\"), which may wait for a file system; it passed"),
        "{text}"
    );
    assert!(text.contains("INFO test: the answer is opened; violations: 2"), "{text}");
}

#[test]
fn with_the_guard_off_nobody_looks() {
    let (output, text) = play("off-open");
    assert!(output.status.success(), "{text}");
    assert!(text.contains("INFO test: the answer is opened; violations: 0"), "{text}");
}

#[test]
fn a_panic_of_a_shard_is_logged_and_ends_the_process() {
    use std::os::unix::process::ExitStatusExt;
    let (output, text) = play("panic");
    assert_eq!(output.status.signal(), Some(6), "{text}");
    assert!(text.contains("ERROR server/panic: thread aplomb-shard-"), "{text}");
    assert!(text.contains("told to; the process is aborted"), "{text}");
}

#[test]
fn a_log_that_nobody_reads_does_not_keep_a_panicking_process_alive() {
    use std::os::unix::process::ExitStatusExt;
    let mut child = command("panic-unread").stdout(Stdio::piped()).spawn().expect("it runs again");
    let mut status = None;
    support::eventually("the child ends though its log hangs", || {
        status = child.try_wait().expect("our child");
        status.is_some()
    });
    assert_eq!(status.and_then(|status| status.signal()), Some(6));
}
