//! Jobs on a real engine: several at once, ended by a stop, and what a panic in one does.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use aplomb_disk::{DiskEngine, EngineOptions, clock};
use aplomb_disk_api::{
    Completion, CompletionSink, DiskError, DiskHealth, DiskIndex, DiskJob, DiskQueue, Done, FileName,
    JobStep, PatientDisk,
};

const LONG: Duration = Duration::from_secs(60);

type Results = Receiver<Result<Done, DiskError>>;

struct Letters(Mutex<std::sync::mpsc::Sender<Result<Done, DiskError>>>);

impl CompletionSink for Letters {
    fn complete(&self, completion: Completion) {
        self.0.lock().expect("nothing in here panics").send(completion.result).expect("the test listens");
    }
}

fn engine(job_threads: usize) -> (tempfile::TempDir, DiskEngine, Box<dyn DiskQueue>, Results) {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let options = EngineOptions { job_threads, ..EngineOptions::default() };
    let engine = DiskEngine::open(DiskIndex(0), directory.path(), options).expect("it opens");
    let (sender, results) = channel();
    let queue = engine.queue(Arc::new(Letters(Mutex::new(sender))));
    (directory, engine, queue, results)
}

fn submit(
    queue: &mut Box<dyn DiskQueue>,
    job: impl FnMut(&dyn PatientDisk) -> Result<JobStep, DiskError> + Send + 'static,
) {
    let job: Box<dyn DiskJob> = Box::new(job);
    queue.try_submit_job(job, clock::now()).expect("there is room");
}

#[test]
fn as_many_jobs_run_at_once_as_the_disk_has_threads_for_them() {
    let (_directory, _engine, mut queue, results) = engine(3);
    let meeting = Arc::new(Barrier::new(3));
    for _ in 0..3 {
        let meeting = Arc::clone(&meeting);
        submit(&mut queue, move |_| {
            meeting.wait();
            Ok(JobStep::done(()))
        });
    }
    for _ in 0..3 {
        let result = results.recv_timeout(LONG).expect("all three met");
        assert!(matches!(result, Ok(Done::Job(_))), "{result:?}");
    }
}

#[test]
fn a_stop_ends_jobs_between_two_steps_and_between_two_calls() {
    let (_directory, engine, mut queue, results) = engine(2);
    let (begun, begins) = channel();
    let again = begun.clone();
    submit(&mut queue, move |_| {
        again.send(()).expect("the test listens");
        std::thread::sleep(Duration::from_millis(1));
        Ok(JobStep::Again)
    });
    submit(&mut queue, move |disk| {
        begun.send(()).expect("the test listens");
        loop {
            disk.list(None)?;
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    submit(&mut queue, |_| panic!("there was no thread for it before the stop"));
    (0..2).for_each(|_| begins.recv_timeout(LONG).expect("it begins"));
    engine.stop(LONG).expect("no job holds it up");
    let ended: Vec<_> = results.iter().take(3).collect();
    assert!(ended.iter().all(|result| *result == Err(DiskError::Offline)), "{ended:?}");
}

#[test]
fn a_job_that_panics_ends_with_its_words_and_takes_its_disk_along_and_nothing_else() {
    let (_directory, engine, mut queue, results) = engine(1);
    submit(&mut queue, |disk| {
        disk.write(&FileName::new("file"), 0, b"x")?;
        panic!("a mistake in {}", "a job")
    });
    submit(&mut queue, |_| panic!("a lost disk begins no job"));
    let (panicked, others): (Vec<_>, Vec<_>) =
        results.iter().take(2).partition(|result| matches!(result, Err(DiskError::Failed { .. })));
    assert!(panicked[0].as_ref().is_err_and(|error| error.to_string().contains("a mistake in a job")));
    assert_eq!(others, [Err(DiskError::Offline)]);
    assert!(matches!(engine.health(clock::now(), LONG), DiskHealth::Lost { .. }));
    engine.stop(LONG).expect("its threads go on");
}
