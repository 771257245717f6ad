//! Real file systems that freeze, fill up and fail. Needs the right to mount; without it, each test
//! says that it was skipped.

#[path = "support/kinds.rs"]
mod kinds;
#[path = "support/mount.rs"]
mod mount;

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use aplomb_disk::{DiskEngine, EngineKind, EngineOptions, StopError, clock};
use aplomb_disk_api::{
    Completion, CompletionSink, DiskCommand, DiskError, DiskHealth, DiskIndex, DiskQueue, Done, FileName,
    ReadPattern, SmallFile, Ticket,
};
use bytes::Bytes;
use kinds::kinds;
use mount::Mounted;

const PATIENCE: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(60);

/// Letters that can be waited for.
#[derive(Default)]
struct Letters {
    all: Mutex<Vec<(Ticket, Result<Done, DiskError>)>>,
    came: Condvar,
}

impl CompletionSink for Letters {
    fn complete(&self, completion: Completion) {
        self.all.lock().expect("nobody panics here").push((completion.ticket, completion.result));
        self.came.notify_all();
    }
}

impl Letters {
    /// The first `count` results, in order of arrival.
    fn wait(&self, count: usize) -> Vec<Result<Done, DiskError>> {
        let all = self.all.lock().expect("nobody panics here");
        let waited = self.came.wait_timeout_while(all, LONG, |all| all.len() < count);
        let (all, timeout) = waited.expect("nobody panics here");
        assert!(!timeout.timed_out(), "{} of {count} letters came", all.len());
        all.iter().map(|(_, result)| result.clone()).collect()
    }

    fn count(&self) -> usize {
        self.all.lock().expect("nobody panics here").len()
    }
}

fn name(name: &str) -> FileName {
    FileName::new(name)
}

fn write(file: &str, at: u64, data: impl Into<Bytes>) -> DiskCommand {
    DiskCommand::Write { file: name(file), at, data: vec![data.into()] }
}

fn sync(file: &str) -> DiskCommand {
    DiskCommand::Sync { files: vec![name(file)] }
}

fn open(mounted: &Mounted, options: EngineOptions) -> (DiskEngine, Arc<Letters>, Box<dyn DiskQueue>) {
    let engine = DiskEngine::open(DiskIndex(3), mounted.path(), options).expect("it opens");
    let letters = Arc::new(Letters::default());
    let queue = engine.queue(Arc::clone(&letters) as Arc<dyn CompletionSink>);
    (engine, letters, queue)
}

fn submit(queue: &mut Box<dyn DiskQueue>, command: DiskCommand) {
    queue.try_submit(command, clock::now()).expect("there is room");
}

fn with(engine: EngineKind) -> EngineOptions {
    EngineOptions { engine, queue_depth: 16, ..EngineOptions::default() }
}

#[test]
fn a_frozen_file_system_shows_its_age_and_completes_everything_after_the_thaw() {
    kinds().into_iter().for_each(frozen_and_thawed);
}

fn frozen_and_thawed(kind: EngineKind) {
    let backing = tempfile::tempdir().expect("a directory for the test");
    let Some(mut mounted) = Mounted::ext4(backing.path(), 32 << 20) else { return };
    let (engine, letters, mut queue) = open(&mounted, with(kind));
    submit(&mut queue, write("0.log", 0, "before"));
    submit(&mut queue, write("1.log", 0, "deleted"));
    submit(&mut queue, sync("0.log"));
    assert!(letters.wait(3).iter().all(Result::is_ok));
    assert_eq!(engine.health(clock::now(), PATIENCE), DiskHealth::Prompt);

    mounted.freeze();
    let asked = clock::now();
    let mut accepted = 0;
    while queue.try_submit(write("0.log", 6 + accepted, "x"), clock::now()).is_ok() {
        accepted += 1;
    }
    assert_eq!(accepted, 16, "a full lane is felt at once, however the disk is");
    submit(&mut queue, DiskCommand::DeleteFiles { files: vec![name("0.log.deleted"), name("1.log")] });
    std::thread::sleep(PATIENCE * 2);
    let now = clock::now();
    let stats = engine.stats();
    let oldest = stats.oldest().expect("commands hang");
    assert!(oldest >= asked && now.since(oldest) >= PATIENCE * 2, "the age is {:?}", now.since(oldest));
    assert_eq!(engine.health(now, PATIENCE), DiskHealth::Stalled { since: oldest });
    assert_eq!(letters.count(), 3, "a frozen file system completed a change");
    // What only looks goes on.
    let pattern = ReadPattern::Sequential;
    submit(&mut queue, DiskCommand::Read { file: name("0.log"), at: 0, len: 6, pattern });
    submit(
        &mut queue,
        DiskCommand::Read { file: name("0.log"), at: 0, len: 6, pattern: ReadPattern::Random },
    );
    let read = Ok(Done::Read(Bytes::from_static(b"before")));
    assert_eq!(letters.wait(5)[3..], [read.clone(), read]);

    mounted.thaw();
    assert!(letters.wait(5 + 16 + 1).iter().all(Result::is_ok));
    assert_eq!(engine.health(clock::now(), PATIENCE), DiskHealth::Prompt);
    assert_eq!(stats.oldest(), None);
    engine.stop(LONG).expect("it was thawed");
}

#[test]
fn a_stop_does_not_wait_for_a_frozen_disk_beyond_its_deadline() {
    let backing = tempfile::tempdir().expect("a directory for the test");
    let Some(mut mounted) = Mounted::ext4(backing.path(), 32 << 20) else { return };
    let (engine, letters, mut queue) = open(&mounted, with(EngineKind::Auto));
    submit(&mut queue, write("0.log", 0, "before"));
    letters.wait(1);
    mounted.freeze();
    submit(&mut queue, write("0.log", 6, "hangs"));
    std::thread::sleep(PATIENCE); // until the writer has taken it
    submit(&mut queue, write("0.log", 11, "waits"));
    let begun = std::time::Instant::now();
    assert_eq!(engine.stop(PATIENCE), Err(StopError { threads: 1 }));
    assert!(begun.elapsed() < LONG / 10);
    assert_eq!(letters.wait(2)[1], Err(DiskError::Offline));
    assert!(queue.try_submit(write("0.log", 0, "late"), clock::now()).is_err());
    mounted.thaw();
    assert_eq!(letters.wait(3)[2], Ok(Done::Nothing));
}

/// Options of an engine that notes its loss, and the notes.
fn noting() -> (EngineOptions, Arc<Mutex<Vec<String>>>) {
    let losses = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&losses);
    let on_loss = Arc::new(move |disk: DiskIndex, why: &str| {
        noted.lock().expect("nobody panics here").push(format!("{}: {why}", disk.0));
    });
    (EngineOptions { on_loss: Some(on_loss), ..EngineOptions::default() }, losses)
}

#[test]
fn a_full_disk_is_lost_and_says_so_once() {
    let Some(mounted) = Mounted::tmpfs(1 << 20) else { return };
    let (options, losses) = noting();
    let (engine, letters, mut queue) = open(&mounted, options);
    for at in 0..20_u64 {
        submit(&mut queue, write("0.log", at << 17, vec![7; 1 << 17]));
    }
    let files = vec![SmallFile { name: name("checkpoint"), content: Bytes::from_static(b"0") }];
    let results = letters.wait(20);
    let failed = results.iter().filter(|result| match result {
        Err(DiskError::Failed { reason, .. }) => reason.contains("No space left"),
        _ => false,
    });
    assert!(failed.count() > 0, "{results:?}");
    assert!(!results.contains(&Err(DiskError::NotFound { name: "0.log".into() })));
    let lane = aplomb_disk_api::Lane::Housekeeping;
    submit(&mut queue, DiskCommand::Publish { files, lane });
    assert_eq!(letters.wait(21)[20], Err(DiskError::Offline));
    assert!(matches!(engine.health(clock::now(), PATIENCE), DiskHealth::Lost { .. }));
    engine.stop(LONG).expect("nothing hangs");
    let losses = losses.lock().expect("nobody panics here");
    assert_eq!(losses.len(), 1, "{losses:?}");
    assert!(losses[0].starts_with("3: write 0.log failed: No space left"), "{losses:?}");
}

/// An ext4 that takes its device for larger than it is: the device's backing file lies on a tmpfs
/// that fills up, and then the writes that the kernel had promised fail.
#[test]
fn an_error_of_the_device_is_found_by_the_sync_and_loses_the_disk() {
    let Some(backing) = Mounted::tmpfs(12 << 20) else { return };
    let Some(mounted) = Mounted::ext4(backing.path(), 64 << 20) else { return };
    let (options, losses) = noting();
    let (engine, letters, mut queue) = open(&mounted, options);
    let block = Bytes::from(vec![7; 1 << 20]);
    for at in 0..30_u64 {
        submit(&mut queue, write("0.log", at << 20, block.clone()));
    }
    submit(&mut queue, sync("0.log"));
    let results = letters.wait(31);
    match &results[30] {
        Err(DiskError::Failed { what, .. }) => assert_eq!(&**what, "sync 0.log"),
        // The kernel noticed earlier, while it wrote back by itself.
        Err(DiskError::Offline) => {}
        other => panic!("a device that takes no writes synced: {other:?}"),
    }
    submit(&mut queue, DiskCommand::Space);
    assert_eq!(letters.wait(32)[31], Err(DiskError::Offline));
    assert_eq!(losses.lock().expect("nobody panics here").len(), 1);
    engine.stop(LONG).expect("nothing hangs");
}

#[test]
fn a_file_system_that_gives_up_is_an_input_output_error() {
    for kind in kinds() {
        let backing = tempfile::tempdir().expect("a directory for the test");
        let Some(mounted) = Mounted::ext4(backing.path(), 32 << 20) else { return };
        let (mut options, losses) = noting();
        options.engine = kind;
        let (engine, letters, mut queue) = open(&mounted, options);
        submit(&mut queue, write("0.log", 0, "before"));
        letters.wait(1);
        if mounted.give_up().is_none() {
            return;
        }
        submit(&mut queue, write("0.log", 6, "after"));
        submit(&mut queue, write("1.log", 0, "after"));
        let results = letters.wait(3);
        let failure = losses.lock().expect("nobody panics here").clone();
        assert_eq!(failure.len(), 1);
        assert!(failure[0].contains("Input/output error"), "{failure:?}");
        for result in &results[1..] {
            let lost = matches!(result, Err(DiskError::Failed { .. } | DiskError::Offline));
            assert!(lost, "{result:?}");
        }
        submit(&mut queue, DiskCommand::Rename { from: name("0.log"), to: name("1.log") });
        assert_eq!(letters.wait(4)[3], Err(DiskError::Offline));
        engine.stop(LONG).expect("nothing hangs");
    }
}
