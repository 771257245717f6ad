//! The simulated disk and the real ones, told the same, do the same: what is shown on the simulated
//! one holds on the real.

#[path = "support/kinds.rs"]
mod kinds;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aplomb_disk::{DiskEngine, EngineKind, EngineOptions, RealPatientDisk, clock};
use aplomb_disk_api::sim::{SimDisk, SimOptions};
use aplomb_disk_api::{
    Completion, CompletionSink, DiskCommand, DiskError, DiskIndex, DiskQueue, Done, EntryKind, FileName,
    Lane, PatientDisk, ReadPattern, SmallFile,
};
use aplomb_model::Instant;
use bytes::Bytes;
use kinds::kinds;

struct Letter(Mutex<Sender<Result<Done, DiskError>>>);

impl CompletionSink for Letter {
    fn complete(&self, completion: Completion) {
        self.0.lock().expect("nobody panics here").send(completion.result).expect("the test waits for it");
    }
}

fn letter() -> (Arc<dyn CompletionSink>, Receiver<Result<Done, DiskError>>) {
    let (sender, receiver) = channel();
    (Arc::new(Letter(Mutex::new(sender))), receiver)
}

/// Small dice.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

const FILES: [&str; 7] = ["a", "b", "x/a", "x/b", "y/a", "y/deep/a", "a/child"];
const DIRECTORIES: [&str; 4] = ["x", "y", "z", "y/deep"];

fn command(dice: &mut Dice) -> DiskCommand {
    // The name that runs through a file loses the disk, so it comes seldom.
    let limit = if dice.below(40) == 0 { FILES.len() } else { FILES.len() - 1 };
    let file = FileName::new(dice.pick(&FILES[..limit]));
    let other = FileName::new(dice.pick(&FILES[..limit]));
    let stamp = dice.below(256) as u8;
    match dice.below(20) {
        0..5 => {
            let data = (0..dice.below(4)).map(|part| Bytes::from(vec![stamp ^ part as u8; 700])).collect();
            let at = if dice.below(2) == 0 { 0 } else { dice.below(4000) };
            DiskCommand::Write { file, at, data }
        }
        5 => DiskCommand::Sync { files: vec![file, other] },
        6..10 => {
            let content = Bytes::from(vec![stamp; dice.below(2000) as usize]);
            let lane = dice.pick(&[Lane::Write, Lane::Housekeeping]);
            let files =
                vec![SmallFile { name: file, content: content.clone() }, SmallFile { name: other, content }];
            DiskCommand::Publish { files, lane }
        }
        10 => DiskCommand::Truncate { file, len: dice.below(4000) },
        11..16 => {
            let pattern = dice.pick(&[ReadPattern::Sequential, ReadPattern::Random]);
            let len = u32::try_from(dice.below(6000)).expect("small");
            DiskCommand::Read { file, at: dice.below(5000), len, pattern }
        }
        16 => DiskCommand::Rename { from: file, to: other },
        17 => {
            let [from, to] = [dice.pick(&DIRECTORIES[..3]), dice.pick(&DIRECTORIES[..3])];
            DiskCommand::Rename { from: FileName::new(from), to: FileName::new(to) }
        }
        18 => DiskCommand::DeleteFiles { files: vec![file, other] },
        _ => DiskCommand::DeleteDirectory { directory: FileName::new(dice.pick(&DIRECTORIES)) },
    }
}

/// What start-up finds: every file's content, every directory.
fn image(disk: &dyn PatientDisk) -> BTreeMap<String, Option<Bytes>> {
    let mut found = BTreeMap::new();
    let mut open: Vec<Option<FileName>> = vec![None];
    while let Some(directory) = open.pop() {
        for entry in disk.list(directory.as_ref()).expect("it was listed") {
            let prefix = directory.as_ref().map_or(String::new(), |directory| format!("{directory}/"));
            let name = FileName::new(format!("{prefix}{}", entry.name));
            let content = match entry.kind {
                EntryKind::Directory => {
                    open.push(Some(name.clone()));
                    None
                }
                EntryKind::File { len, .. } => {
                    let content = disk.read(&name, 0, usize::MAX).expect("it was listed");
                    assert_eq!(content.len() as u64, len);
                    Some(content)
                }
            };
            found.insert(name.as_str().to_owned(), content);
        }
    }
    found
}

/// Errors are compared by what they mean, not by their words.
fn meaning(result: &Result<Done, DiskError>) -> Result<Done, &'static str> {
    match result {
        Ok(done) => Ok(done.clone()),
        Err(DiskError::NotFound { .. }) => Err("not found"),
        Err(DiskError::Shortage { .. }) => Err("short"),
        // A fetch ahead of a read may have met the same failure first; then the read finds the disk
        // lost already.
        Err(DiskError::Failed { .. } | DiskError::Offline) => Err("lost"),
    }
}

/// Runs one history on both; gives how many commands it had before the disks were lost, if they
/// were.
fn compare(kind: EngineKind, seed: u64, directory: &Path) -> usize {
    let options = EngineOptions {
        engine: kind,
        window_bytes: 4096,
        readahead_budget: 16 << 10,
        open_files: Some(3),
        ..EngineOptions::default()
    };
    let engine = DiskEngine::open(DiskIndex(0), directory, options).expect("it opens");
    let (sink, real_letter) = letter();
    let mut real = engine.queue(sink);
    let simulated_disk = SimDisk::new(DiskIndex(0), SimOptions { seed, ..SimOptions::default() });
    let (sink, simulated_letter) = letter();
    let mut simulated = simulated_disk.queue(sink);
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut now = Instant::START;
    for number in 0..400 {
        let command = command(&mut dice);
        real.try_submit(command.clone(), clock::now()).expect("there is room");
        let told = real_letter.recv_timeout(Duration::from_secs(60)).expect("the disk answers");
        simulated.try_submit(command.clone(), now).expect("there is room");
        now = now + Duration::from_secs(1);
        simulated_disk.advance(now);
        let expected = simulated_letter.recv().expect("a second is enough");
        assert_eq!(
            meaning(&told),
            meaning(&expected),
            "seed {seed}, command {number}, {command:.300?}: {told:?}, but simulated {expected:?}"
        );
        if told.is_err_and(|error| error.is_loss()) {
            return number;
        }
    }
    let found = image(&RealPatientDisk::open(directory).expect("it opens"));
    assert!(found == image(&simulated_disk), "seed {seed}: the files differ");
    400
}

#[test]
fn the_same_commands_have_the_same_results_on_the_simulated_and_on_the_real_disks() {
    for kind in kinds() {
        let mut commands = 0;
        for seed in 1..=25 {
            let directory = tempfile::tempdir_in("/dev/shm").expect("Linux has /dev/shm");
            commands += compare(kind, seed, directory.path());
        }
        assert!(commands > 1000, "the disks were lost after {commands} commands already");
    }
}
