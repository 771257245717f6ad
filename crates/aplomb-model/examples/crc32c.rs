//! How fast checksums are here: `time cargo run --release -p aplomb-model --example crc32c -- fast
//! 1000` checksums batches of 1000 bytes, 4 GiB in all; `naive` does an eighth of that with a
//! table, byte by byte.
//!
//! It has no clock of its own, since this crate may not read one.

#![expect(
    clippy::disallowed_macros,
    reason = "a program that reports on its terminal, and carries no request"
)]

use aplomb_model::batch::{Crc32c, crc32c};
use crc_fast::{CrcAlgorithm, get_calculator_target};

const TOTAL: usize = 4 << 30;

fn main() {
    let mut args = std::env::args().skip(1);
    let how = args.next().unwrap_or_default();
    let size: usize =
        args.next().and_then(|size| size.parse().ok()).filter(|size| *size > 0).unwrap_or(16_384);
    let batch: Vec<u8> = (0..size).map(|at| (at * 31) as u8).collect();
    let naive = naive();
    let checksum: &dyn Fn(&[u8]) -> u32 = match how.as_str() {
        "fast" => &crc32c,
        "pieces" => &in_pieces,
        "naive" => &naive,
        other => {
            eprintln!("fast, pieces or naive, not {other:?}");
            std::process::exit(2);
        }
    };
    let total = if how == "naive" { TOTAL / 8 } else { TOTAL };
    let rounds = total.div_ceil(size);
    let sum = (0..rounds).fold(0u32, |sum, _| sum.wrapping_add(checksum(std::hint::black_box(&batch))));
    println!(
        "{how}: {rounds} batches of {size} bytes, {} MiB, sum {sum:#010x}; crc-fast uses {}",
        total >> 20,
        get_calculator_target(CrcAlgorithm::Crc32Iscsi)
    );
}

/// As a batch is checked: its header, then its records.
fn in_pieces(bytes: &[u8]) -> u32 {
    let (head, rest) = bytes.split_at(40.min(bytes.len()));
    let mut crc = Crc32c::new();
    crc.update(head);
    crc.update(rest);
    crc.finish()
}

fn naive() -> impl Fn(&[u8]) -> u32 {
    let table: Vec<u32> = (0..256u32)
        .map(|byte| (0..8).fold(byte, |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 }))
        .collect();
    move |bytes| {
        !bytes.iter().fold(!0u32, |crc, byte| crc >> 8 ^ table[((crc ^ u32::from(*byte)) & 0xff) as usize])
    }
}
