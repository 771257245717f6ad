use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::channel;
use std::time::Duration;

use aplomb_disk_api::FileName;

use super::*;

const LONG: Duration = Duration::from_secs(60);

/// Counts the completions of each ticket.
#[derive(Default)]
struct Letters(Mutex<BTreeMap<Ticket, Vec<Result<Done, DiskError>>>>);

impl CompletionSink for Letters {
    fn complete(&self, completion: Completion) {
        let mut letters = self.0.lock().expect("nothing in here panics");
        letters.entry(completion.ticket).or_default().push(completion.result);
    }
}

fn owner() -> (Arc<Letters>, Arc<dyn CompletionSink>) {
    let letters = Arc::new(Letters::default());
    (Arc::clone(&letters), letters)
}

fn write(at: u64) -> DiskCommand {
    DiskCommand::Write { file: FileName::new("0.log"), at, data: Vec::new() }
}

fn place(accepted: &Accepted) -> u64 {
    match &accepted.work {
        Work::Command(DiskCommand::Write { at, .. }) => *at,
        other => panic!("{other:?} was not submitted"),
    }
}

fn at(seconds: u64) -> Instant {
    Instant::START + Duration::from_secs(seconds)
}

#[test]
fn a_submitter_waits_for_no_disk_thread_that_lost_its_processor_with_the_lanes_lock() {
    let lanes = Arc::new(Lanes::new(DiskIndex(0), 3, None));
    let (_, sink) = owner();
    let (report, reports) = channel();
    let submitting = Arc::clone(&lanes);
    lanes.lanes[Lane::Write.index()].with_its_lock_held(|| {
        std::thread::spawn(move || {
            for n in 0..4 {
                let taken = submitting.submit(Lane::Write, write(n), Ticket(n), &sink, at(1)).is_ok();
                report.send(taken).expect("the test listens");
            }
            submitting.lose("the device is gone");
            for n in 4..6 {
                let taken = submitting.submit(Lane::Write, write(n), Ticket(n), &sink, at(1)).is_ok();
                report.send(taken).expect("the test listens");
            }
        });
        let taken: Vec<bool> =
            (0..6).map(|_| reports.recv_timeout(LONG).expect("a submission hangs")).collect();
        assert_eq!(taken, [true, true, true, false, true, true]);
    });
    let places: Vec<u64> = lanes.take_all(Lane::Write).expect("it is not empty").iter().map(place).collect();
    assert_eq!(places, [0, 1, 2, 4, 5]);
}

#[test]
fn a_lane_keeps_the_order_of_each_owner_and_its_bound_while_all_push_and_take() {
    const EACH: u64 = 20_000;
    const DEPTH: u64 = 8;
    let lanes = Lanes::new(DiskIndex(0), DEPTH as usize, None);
    let (done, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|threads| {
        for owner_number in 0..2 {
            let (lanes, done) = (&lanes, &done);
            threads.spawn(move || {
                let (_, sink) = owner();
                for n in 0..EACH {
                    let place = owner_number * EACH + n;
                    while lanes.submit(Lane::Write, write(place), Ticket(n), &sink, at(1)).is_err() {
                        std::thread::yield_now();
                    }
                }
                if done.fetch_add(1, Ordering::SeqCst) == 1 {
                    lanes.close();
                }
            });
        }
        let mut next = [0, EACH];
        while let Some(batch) = lanes.take_all(Lane::Write) {
            most.fetch_max(batch.len(), Ordering::SeqCst);
            for accepted in batch {
                let place = place(&accepted);
                let owner_number = usize::from(place >= EACH);
                assert_eq!(place, next[owner_number]);
                next[owner_number] += 1;
                lanes.complete(accepted, Ok(Done::Nothing));
            }
        }
        assert_eq!(next, [EACH, 2 * EACH]);
    });
    assert!(most.into_inner() <= DEPTH as usize);
    let lane = lanes.stats().lane(Lane::Write);
    assert_eq!((lane.depth(), lane.completed(), lane.oldest()), (0, 2 * EACH, None));
}

#[test]
fn all_takers_of_a_lane_leave_it_when_it_is_closed_and_not_before_it_is_empty() {
    const COMMANDS: u64 = 10_000;
    for _ in 0..10 {
        let lanes = Lanes::new(DiskIndex(0), COMMANDS as usize, None);
        let (letters, sink) = owner();
        std::thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    while let Some(accepted) = lanes.take_one(Lane::Write) {
                        lanes.complete(accepted, Ok(Done::Nothing));
                    }
                });
            }
            for n in 0..COMMANDS {
                lanes.submit(Lane::Write, write(n), Ticket(n), &sink, at(1)).expect("there is room");
            }
            lanes.close();
        });
        let letters = letters.0.lock().expect("nothing in here panics");
        assert_eq!(letters.len() as u64, COMMANDS);
    }
}

#[test]
fn a_lost_disk_ends_everything_once_though_no_thread_of_its_lanes_comes_back() {
    const EACH: u64 = 5_000;
    let lanes = Lanes::new(DiskIndex(0), usize::MAX, None);
    let owners = [owner(), owner()];
    std::thread::scope(|threads| {
        threads.spawn(|| lanes.end_on_loss(|| {}));
        for (_, sink) in &owners {
            let lanes = &lanes;
            threads.spawn(move || {
                for n in 0..EACH {
                    lanes.submit(Lane::Write, write(n), Ticket(n), sink, at(1)).expect("there is room");
                    if n == EACH / 2 {
                        lanes.lose("the device is gone");
                    }
                }
            });
        }
        for (letters, _) in &owners {
            let begun = std::time::Instant::now();
            while (letters.0.lock().expect("nothing in here panics").len() as u64) < EACH {
                assert!(begun.elapsed() < LONG, "a command of a lost disk was never ended");
                std::thread::yield_now();
            }
        }
        lanes.close();
    });
    for (letters, _) in &owners {
        let letters = letters.0.lock().expect("nothing in here panics");
        assert!(letters.values().all(|results| *results == [Err(DiskError::Offline)]));
    }
}

#[test]
fn while_something_is_outstanding_the_lane_has_an_age() {
    let lanes = Lanes::new(DiskIndex(0), 10, None);
    let (_, sink) = owner();
    let oldest = || lanes.stats().lane(Lane::Write).oldest();
    let submit = |n| {
        lanes.submit(Lane::Write, write(n), Ticket(n), &sink, at(n)).expect("there is room");
    };
    assert_eq!(oldest(), None);
    submit(1);
    submit(2);
    assert_eq!(oldest(), Some(at(1)));
    let first = lanes.take_one(Lane::Write).expect("there are two");
    submit(3);
    lanes.complete(first, Ok(Done::Nothing));
    // The second waits. Its own time is in the queue, so the age is that of the first.
    assert_eq!(oldest(), Some(at(1)));
    let rest = lanes.take_all(Lane::Write).expect("there are two");
    assert_eq!(oldest(), Some(at(2)));
    rest.into_iter().rev().for_each(|accepted| lanes.complete(accepted, Ok(Done::Nothing)));
    assert_eq!(oldest(), None);
    submit(4);
    assert_eq!(oldest(), Some(at(4)));
}
