//! Bounds that clients have met: counted each time, and told to the log now and then
//! (docs/operating/limits.md).

use aplomb_model::{Instant, TopicPartition};

use crate::figures::ShardFigures;
use crate::ports::{Event, Severity, Throttle};

/// A bound that a client has met.
#[derive(Debug)]
pub(crate) enum LimitHit {
    /// A batch stands for more than `limit` bytes.
    Decompressed { partition: TopicPartition, limit: u64 },
    /// As much waits for the partition's disk as may.
    Waiting { partition: TopicPartition },
}

/// What a shard has told the log of bounds.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    decompressed: Throttle,
    waiting: Throttle,
}

impl Limits {
    /// Counts it. The line for the log, if it is time for one.
    pub(crate) fn on_hit(&mut self, hit: LimitHit, figures: &ShardFigures, now: Instant) -> Option<Event> {
        let (throttle, text) = match hit {
            LimitHit::Decompressed { partition, limit } => {
                figures.count_too_much_decompressed();
                let text = format!(
                    "refused a batch for {partition}: its records take more than {limit} bytes when \
                     decompressed (aplomb.produce.decompressed.max.bytes)"
                );
                (&mut self.decompressed, text)
            }
            LimitHit::Waiting { partition } => {
                figures.count_too_much_waiting();
                let text = format!(
                    "refused a batch for {partition}: its disk does not keep up, and as much waits for it as \
                     may (aplomb.produce.waiting.max.bytes)"
                );
                (&mut self.waiting, text)
            }
        };
        let text = throttle.admit(now, text)?;
        Some(Event { severity: Severity::Warn, room: "broker/limits", text })
    }
}
