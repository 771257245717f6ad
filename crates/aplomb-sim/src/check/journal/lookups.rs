//! What is found by time and by epoch, held against what is known.

use aplomb_model::batch::BatchHeader;
use aplomb_model::{Instant, LeaderEpoch};

use super::{Checked, Journal, PartitionId};

impl Journal {
    /// Holds an answer to "the first record at or after this time" (its offset, or `None`) against
    /// the records that were known before the question.
    pub(crate) fn check_time(
        &self,
        partition: PartitionId,
        wanted: i64,
        answer: Option<(i64, i64)>,
        (known_before, start): (Instant, i64),
    ) -> Checked {
        let Some(log) = self.logs.get(&partition) else { return Ok(()) };
        let limit = answer.map_or(i64::MAX, |(offset, _)| offset);
        if let Some((offset, time)) = answer.filter(|(_, time)| *time < wanted) {
            return Err(format!("{partition:?}: {wanted} is looked up and found at {offset}, of {time}"));
        }
        for (base, known) in log.known.range(..limit) {
            let sent = &self.batches[known.batch];
            let header = BatchHeader::parse(&sent.bytes).expect("it was built as one");
            // All records of a batch have one time here.
            let earlier = known.last < limit
                && *base >= start.max(log.start).max(log.may_start)
                && sent.told < known_before;
            if earlier && header.max_timestamp().0 >= wanted {
                return Err(format!(
                    "{partition:?}: the first record from {wanted} on is at {base}, not {answer:?}"
                ));
            }
        }
        Ok(())
    }

    /// Whether the latest record, said to be of `time`, is as late as all known before the
    /// question.
    pub(crate) fn check_greatest(
        &self,
        partition: PartitionId,
        time: i64,
        (known_before, start): (Instant, i64),
    ) -> Checked {
        let Some(log) = self.logs.get(&partition) else { return Ok(()) };
        for (base, known) in log.known.range(start.max(log.start).max(log.may_start)..) {
            let sent = &self.batches[known.batch];
            let header = BatchHeader::parse(&sent.bytes).expect("it was built as one");
            if sent.told < known_before && header.max_timestamp().0 > time {
                return Err(format!("{partition:?}: the latest record is at {base}, and not of {time}"));
            }
        }
        Ok(())
    }

    /// Whether an epoch (or the last one before it that wrote something) ends where the broker
    /// says.
    pub(crate) fn check_epoch_end(
        &self,
        partition: PartitionId,
        asked: i32,
        (epoch, end): (i32, i64),
        known_before: Instant,
    ) -> Checked {
        let Some(log) = self.logs.get(&partition) else { return Ok(()) };
        for (base, known) in &log.known {
            let Some(of) = known.epoch.map(LeaderEpoch::to_wire) else { continue };
            // Of what may have been deleted no epoch is known either.
            let is_there = known.last >= log.start.max(log.may_start);
            let is_old = self.batches[known.batch].told < known_before && is_there;
            // A log that starts inside of a batch knows its epoch from there on.
            let fits = if of <= epoch { known.last < end } else { of > asked && known.last >= end };
            if is_old && !fits {
                return Err(format!(
                    "{partition:?}: epoch {asked} is said to end with {epoch} at {end}, and {base} is of {of}"
                ));
            }
        }
        Ok(())
    }
}
