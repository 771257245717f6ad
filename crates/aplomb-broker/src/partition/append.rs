//! Appending produced batches, and waiting: for memory, and where the topic asks for it, for the disk.

use aplomb_log::AppendError;
use aplomb_model::batch::{
    BatchHeader, ProduceRejection, ProducerStamp, TimestampType, Validated, validate_produced,
};
use aplomb_model::{ErrorCode, Timestamp};

use super::{Effects, Partition, Serving, WaitingAppend, WaitingSync};
use crate::figures::Count;
use crate::message::{AppendCall, AppendRefusal, Appended, OpId, PartitionAnswer, Slot};
use crate::ports::Now;

/// So many producers are remembered of which a batch found no memory in time.
const LATE_PRODUCERS: usize = 1000;

/// What came of one attempt.
enum Attempt {
    /// It is over, one way or the other.
    Over,
    /// There is no memory: to be tried again.
    NoRoom(Box<Validated>),
}

impl Partition {
    pub(super) fn append(&mut self, op: OpId, slot: Slot, call: AppendCall, now: Now, fx: &mut Effects) {
        self.figures.add(Count::ProduceRequests, 1);
        // The only replica is in sync: `min.insync.replicas` asks for no more replicas than there are (KIP-966).
        if self.serving == Serving::Offline {
            let refused = refusal(ErrorCode::KafkaStorageError);
            fx.answers.push((op, slot, PartitionAnswer::Append(Err(refused))));
            return;
        }
        if !self.waiting.is_empty() {
            self.waiting.push_back(WaitingAppend { op, slot, call, checked: None });
            return;
        }
        let mut waiting = WaitingAppend { op, slot, call, checked: None };
        if let Attempt::NoRoom(checked) = self.attempt(&mut waiting, now, fx) {
            waiting.checked = Some(*checked);
            self.waiting.push_back(waiting);
            fx.starved.push(self.key);
            // What fills the memory is what the disk does not have: ask it now and not at the end of the interval.
            self.hurry(fx);
        }
    }

    /// Tries again what waits for memory. True if some still does.
    pub(crate) fn retry_waiting(&mut self, now: Now, fx: &mut Effects) -> bool {
        while let Some(mut waiting) = self.waiting.pop_front() {
            if waiting.call.deadline <= now.instant {
                let late = AppendRefusal {
                    message: Some("the memory tail is full: its disk does not keep up".to_owned()),
                    ..refusal(ErrorCode::RequestTimedOut)
                };
                self.figures.add(Count::FailedProduceRequests, 1);
                fx.answers.push((waiting.op, waiting.slot, PartitionAnswer::Append(Err(late))));
                self.note_late(&waiting.call.records);
                continue;
            }
            if let Attempt::NoRoom(checked) = self.attempt(&mut waiting, now, fx) {
                waiting.checked = Some(*checked);
                self.waiting.push_front(waiting);
                return true;
            }
        }
        false
    }

    fn attempt(&mut self, waiting: &mut WaitingAppend, now: Now, fx: &mut Effects) -> Attempt {
        let (op, slot) = (waiting.op, waiting.slot);
        let checked = match waiting.checked.take() {
            Some(checked) => checked,
            None => match validate_produced(&waiting.call.records, &self.settings.rules, now.wall) {
                Ok(checked) => checked,
                Err(rejection) => {
                    let refused = self.rejected(&rejection);
                    self.count_refusal(refused.error, waiting.call.records.len());
                    fx.answers.push((op, slot, PartitionAnswer::Append(Err(refused))));
                    return Attempt::Over;
                }
            },
        };
        if let Some(stamp) = checked.producer
            && self.is_ahead(stamp)
        {
            self.count_refusal(ErrorCode::OutOfOrderSequenceNumber, waiting.call.records.len());
            let refused = AppendRefusal {
                message: Some("an earlier batch found no memory in time and has to come first".to_owned()),
                ..refusal(ErrorCode::OutOfOrderSequenceNumber)
            };
            fx.answers.push((op, slot, PartitionAnswer::Append(Err(refused))));
            return Attempt::Over;
        }
        let appended = match self.log.append(checked.append.clone(), self.leader_epoch, now.wall) {
            Ok(appended) => appended,
            Err(AppendError::TailFull { .. }) => return Attempt::NoRoom(Box::new(checked)),
            Err(error) => {
                self.count_refusal((&error).into(), waiting.call.records.len());
                let refused = AppendRefusal {
                    message: Some(error.to_string()),
                    log_start: Some(self.log.start()),
                    ..refusal((&error).into())
                };
                fx.answers.push((op, slot, PartitionAnswer::Append(Err(refused))));
                return Attempt::Over;
            }
        };
        if !appended.duplicate {
            // The leader is the only replica.
            self.log.advance_high_watermark(self.log.end());
            fx.appended.push((self.disk, checked.append.size() as u64));
            self.figures.add(Count::BytesIn, checked.append.size() as u64);
            self.figures.add(Count::MessagesIn, checked.count.into());
            self.show();
            self.mark_dirty(fx);
            self.wake_readers(fx);
        }
        let by_the_clock = self.settings.rules.timestamp_type == TimestampType::LogAppendTime;
        let answer = Appended {
            base: appended.base,
            log_append_time: by_the_clock.then_some(now.wall).filter(|_| !appended.duplicate),
            log_start: self.log.start(),
        };
        if self.must_sync() && appended.last >= self.log.durable_end() {
            self.unsynced.push_back(WaitingSync { op, slot, answer, last: appended.last });
            self.hurried_end = self.log.end();
            self.hurry(fx);
        } else {
            fx.answers.push((op, slot, PartitionAnswer::Append(Ok(answer))));
        }
        Attempt::Over
    }

    /// Counts a batch of `bytes` bytes that is refused, where Apache Kafka would (`ReplicaManager#appendRecordsToLeader`).
    fn count_refusal(&self, error: ErrorCode, bytes: usize) {
        match error {
            ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge => {
                self.figures.add(Count::BytesRejected, bytes as u64);
            }
            ErrorCode::CorruptMessage => self.figures.add(Count::InvalidChecksums, 1),
            ErrorCode::OutOfOrderSequenceNumber => {
                self.figures.add(Count::InvalidSequences, 1);
                self.figures.add(Count::FailedProduceRequests, 1);
            }
            ErrorCode::UnknownTopicOrPartition | ErrorCode::KafkaStorageError => {}
            _ => self.figures.add(Count::FailedProduceRequests, 1),
        }
    }

    /// A batch was refused because there was no memory in time. The log would take the next one of a producer that it does not know, whatever
    /// its sequence; of one that it knows it takes only the one that is due.
    fn note_late(&mut self, records: &[u8]) {
        let Some(stamp) = BatchHeader::parse(records).ok().and_then(|header| header.producer()) else {
            return;
        };
        if self.log.producers().producer(stamp.id).is_some()
            || self.late.iter().any(|late| late.id == stamp.id)
        {
            return;
        }
        if self.late.len() == LATE_PRODUCERS {
            self.late.pop_front();
        }
        self.late.push_back(stamp);
    }

    /// Whether a batch is ahead of one of its producer that was refused and has not come again.
    fn is_ahead(&mut self, stamp: ProducerStamp) -> bool {
        let Some(place) = self.late.iter().position(|late| late.id == stamp.id) else { return false };
        let late = self.late[place];
        if late.epoch == stamp.epoch && late.base_sequence < stamp.base_sequence {
            return true;
        }
        self.late.remove(place);
        false
    }

    /// Whether an acknowledgement has to wait for the disk (`flush.messages`).
    fn must_sync(&self) -> bool {
        let since = self.hurried_end.max(self.log.durable_end());
        let unsynced = self.log.end().distance_from(since);
        self.settings.log.flush_messages.is_some_and(|limit| limit <= 1 || unsynced >= limit)
    }

    fn wake_readers(&mut self, fx: &mut Effects) {
        let visible = self.log.high_watermark();
        self.watchers.retain(|watcher| {
            let wakes = watcher.seen < visible;
            if wakes {
                fx.woken.push((watcher.op, watcher.slot));
            }
            !wakes
        });
    }

    fn rejected(&self, rejection: &ProduceRejection) -> AppendRefusal {
        let records = match rejection {
            ProduceRejection::Records(records) => records
                .iter()
                .map(|r| (i32::try_from(r.index).unwrap_or(i32::MAX), Some(r.fault.to_string())))
                .collect(),
            _ => Vec::new(),
        };
        AppendRefusal {
            error: rejection.into(),
            message: Some(rejection.to_string()),
            records,
            log_start: Some(self.log.start()),
        }
    }
}

/// A refusal that says nothing but its code.
pub(super) fn refusal(error: ErrorCode) -> AppendRefusal {
    AppendRefusal { error, message: None, records: Vec::new(), log_start: None }
}

impl Appended {
    /// The time of the append as the wire has it.
    pub(crate) fn log_append_time_wire(&self) -> i64 {
        self.log_append_time.unwrap_or(Timestamp::NONE).0
    }
}
