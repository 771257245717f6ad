//! Files that are replaced, renamed and deleted.

use bytes::Bytes;

use super::{Harness, Owner, name, pattern, publish, write};
use crate::{DiskCommand, Lane};

fn rename(from: &str, to: &str) -> DiskCommand {
    DiskCommand::Rename { from: name(from), to: name(to) }
}

/// A publication makes directories and files, replaces old content whatever its length, and leaves
/// nothing else behind.
pub fn a_publication_replaces_files_as_a_whole(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    for lane in [Lane::Write, Lane::Housekeeping] {
        owner.must(harness, publish(lane, &[("a", "a long first content"), ("deep/er/b", "first")]));
        owner.must(harness, publish(lane, &[("a", "short"), ("deep/er/b", "")]));
        harness.crash();
        owner = Owner::new(harness);
        let files = harness.files();
        let found: Vec<(&str, &[u8])> =
            files.iter().map(|(name, content)| (name.as_str(), content.as_ref())).collect();
        assert_eq!(found, [("a", b"short".as_slice()), ("deep/er/b", b"".as_slice())]);
    }
}

/// A sync of a file that was deleted makes it stay away.
pub fn a_deleted_file_does_not_come_back_once_it_is_synced(harness: &mut impl Harness) {
    for round in 0..20 {
        let mut owner = Owner::new(harness);
        let marker = format!("marker-{round}");
        owner.must(harness, publish(Lane::Write, &[(&marker, "closed cleanly")]));
        owner.must(harness, DiskCommand::DeleteFiles { files: vec![name(&marker)] });
        owner.must(harness, DiskCommand::Sync { files: vec![name(&marker), name("gone/too")] });
        harness.crash();
        assert!(!harness.files().contains_key(&marker), "in round {round}");
    }
}

/// A write that stands behind a publication in the lane finds the directory that it makes.
pub fn a_published_directory_is_there_for_the_next_write(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let tickets = [
        owner.submit(harness, publish(Lane::Write, &[("orders-3/partition.metadata", "version: 0")])),
        owner.submit(harness, write("orders-3/0.log", 0, "records")),
    ];
    owner.wait_done(harness, &tickets);
    assert_eq!(harness.files()["orders-3/0.log"].as_ref(), b"records");
}

/// A crash during a publication leaves each file as it was or as it was to be.
pub fn a_publication_that_a_crash_interrupts_leaves_old_or_new(harness: &mut impl Harness) {
    for round in 0..20 {
        let mut owner = Owner::new(harness);
        owner.must(harness, publish(Lane::Housekeeping, &[("one", "old"), ("two", "old")]));
        owner.submit(harness, publish(Lane::Housekeeping, &[("one", "new"), ("two", "new")]));
        if round % 2 == 1 {
            harness.turn();
        }
        harness.crash();
        let files = harness.files();
        for file in ["one", "two"] {
            let content = files[file].as_ref();
            assert!(content == b"old" || content == b"new", "{file} holds {content:?} in round {round}");
        }
    }
}

/// The last of several publications of one file wins.
pub fn neighbouring_publications_keep_their_order(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let tickets: Vec<_> = (0..20)
        .map(|n| {
            let content = format!("{n}");
            owner.submit(
                harness,
                publish(Lane::Housekeeping, &[("often", &content), (&format!("once-{n}"), &content)]),
            )
        })
        .collect();
    owner.wait_done(harness, &tickets);
    harness.crash();
    let files = harness.files();
    assert_eq!(files["often"].as_ref(), b"19");
    assert_eq!(files.len(), 21, "{:?}", files.keys());
}

/// A write to the old name after a rename makes a new file; the renamed one keeps its bytes.
pub fn a_renamed_file_has_left_its_old_name(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    owner.must(harness, write("0.log", 0, "first life"));
    owner.must(harness, rename("0.log", "0.log.deleted"));
    owner.must(harness, write("0.log", 0, "second"));
    owner.must(harness, write("0.log.deleted", 0, "FIRST"));
    let files = harness.files();
    assert_eq!(files["0.log"].as_ref(), b"second");
    assert_eq!(files["0.log.deleted"].as_ref(), b"FIRST life");
    owner.must(harness, rename("0.log", "0.log.deleted"));
    let files = harness.files();
    assert_eq!(files.len(), 1);
    assert_eq!(files["0.log.deleted"].as_ref(), b"second");
}

/// The same for a directory, whose files move with it.
pub fn a_renamed_directory_takes_its_files_along(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    owner.must(harness, publish(Lane::Write, &[("orders-3/partition.metadata", "one")]));
    owner.must(harness, write("orders-3/0.log", 0, "records"));
    owner.must(harness, rename("orders-3", "orders-3.0123-delete"));
    owner.must(harness, publish(Lane::Write, &[("orders-3/partition.metadata", "two")]));
    owner.must(harness, write("orders-3/0.log", 0, "new"));
    let files = harness.files();
    assert_eq!(files["orders-3.0123-delete/0.log"].as_ref(), b"records");
    assert_eq!(files["orders-3.0123-delete/partition.metadata"].as_ref(), b"one");
    assert_eq!(files["orders-3/0.log"].as_ref(), b"new");
    assert_eq!(files["orders-3/partition.metadata"].as_ref(), b"two");
}

/// Three hundred files and one of several slices are gone, and nothing beside them.
pub fn a_large_directory_goes_as_a_whole(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    owner.must(harness, publish(Lane::Write, &[("big-0/partition.metadata", "x"), ("big-00/kept", "x")]));
    let mut tickets: Vec<_> =
        (0..300).map(|n| owner.submit(harness, write(&format!("big-0/{n}.log"), 0, "records"))).collect();
    let block = Bytes::from(pattern(0, 1 << 20));
    tickets.extend((0..8).map(|n| owner.submit(harness, write("big-0/large.log", n << 20, block.clone()))));
    owner.wait_done(harness, &tickets);
    owner.must(harness, DiskCommand::DeleteDirectory { directory: name("big-0") });
    owner.must(harness, DiskCommand::DeleteDirectory { directory: name("big-0") });
    let files = harness.files();
    assert_eq!(files.keys().collect::<Vec<_>>(), ["big-00/kept"]);
}

/// A file that is written after its deletion holds what was written, and reads as that.
pub fn a_deleted_file_can_be_written_anew(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    for round in 0..5_u64 {
        let content = pattern(round * 100_000, 3000);
        owner.must(harness, write("again", 0, content.clone()));
        super::reads::expect(harness, &mut owner, "again", 0, 5000, &content);
        owner.must(harness, DiskCommand::DeleteFiles { files: vec![name("again"), name("never")] });
        assert!(harness.files().is_empty());
    }
}
