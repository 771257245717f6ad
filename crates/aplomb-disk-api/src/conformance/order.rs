//! What a lane guarantees: effects in order, writes joined without a seam, syncs that cover what
//! came before.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::{Harness, Owner, dice, name, pattern, publish, sync, write};
use crate::{DiskCommand, Lane};

/// A write makes its file; a write beyond the end leaves zeros between.
pub fn a_write_makes_the_file_and_later_ones_build_on_it(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    owner.must(harness, write("plain", 0, "temperature="));
    owner.must(harness, write("plain", 12, "21.5"));
    owner.must(harness, write("plain", 20, "late"));
    owner.must(harness, write("plain", 3, Bytes::new()));
    assert_eq!(harness.files()["plain"].as_ref(), b"temperature=21.5\0\0\0\0late");
}

/// Two hundred overlapping writes and truncations, handed over without waiting, leave what they
/// would leave one after the other.
pub fn overlapping_writes_and_truncations_take_effect_in_order(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let mut below = dice(0x5eed);
    let mut expected: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut tickets = Vec::new();
    for round in 0..200_u64 {
        let file = format!("file-{}", below(3));
        let content = expected.entry(file.clone()).or_default();
        let at = below(content.len() as u64 + 1);
        let place = at as usize;
        if below(8) == 0 && !content.is_empty() {
            content.truncate(place);
            tickets.push(owner.submit(harness, DiskCommand::Truncate { file: name(&file), len: at }));
        } else {
            let data = pattern(round * 7919, below(5000) as usize + 1);
            content.resize(content.len().max(place + data.len()), 0);
            content[place..place + data.len()].copy_from_slice(&data);
            tickets.push(owner.submit(harness, write(&file, at, data)));
        }
    }
    owner.wait_done(harness, &tickets);
    for (file, content) in expected {
        assert!(harness.files()[&file] == content, "{file} differs from what was written");
    }
}

/// More parts than one vectored write takes, empty ones among them, arrive in order.
pub fn many_parts_become_one_write(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let whole = Bytes::from(pattern(0, 40_000));
    let data = (0..4000).flat_map(|part| [whole.slice(part * 10..part * 10 + 10), Bytes::new()]).collect();
    owner.must(harness, DiskCommand::Write { file: name("parts"), at: 0, data });
    assert!(harness.files()["parts"] == whole);
}

/// What any owner handed to the lane before a sync survives a crash after it: bytes and
/// name.
pub fn a_sync_covers_every_earlier_write(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let mut other = Owner::new(harness);
    owner.must(harness, publish(Lane::Write, &[("orders-3/partition.metadata", "version: 0")]));
    let tickets: Vec<_> = (0..50_u64)
        .map(|n| {
            let from = if n % 2 == 0 { &mut owner } else { &mut other };
            let ticket = from.submit(harness, write("orders-3/0.log", n * 1000, pattern(n * 1000, 1000)));
            (Arc::clone(from.mailbox()), ticket)
        })
        .collect();
    owner.must(harness, sync(&["orders-3/0.log"]));
    for (mailbox, ticket) in tickets {
        assert!(mailbox.letters().contains_key(&ticket), "a sync ended before a write that it covers");
    }
    harness.crash();
    let files = harness.files();
    assert!(files["orders-3/0.log"] == pattern(0, 50_000));
    assert_eq!(files["orders-3/partition.metadata"].as_ref(), b"version: 0");
}

/// A file that was deleted, or never made, is no error to a sync.
pub fn a_sync_passes_over_what_is_gone(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    owner.must(harness, write("here", 0, "x"));
    owner.must(harness, sync(&["gone", "here", "nowhere/at-all"]));
    harness.crash();
    assert_eq!(harness.files()["here"].as_ref(), b"x");
}

/// Interleaved appends to many files, with syncs between them, lose nothing.
pub fn writes_to_many_files_all_arrive(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let files: Vec<String> = (0..90).map(|n| format!("file-{n}")).collect();
    let mut tickets = Vec::new();
    for round in 0..4_u64 {
        for file in &files {
            tickets.push(owner.submit(harness, write(file, round * 700, pattern(round * 700, 700))));
        }
        let names: Vec<&str> = files.iter().map(String::as_str).collect();
        tickets.push(owner.submit(harness, sync(&names)));
    }
    owner.wait_done(harness, &tickets);
    harness.crash();
    let found = harness.files();
    for file in &files {
        assert!(found[file] == pattern(0, 2800), "{file} differs from what was written and synced");
    }
}
