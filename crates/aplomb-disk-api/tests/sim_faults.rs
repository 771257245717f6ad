//! What can be done to a simulated disk, and that the same seed does it again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aplomb_disk_api::sim::{Fault, ServiceTimes, SimDisk, SimOperation, SimOptions, SimQueue};
use aplomb_disk_api::{
    Completion, CompletionSink, DiskCommand, DiskError, DiskIndex, DiskJob, DiskQueue, Done, FileName,
    JobStep, Lane, PatientDisk, ReadPattern, SmallFile,
};
use aplomb_model::Instant;
use bytes::Bytes;

#[derive(Default)]
struct Letters(Mutex<Vec<Completion>>);

impl CompletionSink for Letters {
    fn complete(&self, completion: Completion) {
        self.0.lock().expect("one thread").push(completion);
    }
}

impl Letters {
    fn results(&self) -> Vec<Result<Done, DiskError>> {
        self.0.lock().expect("one thread").iter().map(|letter| letter.result.clone()).collect()
    }
}

fn at(millis: u64) -> Instant {
    Instant::START + Duration::from_millis(millis)
}

fn disk(seed: u64) -> (SimDisk, Arc<Letters>, SimQueue) {
    let disk = SimDisk::new(DiskIndex(0), SimOptions { seed, ..SimOptions::default() });
    let letters = Arc::new(Letters::default());
    let queue = disk.queue(Arc::clone(&letters) as Arc<dyn CompletionSink>);
    (disk, letters, queue)
}

fn write(file: &str, place: u64, data: &'static str) -> DiskCommand {
    DiskCommand::Write {
        file: FileName::new(file),
        at: place,
        data: vec![Bytes::from_static(data.as_bytes())],
    }
}

fn submit(queue: &mut SimQueue, command: DiskCommand, now: Instant) {
    queue.try_submit(command, now).expect("there is room");
}

#[test]
fn a_frozen_disk_answers_nothing_and_its_age_grows_until_it_thaws() {
    let (disk, letters, mut queue) = disk(1);
    submit(&mut queue, write("file", 0, "x"), at(10));
    disk.freeze();
    submit(&mut queue, DiskCommand::Sync { files: vec![FileName::new("file")] }, at(11));
    disk.advance(at(30_000));
    assert_eq!(letters.results().len(), 0);
    assert_eq!(disk.stats().oldest(), Some(at(10)));
    assert_eq!(disk.next_event(), None);
    disk.thaw();
    disk.advance(at(30_005));
    assert_eq!(letters.results(), [Ok(Done::Nothing), Ok(Done::Nothing)]);
    assert_eq!(disk.stats().oldest(), None);
}

#[test]
fn a_slow_disk_takes_as_long_as_it_is_told() {
    let (disk, letters, mut queue) = disk(2);
    disk.set_service(ServiceTimes::default().slower_by(Duration::from_millis(300)));
    submit(&mut queue, write("file", 0, "x"), at(0));
    disk.advance(at(300));
    assert_eq!(letters.results().len(), 0);
    disk.advance(at(301));
    assert_eq!(letters.results().len(), 1);
}

#[test]
fn the_operation_that_was_named_fails_and_the_disk_is_lost() {
    let (disk, letters, mut queue) = disk(3);
    disk.fail(Fault { operation: Some(SimOperation::Sync), name: Some("b.log".into()), after: 1 });
    for file in ["a.log", "b.log", "b.log", "a.log"] {
        submit(&mut queue, write(file, 0, "x"), at(0));
        submit(&mut queue, DiskCommand::Sync { files: vec![FileName::new(file)] }, at(0));
    }
    disk.advance(at(100));
    let results = letters.results();
    assert_eq!(results.len(), 8);
    assert!(results[..5].iter().all(Result::is_ok), "{results:?}");
    assert!(matches!(&results[5], Err(DiskError::Failed { what, .. }) if &**what == "sync b.log"));
    assert_eq!(results[6..], [Err(DiskError::Offline), Err(DiskError::Offline)]);
    assert!(disk.lost().is_some());
    assert_eq!(disk.sync(&[FileName::new("a.log")]), Err(DiskError::Offline));
    disk.process_killed();
    assert_eq!(disk.sync(&[FileName::new("a.log")]), Ok(()));
}

#[test]
fn a_full_disk_is_a_lost_disk() {
    let (disk, letters, mut queue) = disk(4);
    disk.set_capacity(10);
    submit(&mut queue, write("file", 0, "12345678"), at(0));
    submit(&mut queue, write("file", 8, "12345678"), at(0));
    disk.advance(at(10));
    let results = letters.results();
    assert_eq!(results[0], Ok(Done::Nothing));
    assert!(matches!(&results[1], Err(DiskError::Failed { reason, .. }) if reason.contains("No space")));
    assert!(disk.file("file").expect("it was made").len() <= 10);
}

#[test]
fn a_killed_process_leaves_what_was_executed_and_a_beginning_of_the_rest() {
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..60 {
        let (disk, letters, mut queue) = disk(seed);
        submit(&mut queue, write("file", 0, "executed"), at(0));
        disk.advance(at(10));
        assert_eq!(letters.results().len(), 1);
        for n in 0..4 {
            submit(&mut queue, write("file", 8 + n * 8, "abcdefgh"), at(10));
        }
        disk.process_killed();
        let found = disk.file("file").expect("it was executed");
        let whole = [b"executed".as_slice(), &b"abcdefgh".repeat(4)].concat();
        assert!(whole.starts_with(&found), "seed {seed}: a later write happened without an earlier one");
        assert!(found.len() >= 8);
        lengths.insert(found.len());
    }
    assert!(lengths.len() > 8, "kills cut the file at {lengths:?} only");
}

#[test]
fn a_power_cut_forgets_unsynced_writes_and_keeps_synced_ones() {
    let mut forgot = 0;
    for seed in 0..60 {
        let (disk, _, mut queue) = disk(seed);
        submit(&mut queue, write("file", 0, "synced"), at(0));
        submit(&mut queue, DiskCommand::Sync { files: vec![FileName::new("file")] }, at(0));
        submit(&mut queue, write("file", 6, " and not"), at(0));
        disk.advance(at(50));
        assert_eq!(disk.durable("file").as_deref(), Some(b"synced".as_slice()));
        disk.power_cut();
        let found = disk.file("file").expect("its name was synced");
        assert!(found.starts_with(b"synced"), "seed {seed}: {found:?}");
        forgot += usize::from(found.len() == 6);
    }
    assert!((10..60).contains(&forgot), "{forgot} of 60 power cuts forgot the write");
}

/// A history of everything at once, as text.
fn history(seed: u64) -> String {
    let (disk, letters, mut queue) = disk(seed);
    for n in 0..100_u64 {
        let now = at(n / 3);
        disk.advance(now);
        let file = format!("file-{}", n % 7);
        submit(&mut queue, write(&file, n * 3, "abc"), now);
        let name = FileName::new(file);
        match n % 4 {
            0 => submit(&mut queue, DiskCommand::Sync { files: vec![name] }, now),
            1 => {
                let pattern = ReadPattern::Sequential;
                submit(&mut queue, DiskCommand::Read { file: name, at: 0, len: 100, pattern }, now);
            }
            2 => submit(&mut queue, DiskCommand::DeleteFiles { files: vec![name] }, now),
            _ => {
                let files = vec![SmallFile { name, content: Bytes::from_static(b"whole") }];
                submit(&mut queue, DiskCommand::Publish { files, lane: Lane::Housekeeping }, now);
            }
        }
    }
    disk.power_cut();
    format!("{:?} {:?}", letters.0.lock().expect("one thread"), disk.image())
}

#[test]
fn one_seed_is_one_history() {
    assert_eq!(history(77), history(77));
    assert_ne!(history(77), history(78));
}

#[test]
fn start_up_sees_the_files_that_the_queues_wrote() {
    let (disk, _, mut queue) = disk(5);
    let file =
        SmallFile { name: FileName::new("orders-3/partition.metadata"), content: Bytes::from_static(b"x") };
    disk.publish(&[file]).expect("the disk is well");
    submit(&mut queue, write("orders-3/0.log", 0, "records"), at(0));
    disk.advance(at(1000));
    let directory = FileName::new("orders-3");
    let names: Vec<String> =
        disk.list(Some(&directory)).expect("it was made").into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["0.log", "partition.metadata"]);
    assert_eq!(disk.read(&FileName::new("orders-3/0.log"), 3, 100).expect("it exists").as_ref(), b"ords");
    disk.remove(&directory).expect("the disk is well");
    assert!(matches!(disk.list(Some(&directory)), Err(DiskError::NotFound { .. })));
    assert_eq!(disk.list(None), Ok(Vec::new()));
}

/// A job that writes one byte a step, `steps` of them, and then says how many it wrote.
fn writer(file: &'static str, steps: u64) -> Box<dyn DiskJob> {
    let mut at = 0;
    Box::new(move |disk: &dyn PatientDisk| {
        disk.write(&FileName::new(file), at, b"x")?;
        at += 1;
        Ok(if at < steps { JobStep::Again } else { JobStep::done(at) })
    })
}

#[test]
fn a_frozen_disk_takes_no_step_and_its_age_is_that_of_the_step() {
    let (disk, letters, mut queue) = disk(6);
    queue.try_submit_job(writer("file", 1000), at(0)).expect("there is room");
    disk.advance(at(20));
    let before = disk.file("file").expect("it was begun").len();
    assert!((10..1000).contains(&before), "{before} steps in 20 ms");
    disk.freeze();
    disk.advance(at(30_000));
    assert_eq!(disk.file("file").expect("it was begun").len(), before);
    let oldest = disk.stats().oldest().expect("a step hangs");
    assert!(at(15) <= oldest && oldest <= at(20), "{oldest:?}");
    disk.thaw();
    disk.advance(at(40_000));
    let results = letters.results();
    let [Ok(Done::Job(outcome))] = results.as_slice() else { panic!("{results:?}") };
    assert_eq!(outcome.take(), Some(1000_u64));
}

#[test]
fn bytes_that_a_job_moves_take_their_time() {
    let (disk, letters, mut queue) = disk(7);
    disk.set_service(ServiceTimes { bytes_per_second: 1_000_000, ..ServiceTimes::default() });
    let job = |disk: &dyn PatientDisk| {
        disk.write(&FileName::new("file"), 0, &[7; 500_000])?;
        Ok(JobStep::done(()))
    };
    queue.try_submit_job(Box::new(job), at(0)).expect("there is room");
    disk.advance(at(500));
    assert_eq!(letters.results().len(), 0);
    disk.advance(at(502));
    assert_eq!(letters.results().len(), 1);
    assert_eq!(disk.stats().lane(Lane::Job).bytes(), 500_000);
}

#[test]
fn a_job_is_struck_by_faults_like_any_command() {
    let (disk, letters, mut queue) = disk(8);
    disk.fail(Fault { operation: Some(SimOperation::Write), name: Some("file".into()), after: 3 });
    queue.try_submit_job(writer("file", 1000), at(0)).expect("there is room");
    queue.try_submit_job(writer("other", 1000), at(0)).expect("there is room");
    disk.advance(at(1000));
    let results = letters.results();
    assert!(matches!(&results[0], Err(DiskError::Failed { what, .. }) if &**what == "write file"));
    assert_eq!(results[1..], [Err(DiskError::Offline)]);
    assert!(disk.lost().is_some());
}

#[test]
fn a_process_that_is_killed_leaves_what_its_jobs_steps_had_done_and_perhaps_a_part_of_one() {
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..60 {
        let (disk, letters, mut queue) = disk(seed);
        disk.set_service(ServiceTimes {
            job_step: Duration::from_millis(1)..Duration::from_millis(2),
            ..ServiceTimes::default()
        });
        let mut step = 0;
        let job = move |disk: &dyn PatientDisk| {
            for at in 0..5 {
                disk.write(&FileName::new("file"), step * 5 + at, b"x")?;
            }
            step += 1;
            Ok(JobStep::Again)
        };
        queue.try_submit_job(Box::new(job), at(0)).expect("there is room");
        disk.advance(at(2));
        let before = disk.file("file").expect("it was begun").len();
        disk.process_killed();
        let left = disk.file("file").expect("it was begun").len();
        assert!((before..=before + 5).contains(&left), "seed {seed}: {left} after {before}");
        lengths.insert(left - before);
        disk.advance(at(1000));
        assert_eq!(disk.file("file").expect("it is there").len(), left, "a dead process went on");
        assert_eq!(letters.results().len(), 0);
    }
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn in_a_shortage_commands_that_have_an_order_wait_in_their_order() {
    let (disk, letters, mut queue) = disk(9);
    disk.run_short(Fault { operation: Some(SimOperation::Write), name: Some("file".into()), after: 1 });
    disk.run_short(Fault { operation: Some(SimOperation::Rename), name: None, after: 0 });
    submit(&mut queue, write("file", 0, "first "), at(0));
    submit(&mut queue, write("file", 6, "second "), at(0));
    submit(&mut queue, write("file", 13, "third"), at(0));
    submit(&mut queue, DiskCommand::Sync { files: vec![FileName::new("file")] }, at(0));
    let rename = DiskCommand::Rename { from: FileName::new("other"), to: FileName::new("there") };
    submit(&mut queue, write("other", 0, "x"), at(0));
    disk.advance(at(10));
    assert_eq!(letters.results(), [Ok(Done::Nothing)]);
    submit(&mut queue, rename, at(10));
    disk.advance(at(40));
    assert_eq!(letters.results().len(), 1);
    disk.advance(at(200));
    assert_eq!(letters.results(), vec![Ok(Done::Nothing); 6]);
    assert_eq!(disk.file("file").as_deref(), Some(b"first second third".as_slice()));
    assert_eq!((disk.file("there").as_deref(), disk.file("other")), (Some(b"x".as_slice()), None));
    assert_eq!((disk.stats().shortages(), disk.lost()), (2, None));
}

#[test]
fn a_shortage_is_told_to_what_has_no_order() {
    let (disk, letters, mut queue) = disk(10);
    submit(&mut queue, write("file", 0, "x"), at(0));
    disk.advance(at(10));
    for _ in 0..2 {
        disk.run_short(Fault { operation: Some(SimOperation::Read), ..Fault::default() });
    }
    let pattern = ReadPattern::Random;
    submit(&mut queue, DiskCommand::Read { file: FileName::new("file"), at: 0, len: 1, pattern }, at(10));
    let job = |disk: &dyn PatientDisk| disk.read(&FileName::new("file"), 0, 1).map(JobStep::done);
    queue.try_submit_job(Box::new(job), at(10)).expect("there is room");
    disk.advance(at(20));
    let results = letters.results();
    let short = |result: &Result<Done, DiskError>| matches!(result, Err(DiskError::Shortage { .. }));
    assert!(results.len() == 3 && results[1..].iter().all(short), "{results:?}");
    assert_eq!(disk.lost(), None);
    assert_eq!(disk.read(&FileName::new("file"), 0, 1).as_deref(), Ok(b"x".as_slice()));
}

#[test]
fn a_new_process_misses_nothing_that_an_earlier_one_wrote() {
    let (disk, _, mut queue) = disk(11);
    submit(&mut queue, write("file", 0, "x"), at(0));
    disk.advance(at(10));
    disk.vanish(Some("file"));
    disk.process_killed();
    assert_eq!(disk.sync(&[FileName::new("file")]), Ok(()));
}
