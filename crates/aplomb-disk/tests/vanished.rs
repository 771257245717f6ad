//! What an operator can do to a log directory under a running engine, beyond deleting files of it:
//! the sync of what was written misses it.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aplomb_disk::{DiskEngine, EngineOptions, clock};
use aplomb_disk_api::{
    Completion, CompletionSink, DiskCommand, DiskError, DiskHealth, DiskIndex, DiskQueue, Done, FileName,
    Lane, SmallFile,
};
use bytes::Bytes;

const LONG: Duration = Duration::from_secs(60);

struct Letters(Mutex<Sender<Result<Done, DiskError>>>);

impl CompletionSink for Letters {
    fn complete(&self, completion: Completion) {
        self.0.lock().expect("nothing in here panics").send(completion.result).expect("the test listens");
    }
}

struct Engine {
    engine: DiskEngine,
    queue: Box<dyn DiskQueue>,
    results: Receiver<Result<Done, DiskError>>,
}

impl Engine {
    fn open(directory: &Path, options: EngineOptions) -> Self {
        let engine = DiskEngine::open(DiskIndex(0), directory, options).expect("it opens");
        let (sender, results) = channel();
        let queue = engine.queue(Arc::new(Letters(Mutex::new(sender))));
        Self { engine, queue, results }
    }

    fn ask(&mut self, command: DiskCommand) -> Result<Done, DiskError> {
        self.queue.try_submit(command, clock::now()).expect("there is room");
        self.results.recv_timeout(LONG).expect("the disk answers")
    }

    fn write(&mut self, file: &str, at: u64) -> Result<Done, DiskError> {
        let data = vec![Bytes::from_static(b"records")];
        self.ask(DiskCommand::Write { file: FileName::new(file), at, data })
    }

    fn sync(&mut self, file: &str) -> Result<Done, DiskError> {
        self.ask(DiskCommand::Sync { files: vec![FileName::new(file)] })
    }

    /// A partition with one written and synced file.
    fn with_a_partition(directory: &Path, options: EngineOptions) -> Self {
        let mut engine = Self::open(directory, options);
        let metadata = SmallFile {
            name: FileName::new("orders-3/partition.metadata"),
            content: Bytes::from_static(b"version: 0"),
        };
        let made = engine.ask(DiskCommand::Publish { files: vec![metadata], lane: Lane::Write });
        assert_eq!(made, Ok(Done::Nothing));
        assert_eq!(engine.write("orders-3/0.log", 0), Ok(Done::Nothing));
        assert_eq!(engine.sync("orders-3/0.log"), Ok(Done::Nothing));
        engine
    }

    fn expect_loss(mut self, file: &str, words: &str) {
        match self.sync(file) {
            Err(error @ DiskError::Failed { .. }) => {
                assert!(error.to_string().contains(words), "{error}");
            }
            other => panic!("a sync missed nothing: {other:?}"),
        }
        assert!(matches!(self.engine.health(clock::now(), LONG), DiskHealth::Lost { .. }));
    }
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory for the test")
}

#[test]
fn a_file_that_was_replaced_by_another_is_missed() {
    let directory = directory();
    let mut engine = Engine::with_a_partition(directory.path(), EngineOptions::default());
    let file = directory.path().join("orders-3/0.log");
    fs::copy(&file, directory.path().join("copy")).expect("it is there");
    fs::rename(directory.path().join("copy"), &file).expect("it is there");
    assert_eq!(engine.write("orders-3/0.log", 7), Ok(Done::Nothing));
    engine.expect_loss("orders-3/0.log", "is not there any more");
}

#[test]
fn a_partition_that_was_moved_away_is_missed() {
    let directory = directory();
    let mut engine = Engine::with_a_partition(directory.path(), EngineOptions::default());
    fs::rename(directory.path().join("orders-3"), directory.path().join("old")).expect("it is there");
    assert_eq!(engine.write("orders-3/0.log", 7), Ok(Done::Nothing));
    engine.expect_loss("orders-3/0.log", "is not there any more");
}

#[test]
fn a_file_that_vanished_is_missed_whose_descriptor_was_closed_to_save_descriptors() {
    let directory = directory();
    let options = EngineOptions { open_files: Some(1), ..EngineOptions::default() };
    let mut engine = Engine::with_a_partition(directory.path(), options);
    assert_eq!(engine.write("orders-3/0.log", 7), Ok(Done::Nothing));
    assert_eq!(engine.write("other.log", 0), Ok(Done::Nothing));
    fs::remove_file(directory.path().join("orders-3/0.log")).expect("it is there");
    engine.expect_loss("orders-3/0.log", "is not there any more");
}

#[test]
fn a_log_directory_that_was_moved_away_is_missed_also_if_another_has_its_place() {
    for replaced in [false, true] {
        let parent = directory();
        let [here, elsewhere] = ["data", "elsewhere"].map(|name| parent.path().join(name));
        fs::create_dir(&here).expect("there is room");
        let mut engine = Engine::with_a_partition(&here, EngineOptions::default());
        fs::rename(&here, &elsewhere).expect("it is there");
        if replaced {
            fs::create_dir_all(here.join("orders-3")).expect("there is room");
        }
        assert_eq!(engine.write("orders-3/0.log", 7), Ok(Done::Nothing));
        engine.expect_loss("orders-3/0.log", "the log directory is not there any more");
    }
}

#[test]
fn what_is_left_alone_is_not_missed() {
    let directory = directory();
    let options = EngineOptions { open_files: Some(1), ..EngineOptions::default() };
    let mut engine = Engine::with_a_partition(directory.path(), options);
    for at in 1..20 {
        assert_eq!(engine.write("orders-3/0.log", at * 7), Ok(Done::Nothing));
        assert_eq!(engine.write("other.log", (at - 1) * 7), Ok(Done::Nothing));
        assert_eq!(engine.sync("orders-3/0.log"), Ok(Done::Nothing));
    }
    assert_eq!(engine.sync("other.log"), Ok(Done::Nothing));
    engine.engine.stop(LONG).expect("nothing hangs");
}
