//! Jobs: they see and change the files that commands see, hold nothing up, and end once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;

use super::{Harness, Owner, name, pattern, reads, write};
use crate::{
    DiskCommand, DiskError, DiskJob, Done, EntryKind, FileStamp, JobStep, Lane, PatientDisk, QueueFull,
    SmallFile, Ticket,
};

pub(super) type StepResult = Result<JobStep, DiskError>;

/// A job of one step.
pub(super) fn once(work: impl FnOnce(&dyn PatientDisk) -> StepResult + Send + 'static) -> Box<dyn DiskJob> {
    let mut work = Some(work);
    Box::new(move |disk: &dyn PatientDisk| work.take().expect("its first step was its last")(disk))
}

/// A job that goes on until it is let go, and the number of steps that it has taken.
fn until(released: &Arc<AtomicBool>) -> (Box<dyn DiskJob>, Arc<AtomicUsize>) {
    let steps = Arc::new(AtomicUsize::new(0));
    let (released, counted) = (Arc::clone(released), Arc::clone(&steps));
    let step = move |_: &dyn PatientDisk| {
        let taken = counted.fetch_add(1, Ordering::SeqCst);
        Ok(if released.load(Ordering::SeqCst) { JobStep::done(taken + 1) } else { JobStep::Again })
    };
    (Box::new(step), steps)
}

fn small(file: &str, content: &'static str) -> SmallFile {
    SmallFile { name: name(file), content: Bytes::from_static(content.as_bytes()) }
}

fn outcome<T: 'static>(result: Result<Done, DiskError>) -> T {
    match result {
        Ok(Done::Job(outcome)) => outcome.take().expect("the job gave a value of this type"),
        other => panic!("a job ended with {other:?}"),
    }
}

/// What a job gives comes back as it is; each call of it does what it says.
pub fn a_job_does_what_its_calls_say_and_gives_its_outcome_back(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    owner.must(harness, write("found", 0, "by the job"));
    let job = once(|disk| {
        let found = disk.read(&name("found"), 3, 100)?;
        disk.publish(&[small("orders-3/partition.metadata", "version: 0")])?;
        disk.write(&name("orders-3/0.log"), 0, b"records and more")?;
        disk.truncate(&name("orders-3/0.log"), 7)?;
        disk.sync(&[name("orders-3/0.log")])?;
        disk.rename(&name("orders-3/0.log"), &name("orders-3/1.log"))?;
        disk.remove(&name("found"))?;
        Ok(JobStep::done((found, disk.list(Some(&name("orders-3")))?)))
    });
    let (found, entries): (Bytes, Vec<crate::Entry>) = outcome(owner.ask_job(harness, job));
    assert_eq!(found.as_ref(), b"the job"[..].to_vec());
    let listed: Vec<_> = entries
        .iter()
        .map(|entry| match entry.kind {
            EntryKind::File { len, .. } => (entry.name.as_str(), len),
            EntryKind::Directory => panic!("{} is no directory", entry.name),
        })
        .collect();
    assert_eq!(listed, [("1.log", 7), ("partition.metadata", 10)]);
    harness.crash();
    let files = harness.files();
    assert_eq!(files["orders-3/1.log"].as_ref(), b"records");
    assert!(!files.contains_key("found"));
}

/// The stamps of a file and of its directory, before and behind steps of which each changes the
/// one, the other, both or none.
pub fn a_stamp_tells_what_was_changed_from_what_was_not(harness: &mut impl Harness) {
    type Change = fn(&dyn PatientDisk) -> Result<(), DiskError>;
    const LOG: &str = "orders-3/0.log";
    let mut owner = Owner::new(harness);
    let mut after = |change: Change| -> (FileStamp, FileStamp) {
        // The clock of some file systems moves with the kernel's ticks.
        (0..20).for_each(|_| harness.turn());
        let job = once(move |disk| {
            change(disk)?;
            let missing = disk.stamp(&name("orders-3/1.log"));
            assert!(matches!(missing, Err(DiskError::NotFound { .. })), "{missing:?}");
            Ok(JobStep::done((disk.stamp(&name("orders-3"))?, disk.stamp(&name(LOG))?)))
        });
        outcome(owner.ask_job(harness, job))
    };
    let first = after(|disk| {
        disk.publish(&[small("orders-3/partition.metadata", "version: 0")])?;
        disk.write(&name(LOG), 0, b"records")?;
        disk.sync(&[name(LOG)])
    });
    let read = after(|disk| {
        assert_eq!(disk.read(&name(LOG), 0, 7)?.as_ref(), b"records");
        assert_eq!(disk.list(Some(&name("orders-3")))?.len(), 2);
        disk.sync(&[name(LOG)])
    });
    assert_eq!((read, first.1.len), (first, 7));
    let written = after(|disk| disk.write(&name(LOG), 0, b"RECORDS"));
    assert_eq!((written.0 == read.0, written.1 == read.1), (true, false));
    let beside = after(|disk| disk.publish(&[small("orders-3/leader-epoch-checkpoint", "0")]));
    assert_eq!((beside.0 == written.0, beside.1 == written.1), (false, true));
    let replaced = after(|disk| disk.publish(&[small(LOG, "RECORDS")]));
    assert_ne!((replaced.0, replaced.1.inode), (beside.0, beside.1.inode));
    assert_ne!(replaced.1.inode, beside.1.inode);
}

/// Many steps, one completion, and the counters come back to rest.
pub fn a_job_is_stepped_until_it_is_done_and_ends_once(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let tickets: Vec<Ticket> = (0..20_u64)
        .map(|job| {
            let mut at = 0;
            let step = move |disk: &dyn PatientDisk| {
                disk.write(&name(&format!("file-{job}")), at, &pattern(at, 10))?;
                at += 10;
                Ok(if at < 10 * (job + 1) { JobStep::Again } else { JobStep::done(job) })
            };
            owner.submit_job(harness, Box::new(step))
        })
        .collect();
    for (job, ticket) in (0..20_u64).zip(&tickets) {
        assert_eq!(outcome::<u64>(owner.wait(harness, *ticket)), job);
        assert!(harness.files()[&format!("file-{job}")] == pattern(0, 10 * (job as usize + 1)));
    }
    (0..20).for_each(|_| harness.turn());
    assert!(owner.mailbox().letters().values().all(|results| results.len() == 1));
    let stats = harness.stats();
    let lane = stats.lane(Lane::Job);
    assert_eq!((lane.depth(), lane.completed(), lane.bytes()), (0, 20, 10 * (1..=20).sum::<u64>()));
    assert_eq!(lane.oldest(), None);
}

/// However long a job takes, and however many wait behind it, the other lanes go on, and the disk
/// is not taken for slow.
pub fn a_job_holds_up_no_command(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let released = Arc::new(AtomicBool::new(false));
    let submitted = harness.now();
    let jobs: Vec<_> = (0..20)
        .map(|_| {
            let (job, steps) = until(&released);
            (owner.submit_job(harness, job), steps)
        })
        .collect();
    owner.must(harness, write("file", 0, "written"));
    owner.must(harness, super::sync(&["file"]));
    reads::expect(harness, &mut owner, "file", 0, 100, b"written");
    owner.must(harness, super::publish(Lane::Housekeeping, &[("beside", "x")]));
    (0..50).for_each(|_| harness.turn());
    assert!(jobs.iter().any(|(_, steps)| steps.load(Ordering::SeqCst) > 1), "no job was stepped");
    let oldest = harness.stats().oldest();
    assert!(oldest.is_none_or(|oldest| oldest > submitted), "waiting jobs made the disk look stalled");
    released.store(true, Ordering::SeqCst);
    for (ticket, steps) in jobs {
        assert_eq!(outcome::<usize>(owner.wait(harness, ticket)), steps.load(Ordering::SeqCst));
    }
}

/// The lane of jobs has an end as well; what does not fit comes back, and what was taken is carried
/// out.
pub fn a_full_lane_gives_the_job_back(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let released = Arc::new(AtomicBool::new(false));
    let mut taken = Vec::new();
    let refused = loop {
        let (job, steps) = until(&released);
        match owner.try_submit_job(harness, job) {
            Ok(ticket) => taken.push((ticket, steps)),
            Err(QueueFull(back)) => break (back, steps),
        }
        assert!(taken.len() < 1_000_000, "the lane took a million jobs");
    };
    owner.must(harness, write("file", 0, "another lane"));
    released.store(true, Ordering::SeqCst);
    let (job, steps) = refused;
    assert_eq!(steps.load(Ordering::SeqCst), 0);
    let ticket = owner.submit_job(harness, job);
    taken.push((ticket, steps));
    for (ticket, steps) in taken {
        assert_eq!(outcome::<usize>(owner.wait(harness, ticket)), steps.load(Ordering::SeqCst));
    }
}

/// Commands see what a job changed, whatever they had read or opened before.
pub fn commands_see_what_a_job_changed(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let (old, new) = (pattern(0, 50_000), pattern(1 << 20, 30_000));
    let expect = reads::expect;
    for file in ["cut", "replaced", "moved", "removed"] {
        owner.must(harness, write(file, 0, old.clone()));
        expect(harness, &mut owner, file, 0, 60_000, &old);
    }
    let bytes = Bytes::from(new.clone());
    let job = once(move |disk| {
        disk.truncate(&name("cut"), 20_000)?;
        disk.write(&name("cut"), 20_000, &bytes)?;
        disk.publish(&[SmallFile { name: name("replaced"), content: bytes.clone() }])?;
        disk.rename(&name("moved"), &name("there"))?;
        disk.remove(&name("removed"))?;
        Ok(JobStep::done(()))
    });
    outcome::<()>(owner.ask_job(harness, job));
    expect(harness, &mut owner, "cut", 0, 60_000, &[&old[..20_000], &new].concat());
    expect(harness, &mut owner, "replaced", 0, 60_000, &new);
    expect(harness, &mut owner, "there", 0, 60_000, &old);
    for file in ["moved", "removed"] {
        owner.must(harness, write(file, 0, "anew"));
        expect(harness, &mut owner, file, 0, 60_000, b"anew");
    }
    expect(harness, &mut owner, "there", 0, 60_000, &old);
}

/// What is not there is the job's to judge. The disk is well.
pub fn a_job_that_does_not_find_a_file_loses_nothing(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let job = once(|disk| disk.read(&name("missing"), 0, 1).map(JobStep::done));
    let result = owner.ask_job(harness, job);
    assert!(matches!(result, Err(DiskError::NotFound { .. })), "{result:?}");
    let job = once(|disk| Ok(JobStep::done(disk.list(Some(&name("missing"))).is_err())));
    assert!(outcome::<bool>(owner.ask_job(harness, job)));
    owner.must(harness, write("file", 0, "well"));
}

/// An error of the disk is the disk's, also for a job that makes nothing of it.
pub fn an_error_that_a_job_keeps_to_itself_loses_the_disk(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    owner.must(harness, write("plain", 0, "a file, not a directory"));
    let job = once(|disk| Ok(JobStep::done(disk.write(&name("plain/child"), 0, b"x").is_err())));
    assert!(outcome::<bool>(owner.ask_job(harness, job)));
    assert_eq!(owner.ask(harness, write("late", 0, "x")), Err(DiskError::Offline));
    let late = once(|_| panic!("a lost disk begins no job"));
    assert_eq!(owner.ask_job(harness, late), Err(DiskError::Offline));
}

/// A disk that is lost ends the jobs at work and those that wait.
pub fn a_lost_disk_ends_its_jobs(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    owner.must(harness, write("plain", 0, "a file, not a directory"));
    let never = Arc::new(AtomicBool::new(false));
    let jobs: Vec<Ticket> = (0..20)
        .map(|_| {
            let (job, _) = until(&never);
            owner.submit_job(harness, job)
        })
        .collect();
    (0..10).for_each(|_| harness.turn());
    let result = owner.ask(harness, DiskCommand::Truncate { file: name("plain/child"), len: 0 });
    assert!(matches!(result, Err(DiskError::Failed { .. })), "{result:?}");
    for ticket in jobs {
        assert_eq!(owner.wait(harness, ticket), Err(DiskError::Offline));
    }
}

/// A failure that a job reports is its own end and the disk's.
pub fn a_job_that_fails_loses_the_disk(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    owner.must(harness, write("plain", 0, "a file, not a directory"));
    let job = once(|disk| disk.write(&name("plain/child"), 0, b"x").map(JobStep::done));
    match owner.ask_job(harness, job) {
        Err(error @ DiskError::Failed { .. }) => {
            assert!(error.to_string().contains("plain/child"), "{error}");
        }
        other => panic!("a file was taken for a directory: {other:?}"),
    }
    assert_eq!(owner.ask(harness, write("late", 0, "x")), Err(DiskError::Offline));
}
