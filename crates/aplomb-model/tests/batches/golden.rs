//! Batches that Apache Kafka 4.4.0 built, and what it read in them itself.
//!
//! `tests/oracle-batches/run.py --write-golden` makes both files anew.

use aplomb_model::batch::{Batches, Stop};

use crate::describe::{describe, unhex};

const BATCHES: &str = include_str!("../golden/java-4.4.0.tsv");
const READ_BY_JAVA: &str = include_str!("../golden/java-4.4.0.txt");

#[test]
fn batches_from_java_read_as_java_reads_them() {
    let mut ours = Vec::new();
    for line in BATCHES.lines() {
        let (name, bytes) = line.split_once('\t').expect("name and bytes");
        ours.push(format!("# {name}"));
        ours.extend(describe(&unhex(bytes), true));
    }
    let theirs: Vec<&str> = READ_BY_JAVA.lines().collect();
    assert!(theirs.len() > 200, "all of them are compared");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours.len(), theirs.len());
}

#[test]
fn any_flipped_bit_that_the_checksum_covers_is_found() {
    for line in BATCHES.lines().filter(|line| line.starts_with("plain-")) {
        let (name, bytes) = line.split_once('\t').expect("name and bytes");
        let mut batch = unhex(bytes);
        for bit in 17 * 8..batch.len() * 8 {
            batch[bit / 8] ^= 1 << (bit % 8);
            let end = Batches::new(&batch).checked().scan_to_end();
            let found = matches!(end.why, Stop::BadCrc { .. } | Stop::BadHeader(_)) && end.position == 0;
            assert!(found, "{name}: bit {bit} flipped, {end:?}");
            batch[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(Batches::new(&batch).checked().scan_to_end().why, Stop::Complete);
    }
}
