//! Full queues, losses, stops: every accepted command ends, and ends once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use super::{Harness, Mailbox, Owner, PATIENCE, name, publish, sync, write};
use crate::{DiskCommand, DiskError, Done, Lane, QueueFull, ReadPattern};

/// A lane has an end; what does not fit comes back as it was, and what was taken is carried out.
pub fn a_full_lane_gives_the_command_back(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let mut tickets = Vec::new();
    let mut given_back = false;
    for n in 0..1_000_000_u64 {
        let command = if n % 2 == 0 { write("file", n, "x") } else { sync(&["file"]) };
        match owner.try_submit(harness, command.clone()) {
            Ok(ticket) => tickets.push(ticket),
            Err(QueueFull(back)) => {
                assert_eq!(back, command);
                given_back = true;
                break;
            }
        }
    }
    assert!(given_back, "the lane took a million commands");
    // Another lane is another queue.
    owner.must(harness, publish(Lane::Housekeeping, &[("beside", "x")]));
    owner.wait_done(harness, &tickets);
    let again = owner.submit(harness, sync(&["file"]));
    assert!(tickets.iter().all(|ticket| *ticket < again), "a ticket was used twice");
    owner.wait_done(harness, &[again]);
}

/// Two owners, all lanes, interleaved: each gets exactly one letter a command, and none of the
/// other's.
pub fn each_owner_hears_of_its_own_commands_once(harness: &mut impl Harness) {
    let mut owners = [Owner::new(harness), Owner::new(harness)];
    let mut tickets = [Vec::new(), Vec::new()];
    for n in 0..60_u64 {
        for (owner, tickets) in owners.iter_mut().zip(&mut tickets) {
            let file = format!("file-{}", n % 5);
            for command in [
                write(&file, n / 5 * 10, "0123456789"),
                DiskCommand::Read { file: name(&file), at: 0, len: 64, pattern: ReadPattern::Sequential },
                sync(&[&file]),
                DiskCommand::Space,
            ] {
                tickets.push(owner.submit(harness, command));
            }
        }
    }
    for (owner, tickets) in owners.iter().zip(&tickets) {
        tickets.iter().for_each(|ticket| {
            let result = owner.wait(harness, *ticket);
            // A read may have come before the first write.
            assert!(matches!(result, Ok(_) | Err(DiskError::NotFound { .. })), "{result:?}");
        });
    }
    (0..20).for_each(|_| harness.turn());
    for (owner, tickets) in owners.iter().zip(&tickets) {
        let letters = owner.mailbox().letters();
        assert_eq!(letters.len(), tickets.len());
        assert!(letters.values().all(|results| results.len() == 1), "a command was completed twice");
    }
}

/// Lent bytes; at the end of their life they note how many letters had come.
struct Lent {
    bytes: Vec<u8>,
    mailbox: Arc<Mailbox>,
    letters_at_end: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.letters_at_end.store(self.mailbox.letters().len(), Ordering::SeqCst);
    }
}

/// The memory of a write belongs to the disk until the completion is delivered; then the disk lets
/// go of it.
pub fn lent_bytes_live_until_the_completion_and_not_much_longer(harness: &mut impl Harness) {
    const ALIVE: usize = usize::MAX;
    for round in 0..20 {
        let mut owner = Owner::new(harness);
        let letters_at_end = Arc::new(AtomicUsize::new(ALIVE));
        let lent = Lent {
            bytes: vec![round; 10_000],
            mailbox: Arc::clone(owner.mailbox()),
            letters_at_end: Arc::clone(&letters_at_end),
        };
        owner.submit(harness, write("file", 0, Bytes::from_owner(lent)));
        for _ in 0..PATIENCE {
            if letters_at_end.load(Ordering::SeqCst) != ALIVE {
                break;
            }
            harness.turn();
        }
        assert_eq!(letters_at_end.load(Ordering::SeqCst), 1, "the bytes went before the letter, or never");
    }
}

/// After the first error nothing is carried out, nothing is refused and nothing hangs.
pub fn after_a_loss_everything_ends_offline(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    owner.must(harness, write("plain", 0, "a file, not a directory"));
    let first = owner.submit(harness, write("plain/child", 0, "x"));
    let behind: Vec<_> = (0..20).map(|n| owner.submit(harness, write("behind", n, "x"))).collect();
    match owner.wait(harness, first) {
        Err(error @ DiskError::Failed { .. }) => {
            assert!(error.to_string().contains("plain/child"), "{error}")
        }
        other => panic!("a file was taken for a directory: {other:?}"),
    }
    for ticket in behind {
        let result = owner.wait(harness, ticket);
        assert!(matches!(result, Err(DiskError::Offline) | Ok(Done::Nothing)), "{result:?}");
    }
    let before = harness.files();
    let mut late = Owner::new(harness);
    let commands = [
        write("late", 0, "x"),
        sync(&["plain"]),
        DiskCommand::Read { file: name("plain"), at: 0, len: 10, pattern: ReadPattern::Random },
        DiskCommand::Read { file: name("plain"), at: 0, len: 10, pattern: ReadPattern::Sequential },
        publish(Lane::Housekeeping, &[("late-too", "x")]),
        DiskCommand::Space,
    ];
    let tickets: Vec<_> = (0..500)
        .map(|n| late.try_submit(harness, commands[n % commands.len()].clone()))
        .collect::<Result<_, _>>()
        .expect("a lost disk takes everything");
    for ticket in tickets {
        assert_eq!(late.wait(harness, ticket), Err(DiskError::Offline));
    }
    assert_eq!(harness.files(), before);
}

/// Stopping waits for what was accepted.
pub fn a_stop_carries_out_what_was_accepted(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let tickets: Vec<_> = (0..50_u64)
        .flat_map(|n| {
            [
                owner.submit(harness, write("file", n * 4, "abcd")),
                owner.submit(harness, sync(&["file"])),
                owner.submit(harness, publish(Lane::Housekeeping, &[("checkpoint", "x")])),
            ]
        })
        .collect();
    harness.stop();
    owner.wait_done(harness, &tickets);
    let files = harness.files();
    assert_eq!(files["file"].as_ref(), b"abcd".repeat(50));
    assert_eq!(files["checkpoint"].as_ref(), b"x");
}

/// The counters of a disk at rest say so.
pub fn an_idle_disk_has_nothing_outstanding(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let tickets: Vec<_> = (0..30_u64).map(|n| owner.submit(harness, write("file", n * 3, "abc"))).collect();
    owner.wait_done(harness, &tickets);
    owner.must(harness, sync(&["file"]));
    // Counted right after the letter, so perhaps a moment later than we read it.
    (0..20).for_each(|_| harness.turn());
    let stats = harness.stats();
    assert_eq!(stats.oldest(), None);
    let lane = stats.lane(Lane::Write);
    assert_eq!((lane.depth(), lane.completed(), lane.bytes()), (0, 31, 90));
    assert!(stats.syncs() >= 1);
}

/// `Space` answers with something that can be true.
pub fn the_disk_says_how_much_room_it_has(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    match owner.ask(harness, DiskCommand::Space) {
        Ok(Done::Space { total, usable }) => assert!(0 < usable && usable <= total, "{usable} of {total}"),
        other => panic!("no answer about the room: {other:?}"),
    }
}
