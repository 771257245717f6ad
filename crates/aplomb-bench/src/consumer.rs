//! A consumer: reads its partitions from some place on, and tells from each record of this run how
//! long it took to get here.
//!
//! What always holds: the next offset moves with what was read and never backwards, except where a
//! broker says that there is no such offset.

use std::time::Duration;

use aplomb_model::batch::Batches;
use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use aplomb_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use aplomb_protocol::messages::{
    FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse, fetch_response,
};

use crate::From;
use crate::payload::due_of;
use crate::schedule::Schedule;
use crate::spec::ConsumerSpec;
use crate::stats::Stats;
use crate::topic::{TopicView, code_name};

/// How long a partition rests after an error.
const BACKOFF: Duration = Duration::from_millis(100);
/// The largest batch that is unpacked, in bytes.
pub(crate) const LARGEST_BATCH: usize = 256 * 1024 * 1024;

/// `ListOffsets` by these times asks for the log's ends (`ListOffsetsRequest.EARLIEST_TIMESTAMP`
/// and `LATEST_TIMESTAMP`).
pub(crate) const EARLIEST: i64 = -2;
pub(crate) const LATEST: i64 = -1;

#[derive(Debug)]
pub(crate) struct Consumer {
    spec: ConsumerSpec,
    run: u64,
    from: From,
    /// Whether it ends where the log ended when it began.
    ends: bool,
    schedule: Option<Schedule>,
    lanes: Vec<ReadPartition>,
    begin: Option<Instant>,
    /// Records of this run that it has seen, those of the warm-up too.
    pub(crate) received: u64,
}

/// A partition of this consumer.
#[derive(Debug)]
struct ReadPartition {
    partition: usize,
    next: Option<i64>,
    end: Option<i64>,
    rests_until: Option<Instant>,
}

/// What to ask a broker.
#[derive(Debug)]
pub(crate) enum Ask {
    /// Where the logs of partitions begin or end.
    Offsets(ListOffsetsRequest, OffsetsOf),
    /// Records, and when the fetch was due.
    Fetch(FetchRequest, Instant),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OffsetsOf {
    /// At which offset reading begins.
    Begin,
    /// At which offset it ends.
    End,
}

impl Consumer {
    /// Reads `partitions`. With `ends` it is done when it has read what was there at the beginning.
    pub(crate) fn new(spec: &ConsumerSpec, from: From, ends: bool, partitions: Vec<usize>, run: u64) -> Self {
        let lane = |partition| ReadPartition { partition, next: None, end: None, rests_until: None };
        Self {
            spec: spec.clone(),
            run,
            from,
            ends,
            schedule: None,
            lanes: partitions.into_iter().map(lane).collect(),
            begin: None,
            received: 0,
        }
    }

    /// The partitions that it reads.
    pub(crate) fn partitions(&self) -> Vec<usize> {
        self.lanes.iter().map(|lane| lane.partition).collect()
    }

    /// Who leads its partitions.
    pub(crate) fn leaders<'a>(&'a self, topic: &'a TopicView) -> impl Iterator<Item = i32> + 'a {
        self.lanes.iter().filter_map(|lane| topic.leaders.get(lane.partition).copied().flatten())
    }

    /// Whether it knows where to begin everywhere.
    pub(crate) fn is_ready(&self) -> bool {
        self.lanes.iter().all(|lane| lane.next.is_some() && (!self.ends || lane.end.is_some()))
    }

    /// Fetches from then on; at fixed times if there are some.
    pub(crate) fn begin(&mut self, at: Instant, schedule: Option<Schedule>) {
        self.schedule = schedule;
        self.begin = Some(at);
    }

    /// Whether everything was read that it is to read.
    pub(crate) fn has_read_all(&self) -> bool {
        self.ends && self.lanes.iter().all(ReadPartition::is_done)
    }

    /// The next request to this broker, on a connection where nothing is under way.
    pub(crate) fn ask(&mut self, broker: i32, topic: &TopicView, now: Instant) -> Option<Ask> {
        let leads = |lane: &ReadPartition| {
            topic.leaders.get(lane.partition).copied().flatten() == Some(broker)
                && lane.rests_until.is_none_or(|until| until <= now)
        };
        for (which, time, lacks) in [
            (OffsetsOf::Begin, self.first_time(), ReadPartition::lacks_begin as fn(&ReadPartition) -> bool),
            (OffsetsOf::End, LATEST, ReadPartition::lacks_end),
        ] {
            if which == OffsetsOf::End && !self.ends {
                continue;
            }
            let wanted = self.lanes.iter().filter(|lane| leads(lane) && lacks(lane));
            let partitions: Vec<_> = wanted
                .map(|lane| ListOffsetsPartition {
                    partition_index: lane.partition as i32,
                    timestamp: time,
                    ..Default::default()
                })
                .collect();
            if !partitions.is_empty() {
                let topics = vec![ListOffsetsTopic { name: topic.name.clone(), partitions }];
                let request = ListOffsetsRequest { replica_id: -1, topics, ..Default::default() };
                return Some(Ask::Offsets(request, which));
            }
        }
        if self.begin.is_none_or(|begin| now < begin) {
            return None;
        }
        let wanted = self.lanes.iter().filter(|lane| leads(lane) && !lane.is_done());
        let partitions: Vec<_> = wanted
            .filter_map(|lane| {
                Some(FetchPartition {
                    partition: lane.partition as i32,
                    fetch_offset: lane.next?,
                    partition_max_bytes: self.spec.max_partition_bytes,
                    ..Default::default()
                })
            })
            .collect();
        if partitions.is_empty() {
            return None;
        }
        let due = match &mut self.schedule {
            Some(schedule) => schedule.take(now)?,
            None => now,
        };
        let topics = vec![FetchTopic { topic: topic.name.clone(), topic_id: topic.id, partitions }];
        let request = FetchRequest {
            max_wait_ms: i32::try_from(self.spec.max_wait.as_millis()).unwrap_or(i32::MAX),
            min_bytes: self.spec.min_bytes,
            max_bytes: self.spec.max_bytes,
            topics,
            ..Default::default()
        };
        Some(Ask::Fetch(request, due))
    }

    fn first_time(&self) -> i64 {
        match self.from {
            From::Beginning => EARLIEST,
            From::End => LATEST,
        }
    }

    /// Offsets have come. Returns whether the metadata are old.
    pub(crate) fn offsets(
        &mut self,
        which: OffsetsOf,
        response: &ListOffsetsResponse,
        now: Instant,
        stats: &mut Stats,
    ) -> bool {
        let mut stale = false;
        for answer in response.topics.iter().flat_map(|topic| &topic.partitions) {
            let Some(lane) = self.lane(answer.partition_index) else { continue };
            if answer.error_code == 0 {
                match which {
                    OffsetsOf::Begin => lane.next = Some(answer.offset),
                    OffsetsOf::End => lane.end = Some(answer.offset),
                }
            } else {
                lane.rests_until = Some(now + BACKOFF);
                stats.trouble(&code_name(answer.error_code), now);
                stale = true;
            }
        }
        stale
    }

    /// Records have come. Returns whether the metadata are old.
    pub(crate) fn fetched(
        &mut self,
        due: Instant,
        response: &FetchResponse,
        now: Instant,
        stats: &mut Stats,
    ) -> bool {
        if response.error_code != 0 {
            stats.trouble(&code_name(response.error_code), now);
            self.lanes.iter_mut().for_each(|lane| lane.rests_until = Some(now + BACKOFF));
            return true;
        }
        let mut stale = false;
        let mut records = 0;
        for answer in response.responses.iter().flat_map(|topic| &topic.partitions) {
            if answer.error_code == 0 {
                records += self.read(answer, now, stats);
                continue;
            }
            stats.trouble(&code_name(answer.error_code), now);
            if let Some(lane) = self.lane(answer.partition_index) {
                lane.rests_until = Some(now + BACKOFF);
                if answer.error_code == ErrorCode::OffsetOutOfRange.to_wire() {
                    lane.next = None;
                } else {
                    stale = true;
                }
            }
        }
        // A fetch that found nothing has waited for records and not for a broker, unless it had a
        // time of its own.
        if records > 0 || self.schedule.is_some() {
            stats.fetched(due, now);
        }
        stale
    }

    fn read(&mut self, answer: &fetch_response::PartitionData, now: Instant, stats: &mut Stats) -> u64 {
        let run = self.run;
        let Some(lane) = self.lane(answer.partition_index) else { return 0 };
        let (Some(mut next), Some(bytes)) = (lane.next, &answer.records) else { return 0 };
        let (mut records, mut size, mut ours) = (0, 0, 0);
        for batch in Batches::new(bytes).checked() {
            let last = batch.header.last_offset().to_wire();
            if batch.header.is_control() || last < next {
                next = next.max(last + 1);
                continue;
            }
            match batch.uncompressed(LARGEST_BATCH) {
                Ok(unpacked) => {
                    for record in batch.records(&unpacked) {
                        let Ok(record) = record else {
                            stats.trouble("record that is none", now);
                            break;
                        };
                        let offset =
                            batch.header.record_offset(record.offset_delta).map_or(next, |o| o.to_wire());
                        // The broker sends whole batches, also when the first record wanted is in
                        // the middle.
                        if offset < next {
                            continue;
                        }
                        records += 1;
                        size += record.value.map_or(0, <[u8]>::len) as u64;
                        match due_of(run, record.value) {
                            Some(due) => {
                                ours += 1;
                                stats.arrived(due, now);
                            }
                            None => stats.foreign += 1,
                        }
                    }
                }
                Err(_) => stats.trouble("batch that cannot be unpacked", now),
            }
            next = last + 1;
        }
        lane.next = Some(next);
        self.received += ours;
        stats.received(records, size, now);
        records
    }

    /// The connection has gone and the answer with it.
    pub(crate) fn lost(&mut self, due: Instant, now: Instant, stats: &mut Stats) {
        // A fetch at a fixed time that was lost has taken at least until now.
        if self.schedule.is_some() {
            stats.fetched(due, now);
        }
    }

    /// When it wants to be called next, if nothing happens before.
    pub(crate) fn wake_at(&self, now: Instant) -> Option<Instant> {
        let rests = self.lanes.iter().filter_map(|lane| lane.rests_until).filter(|until| *until > now);
        let due = self.schedule.as_ref().and_then(Schedule::peek).filter(|due| *due > now);
        rests.chain(due).chain(self.begin.filter(|begin| *begin > now)).min()
    }

    fn lane(&mut self, partition: i32) -> Option<&mut ReadPartition> {
        self.lanes.iter_mut().find(|lane| i32::try_from(lane.partition) == Ok(partition))
    }
}

impl ReadPartition {
    fn lacks_begin(&self) -> bool {
        self.next.is_none()
    }

    fn lacks_end(&self) -> bool {
        self.end.is_none()
    }

    fn is_done(&self) -> bool {
        matches!((self.next, self.end), (Some(next), Some(end)) if next >= end)
    }
}

#[cfg(test)]
mod tests {
    use aplomb_model::batch::BatchBuilder;
    use aplomb_model::{Offset, Timestamp};
    use aplomb_protocol::messages::fetch_response::{FetchableTopicResponse, PartitionData};
    use aplomb_protocol::messages::list_offsets_response::{
        ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
    };
    use bytes::Bytes;

    use super::*;
    use crate::payload::Payload;

    const RUN: u64 = 3;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn topic() -> TopicView {
        TopicView { name: "t".to_owned(), leaders: vec![Some(1)], ..TopicView::default() }
    }

    fn offset(offset: i64) -> ListOffsetsResponse {
        let partitions = vec![ListOffsetsPartitionResponse { offset, ..Default::default() }];
        ListOffsetsResponse {
            topics: vec![ListOffsetsTopicResponse { partitions, ..Default::default() }],
            ..Default::default()
        }
    }

    fn records(error_code: i16, records: Option<Bytes>) -> FetchResponse {
        let partitions = vec![PartitionData { error_code, records, ..Default::default() }];
        FetchResponse {
            responses: vec![FetchableTopicResponse { partitions, ..Default::default() }],
            ..Default::default()
        }
    }

    fn batch(base: u64, dues: &[u64]) -> Bytes {
        let mut payload = Payload::new(RUN, 20, 0);
        let mut builder = BatchBuilder::new(Offset::new(base));
        for due in dues {
            builder.append(Timestamp(0), None, Some(payload.value(at(*due))), &[]);
        }
        builder.append(Timestamp(0), None, Some(b"of somebody else"), &[]);
        builder.build()
    }

    #[test]
    fn it_asks_where_to_begin_and_where_to_end_and_reads_what_is_between() {
        let spec = ConsumerSpec::default();
        let mut consumer = Consumer::new(&spec, From::Beginning, true, vec![0], RUN);
        let mut stats = Stats::new();
        stats.begin(at(0));
        for (which, found) in [(OffsetsOf::Begin, 5), (OffsetsOf::End, 8)] {
            let Some(Ask::Offsets(_, asked)) = consumer.ask(1, &topic(), at(0)) else {
                panic!("offsets first")
            };
            assert_eq!(asked, which);
            assert!(!consumer.is_ready());
            consumer.offsets(which, &offset(found), at(0), &mut stats);
        }
        assert!(consumer.is_ready());
        assert!(consumer.ask(1, &topic(), at(0)).is_none(), "it has not begun");
        consumer.begin(at(10), None);
        assert!(consumer.ask(1, &topic(), at(9)).is_none(), "nothing is read before the run begins");
        assert_eq!(consumer.wake_at(at(9)), Some(at(10)));
        let Some(Ask::Fetch(request, due)) = consumer.ask(1, &topic(), at(10)) else { panic!("a fetch") };
        assert_eq!(request.topics[0].partitions[0].fetch_offset, 5);
        // The batch begins before the offset that was asked for.
        let answer = records(0, Some(batch(4, &[1, 2, 3])));
        assert!(!consumer.fetched(due, &answer, at(12), &mut stats));
        assert_eq!((consumer.received, stats.foreign), (2, 1));
        assert!((10_000..10_020).contains(&stats.end_to_end.all.max()));
        assert_eq!(stats.arrived, [(3, 20 + 20 + 16)]);
        assert!(consumer.has_read_all());
        assert!(consumer.ask(1, &topic(), at(20)).is_none());
    }

    #[test]
    fn errors_make_a_partition_rest_and_an_offset_out_of_range_be_asked_for_again() {
        let mut consumer = Consumer::new(&ConsumerSpec::default(), From::End, false, vec![0], RUN);
        let mut stats = Stats::new();
        consumer.offsets(OffsetsOf::Begin, &offset(5), at(0), &mut stats);
        consumer.begin(at(0), None);
        assert!(consumer.fetched(at(0), &records(6, None), at(1), &mut stats), "the metadata are old");
        assert!(consumer.ask(1, &topic(), at(50)).is_none());
        assert_eq!(consumer.wake_at(at(50)), Some(at(101)));
        assert!(matches!(consumer.ask(1, &topic(), at(101)), Some(Ask::Fetch(..))));
        assert!(!consumer.fetched(at(101), &records(1, None), at(102), &mut stats));
        assert!(matches!(consumer.ask(1, &topic(), at(300)), Some(Ask::Offsets(_, OffsetsOf::Begin))));
        assert_eq!(stats.errors.len(), 2);
    }

    #[test]
    fn fetches_at_fixed_times_count_from_those_times() {
        let mut consumer = Consumer::new(&ConsumerSpec::default(), From::End, false, vec![0], RUN);
        let mut stats = Stats::new();
        stats.begin(at(0));
        consumer.offsets(OffsetsOf::Begin, &offset(5), at(0), &mut stats);
        consumer.begin(at(0), Some(Schedule::new(at(0), Duration::from_secs(1), 10, 0, 1)));
        let Some(Ask::Fetch(_, due)) = consumer.ask(1, &topic(), at(0)) else { panic!("a fetch") };
        consumer.fetched(due, &records(0, None), at(950), &mut stats);
        while let Some(Ask::Fetch(_, due)) = consumer.ask(1, &topic(), at(950)) {
            consumer.fetched(due, &records(0, None), at(950), &mut stats);
        }
        assert_eq!(stats.fetch.all.len(), 10, "none of the times was left out");
        assert!(stats.fetch.all.value_at_quantile(0.5) >= 449_000);
    }
}
