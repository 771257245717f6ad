//! Reads back a tail's memory after some of its bytes were overwritten: a real one, made once, and
//! patches of three bytes each (two for the place, one for the value). Without patches it takes the
//! bytes themselves.

#![no_main]

use std::sync::OnceLock;

use aplomb_log::tail::{ArenaMemory, CrashSwitch, LogEnd, LogTail, OldTail, TailBatch, open_shares};
use aplomb_model::batch::{BatchBuilder, BatchHeader, Batches, Stop};
use aplomb_model::{Offset, PartitionIndex, Timestamp, Uuid};
use libfuzzer_sys::fuzz_target;

const SIZE: usize = 1 << 20;
const CHUNK: u32 = 64 << 10;

fuzz_target!(|data: &[u8]| {
    if data.len() % 3 != 0 {
        recover(data);
        return;
    }
    let mut image = image().to_vec();
    for patch in data.chunks_exact(3) {
        // Places are spread over the first bytes, where the headers are, and thinly over the rest.
        let place = usize::from(u16::from_be_bytes([patch[0], patch[1]]));
        let at = if place < 0x8000 { place } else { (place - 0x8000) * (SIZE / 0x8000) };
        image[at] ^= patch[2];
    }
    recover(&image);
});

fn recover(bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let Ok(old) = OldTail::open(ArenaMemory::copy_of(bytes)) else { return };
    for partition in old.recover().partitions {
        for run in partition.runs {
            assert_eq!(run.slices.iter().map(|slice| slice.len() as u64).sum::<u64>(), run.len);
            let end = Batches::in_slices(&run.slices).checked().scan_to_end();
            assert_eq!((end.position, end.why), (run.len, Stop::Complete), "what is recovered is whole");
        }
    }
}

fn image() -> &'static [u8] {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let directory = Uuid([7; 16]);
        let crash = CrashSwitch::armed();
        let shares =
            open_shares(ArenaMemory::heap(SIZE), CHUNK, &[directory], 1, Some(crash)).expect("it fits");
        let mut tails = [0, 1].map(|partition| {
            let end = LogEnd { segment_base: Offset::ZERO, at: 0, offset: Offset::ZERO };
            let topic = Uuid([3; 16]);
            LogTail::new(shares[0].clone(), topic, PartitionIndex(partition), end)
        });
        for round in 0..40 {
            let tail = &mut tails[round % 2];
            if round == 20 {
                tail.roll(tail.end().offset);
            }
            let mut builder = BatchBuilder::new(tail.end().offset);
            for _ in 0..round % 4 + 1 {
                builder.append(Timestamp(1), Some(b"key"), Some(&vec![round as u8; 600 * (round % 7)]), &[]);
            }
            let batch = builder.build();
            let header = BatchHeader::parse(&batch).expect("a batch that was just built");
            tail.push(tail.end().at, &[&batch], TailBatch::of(&header)).expect("there is room");
        }
        shares[0].arena().image().expect("it has a crash switch").as_slice().to_vec()
    })
}
