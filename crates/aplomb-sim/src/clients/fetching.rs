//! What all readers share: a place in a partition, the fetch request, and the checks of its answer.

use aplomb_model::ErrorCode;
use aplomb_model::batch::{Batches, Stop};
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use aplomb_protocol::messages::fetch_response::PartitionData;

use super::{Context, Place};
use crate::check::PartitionId;
use crate::check::journal::{BatchId, Before};

/// The first version that names topics by id.
pub(super) const BY_ID: i16 = 13;

/// A reader's place in one partition.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    pub(super) place: Place,
    pub(super) position: i64,
    /// The epoch of the last record that was read, or -1.
    pub(super) last_epoch: i32,
    /// The epoch in which the partition is led, or -1.
    pub(super) leader_epoch: i32,
    /// What was known when the last request was sent.
    pub(super) before: Before,
}

/// What a partition gave.
#[derive(Debug)]
pub(super) enum Took {
    /// Batches, by their places, and where the partition starts and ends.
    Batches(Vec<(i64, BatchId)>, (i64, i64)),
    Refused(ErrorCode),
    /// The reader's records are not the log's from here on.
    Diverging {
        end: i64,
    },
}

impl Cursor {
    pub(super) fn new(place: Place, position: i64) -> Self {
        Self { place, position, last_epoch: -1, leader_epoch: -1, before: Before::default() }
    }

    /// What a request of `version` says of the partition.
    pub(super) fn wish(&mut self, version: i16, max_bytes: i32, ctx: &Context<'_>) -> FetchPartition {
        self.before = ctx.oracle.journal.before(self.place.id);
        FetchPartition {
            partition: self.place.id.index,
            current_leader_epoch: if version >= 9 { self.leader_epoch } else { -1 },
            fetch_offset: self.position,
            last_fetched_epoch: if version >= 12 { self.last_epoch } else { -1 },
            log_start_offset: -1,
            partition_max_bytes: max_bytes,
            ..Default::default()
        }
    }

    /// Takes a partition's part of an answer.
    pub(super) fn take(&mut self, data: &PartitionData, ctx: &mut Context<'_>) -> Took {
        match ErrorCode::from_wire(data.error_code) {
            Some(ErrorCode::None) => {}
            Some(error) => return Took::Refused(error),
            None => ctx.oracle.violated(format!("{} is no error code", data.error_code)),
        }
        if data.diverging_epoch.end_offset >= 0 {
            return Took::Diverging { end: data.diverging_epoch.end_offset };
        }
        let bounds = (data.log_start_offset, data.high_watermark);
        if data.log_start_offset >= 0 {
            let checked = ctx.oracle.bounds(self.place.id, self.before, bounds, ctx.now);
            ctx.oracle.expect(checked);
        }
        let mut batches = Vec::new();
        if let Err(wrong) = self.take_batches(data, &mut batches, ctx) {
            let (place, position) = (&self.place, self.position);
            ctx.oracle.violated(format!("{place:?} read at {position}: {wrong}"));
        }
        Took::Batches(batches, bounds)
    }

    fn take_batches(
        &mut self,
        data: &PartitionData,
        batches: &mut Vec<(i64, BatchId)>,
        ctx: &mut Context<'_>,
    ) -> Result<(), String> {
        let Some(bytes) = &data.records else { return Ok(()) };
        let mut walk = Batches::new(bytes).checked();
        for batch in walk.by_ref() {
            let (base, last) = (batch.header.base_offset().to_wire(), batch.header.last_offset().to_wire());
            let follows = if batches.is_empty() { base <= self.position } else { base == self.position };
            let is_behind_a_gap = base > self.position && ctx.oracle.journal.may_have_gaps(self.place.id);
            if !(follows || is_behind_a_gap) || last < self.position {
                return Err(format!("there is a batch from {base} to {last}"));
            }
            let epoch = batch.header.leader_epoch().map_or(-1, |epoch| epoch.to_wire());
            if epoch < self.last_epoch {
                return Err(format!("epoch {epoch} at {base} comes after {}", self.last_epoch));
            }
            let start = self.before.start;
            let id = ctx.oracle.journal.read(self.place.id, &batch.header, &batch.bytes(), start, ctx.now)?;
            let place = &self.place;
            ctx.note(|| {
                format!("reads {}-{} at {base} to {last}, epoch {epoch}", place.topic, place.id.index)
            });
            batches.push((base, id));
            (self.position, self.last_epoch) = (last + 1, epoch);
        }
        match walk.end().map(|end| end.why) {
            None | Some(Stop::Complete) => {}
            Some(why) => return Err(format!("the records end with {why:?}")),
        }
        if self.position > data.high_watermark && !batches.is_empty() {
            return Err(format!(
                "records up to {}, and a high watermark of {}",
                self.position, data.high_watermark
            ));
        }
        Ok(())
    }
}

/// The topics of a request for these partitions.
pub(super) fn topics(wishes: Vec<(Place, FetchPartition)>, by_id: bool) -> Vec<FetchTopic> {
    let mut topics: Vec<FetchTopic> = Vec::new();
    for (place, wish) in wishes {
        let found = topics.iter_mut().find(|topic| match by_id {
            true => topic.topic_id == place.id.topic,
            false => topic.topic == place.topic,
        });
        match found {
            Some(topic) => topic.partitions.push(wish),
            None if by_id => {
                topics.push(FetchTopic {
                    topic_id: place.id.topic,
                    partitions: vec![wish],
                    ..Default::default()
                });
            }
            None => {
                topics.push(FetchTopic { topic: place.topic, partitions: vec![wish], ..Default::default() })
            }
        }
    }
    topics
}

/// The partitions of an answer, each with the place that it is about.
pub(super) fn parts(
    response: &m::FetchResponse,
    by_id: bool,
    mut place_of: impl FnMut(&dyn Fn(&Place) -> bool) -> Option<PartitionId>,
) -> Vec<(Option<PartitionId>, &PartitionData)> {
    let mut parts = Vec::new();
    for topic in &response.responses {
        for data in &topic.partitions {
            let is_meant = |place: &Place| {
                let same = if by_id { place.id.topic == topic.topic_id } else { place.topic == topic.topic };
                same && place.id.index == data.partition_index
            };
            parts.push((place_of(&is_meant), data));
        }
    }
    parts
}
