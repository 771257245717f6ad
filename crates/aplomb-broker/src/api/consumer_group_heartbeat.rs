//! ConsumerGroupHeartbeat (KIP-848): a member joins, says what it has, is told what it is to have,
//! leaves.

use aplomb_coordinator::group::{GroupAsk, GroupReply};
use aplomb_model::ErrorCode;
use aplomb_protocol::messages::consumer_group_heartbeat_request::ConsumerGroupHeartbeatRequest;
use aplomb_protocol::messages::consumer_group_heartbeat_response::ConsumerGroupHeartbeatResponse;
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::groups::{MOST_CHANGED, MOST_NAMED, ask_one, caller};
use crate::operation::{Api, Asked, Begun, Cell, PATIENCE};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::ConsumerGroupHeartbeat, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: ConsumerGroupHeartbeatRequest = asked.decode()?;
    if let Err(error) = asked.access().check(AclOperation::Read, On::Group(&request.group_id)) {
        return asked.answer(&refused(error));
    }
    let names = request.subscribed_topic_names.as_ref().map_or(0, Vec::len);
    let owned = request.topic_partitions.iter().flatten();
    let owned = owned.map(|topic| 1 + topic.partitions.len()).sum::<usize>();
    if names > MOST_CHANGED || owned > MOST_NAMED {
        return asked.answer(&refused(ErrorCode::InvalidRequest));
    }
    // One topic that it may not describe, and the member is refused.
    let mut topics = request.subscribed_topic_names.iter().flatten();
    let access = asked.access();
    if !topics.all(|topic| access.may(AclOperation::Describe, On::Topic(topic))) {
        return asked.answer(&refused(ErrorCode::TopicAuthorizationFailed));
    }
    let group = request.group_id.clone();
    let ask = GroupAsk::ConsumerHeartbeat(caller(asked), request);
    ask_one(asked, &group, ask, refused(ErrorCode::CoordinatorNotAvailable), fill, PATIENCE)
}

fn refused(error: ErrorCode) -> ConsumerGroupHeartbeatResponse {
    ConsumerGroupHeartbeatResponse { error_code: error.to_wire(), ..Default::default() }
}

fn fill(
    response: &mut ConsumerGroupHeartbeatResponse,
    _: Cell,
    reply: Result<GroupReply, ErrorCode>,
    _: i16,
) {
    *response = match reply {
        Ok(GroupReply::ConsumerHeartbeat(beaten)) => beaten,
        Ok(other) => unreachable!("a heartbeat is answered {other:?}"),
        Err(error) => refused(error),
    };
}
