//! What programs cost, as the kernel counts it, in samples.
//!
//! What always holds: the kernel counts while a sample is taken, and no longer: counting, too,
//! costs something each time that a program runs.

use std::time::{Duration, Instant};

use super::sys::{Attachment, Counting};
use crate::kernel::files::{named, read};

/// Of so many rows of the machine one is a sample, which is no shorter than this.
const SAMPLE_EVERY: u64 = 5;
const SHORTEST: Duration = Duration::from_millis(150);

/// Measures programs.
#[derive(Debug)]
pub(super) struct Meter {
    sampling: Option<Sample>,
    rows: u64,
    /// Of all samples: their length, what programs took, how often they ran.
    sampled: Duration,
    ran: Duration,
    runs: u64,
    /// Share of one processor, by the last.
    share: f64,
    /// Records since the last sample ended, and when that was.
    records: u64,
    last: Instant,
}

#[derive(Debug)]
struct Sample {
    began: Instant,
    /// Run time and runs when it began.
    before: (u64, u64),
    /// The kernel counts for as long as this is there.
    _counting: Counting,
}

impl Meter {
    /// Begins with a sample, for which the kernel counts already.
    pub(super) fn begin(attached: &[Attachment], counting: Counting) -> Self {
        let now = Instant::now();
        Self {
            sampling: Some(Sample { began: now, before: figures(attached), _counting: counting }),
            rows: 0,
            sampled: Duration::ZERO,
            ran: Duration::ZERO,
            runs: 0,
            share: 0.0,
            records: 0,
            last: now,
        }
    }

    /// A row of the machine is over. At the end of a sample: the share of one processor that
    /// programs took, and records in a second.
    pub(super) fn row(&mut self, attached: &[Attachment]) -> Option<(f64, f64)> {
        self.rows += 1;
        if let Some(sample) = &self.sampling {
            if sample.began.elapsed() < SHORTEST {
                return None;
            }
            let records = self.records as f64 / self.last.elapsed().as_secs_f64().max(0.001);
            self.end_sample(attached);
            return Some((self.share, records));
        }
        // Where the kernel should not count any more there is no sample, and the last one holds.
        if self.rows.is_multiple_of(SAMPLE_EVERY)
            && let Ok(counting) = Counting::begin()
        {
            let before = figures(attached);
            self.sampling = Some(Sample { began: Instant::now(), before, _counting: counting });
        }
        None
    }

    pub(super) fn count_record(&mut self) {
        self.records += 1;
    }

    /// Ends the sample that is being taken, if there is one.
    pub(super) fn end_sample(&mut self, attached: &[Attachment]) {
        let Some(Sample { began, before, _counting }) = self.sampling.take() else { return };
        let (elapsed, after) = (began.elapsed(), figures(attached));
        let ran = Duration::from_nanos(after.0.saturating_sub(before.0));
        self.sampled += elapsed;
        self.ran += ran;
        self.runs += after.1.saturating_sub(before.1);
        self.share = ran.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
        self.records = 0;
        self.last = Instant::now();
    }

    /// Share of one processor that programs took, by the last sample.
    pub(super) fn share(&self) -> f64 {
        self.share
    }

    /// What programs took in so many seconds, in seconds, and how often they ran, by the samples.
    pub(super) fn over(&self, seconds: f64) -> (f64, f64) {
        let times = seconds / self.sampled.as_secs_f64().max(1e-9);
        (self.ran.as_secs_f64() * times, self.runs as f64 * times)
    }
}

/// What programs have taken so far while the kernel counted, in nanoseconds, and how often they
/// ran.
fn figures(attached: &[Attachment]) -> (u64, u64) {
    let of = |program: &Attachment| {
        let text = read(format!("/proc/self/fdinfo/{}", program.number())).unwrap_or_default();
        (named(&text, "run_time_ns").unwrap_or(0), named(&text, "run_cnt").unwrap_or(0))
    };
    attached.iter().map(of).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}
