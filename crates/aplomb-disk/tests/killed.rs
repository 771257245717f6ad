//! A process that is killed in the middle of its work leaves what the contract says: of each file a
//! beginning, of each publication the old or the new.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use aplomb_disk::{DiskEngine, EngineKind, EngineOptions, MappedFile, clock};
use aplomb_disk_api::{
    Completion, CompletionSink, DiskCommand, DiskIndex, FileName, Lane, QueueFull, SmallFile,
};
use bytes::Bytes;

const DIRECTORY: &str = "APLOMB_TEST_KILLED_DIRECTORY";
const UNPRIVILEGED: &str = "APLOMB_TEST_UNPRIVILEGED";

/// Bytes of each append.
const APPEND: u64 = 700;

struct Deaf;

impl CompletionSink for Deaf {
    fn complete(&self, completion: Completion) {
        assert!(completion.result.is_ok(), "{completion:?}");
    }
}

fn content(from: u64, len: u64) -> Vec<u8> {
    (from..from + len).map(|at| (at ^ (at >> 7)) as u8).collect()
}

fn checkpoint(number: u64) -> String {
    format!("{number}\n").repeat(3000)
}

/// Not a test by itself: the process that is going to be killed.
#[test]
fn a_busy_process() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let kind = if std::env::var_os("THREADS").is_some() { EngineKind::Threads } else { EngineKind::Auto };
    let options = EngineOptions { engine: kind, queue_depth: 200, ..EngineOptions::default() };
    let engine = DiskEngine::open(DiskIndex(0), Path::new(&directory), options).expect("it opens");
    let mut queue = engine.queue(Arc::new(Deaf));
    println!("\nbusy");
    for number in 0.. {
        let at = number * APPEND;
        let append = |file: &str| {
            let data = vec![Bytes::from(content(at, APPEND))];
            DiskCommand::Write { file: FileName::new(file), at, data }
        };
        let published = SmallFile { name: FileName::new("checkpoint"), content: checkpoint(number).into() };
        let commands = [
            append("a.log"),
            append("b.log"),
            DiskCommand::Publish { files: vec![published], lane: Lane::Housekeeping },
        ];
        for mut command in commands {
            while let Err(QueueFull(back)) = queue.try_submit(command, clock::now()) {
                command = back;
                std::thread::sleep(Duration::from_micros(100));
            }
        }
    }
}

#[test]
fn a_killed_process_leaves_beginnings_and_whole_publications() {
    let this = std::env::current_exe().expect("a test has a file");
    let (mut bytes, mut checkpoints) = (0, 0);
    for round in 0..8_u64 {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let mut command = Command::new(&this);
        command.args(["--exact", "a_busy_process", "--nocapture"]).env(DIRECTORY, directory.path());
        if round % 2 == 0 {
            command.env("THREADS", "1");
        }
        let mut child = command.stdout(Stdio::piped()).spawn().expect("our own file can be started");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let begun = output.by_ref().lines().map_while(Result::ok).any(|line| line == "busy");
        assert!(begun, "the child did not begin");
        std::thread::sleep(Duration::from_millis(20 + round * 13));
        child.kill().expect("it is running");
        child.wait().expect("it was killed");
        for file in ["a.log", "b.log"] {
            let found = std::fs::read(directory.path().join(file)).unwrap_or_default();
            assert!(found == content(0, found.len() as u64), "{file} is no beginning in round {round}");
            bytes += found.len();
        }
        if let Ok(found) = std::fs::read_to_string(directory.path().join("checkpoint")) {
            let number = found.lines().next().expect("a publication is whole").parse().expect("a number");
            assert!(found == checkpoint(number), "the checkpoint is torn in round {round}");
            checkpoints += 1;
        }
    }
    assert!(bytes > 0 && checkpoints > 0, "every child was killed before it did anything");
}

/// Not a test by itself: a process that may not lock memory.
#[test]
fn an_unprivileged_process() {
    if std::env::var_os(UNPRIVILEGED).is_none() {
        return;
    }
    let mapped = MappedFile::anonymous(64 << 20).expect("an address is to be had");
    let not_locked = mapped.fault_in(0..mapped.len()).expect("memory is to be had, locked or not");
    println!("\nnot locked: {}", not_locked.as_deref().unwrap_or("nothing"));
}

#[test]
fn memory_that_cannot_be_locked_is_had_all_the_same_and_says_why() {
    let this = std::env::current_exe().expect("a test has a file");
    let mut command = Command::new(this);
    command.args(["--exact", "an_unprivileged_process", "--nocapture"]).env(UNPRIVILEGED, "1").uid(65534);
    let output = match command.output() {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        Ok(output) => {
            return eprintln!("skipped: as another user: {}", String::from_utf8_lossy(&output.stderr));
        }
        Err(error) => return eprintln!("skipped: cannot become another user: {error}"),
    };
    let line = output.lines().find(|line| line.starts_with("not locked: ")).expect("the child says it");
    if line.ends_with("nothing") {
        return eprintln!("skipped: RLIMIT_MEMLOCK lets everybody lock 64 MiB");
    }
    assert!(line.contains("mlock of 67108864 bytes"), "{line}");
    assert!(line.contains("RLIMIT_MEMLOCK is"), "{line}");
}
