//! Reads: short at the end, never stale.

use bytes::Bytes;

use super::{Harness, Owner, name, pattern, write};
use crate::{DiskCommand, DiskError, Done, ReadPattern};

fn read(file: &str, at: u64, len: u32, pattern: ReadPattern) -> DiskCommand {
    DiskCommand::Read { file: name(file), at, len, pattern }
}

/// Both patterns must give these bytes.
pub(super) fn expect(
    harness: &mut impl Harness,
    owner: &mut Owner,
    file: &str,
    at: u64,
    len: u32,
    expected: &[u8],
) {
    for pattern in [ReadPattern::Sequential, ReadPattern::Random] {
        match owner.ask(harness, read(file, at, len, pattern)) {
            Ok(Done::Read(bytes)) => {
                assert!(bytes == expected, "{pattern:?} read of {len} bytes at {at} of {file} is wrong");
            }
            other => panic!("{pattern:?} read of {len} bytes at {at} of {file}: {other:?}"),
        }
    }
}

/// A read gives what is there: all, some or nothing.
pub fn a_read_ends_at_the_end_of_the_file(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let content = pattern(0, 10_000);
    owner.must(harness, write("file", 0, content.clone()));
    expect(harness, &mut owner, "file", 0, 10_000, &content);
    expect(harness, &mut owner, "file", 2500, 10, &content[2500..2510]);
    expect(harness, &mut owner, "file", 9_990, 100, &content[9_990..]);
    expect(harness, &mut owner, "file", 10_000, 100, b"");
    expect(harness, &mut owner, "file", 1 << 40, u32::MAX, b"");
    expect(harness, &mut owner, "file", 0, u32::MAX, &content);
    expect(harness, &mut owner, "file", 0, 0, b"");
}

/// What is not there is an answer, not a loss.
pub fn a_missing_file_is_not_found_and_the_disk_is_well(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let missing = [
        read("missing", 0, 100, ReadPattern::Random),
        read("missing", 0, 100, ReadPattern::Sequential),
        DiskCommand::Truncate { file: name("missing"), len: 0 },
        DiskCommand::Rename { from: name("missing"), to: name("other") },
        write("nowhere/missing", 0, "x"),
    ];
    for command in missing {
        let words = format!("{command:?}");
        let result = owner.ask(harness, command);
        assert!(matches!(result, Err(DiskError::NotFound { .. })), "{words}: {result:?}");
    }
    owner.must(harness, write("file", 0, "well"));
    expect(harness, &mut owner, "file", 0, 4, b"well");
}

/// A consumer that catches up, several reads in flight, gets the file as it is.
pub fn a_stream_of_reads_sees_every_byte_in_order(harness: &mut impl Harness) {
    const LEN: usize = 6 * 1024 * 1024 + 12_345;
    const STEP: u32 = 300_000;
    let mut owner = Owner::new(harness);
    let content = Bytes::from(pattern(0, LEN));
    owner.must(harness, write("log", 0, content.clone()));
    let tickets: Vec<_> = (0..LEN as u64)
        .step_by(STEP as usize)
        .map(|at| (at, owner.submit(harness, read("log", at, STEP, ReadPattern::Sequential))))
        .collect();
    for (at, ticket) in tickets {
        let end = LEN.min(at as usize + STEP as usize);
        match owner.wait(harness, ticket) {
            Ok(Done::Read(bytes)) => assert!(bytes == content[at as usize..end], "wrong bytes at {at}"),
            other => panic!("read at {at}: {other:?}"),
        }
    }
}

/// A file that grows between two reads of its end has grown for the second.
pub fn a_read_sees_what_was_appended_after_an_earlier_one(harness: &mut impl Harness) {
    let mut owner = Owner::new(harness);
    let content = pattern(0, 60_000);
    for end in (1000..=60_000).step_by(1000) {
        let from = end - 1000;
        owner.must(harness, write("log", from as u64, content[from..end].to_vec()));
        expect(harness, &mut owner, "log", from as u64, 1 << 20, &content[from..end]);
        expect(harness, &mut owner, "log", 0, 1 << 20, &content[..end]);
    }
}

/// Bytes that were read, and perhaps kept, are not served again once they were cut off and written
/// anew.
pub fn a_read_sees_what_replaced_the_bytes_read_earlier(harness: &mut impl Harness) {
    const LEN: usize = 2_500_000;
    let mut owner = Owner::new(harness);
    for round in 0..4_u64 {
        let content = pattern(round * 7_777_777, LEN);
        owner.must(harness, write("log", 0, content.clone()));
        expect(harness, &mut owner, "log", 0, 100_000, &content[..100_000]);
        expect(harness, &mut owner, "log", 1_000_000, 500_000, &content[1_000_000..1_500_000]);
        let cut = 1_200_000;
        owner.must(harness, DiskCommand::Truncate { file: name("log"), len: cut });
        expect(harness, &mut owner, "log", 1_000_000, 500_000, &content[1_000_000..cut as usize]);
        owner.must(harness, write("log", cut, "after the cut"));
        expect(harness, &mut owner, "log", cut, 500_000, b"after the cut");
        owner.must(harness, DiskCommand::Rename { from: name("log"), to: name("log.deleted") });
        let result = owner.ask(harness, read("log", 0, 10, ReadPattern::Sequential));
        assert!(matches!(result, Err(DiskError::NotFound { .. })), "a renamed file was read: {result:?}");
    }
}
