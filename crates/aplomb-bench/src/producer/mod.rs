//! A producer: takes records from the schedule, gathers them in batches, says what to send to which
//! broker, learns what became of it.
//!
//! What always holds: the schedule is never asked to wait. When the buffer is full, records stay in
//! the schedule, and are made from the times at which they were due as soon as there is room. A
//! batch keeps its records from its first sending to its end; what is sent again goes before what
//! is newer.

mod identity;
mod partition;
#[cfg(test)]
mod tests;
mod verdict;

use std::time::Duration;

use aplomb_model::{ErrorCode, Instant, Timestamp};
use aplomb_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use aplomb_protocol::messages::{InitProducerIdResponse, ProduceRequest, ProduceResponse};

use identity::Identity;
use partition::PartitionQueue;
use verdict::Verdict;

use crate::batch::Batch;
use crate::keys::{Choice, Keys};
use crate::payload::Payload;
use crate::schedule::Schedule;
use crate::spec::ProducerSpec;
use crate::stats::Stats;
use crate::topic::{TopicView, code_name};

/// How long a partition rests after an error that may pass (`retry.backoff.ms`).
const BACKOFF: Duration = Duration::from_millis(100);
/// Records made in one turn: while a backlog is worked off, answers are looked at in between.
const MOST_IN_ONE_TURN: usize = 4_096;

#[derive(Debug)]
pub(crate) struct Producer {
    spec: ProducerSpec,
    schedule: Option<Schedule>,
    /// The wall clock's milliseconds at the start of the run's clock.
    wall: i64,
    keys: Keys,
    payload: Payload,
    /// By the partition's number.
    queues: Vec<PartitionQueue>,
    /// The numbers of the partitions that it writes to.
    mine: Vec<usize>,
    /// Of these, the one for records without a key.
    sticky: usize,
    buffered: usize,
    identity: Identity,
    /// Whether a turn ended before everything due was made.
    behind: bool,
}

/// A batch in a request.
#[derive(Debug)]
pub(crate) struct Sent {
    partition: usize,
    batch: Batch,
}

impl Producer {
    /// Writes to `mine`, which are some partitions.
    pub(crate) fn new(spec: &ProducerSpec, mine: Vec<usize>, run: u64, number: usize, wall: i64) -> Self {
        let seed = run ^ (number as u64).rotate_left(32);
        let queues = mine.iter().max().map_or(0, |last| last + 1);
        Self {
            spec: spec.clone(),
            schedule: None,
            wall,
            keys: Keys::new(spec.keys, spec.key_size, seed),
            payload: Payload::new(run, spec.record_size, seed),
            queues: (0..queues).map(|_| PartitionQueue::new(spec.compression)).collect(),
            sticky: number % mine.len(),
            mine,
            buffered: 0,
            identity: Identity::new(spec.idempotent),
            behind: false,
        }
    }

    /// Whether records can be sent.
    pub(crate) fn is_ready(&self) -> bool {
        self.identity.is_settled()
    }

    pub(crate) fn partitions(&self) -> &[usize] {
        &self.mine
    }

    /// Gives it its times.
    pub(crate) fn begin(&mut self, schedule: Schedule) {
        self.schedule = Some(schedule);
    }

    /// No more records, though their times would have come.
    pub(crate) fn stop(&mut self) {
        self.schedule = None;
    }

    /// Whether every record has found its end.
    pub(crate) fn is_done(&self) -> bool {
        self.schedule.as_ref().is_none_or(|schedule| schedule.peek().is_none())
            && self.queues.iter().all(PartitionQueue::is_empty)
    }

    /// Makes the records that are due, and gives up those that are too old.
    pub(crate) fn advance(&mut self, now: Instant, stats: &mut Stats) {
        self.behind = false;
        for _ in 0..MOST_IN_ONE_TURN {
            if self.buffered >= self.spec.buffer_memory {
                break;
            }
            let Some(due) = self.schedule.as_mut().and_then(|schedule| schedule.take(now)) else { break };
            self.make(due);
        }
        if self.buffered < self.spec.buffer_memory {
            self.behind = self.schedule.as_ref().and_then(Schedule::peek).is_some_and(|due| due <= now);
        }
        self.expire(now, stats);
    }

    fn make(&mut self, due: Instant) {
        let (place, key) = match self.keys.choose(self.mine.len()) {
            Choice::Sticky => (self.sticky, None),
            Choice::Partition(place) => (place, None),
            Choice::Keyed(place, key) => (place, Some(key)),
        };
        let partition = self.mine[place];
        let time = Timestamp(self.wall + (due.as_nanos() / 1_000_000).cast_signed());
        let (grown, size) = self.queues[partition].append(due, time, key, self.payload.value(due));
        self.buffered += grown;
        if size >= self.spec.batch_size {
            self.seal(partition);
        }
    }

    fn seal(&mut self, partition: usize) {
        if self.queues[partition].seal() && partition == self.mine[self.sticky] {
            self.sticky = (self.sticky + 1) % self.mine.len();
        }
    }

    fn expire(&mut self, now: Instant, stats: &mut Stats) {
        let mut gap = false;
        for queue in &mut self.queues {
            while let Some(batch) = queue.take_expired(self.spec.delivery_timeout, now) {
                gap |= batch.stamp.is_some();
                self.buffered -= batch.held;
                stats.expired(&batch.due, now);
            }
        }
        if gap {
            self.identity.want_another(now);
        }
    }

    /// The next request to this broker, if there is something for it.
    pub(crate) fn ask(
        &mut self,
        broker: i32,
        topic: &TopicView,
        now: Instant,
    ) -> Option<(ProduceRequest, Vec<Sent>)> {
        if !self.is_ready() {
            return None;
        }
        let mut sent: Vec<Sent> = Vec::new();
        let mut size = 0;
        // Another partition is first each time: none has to wait for the others when requests are
        // full.
        let first = self.sticky;
        for step in 0..self.mine.len() {
            let partition = self.mine[(first + step) % self.mine.len()];
            if topic.leaders.get(partition).copied().flatten() != Some(broker) {
                continue;
            }
            if !self.queues[partition].is_awake(now) {
                continue;
            }
            if self.queues[partition].peek().is_none() && self.has_lingered(partition, now) {
                self.seal(partition);
            }
            let queue = &mut self.queues[partition];
            let Some(next) = queue.peek() else { continue };
            if !sent.is_empty() && size + next.bytes.len() > self.spec.max_request_size {
                break;
            }
            let batch = queue.take(self.identity.known()).expect("it was looked at");
            size += batch.bytes.len();
            sent.push(Sent { partition, batch });
        }
        if sent.is_empty() {
            return None;
        }
        let partition_data = sent
            .iter()
            .map(|sent| PartitionProduceData {
                index: sent.partition as i32,
                records: Some(sent.batch.bytes.clone()),
            })
            .collect();
        let topic_data =
            vec![TopicProduceData { name: topic.name.clone(), topic_id: topic.id, partition_data }];
        let timeout_ms =
            i32::try_from(self.spec.delivery_timeout.as_millis()).unwrap_or(i32::MAX).min(30_000);
        Some((ProduceRequest { transactional_id: None, acks: self.spec.acks, timeout_ms, topic_data }, sent))
    }

    fn has_lingered(&self, partition: usize, now: Instant) -> bool {
        let first = self.queues[partition].open_since();
        let over = self.schedule.as_ref().is_none_or(|schedule| schedule.peek().is_none());
        first.is_some_and(|due| over || due + self.spec.linger <= now)
    }

    /// Everything in a request was written, and no answer will come.
    pub(crate) fn written(&mut self, sent: Vec<Sent>, now: Instant, stats: &mut Stats) {
        for Sent { partition, batch } in sent {
            self.queues[partition].ended();
            self.acknowledge(&batch, now, stats);
        }
    }

    /// A broker has answered. Returns whether the metadata are old.
    pub(crate) fn answered(
        &mut self,
        sent: Vec<Sent>,
        response: &ProduceResponse,
        now: Instant,
        stats: &mut Stats,
    ) -> bool {
        let mut stale = false;
        let answers = || response.responses.iter().flat_map(|topic| &topic.partition_responses);
        for Sent { partition, batch } in sent {
            self.queues[partition].ended();
            let answer = answers().find(|answer| usize::try_from(answer.index) == Ok(partition));
            let code = answer.map_or(ErrorCode::UnknownServerError.to_wire(), |answer| answer.error_code);
            if code == 0 || code == ErrorCode::DuplicateSequenceNumber.to_wire() {
                self.acknowledge(&batch, now, stats);
                continue;
            }
            stats.trouble(&code_name(code), now);
            match ErrorCode::from_wire(code).map_or(Verdict::Final, Verdict::of) {
                Verdict::Again => {}
                Verdict::Elsewhere => stale = true,
                Verdict::SequenceBroken => {
                    // Behind a batch that has to go again this is to be expected. Alone it means
                    // that the broker knows another past.
                    if self.queues[partition].is_out_of_step() {
                        self.identity.want_another(now);
                    }
                }
                Verdict::Final => {
                    self.buffered -= batch.held;
                    stats.refused(&batch.due);
                    if batch.stamp.is_some() {
                        self.identity.want_another(now);
                    }
                    continue;
                }
            }
            self.again(partition, batch, now, stats);
        }
        stale
    }

    /// The connection has gone and the answer with it.
    pub(crate) fn lost(&mut self, sent: Vec<Sent>, now: Instant, stats: &mut Stats) {
        for Sent { partition, batch } in sent {
            self.queues[partition].ended();
            if self.spec.acks == 0 {
                // What has arrived is not known, and was not asked for.
                self.buffered -= batch.held;
                stats.refused(&batch.due);
            } else {
                self.again(partition, batch, now, stats);
            }
        }
    }

    fn again(&mut self, partition: usize, batch: Batch, now: Instant, stats: &mut Stats) {
        stats.retries += 1;
        self.queues[partition].again(batch, now + BACKOFF);
    }

    fn acknowledge(&mut self, batch: &Batch, now: Instant, stats: &mut Stats) {
        self.buffered -= batch.held;
        stats.acknowledged(&batch.due, now);
    }

    /// Whether a producer id is to be asked for now. True once.
    pub(crate) fn asks_for_identity(&mut self, now: Instant) -> bool {
        self.identity.ask(now)
    }

    /// The answer to that, or `None` when it was lost.
    pub(crate) fn identified(
        &mut self,
        response: Option<&InitProducerIdResponse>,
        now: Instant,
        stats: &mut Stats,
    ) {
        if let Some(code) = response.map(|r| r.error_code).filter(|code| *code != 0) {
            stats.trouble(&code_name(code), now);
        }
        if self.identity.answered(response, now, BACKOFF) {
            self.queues.iter_mut().for_each(PartitionQueue::restart_sequence);
        }
    }

    /// When it wants to be called next, if nothing happens before.
    pub(crate) fn wake_at(&self, now: Instant) -> Option<Instant> {
        if self.behind {
            return Some(now);
        }
        let expiry = self.spec.delivery_timeout + BACKOFF;
        let queues = self.queues.iter().flat_map(|queue| queue.wakes(self.spec.linger, expiry));
        // With a full buffer the schedule has to wait for an answer.
        let schedule = self.schedule.iter().filter(|_| self.buffered < self.spec.buffer_memory);
        let records = schedule.flat_map(|schedule| {
            let fill = (self.spec.batch_size / (self.spec.record_size + 16)).max(1) as u64;
            let lingered = schedule.peek().map(|due| due + self.spec.linger);
            [lingered, schedule.ahead(fill - 1)].into_iter().flatten()
        });
        // What lies in the past waits for something else to happen.
        let all = self.identity.wake_at().into_iter().chain(queues).chain(records);
        all.filter(|moment| *moment > now).min()
    }

    /// The run is over: what has found no end is counted with its age.
    pub(crate) fn give_up(&mut self, lost: Vec<Sent>, now: Instant, stats: &mut Stats) {
        let waiting = self.queues.iter_mut().flat_map(PartitionQueue::drain);
        for batch in waiting.chain(lost.into_iter().map(|sent| sent.batch)) {
            for due in batch.due {
                stats.unanswered(due, now);
            }
        }
        if let Some(mut schedule) = self.schedule.take() {
            while let Some(due) = schedule.take(now) {
                stats.unanswered(due, now);
            }
        }
    }
}
