//! Files and directories that go without a command of ours: what fell into them is missed.
//!
//! A write may still succeed, since a descriptor outlives its name. A sync of it may not, and takes
//! the disk with it.

use super::{Harness, Owner, name, publish, sync, write};
use crate::{DiskCommand, DiskError, Done, Lane, Ticket};

/// The sync fails, and everything after it finds the disk offline.
fn expect_loss(harness: &mut impl Harness, owner: &mut Owner, ticket: Ticket) {
    let result = owner.wait(harness, ticket);
    assert!(matches!(result, Err(DiskError::Failed { .. })), "a sync missed nothing: {result:?}");
    assert_eq!(owner.ask(harness, DiskCommand::Space), Err(DiskError::Offline));
}

fn sync_is_missed(harness: &mut impl Harness, owner: &mut Owner, file: &str) {
    let ticket = owner.submit(harness, sync(&[file]));
    expect_loss(harness, owner, ticket);
}

/// Written or refused: never anything else.
fn write_somewhere(harness: &mut impl Harness, owner: &mut Owner, file: &str, at: u64) {
    let result = owner.ask(harness, write(file, at, "late"));
    assert!(matches!(result, Ok(Done::Nothing) | Err(DiskError::NotFound { .. })), "{result:?}");
}

/// Bytes of a file that vanished before they were synced.
pub fn a_file_that_vanishes_before_its_sync_is_missed(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    owner.must(harness, write("0.log", 0, "records"));
    harness.vanish(Some("0.log"));
    sync_is_missed(harness, &mut owner, "0.log");
}

/// Bytes written after the file had vanished, though earlier ones were synced.
pub fn a_write_into_a_file_that_vanished_is_missed(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    owner.must(harness, write("0.log", 0, "records"));
    owner.must(harness, sync(&["0.log"]));
    harness.vanish(Some("0.log"));
    write_somewhere(harness, &mut owner, "0.log", 7);
    write_somewhere(harness, &mut owner, "0.log", 11);
    sync_is_missed(harness, &mut owner, "0.log");
}

/// The same for a partition's directory, and for one sync of many files.
pub fn a_directory_that_vanishes_is_missed_among_many(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let files: Vec<String> = (0..90).map(|n| format!("orders-{n}/0.log")).collect();
    let metadata: Vec<String> = (0..90).map(|n| format!("orders-{n}/partition.metadata")).collect();
    let made: Vec<(&str, &str)> = metadata.iter().map(|file| (file.as_str(), "version: 0")).collect();
    owner.must(harness, publish(Lane::Write, &made));
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    for round in 0..2 {
        names.iter().for_each(|file| owner.must(harness, write(file, round * 7, "records")));
        owner.must(harness, sync(&names));
    }
    harness.vanish(Some("orders-77"));
    for file in &names {
        write_somewhere(harness, &mut owner, file, 14);
    }
    let ticket = owner.submit(harness, sync(&names));
    expect_loss(harness, &mut owner, ticket);
}

/// A partition that vanished is not brought back, empty, by its next checkpoint.
pub fn a_checkpoint_of_a_directory_that_vanished_finds_none(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    owner.must(harness, publish(Lane::Write, &[("orders-3/partition.metadata", "version: 0")]));
    harness.vanish(Some("orders-3"));
    // Handed over together, so that a disk may carry them out together.
    let tickets = [
        owner.submit(harness, publish(Lane::Housekeeping, &[("beside", "x")])),
        owner.submit(harness, publish(Lane::Housekeeping, &[("orders-3/leader-epoch-checkpoint", "0")])),
        owner.submit(harness, publish(Lane::Housekeeping, &[("beside-too", "x")])),
    ];
    let results = tickets.map(|ticket| owner.wait(harness, ticket));
    assert!(matches!(&results[1], Err(DiskError::NotFound { .. })), "{results:?}");
    assert_eq!([&results[0], &results[2]], [&Ok(Done::Nothing); 2]);
    assert_eq!(harness.files().into_keys().collect::<Vec<_>>(), ["beside", "beside-too"]);
}

/// A write that is not the first of a file does not make one: what came before it is not there.
pub fn a_write_that_is_not_the_first_makes_no_file(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let result = owner.ask(harness, write("0.log", 7, "records"));
    assert!(matches!(result, Err(DiskError::NotFound { .. })), "{result:?}");
    assert!(harness.files().is_empty());
    owner.must(harness, sync(&["1.log"]));
    sync_is_missed(harness, &mut owner, "0.log");
}

/// Without its log directory a disk does nothing any more, and calls nothing done.
pub fn a_log_directory_that_vanishes_is_lost(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    owner.must(harness, write("0.log", 0, "records"));
    owner.must(harness, sync(&["0.log"]));
    harness.vanish(None);
    let result =
        owner.ask(harness, publish(Lane::Housekeeping, &[("recovery-point-offset-checkpoint", "0")]));
    assert!(matches!(result, Err(DiskError::Failed { .. })), "{result:?}");
    assert_eq!(owner.ask(harness, sync(&["0.log"])), Err(DiskError::Offline));
}

/// The same for a disk that only writes and syncs.
pub fn a_sync_without_a_log_directory_is_missed(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    owner.must(harness, write("0.log", 0, "records"));
    harness.vanish(None);
    sync_is_missed(harness, &mut owner, "0.log");
}

/// What commands of ours took away is not missed, whatever it still owed.
pub fn what_our_own_commands_took_away_is_not_missed(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let metadata = |n| format!("orders-{n}/partition.metadata");
    for n in 0..3 {
        owner.must(harness, publish(Lane::Write, &[(&metadata(n), "version: 0")]));
    }
    let files = ["deleted", "renamed", "replaced", "orders-0/0.log", "orders-1/0.log", "orders-2/0.log"];
    files.iter().for_each(|file| owner.must(harness, write(file, 0, "records")));
    let rename = |from, to| DiskCommand::Rename { from: name(from), to: name(to) };
    owner.must(harness, DiskCommand::DeleteFiles { files: vec![name("deleted")] });
    owner.must(harness, rename("renamed", "elsewhere"));
    owner.must(harness, publish(Lane::Housekeeping, &[("replaced", "anew")]));
    owner.must(harness, DiskCommand::DeleteDirectory { directory: name("orders-0") });
    owner.must(harness, rename("orders-1", "orders-1.0123-delete"));
    let job = super::jobs::once(|disk| disk.remove(&name("orders-2")).map(crate::JobStep::done));
    let removed = owner.ask_job(harness, job);
    assert!(matches!(removed, Ok(Done::Job(_))), "{removed:?}");
    owner.must(harness, sync(&files));
    // And the names are good for other files.
    for n in 0..3 {
        owner.must(harness, publish(Lane::Write, &[(&metadata(n), "version: 0")]));
    }
    files.iter().for_each(|file| owner.must(harness, write(file, 0, "again")));
    owner.must(harness, sync(&files));
}

/// A deletion passes over what vanished, and afterwards nothing is missed.
pub fn a_deletion_passes_over_what_vanished(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    owner.must(harness, publish(Lane::Write, &[("orders-3/partition.metadata", "version: 0")]));
    let files = ["0.log", "orders-3/0.log"];
    files.iter().for_each(|file| owner.must(harness, write(file, 0, "records")));
    harness.vanish(Some("0.log"));
    harness.vanish(Some("orders-3"));
    owner.must(harness, DiskCommand::DeleteFiles { files: vec![name("0.log")] });
    owner.must(harness, DiskCommand::DeleteDirectory { directory: name("orders-3") });
    owner.must(harness, sync(&files));
}

/// Deletions and renames under way beside writes and syncs of other files, and of the same.
pub fn nothing_is_missed_while_our_own_commands_take_names_away(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let mut tickets = Vec::new();
    for round in 0..60_u64 {
        let directory = format!("orders-{}", round % 4);
        let file = format!("{directory}/{round}.log");
        tickets.push(owner.submit(
            harness,
            publish(Lane::Write, &[(&format!("{directory}/partition.metadata"), "version: 0")]),
        ));
        for at in 0..3 {
            tickets.push(owner.submit(harness, write(&file, at * 7, "records")));
        }
        let written = tickets.last().copied().expect("it was just submitted");
        owner.wait_done(harness, &[written]);
        let taken_away = match round % 3 {
            0 => DiskCommand::DeleteFiles { files: vec![name(&file)] },
            1 => DiskCommand::Rename { from: name(&file), to: name(&format!("{file}.deleted")) },
            _ => DiskCommand::DeleteDirectory { directory: name(&directory) },
        };
        let taken_away = owner.submit(harness, taken_away);
        for _ in 0..3 {
            tickets.push(owner.submit(harness, sync(&[&file])));
        }
        owner.wait_done(harness, &[taken_away]);
    }
    owner.wait_done(harness, &tickets);
}
