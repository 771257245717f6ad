//! Cutting an answer between batches, wherever the slices of memory that hold it are cut.

use aplomb_model::batch::HEADER_SIZE;
use bytes::Bytes;

/// The first whole batches of `slices` that take at most `limit` bytes.
pub(super) fn whole_batches_within(slices: &[Bytes], limit: u64) -> Vec<Bytes> {
    let total: u64 = slices.iter().map(|slice| slice.len() as u64).sum();
    let mut end = 0;
    while end + HEADER_SIZE as u64 <= total {
        let size = 12 + u64::from(u32_at(slices, end + 8));
        if end + size > limit.min(total) {
            break;
        }
        end += size;
    }
    let mut kept = Vec::new();
    for slice in slices {
        let take = end.min(slice.len() as u64);
        if take == 0 {
            break;
        }
        kept.push(slice.slice(..usize::try_from(take).expect("not above a slice's length")));
        end -= take;
    }
    kept
}

/// Four bytes at `position` of the bytes that `slices` hold one after the other, as a number.
fn u32_at(slices: &[Bytes], position: u64) -> u32 {
    let mut skip = position;
    let mut raw = [0; 4];
    let mut filled = 0;
    for slice in slices {
        let len = slice.len() as u64;
        if skip >= len {
            skip -= len;
            continue;
        }
        for byte in &slice[usize::try_from(skip).expect("within the slice")..] {
            raw[filled] = *byte;
            filled += 1;
            if filled == raw.len() {
                return u32::from_be_bytes(raw);
            }
        }
        skip = 0;
    }
    u32::from_be_bytes(raw)
}

#[cfg(test)]
mod tests {
    use aplomb_model::batch::BatchBuilder;
    use aplomb_model::{Offset, Timestamp};

    use super::*;

    #[test]
    fn a_full_response_is_cut_between_batches_wherever_the_slices_are_cut() {
        let mut bytes = Vec::new();
        let mut ends = vec![0_usize];
        for n in 0..5 {
            let mut batch = BatchBuilder::new(Offset::new(n));
            batch.append(Timestamp(1), None, Some(&vec![b'x'; 10 * n as usize]), &[]);
            bytes.extend_from_slice(&batch.build());
            ends.push(bytes.len());
        }
        for piece in [7, 61, 1000] {
            let slices: Vec<Bytes> = bytes.chunks(piece).map(Bytes::copy_from_slice).collect();
            for limit in 0..=bytes.len() + 1 {
                let expected = *ends.iter().rfind(|end| **end <= limit).expect("nothing always fits");
                let kept = whole_batches_within(&slices, limit as u64).concat();
                assert_eq!(kept, bytes[..expected], "limit {limit}");
            }
        }
    }
}
