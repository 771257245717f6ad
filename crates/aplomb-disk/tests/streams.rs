//! Consumers that catch up while the log grows, is truncated and loses its head.

#[path = "support/kinds.rs"]
mod kinds;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aplomb_disk::{DiskEngine, EngineKind, EngineOptions, clock};
use aplomb_disk_api::{
    Completion, CompletionSink, DiskCommand, DiskError, DiskIndex, DiskQueue, Done, FileName, ReadPattern,
};
use bytes::Bytes;
use kinds::kinds;

/// An engine whose windows are small and few.
fn open(engine: EngineKind, directory: &Path) -> DiskEngine {
    let options = EngineOptions {
        engine,
        window_bytes: 128 << 10,
        readahead_budget: 2 << 20,
        open_files: Some(2),
        ..EngineOptions::default()
    };
    DiskEngine::open(DiskIndex(0), directory, options).expect("it opens")
}

/// A sink whose owner waits for one letter at a time.
struct Letter(Mutex<Sender<Result<Done, DiskError>>>);

impl CompletionSink for Letter {
    fn complete(&self, completion: Completion) {
        // The owner may be gone already.
        let _ = self.0.lock().expect("nobody panics here").send(completion.result);
    }
}

struct Owner(Box<dyn DiskQueue>, Receiver<Result<Done, DiskError>>);

impl Owner {
    fn new(engine: &DiskEngine) -> Self {
        let (sender, receiver) = channel();
        Self(engine.queue(Arc::new(Letter(Mutex::new(sender)))), receiver)
    }

    fn ask(&mut self, command: DiskCommand) -> Result<Done, DiskError> {
        self.0.try_submit(command, clock::now()).expect("there is room for one each");
        self.1.recv_timeout(Duration::from_secs(60)).expect("the disk answers")
    }
}

/// Tells the readers that nothing more comes, even if the writer panics.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// What segment `number` of life `life` holds at each place.
fn content(number: u64, life: u64, at: std::ops::Range<u64>) -> Vec<u8> {
    at.map(|at| (at.wrapping_mul(31) ^ (at >> 9) ^ (number * 77) ^ (life * 131)) as u8).collect()
}

fn segment(number: u64) -> FileName {
    FileName::new(format!("{number:020}.log"))
}

/// Takes a file out of the page cache; one that is not there has nothing in it.
fn evict(path: &Path) {
    if let Ok(file) = std::fs::File::open(path) {
        file.sync_data().expect("the disk is well");
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("a hint is taken");
    }
}

/// A writer appends, deletes a segment now and then and writes it anew; readers read what is below
/// the frontier. Whatever they get belongs to one life of the segment, the one they know or, if it
/// ended meanwhile, another or none.
#[test]
fn readers_below_the_frontier_get_what_was_written_there() {
    const SEGMENTS: u64 = 3;
    const LIMIT: u64 = 1_500_000;
    for kind in kinds() {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let engine = open(kind, directory.path());
        // Life and frontier of each segment.
        let known: Mutex<BTreeMap<u64, (u64, u64)>> =
            Mutex::new((0..SEGMENTS).map(|n| (n, (0, 0))).collect());
        let look = |number: u64| known.lock().expect("nobody panics here")[&number];
        let written = AtomicBool::new(false);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let _done = SetAtEnd(&written);
                let mut owner = Owner::new(&engine);
                for round in 0..240_u64 {
                    let number = round % SEGMENTS;
                    if round % 7 == 0 {
                        // Readers of what the page cache has do not come by the windows.
                        evict(&directory.path().join(segment(number).as_str()));
                    }
                    let (life, frontier) = look(number);
                    if frontier >= LIMIT {
                        // Told before it happens, so that readers do not expect the old bytes.
                        known.lock().expect("nobody panics here").insert(number, (life + 1, 0));
                        let files = vec![segment(number)];
                        assert_eq!(owner.ask(DiskCommand::DeleteFiles { files }), Ok(Done::Nothing));
                        continue;
                    }
                    let end = frontier + 20_000 + round * 331;
                    let data = vec![Bytes::from(content(number, life, frontier..end))];
                    let command = DiskCommand::Write { file: segment(number), at: frontier, data };
                    assert_eq!(owner.ask(command), Ok(Done::Nothing));
                    known.lock().expect("nobody panics here").insert(number, (life, end));
                }
            });
            let mut readers = Vec::new();
            for reader in 0..2_u64 {
                let (look, engine, written) = (&look, &engine, &written);
                readers.push(threads.spawn(move || {
                    let mut owner = Owner::new(engine);
                    let mut compared = 0_u64;
                    // However fast the writer was, something is compared.
                    let mut after = 0;
                    while !written.load(Ordering::Acquire) || compared <= 20 && after < 100 {
                        after += u32::from(written.load(Ordering::Acquire));
                        for number in 0..SEGMENTS {
                            let (life, frontier) = look(number);
                            let step = 70_000 + reader * 130_000;
                            for at in (0..frontier).step_by(step as usize) {
                                let len = u32::try_from(step.min(frontier - at)).expect("small");
                                let pattern = ReadPattern::Sequential;
                                let command = DiskCommand::Read { file: segment(number), at, len, pattern };
                                let result = owner.ask(command);
                                if look(number).0 != life {
                                    break; // its life ended while it was read
                                }
                                let expected = content(number, life, at..at + u64::from(len));
                                match result {
                                    Ok(Done::Read(bytes)) => {
                                        assert!(bytes == expected, "segment {number}, life {life}, at {at}");
                                    }
                                    other => panic!("segment {number}, life {life}, at {at}: {other:?}"),
                                }
                                compared += 1;
                            }
                        }
                    }
                    compared
                }));
            }
            for reader in readers {
                let compared = reader.join().expect("a reader found a difference");
                assert!(compared > 20, "only {compared} reads were compared");
            }
        });
        engine.stop(Duration::from_secs(60)).expect("the disk is well");
    }
}

/// Owners come and go; a dropped engine still ends what it took.
#[test]
fn a_dropped_engine_completes_what_it_accepted() {
    for kind in kinds() {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let engine = open(kind, directory.path());
        let Owner(mut queue, letters) = Owner::new(&engine);
        for n in 0..40_u64 {
            let data = vec![Bytes::from_static(b"abcd")];
            let command = DiskCommand::Write { file: FileName::new("file"), at: n * 4, data };
            queue.try_submit(command, clock::now()).expect("there is room");
        }
        let file = FileName::new("file");
        let read = DiskCommand::Read { file, at: 0, len: 100, pattern: ReadPattern::Sequential };
        queue.try_submit(read, clock::now()).expect("there is room");
        drop(engine);
        for _ in 0..41 {
            let result = letters.recv_timeout(Duration::from_secs(60)).expect("every command ends");
            // The read may have come before the file.
            assert!(matches!(result, Ok(_) | Err(DiskError::NotFound { .. })), "{result:?}");
        }
        assert_eq!(std::fs::read(directory.path().join("file")).expect("it was written"), b"abcd".repeat(40));
        let refused = queue.try_submit(DiskCommand::Space, clock::now());
        assert!(refused.is_err(), "a closed engine took a command");
    }
}
