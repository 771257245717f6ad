//! OffsetForLeaderEpoch: where a leader's records end, so that a client can find out where its log
//! leaves ours.

use aplomb_model::{ErrorCode, LeaderEpoch, Offset};
use aplomb_protocol::messages::offset_for_leader_epoch_request::OffsetForLeaderEpochRequest;
use aplomb_protocol::messages::offset_for_leader_epoch_response::{
    EpochEndOffset, OffsetForLeaderEpochResponse, OffsetForLeaderTopicResult,
};
use aplomb_protocol::{ApiKey, DecodeError};

use crate::operation::{Api, Asked, Begun, PATIENCE, Place, Question, Scatter, named};

pub(super) const API: Api = Api::new(ApiKey::OffsetForLeaderEpoch, begin);

/// Where an epoch ends. `None` in the answer: before the first that the log knows.
#[derive(Debug)]
struct EpochEnd {
    /// The epoch that the client believes the leader to be in.
    current: Option<LeaderEpoch>,
    /// The epoch asked for.
    epoch: LeaderEpoch,
}

impl Question for EpochEnd {
    type Answer = Option<(LeaderEpoch, Offset)>;

    fn ask(self, place: &mut Place<'_>) -> Result<Self::Answer, ErrorCode> {
        place.partition.check_epoch(self.current)?;
        let log = place.partition.log();
        let end = log.epochs().end_offset_for(self.epoch, log.end());
        Ok(end.map(|end| (end.epoch, end.end)))
    }
}

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: OffsetForLeaderEpochRequest = asked.decode()?;
    let none = |partition: i32| EpochEndOffset {
        error_code: ErrorCode::RequestTimedOut.to_wire(),
        partition,
        leader_epoch: -1,
        end_offset: -1,
    };
    let topics = request.topics.iter().map(|topic| OffsetForLeaderTopicResult {
        topic: topic.topic.clone(),
        partitions: topic.partitions.iter().map(|p| none(p.partition)).collect(),
    });
    let response = OffsetForLeaderEpochResponse { topics: topics.collect(), ..Default::default() };
    let mut scatter = Scatter::new(asked.to, response, fill);
    for (t, topic) in request.topics.iter().enumerate() {
        for (p, partition) in topic.partitions.iter().enumerate() {
            let key = named(asked.view.image(), &topic.topic, partition.partition);
            match (key, LeaderEpoch::from_wire(partition.leader_epoch)) {
                (Err(error), _) => scatter.fill((t, p), error),
                // -1 asks for no epoch: answered with UNDEFINED_EPOCH_OFFSET, as Kafka does.
                (Ok(_), None) => scatter.fill((t, p), ErrorCode::None),
                (Ok(key), Some(epoch)) => {
                    let current = LeaderEpoch::from_wire(partition.current_leader_epoch);
                    scatter.ask((t, p), key, EpochEnd { current, epoch }, asked.calls);
                }
            }
        }
    }
    asked.wait(scatter, PATIENCE)
}

fn fill(
    response: &mut OffsetForLeaderEpochResponse,
    (t, p): (usize, usize),
    answer: Result<Option<(LeaderEpoch, Offset)>, ErrorCode>,
    _: i16,
) {
    let cell = &mut response.topics[t].partitions[p];
    match answer {
        Ok(end) => {
            cell.error_code = 0;
            cell.leader_epoch = end.map_or(-1, |(epoch, _)| epoch.to_wire());
            cell.end_offset = end.map_or(-1, |(_, end)| end.to_wire());
        }
        Err(error) => cell.error_code = error.to_wire(),
    }
}
