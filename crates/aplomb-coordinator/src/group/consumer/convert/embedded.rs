//! Subscriptions and assignments as classic consumers have them among each other
//! (`ConsumerProtocol`): a version, and what it says.

use aplomb_model::TopicId;
use aplomb_protocol::messages as m;
use aplomb_protocol::{Message, Reader, Writer};
use bytes::Bytes;
use m::consumer_protocol_assignment::TopicPartition;

use crate::group::state::consumer::Holdings;
use crate::group::world::World;

/// What a member is subscribed to, if that can be read.
pub(crate) fn subscription(metadata: &Bytes) -> Option<m::ConsumerProtocolSubscription> {
    decode(metadata)
}

/// What a member is assigned, if that can be read.
pub(crate) fn assignment(bytes: &Bytes) -> Option<m::ConsumerProtocolAssignment> {
    decode(bytes)
}

/// Later versions begin as the last one that is known does.
fn decode<M: Message>(bytes: &Bytes) -> Option<M> {
    let mut r = Reader::new(bytes.clone());
    let version = r.i16().ok().filter(|version| *version >= 0)?;
    M::decode(&mut r, version.min(M::VERSIONS.max)).ok()
}

/// An assignment in the version of the member's subscription.
pub(crate) fn write_assignment<'a>(
    assigned: impl Iterator<Item = (&'a TopicId, Vec<i32>)>,
    metadata: Option<&Bytes>,
    world: &dyn World,
) -> Bytes {
    type Message = m::ConsumerProtocolAssignment;
    let version = metadata.and_then(|metadata| Reader::new(metadata.clone()).i16().ok()).unwrap_or(0);
    let version = version.clamp(0, Message::VERSIONS.max);
    let topic = |(topic, partitions): (&TopicId, Vec<i32>)| {
        let name = world.topic_by_id(*topic)?.name;
        Some(TopicPartition { topic: name.to_string(), partitions })
    };
    let message = Message { assigned_partitions: assigned.filter_map(topic).collect(), user_data: None };
    let mut w = Writer::new();
    w.i16(version);
    message.encode(&mut w, version).expect("an assignment of topics that are there");
    w.freeze()
}

pub(crate) fn of_assigned(assigned: &Holdings) -> impl Iterator<Item = (&TopicId, Vec<i32>)> {
    assigned.iter().map(|(topic, partitions)| (topic, partitions.keys().copied().collect()))
}
