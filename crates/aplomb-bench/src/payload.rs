//! What is in a record: whose run it is of, when it was due, and bytes that neither compress to
//! nothing nor not at all.

use aplomb_model::{Instant, SplitMix64};

/// Bytes in front of a value: the run's number and the due time in nanoseconds on the run's clock.
pub(crate) const STAMP_SIZE: usize = 16;

/// The filling is cut from this many bytes.
const FILLING: usize = 64 * 1024;

/// Makes values.
#[derive(Debug)]
pub(crate) struct Payload {
    filling: Vec<u8>,
    value: Vec<u8>,
    at: usize,
}

impl Payload {
    /// Values of `size` bytes of the run number `run`.
    pub(crate) fn new(run: u64, size: usize, seed: u64) -> Self {
        let mut dice = SplitMix64::new(seed);
        // 64 different letters: three quarters of a byte are news, as in text that was encoded
        // once.
        let letter = |bits: u64| b'0' + (bits % 64) as u8;
        let filling = (0..FILLING.max(size)).map(|_| letter(dice.bits())).collect();
        let mut value = vec![0; size];
        value[..8].copy_from_slice(&run.to_be_bytes());
        Self { filling, value, at: 0 }
    }

    /// The value of a record that is due then.
    pub(crate) fn value(&mut self, due: Instant) -> &[u8] {
        self.value[8..STAMP_SIZE].copy_from_slice(&due.as_nanos().to_be_bytes());
        let body = &mut self.value[STAMP_SIZE..];
        if self.at + body.len() > self.filling.len() {
            self.at = 0;
        }
        body.copy_from_slice(&self.filling[self.at..][..body.len()]);
        self.at += body.len();
        &self.value
    }
}

/// When a record was due, if it is one of this run.
pub(crate) fn due_of(run: u64, value: Option<&[u8]>) -> Option<Instant> {
    let (whose, rest) = value?.split_first_chunk::<8>()?;
    let due = rest.first_chunk::<8>()?;
    (u64::from_be_bytes(*whose) == run).then(|| Instant::from_nanos(u64::from_be_bytes(*due)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_tells_its_time_to_its_own_run_only() {
        let mut payload = Payload::new(9, 100, 1);
        for nanos in [0, 5, u64::MAX] {
            let due = Instant::from_nanos(nanos);
            let value = payload.value(due).to_vec();
            assert_eq!(value.len(), 100);
            assert_eq!(due_of(9, Some(&value)), Some(due));
            assert_eq!(due_of(8, Some(&value)), None);
        }
        assert_eq!(due_of(9, None), None);
        assert_eq!(due_of(9, Some(&9_u64.to_be_bytes())), None);
    }
}
