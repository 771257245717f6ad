//! What is asked before the members come, and the bytes that members of the classic protocol tell
//! each other.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use aplomb_model::{ErrorCode, Uuid};
use aplomb_protocol::Message as _;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::consumer_protocol_assignment::TopicPartition;
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use super::{GroupProtocol, GroupSpec};
use crate::admin::{Asker, refused};
use crate::topic::{Described, describe, question};
use crate::versions::Versions;
use crate::{BenchError, NewTopic};

/// How long coordinators are looked for.
const COORDINATORS: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);
/// Groups that are asked about at once.
const AT_ONCE: usize = 500;
/// The version in which members tell each other, as older clients write it.
const SPOKEN: i16 = 0;

/// What members need to know.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) versions: Versions,
    pub(super) topic_id: Uuid,
    pub(super) partitions: i32,
    /// The groups' names, and where the coordinator of each is.
    pub(super) groups: Vec<(String, String)>,
}

/// Makes the topic, and finds the groups' coordinators.
pub(super) fn prepare(asker: &mut Asker, spec: &GroupSpec) -> Result<Ground, BenchError> {
    let lacks = match spec.protocol {
        GroupProtocol::Classic => !asker.versions().speaks::<m::JoinGroupRequest>(),
        GroupProtocol::Consumer => !asker.versions().speaks::<m::ConsumerGroupHeartbeatRequest>(),
    };
    if lacks {
        return Err(BenchError::Spec("the broker does not speak the groups' protocol".to_owned()));
    }
    let new = NewTopic { partitions: spec.partitions, replication_factor: -1, configs: Vec::new() };
    asker.make(&spec.topic, &new)?;
    let give_up = Instant::now() + COORDINATORS;
    let topic = loop {
        match describe(&spec.topic, &asker.ask::<_, m::MetadataResponse>(&question(&spec.topic))?) {
            Described::There(topic) if topic.leaders.iter().all(Option::is_some) => break topic,
            Described::There(_) | Described::Refused(_) if Instant::now() < give_up => {
                std::thread::sleep(PAUSE);
            }
            Described::There(_) => {
                let (topic, seconds) = (spec.topic.clone(), COORDINATORS.as_secs());
                return Err(BenchError::NoLeader { topic, partition: 0, seconds });
            }
            Described::Refused(code) => return Err(refused(format!("topic {}", spec.topic), code, None)),
        }
    };
    let names = spec.all_names();
    let mut groups = Vec::with_capacity(names.len());
    for some in names.chunks(AT_ONCE) {
        let mut found = coordinators(asker, some, give_up)?;
        groups.extend(some.iter().map(|name| {
            let address = found.remove(name).expect("all of them were found");
            (name.clone(), address)
        }));
    }
    let partitions = i32::try_from(topic.leaders.len()).expect("partitions are numbered by 32 bits");
    Ok(Ground { versions: asker.versions().clone(), topic_id: topic.id, partitions, groups })
}

fn coordinators(
    asker: &mut Asker,
    names: &[String],
    give_up: Instant,
) -> Result<HashMap<String, String>, BenchError> {
    loop {
        let request = m::FindCoordinatorRequest { coordinator_keys: names.to_vec(), ..Default::default() };
        let response: m::FindCoordinatorResponse = asker.ask(&request)?;
        let wrong = response.coordinators.iter().find(|found| found.error_code != 0);
        match wrong {
            None => {
                let found = response.coordinators.into_iter();
                return Ok(found
                    .map(|found| (found.key, format!("{}:{}", found.host, found.port)))
                    .collect());
            }
            Some(_) if Instant::now() < give_up => std::thread::sleep(PAUSE),
            Some(wrong) => {
                let what = format!("the coordinator of {}", wrong.key);
                return Err(refused(what, wrong.error_code, wrong.error_message.clone()));
            }
        }
    }
}

/// What a member says that it wants (`ConsumerProtocolSubscription` behind its version).
pub(super) fn subscription(topic: &str) -> Bytes {
    let subscription =
        m::ConsumerProtocolSubscription { topics: vec![topic.to_owned()], ..Default::default() };
    behind_version(&subscription.to_bytes(SPOKEN).expect("a name of a topic fits"))
}

/// What the leader gives a member (`ConsumerProtocolAssignment` behind its version).
pub(super) fn assignment(topic: &str, partitions: Vec<i32>) -> Bytes {
    let assigned_partitions = vec![TopicPartition { topic: topic.to_owned(), partitions }];
    let assignment = m::ConsumerProtocolAssignment { assigned_partitions, ..Default::default() };
    behind_version(&assignment.to_bytes(SPOKEN).expect("numbers of partitions fit"))
}

/// The partitions that the leader gave; none, where it gave nothing.
pub(super) fn assigned(mut bytes: Bytes) -> Vec<i32> {
    if bytes.len() < 2 {
        return Vec::new();
    }
    let version = bytes.get_i16();
    let read = m::ConsumerProtocolAssignment::from_bytes(bytes, version.clamp(0, 3));
    let topics = read.map(|assignment| assignment.assigned_partitions).unwrap_or_default();
    topics.into_iter().flat_map(|topic| topic.partitions).collect()
}

fn behind_version(body: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(2 + body.len());
    bytes.put_i16(SPOKEN);
    bytes.put_slice(body);
    bytes.freeze()
}

/// Whether a coordinator answers so that is still being found, loaded or moved.
pub(super) fn is_passing(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::CoordinatorLoadInProgress
            | ErrorCode::CoordinatorNotAvailable
            | ErrorCode::NotCoordinator
            | ErrorCode::RequestTimedOut
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assignment_is_read_as_it_was_written() {
        assert_eq!(assigned(assignment("t", vec![3, 1])), [3, 1]);
        assert!(assigned(Bytes::new()).is_empty() && assigned(Bytes::from_static(b"\x00")).is_empty());
        assert_eq!(&subscription("t")[..], b"\x00\x00\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff");
    }
}
