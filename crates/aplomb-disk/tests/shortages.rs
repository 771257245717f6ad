//! A process without a descriptor left: nothing is lost, order is kept, and what waited is carried
//! out when there is one again.

#[path = "support/kinds.rs"]
mod kinds;

use std::fs::File;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aplomb_disk::{DiskEngine, EngineKind, EngineOptions, clock};
use aplomb_disk_api::{
    Completion, CompletionSink, DiskCommand, DiskError, DiskHealth, DiskIndex, DiskQueue, Done, FileName,
    JobStep, Lane, PatientDisk, ReadPattern, SmallFile,
};
use bytes::Bytes;
use kinds::kinds;

const CHILD: &str = "APLOMB_TEST_SHORT_OF_DESCRIPTORS";
const LONG: Duration = Duration::from_secs(60);

type Results = Receiver<Result<Done, DiskError>>;

struct Letters(Mutex<Sender<Result<Done, DiskError>>>);

impl CompletionSink for Letters {
    fn complete(&self, completion: Completion) {
        self.0.lock().expect("nothing in here panics").send(completion.result).expect("the test listens");
    }
}

fn owner(engine: &DiskEngine) -> (Box<dyn DiskQueue>, Results) {
    let (sender, results) = channel();
    (engine.queue(Arc::new(Letters(Mutex::new(sender)))), results)
}

fn write(file: &str, at: u64, data: &'static str) -> DiskCommand {
    DiskCommand::Write { file: FileName::new(file), at, data: vec![Bytes::from_static(data.as_bytes())] }
}

fn submit(queue: &mut Box<dyn DiskQueue>, command: DiskCommand) {
    queue.try_submit(command, clock::now()).expect("there is room");
}

/// Takes every descriptor that the process may have.
fn take_all() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

/// Runs a test of this file in a process of its own.
fn run_with_few_descriptors(test: &str) {
    let this = std::env::current_exe().expect("a test has a file");
    let this = this.to_str().expect("tests have plain names");
    let script = format!("ulimit -n 64; exec {this} --exact {test} --nocapture");
    let output = Command::new("sh").args(["-c", &script]).env(CHILD, "1").output().expect("sh is there");
    let text = String::from_utf8_lossy(&output.stdout);
    let is_well = output.status.success() && text.lines().any(|line| line == "well");
    assert!(is_well, "{text}{}", String::from_utf8_lossy(&output.stderr));
}

/// Not a test by itself: a process whose descriptors are counted, and its own to take.
#[test]
fn a_process_with_few_descriptors() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    for kind in kinds() {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let options = EngineOptions { engine: kind, ..EngineOptions::default() };
        let engine = DiskEngine::open(DiskIndex(0), directory.path(), options).expect("it opens");
        let (mut queue, results) = owner(&engine);
        submit(&mut queue, write("read.log", 0, "records"));
        assert_eq!(results.recv_timeout(LONG), Ok(Ok(Done::Nothing)));

        let taken = take_all();
        assert!(taken.len() > 10, "{} descriptors were free", taken.len());
        // The cache's own descriptor is taken as well, once a lookup has given it up.
        submit(&mut queue, write("new.log", 0, "first"));
        let more = loop {
            let more = take_all();
            if !more.is_empty() {
                break more;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        submit(&mut queue, write("new.log", 5, "second"));
        submit(&mut queue, DiskCommand::Sync { files: vec![FileName::new("new.log")] });
        let files = vec![SmallFile { name: FileName::new("small"), content: Bytes::from_static(b"x") }];
        submit(&mut queue, DiskCommand::Publish { files, lane: Lane::Housekeeping });

        // What has no order is told.
        let (mut other, told) = owner(&engine);
        let pattern = ReadPattern::Random;
        submit(&mut other, DiskCommand::Read { file: FileName::new("read.log"), at: 0, len: 7, pattern });
        let read = told.recv_timeout(LONG).expect("it is told");
        assert!(matches!(read, Err(DiskError::Shortage { .. })), "{read:?}");
        let job = |disk: &dyn PatientDisk| Ok(JobStep::done(disk.list(None).map(|entries| entries.len())));
        other.try_submit_job(Box::new(job), clock::now()).expect("there is room");
        let listed = match told.recv_timeout(LONG) {
            Ok(Ok(Done::Job(outcome))) => outcome.take::<Result<usize, DiskError>>(),
            ended => panic!("{ended:?}"),
        };
        assert!(matches!(listed, Some(Err(DiskError::Shortage { .. }))), "{listed:?}");

        // What has one waits, and its lane's age shows it. The disk is well.
        assert_eq!(results.try_recv(), Err(std::sync::mpsc::TryRecvError::Empty));
        assert_eq!(results.recv_timeout(Duration::from_millis(100)), Err(RecvTimeoutError::Timeout));
        let health = engine.health(clock::now(), Duration::from_millis(100));
        assert!(matches!(health, DiskHealth::Stalled { .. }), "{health:?}");
        assert!(engine.stats().shortages() >= 2);

        drop((taken, more));
        for _ in 0..4 {
            assert_eq!(results.recv_timeout(LONG), Ok(Ok(Done::Nothing)));
        }
        assert_eq!(std::fs::read(directory.path().join("new.log")).expect("it is there"), b"firstsecond");
        assert_eq!(engine.health(clock::now(), LONG), DiskHealth::Prompt);
        engine.stop(LONG).expect("nothing hangs");
    }
    println!("\nwell");
}

#[test]
fn a_shortage_of_descriptors_loses_no_disk_and_no_order() {
    run_with_few_descriptors("a_process_with_few_descriptors");
}

/// Not a test by itself: see above. No one else holds a descriptor here: what the engine waited for
/// it would have itself.
#[test]
fn a_process_with_more_files_than_descriptors() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    for kind in kinds() {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let never = usize::MAX; // is a sync of the whole file system better
        let options = EngineOptions { engine: kind, syncfs_above: never, ..EngineOptions::default() };
        let engine = DiskEngine::open(DiskIndex(0), directory.path(), options).expect("it opens");
        let (mut queue, results) = owner(&engine);
        let names: Vec<FileName> = (0..200).map(|n| FileName::new(format!("{n}.log"))).collect();
        names.iter().for_each(|name| submit(&mut queue, write(name.as_str(), 0, "records")));
        submit(&mut queue, DiskCommand::Sync { files: names.clone() });
        let small = |prefix: &str| {
            let content = Bytes::from_static(b"x");
            let file =
                |n| SmallFile { name: FileName::new(format!("{prefix}-{n}")), content: content.clone() };
            (0..200).map(file).collect()
        };
        for lane in [Lane::Write, Lane::Housekeeping] {
            submit(&mut queue, DiskCommand::Publish { files: small(lane.name()), lane });
        }
        for _ in 0..203 {
            assert_eq!(results.recv_timeout(LONG), Ok(Ok(Done::Nothing)));
        }
        let found = std::fs::read_dir(directory.path()).expect("it is there").count();
        assert_eq!(found, 600);
        engine.stop(LONG).expect("nothing hangs");
    }
    println!("\nwell");
}

#[test]
fn no_thread_waits_for_descriptors_that_it_holds_itself() {
    run_with_few_descriptors("a_process_with_more_files_than_descriptors");
}

/// Not a test by itself: see above.
#[test]
fn a_process_whose_jobs_find_no_descriptor() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory for the test");
    let engine =
        DiskEngine::open(DiskIndex(0), directory.path(), EngineOptions::default()).expect("it opens");
    let (mut queue, results) = owner(&engine);
    submit(&mut queue, write("new.log", 0, "records"));
    assert_eq!(results.recv_timeout(LONG), Ok(Ok(Done::Nothing)));
    let over = AtomicBool::new(false);
    let ended = std::thread::scope(|threads| {
        let mut taken = take_all();
        threads.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                taken.extend(take_all());
                std::thread::sleep(Duration::from_millis(1));
            }
            drop(taken);
        });
        // The file is open; its directory, whose names are synced as well, is not.
        let job =
            |disk: &dyn PatientDisk| Ok(JobStep::done(disk.sync(&[FileName::new("new.log")]).map(|()| 0)));
        queue.try_submit_job(Box::new(job), clock::now()).expect("there is room");
        let ended = results.recv_timeout(LONG);
        over.store(true, Ordering::Relaxed); // first: the other thread is waited for
        ended
    });
    let synced = match ended {
        Ok(Ok(Done::Job(outcome))) => outcome.take::<Result<i32, DiskError>>(),
        ended => panic!("{ended:?}"),
    };
    // Or it was quicker than the other thread.
    assert!(matches!(synced, Some(Ok(_) | Err(DiskError::Shortage { .. }))), "{synced:?}");
    submit(&mut queue, DiskCommand::Sync { files: vec![FileName::new("new.log")] });
    assert_eq!(results.recv_timeout(LONG), Ok(Ok(Done::Nothing)));
    engine.stop(LONG).expect("nothing hangs");
    println!("\nwell");
}

#[test]
fn a_sync_that_finds_no_descriptor_for_a_directory_loses_no_disk() {
    run_with_few_descriptors("a_process_whose_jobs_find_no_descriptor");
}

#[test]
fn a_stop_waits_for_no_shortage() {
    run_with_few_descriptors("a_process_that_stops_in_a_shortage");
}

/// Not a test by itself: see above.
#[test]
fn a_process_that_stops_in_a_shortage() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory for the test");
    // The other engine gives a descriptor back when its threads end.
    let options = EngineOptions { engine: EngineKind::Threads, ..EngineOptions::default() };
    let engine = DiskEngine::open(DiskIndex(0), directory.path(), options).expect("it opens");
    let (mut queue, results) = owner(&engine);
    let taken = take_all();
    submit(&mut queue, write("new.log", 0, "never"));
    while engine.stats().shortages() == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    engine.stop(LONG).expect("it does not wait for descriptors");
    assert_eq!(results.recv_timeout(LONG), Ok(Err(DiskError::Offline)));
    drop(taken);
    println!("\nwell");
}
