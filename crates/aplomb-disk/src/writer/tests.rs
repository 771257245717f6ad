use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use aplomb_disk_api::{Completion, CompletionSink, DiskIndex, Ticket};

use super::*;
use crate::files::FilesOptions;
use crate::io::{SyncFailed, Syncs};
use crate::open_file::OpenFile;

#[derive(Default)]
struct Letters(Mutex<Vec<Completion>>);

impl CompletionSink for Letters {
    fn complete(&self, completion: Completion) {
        self.0.lock().expect("no sink panics").push(completion);
    }
}

impl Letters {
    /// By their tickets.
    fn results(&self) -> Vec<Result<Done, DiskError>> {
        let mut letters = self.0.lock().expect("no sink panics");
        letters.sort_by_key(|letter| letter.ticket.0);
        letters.iter().map(|letter| letter.result.clone()).collect()
    }

    /// Waits until so many have come.
    fn wait(&self, count: usize) {
        while self.0.lock().expect("no sink panics").len() < count {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn write(file: &str, at: u64) -> DiskCommand {
    DiskCommand::Write { file: FileName::new(file), at, data: vec![Bytes::from_static(b"x")] }
}

fn sync(file: &str) -> DiskCommand {
    DiskCommand::Sync { files: vec![FileName::new(file)] }
}

fn publish(file: &str) -> DiskCommand {
    let files = vec![SmallFile { name: FileName::new(file), content: Bytes::from_static(b"x") }];
    DiskCommand::Publish { files, lane: Lane::Write }
}

/// Lanes that hold these commands, and where their letters go.
fn queued(commands: Vec<DiskCommand>) -> (Arc<Lanes>, Arc<Letters>) {
    let lanes = Arc::new(Lanes::new(DiskIndex(0), 1000, None));
    let letters = Arc::new(Letters::default());
    let sink = Arc::clone(&letters) as Arc<dyn CompletionSink>;
    for (ticket, command) in (0..).zip(commands) {
        let now = crate::clock::now();
        lanes.submit(command.lane(), command, Ticket(ticket), &sink, now).expect("there is room");
    }
    (lanes, letters)
}

/// A writer as an engine has it.
fn writer(directory: &Path, lanes: &Arc<Lanes>, backend: Box<dyn Backend<Accepted>>) -> Writer {
    let options = FilesOptions { limit: 100, syncfs_above: 64, stats: Arc::clone(lanes.stats()) };
    let files = Files::open(directory, options).expect("it is there");
    Writer { lanes: Arc::clone(lanes), files: files.with(Endurance::endless(lanes)), backend }
}

fn plain() -> Box<dyn Backend<Accepted>> {
    crate::io::backend(crate::EngineKind::Threads).expect("it works everywhere")
}

/// Carries the commands out as one batch and gives how often it waited for the disk.
fn syncs_of(directory: &Path, commands: Vec<DiskCommand>) -> u64 {
    let count = commands.len();
    let (lanes, letters) = queued(commands);
    lanes.close();
    writer(directory, &lanes, plain()).run();
    assert_eq!(letters.results(), vec![Ok(Done::Nothing); count]);
    lanes.stats().syncs()
}

#[test]
fn between_barriers_writes_come_first_and_syncs_become_one() {
    let cut = DiskCommand::Truncate { file: FileName::new("a"), len: 0 };
    let commands = vec![
        write("a", 0),
        sync("a"),
        write("b", 0),
        sync("b"),
        publish("c"),
        publish("d"),
        sync("a"),
        write("a", 1),
        cut,
        write("a", 0),
    ];
    let (lanes, letters) = queued(commands);
    let batch = lanes.take_all(Lane::Write).expect("it is not empty");
    let steps = plan(batch);
    let shape: Vec<(&str, usize)> = steps
        .iter()
        .map(|step| match step {
            Step::Writes(jobs) => ("writes", jobs.len()),
            Step::Syncs(jobs) => ("syncs", jobs.len()),
            Step::Publications(jobs) => ("publications", jobs.len()),
            Step::Truncation(_) => ("truncation", 1),
        })
        .collect();
    let expected = [
        ("writes", 2),
        ("syncs", 2),
        ("publications", 2),
        ("writes", 1),
        ("syncs", 1),
        ("truncation", 1),
        ("writes", 1),
    ];
    assert_eq!(shape, expected);
    assert_eq!(letters.results(), []);
}

#[test]
fn a_hundred_acknowledged_appends_cost_one_sync_of_their_file() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let commands = (0..100).flat_map(|n| [write("0.log", n), sync("0.log")]).collect();
    // The file's content, and its name once.
    assert_eq!(syncs_of(directory.path(), commands), 2);
    assert_eq!(std::fs::read(directory.path().join("0.log")).expect("it was written").len(), 100);
}

#[test]
fn very_many_files_are_synced_by_one_sync_of_the_file_system() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let files: Vec<String> = (0..80).map(|n| format!("{n}.log")).collect();
    let writes = files.iter().map(|file| write(file, 0));
    let all = DiskCommand::Sync { files: files.iter().map(|file| FileName::new(file.as_str())).collect() };
    assert_eq!(syncs_of(directory.path(), writes.chain([all]).collect()), 1);
}

#[test]
fn neighbouring_publications_share_their_directory_syncs() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let commands = (0..20).map(|n| publish(&format!("orders-3/{n}"))).collect();
    // Twenty files, their directory, and the directory above it.
    assert_eq!(syncs_of(directory.path(), commands), 22);
}

/// How many files each call of a backend had.
type Calls = Arc<Mutex<Vec<usize>>>;

/// A backend that finds no memory for its first calls.
struct Short {
    calls: u64,
    plain: Box<dyn Backend<Accepted>>,
    files: Calls,
}

impl Short {
    fn of_memory(calls: u64) -> (Box<dyn Backend<Accepted>>, Calls) {
        let files = Calls::default();
        (Box::new(Self { calls, plain: plain(), files: Arc::clone(&files) }), files)
    }
}

impl Syncs for Short {
    fn sync(&mut self, files: &[Arc<OpenFile>]) -> Result<(), SyncFailed> {
        self.plain.sync(files)
    }
}

impl Backend<Accepted> for Short {
    fn write(&mut self, runs: Vec<FileRun<Accepted>>, ended: &mut dyn FnMut(FileRun<Accepted>, RunEnd)) {
        self.files.lock().expect("no test panics with it").push(runs.len());
        if self.calls == 0 {
            return self.plain.write(runs, ended);
        }
        self.calls -= 1;
        let mut failed = false;
        for run in runs {
            let error = io::Error::from_raw_os_error(libc::ENOMEM);
            ended(run, if failed { RunEnd::Skipped } else { RunEnd::Failed(error) });
            failed = true;
        }
    }
}

#[test]
fn writes_that_find_no_memory_are_done_when_there_is_some_and_in_their_order() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let cut = DiskCommand::Truncate { file: FileName::new("a"), len: 2 };
    let commands = vec![write("a", 0), write("b", 0), write("a", 1), write("a", 2), sync("a"), cut];
    let (lanes, letters) = queued(commands);
    let (backend, _) = Short::of_memory(2);
    let writer = writer(directory.path(), &lanes, backend);
    std::thread::scope(|threads| {
        threads.spawn(|| writer.run());
        letters.wait(6);
        lanes.close();
    });
    assert_eq!(letters.results(), vec![Ok(Done::Nothing); 6]);
    assert_eq!(std::fs::read(directory.path().join("a")).expect("it was written"), b"xx");
    assert_eq!((lanes.stats().shortages(), lanes.lost()), (1, None));
}

#[test]
fn many_files_are_written_a_bounded_number_at_a_time() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let (lanes, letters) = queued((0..150).map(|n| write(&format!("{n}.log"), 0)).collect());
    let (backend, files) = Short::of_memory(0);
    lanes.close();
    writer(directory.path(), &lanes, backend).run();
    assert_eq!(letters.results(), vec![Ok(Done::Nothing); 150]);
    assert_eq!(*files.lock().expect("no test panics with it"), [AT_ONCE, AT_ONCE, 150 - 2 * AT_ONCE]);
}

#[test]
fn a_lost_disk_ends_writes_that_wait_for_memory() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let (lanes, letters) = queued(vec![write("a", 0), write("b", 0), sync("a")]);
    let (backend, _) = Short::of_memory(u64::MAX);
    let writer = writer(directory.path(), &lanes, backend);
    std::thread::scope(|threads| {
        threads.spawn(|| writer.run());
        while lanes.stats().shortages() == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        lanes.lose("the device is gone");
        letters.wait(3);
        lanes.close();
    });
    assert_eq!(letters.results(), vec![Err(DiskError::Offline); 3]);
}

/// Though there is memory again: nothing is called done that follows what was given up.
#[test]
fn nothing_is_carried_out_after_a_write_that_a_stop_has_ended() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let cut = DiskCommand::Truncate { file: FileName::new("a"), len: 0 };
    let commands = vec![write("a", 0), sync("a"), publish("b"), cut, write("a", 0), sync("a")];
    let (lanes, letters) = queued(commands);
    lanes.close();
    let (backend, _) = Short::of_memory(1);
    writer(directory.path(), &lanes, backend).run();
    assert_eq!(letters.results(), vec![Err(DiskError::Offline); 6]);
    assert!(!directory.path().join("b").exists());
    assert_eq!(lanes.lost(), None);
}
