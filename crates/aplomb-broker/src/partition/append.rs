//! Appending what is valid, and waiting: for memory, and where it was promised, for the disk.

use aplomb_log::AppendError;
use aplomb_model::batch::{BatchHeader, HEADER_SIZE, ProduceRejection, TimestampType};
use aplomb_model::{ErrorCode, Offset, Timestamp};
use bytes::Bytes;

use super::gate::Gate;
use super::waiting::{Appending, ValidBatch, WaitingForMemory, WaitingForSync};
use super::{Effects, Partition};
use crate::calls::{Answer, AppendRefusal, Appended, Asker, MarkerCall, OwnBatch, PartitionKey, Promise};
use crate::figures::Count;
use crate::limits::LimitHit;
use crate::ports::{Now, WaitedFor};

/// What a batch that waits is charged at least, in bytes: what waits beside its records, on the
/// desk and here, is not much less for the smallest.
const LEAST_TO_WAIT: usize = 1024;

/// What came of trying again what waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retried {
    /// Nothing waits any more.
    All,
    /// There is no memory for the next.
    NoRoom,
    /// The next is for another turn.
    Paused,
}

/// What came of one attempt.
enum Attempt {
    /// It is over, one way or the other.
    Over,
    /// There is no memory: to be tried again.
    NoRoom,
}

/// A batch that was admitted by the log.
struct Admitted {
    base: Offset,
    last: Offset,
    bytes: u64,
    records: u64,
    /// Of a batch that was there already: its greatest timestamp.
    duplicate: Option<Timestamp>,
}

impl Partition {
    /// Appends a batch that is valid, or lets it wait for memory.
    pub(super) fn admit(&mut self, asker: Asker, batch: Appending, now: Now, fx: &mut Effects) {
        if !self.memory_line.is_empty() && !batch.is_light() {
            return self.wait_for_memory(asker, batch, fx);
        }
        if let Attempt::NoRoom = self.attempt(asker, &batch, now, fx) {
            self.wait_for_memory(asker, batch, fx);
            fx.starved.push(self.key);
            // What fills the memory is what the disk does not have: ask it now and not at the end
            // of the interval.
            self.hurry(fx);
        }
    }

    /// Puts a batch in line, in memory of its own: the request that it came in, with what is for
    /// other disks, goes. If too much waits for this disk already it is refused, as not appended,
    /// which all clients try again: REQUEST_TIMED_OUT would tell some that it may have been. They
    /// are woken when there is room: megabytes that come again before cost all clients something.
    fn wait_for_memory(&mut self, asker: Asker, batch: Appending, fx: &mut Effects) {
        let Appending::Produced(mut valid) = batch else {
            return self.memory_line.push(asker, WaitingForMemory::new(batch, None));
        };
        let bytes = valid.batch.append.size().max(LEAST_TO_WAIT);
        let loan = self.log.tail().share().producing().take(bytes);
        if loan.is_none() {
            self.note_late(valid.batch.producer);
            fx.limits.push(LimitHit::Waiting { partition: self.name.clone() });
            self.turned_away.push(asker, bytes);
            fx.answer(
                asker,
                Answer::Append(Err(AppendRefusal {
                    message: Some("the disk does not keep up, and enough waits for it already".to_owned()),
                    is_turned_away: true,
                    ..AppendRefusal::new(ErrorCode::NotEnoughReplicas)
                })),
            );
            return fx.waits(asker, WaitedFor::Memory(self.disk));
        }
        if !valid.batch.rebuilt {
            valid.batch.append.records = Bytes::copy_from_slice(&valid.batch.append.records);
        }
        let batch = Appending::Produced(valid);
        self.memory_line.push(asker, WaitingForMemory::new(batch, loan));
        fx.waits(asker, WaitedFor::Memory(self.disk));
    }

    /// Tries again what waits for memory, as many bytes of it as `slice` has, from which they are
    /// taken, and the rest of the last batch.
    pub(super) fn retry_waiting(&mut self, slice: &mut usize, now: Now, fx: &mut Effects) -> Retried {
        while *slice > 0 {
            let Some((asker, waiting)) = self.memory_line.pop() else { break };
            if let Attempt::NoRoom = self.attempt(asker, &waiting.batch, now, fx) {
                self.memory_line.push_front(asker, waiting);
                return Retried::NoRoom;
            }
            *slice = slice.saturating_sub(waiting.batch.size().max(LEAST_TO_WAIT));
        }
        let is_all = self.memory_line.is_empty() && self.turned_away.is_empty();
        if is_all { Retried::All } else { Retried::Paused }
    }

    /// Wakes those that were turned away, as many as the gate lets in, and while less than half of
    /// what may wait for the disk does: others come as well.
    pub(super) fn let_in(&mut self, gate: &mut Gate, now: Now, fx: &mut Effects) {
        while gate.is_open(now.instant) && !self.log.tail().share().producing().is_short() {
            let Some((asker, bytes)) = self.turned_away.pop() else { return };
            gate.pass(bytes);
            fx.woken.push(asker);
        }
    }

    fn attempt(&mut self, asker: Asker, batch: &Appending, now: Now, fx: &mut Effects) -> Attempt {
        let appended = match batch {
            Appending::Produced(valid) => self.append_produced(valid, now),
            Appending::Own(own) => self.append_own(own, now),
            Appending::Marker(marker) => self.append_marker(marker, now),
        };
        let admitted = match appended {
            Ok(admitted) => admitted,
            Err(None) => return Attempt::NoRoom,
            Err(Some(refused)) => {
                fx.answer(asker, Answer::Append(Err(*refused)));
                return Attempt::Over;
            }
        };
        if admitted.duplicate.is_none() {
            fx.appended.push((self.disk, admitted.bytes));
            if self.key != PartitionKey::METADATA {
                // Apache Kafka counts the metadata log with no topic, either.
                self.figures.add(Count::BytesIn, admitted.bytes);
                self.figures.add(Count::MessagesIn, admitted.records);
            }
            self.show();
            self.mark_dirty(fx);
            self.readers.on_visible(admitted.bytes);
            while let Some(reader) = self.readers.pop_due() {
                fx.woken.push(reader);
            }
        }
        let (promise, by_the_clock) = match batch {
            Appending::Produced(..) => {
                (self.promise(), self.settings.rules.timestamp_type == TimestampType::LogAppendTime)
            }
            Appending::Own(own) => (own.promise.unwrap_or_else(|| self.promise()), false),
            Appending::Marker(_) => (self.promise(), false),
        };
        let answer = Appended {
            base: admitted.base,
            // Of a duplicate the time is told in topics of either timestamp type
            // (`UnifiedLog#append`).
            log_append_time: admitted.duplicate.or_else(|| by_the_clock.then_some(now.wall)),
            log_start: self.log.start(),
        };
        // A duplicate is of a batch that an earlier process may not have synced.
        let is_durable = admitted.last < self.log.durable_end()
            && (admitted.duplicate.is_none() || self.log.is_found_durable());
        if promise == Promise::Durable && !is_durable {
            self.mark_dirty(fx);
            self.sync_line.push(asker, WaitingForSync { answer, last: admitted.last });
            fx.waits(asker, WaitedFor::Disk(self.disk));
            self.hurried_end = self.log.end();
            self.hurry(fx);
        } else {
            fx.answer(asker, Answer::Append(Ok(answer)));
        }
        Attempt::Over
    }

    /// Appends a produced batch. `Err(None)`: there is no memory.
    fn append_produced(
        &mut self,
        valid: &ValidBatch,
        now: Now,
    ) -> Result<Admitted, Option<Box<AppendRefusal>>> {
        let ValidBatch { batch, transaction, claim } = valid;
        let size = batch.append.size();
        if let Some(Err(error)) = transaction.as_ref().map(|producer| self.check_in_transaction(producer)) {
            self.count_refusal(error, size);
            return Err(Some(Box::new(AppendRefusal {
                message: Some("the batch is in no transaction of its producer's".to_owned()),
                ..AppendRefusal::new(error)
            })));
        }
        if let Some(stamp) = batch.producer
            && self.late.is_ahead(stamp)
        {
            self.count_refusal(ErrorCode::OutOfOrderSequenceNumber, size);
            return Err(Some(Box::new(AppendRefusal {
                message: Some("an earlier batch was refused and has to come first".to_owned()),
                ..AppendRefusal::new(ErrorCode::OutOfOrderSequenceNumber)
            })));
        }
        let count = u64::from(batch.count);
        match self.log.append(batch.append.clone(), *claim, self.leader_epoch(), now.wall) {
            Ok(appended) => {
                if let Some(stamp) = batch.producer {
                    self.late.is_appended(stamp.id);
                }
                self.advance_high_watermark();
                self.clients_end = self.log.end();
                Ok(Admitted {
                    base: appended.base,
                    last: appended.last,
                    bytes: size as u64,
                    records: count,
                    duplicate: appended.duplicate,
                })
            }
            Err(AppendError::TailFull { .. }) => Err(None),
            Err(error) => {
                self.count_refusal((&error).into(), size);
                Err(Some(Box::new(AppendRefusal {
                    message: Some(error.to_string()),
                    log_start: Some(self.log.start()),
                    ..AppendRefusal::new((&error).into())
                })))
            }
        }
    }

    /// Appends a batch of this broker's own. `Err(None)`: there is no memory.
    fn append_own(&mut self, own: &OwnBatch, now: Now) -> Result<Admitted, Option<Box<AppendRefusal>>> {
        let batch = &own.batch;
        let header = BatchHeader::parse(batch).expect("a batch of ours is one");
        if own.known_end < self.clients_end {
            return Err(Some(Box::new(AppendRefusal {
                is_overtaken: true,
                ..AppendRefusal::new(ErrorCode::NotLeaderOrFollower)
            })));
        }
        if header.base_offset() != self.log.end() {
            // One before it was refused, and this one was decided on its ground.
            assert!(header.base_offset() > self.log.end(), "whoever wrote behind its base is known");
            return Err(Some(Box::new(AppendRefusal {
                message: Some(format!(
                    "a batch for offset {} is not for the log end offset {}",
                    header.base_offset(),
                    self.log.end()
                )),
                ..AppendRefusal::new(ErrorCode::UnknownServerError)
            })));
        }
        match self.log.append_own(header, &batch[HEADER_SIZE..], self.leader_epoch(), now.wall) {
            Ok(appended) => {
                self.advance_high_watermark();
                Ok(Admitted {
                    base: appended.base,
                    last: appended.last,
                    bytes: batch.len() as u64,
                    records: u64::from(header.count()),
                    duplicate: None,
                })
            }
            Err(AppendError::TailFull { .. }) => Err(None),
            Err(error) => Err(Some(Box::new(AppendRefusal {
                message: Some(error.to_string()),
                ..AppendRefusal::new((&error).into())
            }))),
        }
    }

    /// Appends the end of a transaction. `Err(None)`: there is no memory.
    fn append_marker(&mut self, call: &MarkerCall, now: Now) -> Result<Admitted, Option<Box<AppendRefusal>>> {
        let MarkerCall { marker, rule } = *call;
        let (before, producer) = (self.log.size(), (marker.producer, marker.epoch));
        match self.log.append_marker(producer, marker.end, rule, self.leader_epoch(), now.wall) {
            Ok(appended) => {
                self.advance_high_watermark();
                self.clients_end = self.log.end();
                Ok(Admitted {
                    base: appended.base,
                    last: appended.last,
                    bytes: self.log.size() - before,
                    records: 1,
                    duplicate: None,
                })
            }
            Err(AppendError::TailFull { .. }) => Err(None),
            Err(error) => Err(Some(Box::new(AppendRefusal {
                message: Some(error.to_string()),
                ..AppendRefusal::new((&error).into())
            }))),
        }
    }

    /// The only replica has it: the high watermark is the log end offset.
    fn advance_high_watermark(&mut self) {
        self.log.advance_high_watermark(self.log.end());
    }

    /// Counts a batch of `bytes` bytes that is refused, where Apache Kafka would
    /// (`ReplicaManager#appendRecordsToLeader`).
    pub(super) fn count_refusal(&self, error: ErrorCode, bytes: usize) {
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

    /// What the topic promises for the batch that was just appended (`flush.messages`).
    fn promise(&self) -> Promise {
        let since = self.hurried_end.max(self.log.durable_end());
        let unsynced = self.log.end().distance_from(since);
        match self.settings.log.flush_messages {
            Some(limit) if limit <= 1 || unsynced >= limit => Promise::Durable,
            Some(_) | None => Promise::InMemory,
        }
    }

    pub(super) fn rejected(&self, rejection: &ProduceRejection) -> AppendRefusal {
        let records = match rejection {
            ProduceRejection::Records(records) => records
                .iter()
                .map(|r| (i32::try_from(r.index).unwrap_or(i32::MAX), Some(r.fault.to_string())))
                .collect(),
            _ => Vec::new(),
        };
        AppendRefusal {
            message: Some(rejection.to_string()),
            records,
            log_start: Some(self.log.start()),
            ..AppendRefusal::new(rejection.into())
        }
    }
}

impl Appended {
    /// The time of the append as the wire has it.
    pub(crate) fn log_append_time_wire(&self) -> i64 {
        self.log_append_time.unwrap_or(Timestamp::NONE).0
    }
}
