//! OffsetForLeaderEpoch: where a leader's records end, so that a client can find out where its log
//! leaves ours.

use aplomb_model::{ErrorCode, LeaderEpoch, Offset};
use aplomb_protocol::messages::offset_for_leader_epoch_request::OffsetForLeaderEpochRequest;
use aplomb_protocol::messages::offset_for_leader_epoch_response::{
    EpochEndOffset, OffsetForLeaderEpochResponse, OffsetForLeaderTopicResult,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use crate::operation::{Api, Asked, Begun, PATIENCE, Place, Question, Scatter, current_epoch, named};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::OffsetForLeaderEpoch, begin);

/// Where an epoch ends. `None` in the answer: the log does not know it.
#[derive(Debug)]
struct EpochEnd {
    current: Option<LeaderEpoch>,
    /// As the wire has it.
    epoch: i32,
}

impl Question for EpochEnd {
    type Answer = Option<(i32, Offset)>;

    fn ask(self, place: &mut Place<'_>) -> Result<Self::Answer, ErrorCode> {
        place.partition.check_epoch(self.current)?;
        let log = place.partition.log();
        Ok(match (LeaderEpoch::from_wire(self.epoch), self.epoch) {
            (Some(epoch), _) => {
                let end = log.epochs().end_offset_for(epoch, log.end());
                end.map(|end| (end.epoch.to_wire(), end.end))
            }
            (None, -1) => None,
            // One that no leader can have had ended before the first
            // (`LeaderEpochFileCache#endOffsetFor` in Apache Kafka).
            (None, epoch) => log.epochs().entries().first().map(|first| (epoch, first.start)),
        })
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
    let access = asked.access();
    let is_broker = access.may_quietly(AclOperation::ClusterAction, On::Cluster);
    for (t, topic) in request.topics.iter().enumerate() {
        let on = On::Topic(&topic.topic);
        let allowed = if is_broker { Ok(()) } else { access.check(AclOperation::Describe, on) };
        for (p, partition) in topic.partitions.iter().enumerate() {
            let key = allowed.and_then(|()| named(asked.view.image(), &topic.topic, partition.partition));
            match key.and_then(|key| Ok((key, current_epoch(partition.current_leader_epoch)?))) {
                Err(error) => scatter.fill((t, p), error),
                Ok((key, current)) => {
                    let question = EpochEnd { current, epoch: partition.leader_epoch };
                    scatter.ask((t, p), key, question, asked.calls);
                }
            }
        }
    }
    asked.wait(scatter, PATIENCE)
}

fn fill(
    response: &mut OffsetForLeaderEpochResponse,
    (t, p): (usize, usize),
    answer: Result<Option<(i32, Offset)>, ErrorCode>,
    _: i16,
) {
    let cell = &mut response.topics[t].partitions[p];
    match answer {
        Ok(end) => {
            cell.error_code = 0;
            cell.leader_epoch = end.map_or(-1, |(epoch, _)| epoch);
            cell.end_offset = end.map_or(-1, |(_, end)| end.to_wire());
        }
        Err(error) => cell.error_code = error.to_wire(),
    }
}
