//! What a client knows of the topic: its id, who leads its partitions, where brokers are.

use std::collections::BTreeMap;

use aplomb_model::{ErrorCode, Uuid};
use aplomb_protocol::messages::metadata_request::MetadataRequestTopic;
use aplomb_protocol::messages::{MetadataRequest, MetadataResponse};

/// The topic as the last metadata have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TopicView {
    pub(crate) name: String,
    /// Zero where the brokers give none.
    pub(crate) id: Uuid,
    /// The leader of each partition, by its number.
    pub(crate) leaders: Vec<Option<i32>>,
    /// Where brokers are, as `host:port`.
    pub(crate) brokers: BTreeMap<i32, String>,
}

impl TopicView {
    /// The leaders of these partitions, one each where there is one.
    pub(crate) fn leaders_of(&self, partitions: &[usize]) -> impl Iterator<Item = i32> {
        partitions.iter().filter_map(|partition| self.leaders.get(*partition).copied().flatten())
    }

    /// Whether one of these partitions has no leader.
    pub(crate) fn lacks_a_leader_of(&self, partitions: &[usize]) -> bool {
        self.leaders_of(partitions).count() < partitions.len()
    }
}

/// What metadata say about a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Described {
    There(TopicView),
    Refused(i16),
}

/// Asks for one topic.
pub(crate) fn question(topic: &str) -> MetadataRequest {
    let topics = vec![MetadataRequestTopic { topic_id: Uuid::ZERO, name: Some(topic.to_owned()) }];
    MetadataRequest { topics: Some(topics), allow_auto_topic_creation: false, ..Default::default() }
}

/// Reads the answer to [`question`].
pub(crate) fn describe(topic: &str, response: &MetadataResponse) -> Described {
    let brokers = response.brokers.iter().map(|b| (b.node_id, format!("{}:{}", bracketed(&b.host), b.port)));
    let brokers: BTreeMap<i32, String> = brokers.collect();
    let Some(found) = response.topics.iter().find(|t| t.name.as_deref() == Some(topic)) else {
        return Described::Refused(ErrorCode::UnknownTopicOrPartition.to_wire());
    };
    if found.error_code != 0 {
        return Described::Refused(found.error_code);
    }
    let mut leaders = vec![None; found.partitions.len()];
    for partition in &found.partitions {
        let place = usize::try_from(partition.partition_index).ok();
        if let Some(leader) = place.and_then(|place| leaders.get_mut(place)) {
            *leader = brokers.contains_key(&partition.leader_id).then_some(partition.leader_id);
        }
    }
    Described::There(TopicView { name: topic.to_owned(), id: found.topic_id, leaders, brokers })
}

/// An IPv6 address goes in brackets when a port follows.
fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// Kafka's name of an error code.
pub(crate) fn code_name(code: i16) -> String {
    ErrorCode::from_wire(code).map_or_else(|| format!("error {code}"), |code| code.name().to_owned())
}

#[cfg(test)]
mod tests {
    use aplomb_protocol::messages::metadata_response::{
        MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
    };

    use super::*;

    #[test]
    fn a_leader_is_missed_where_somebody_needs_it_only() {
        let topic = TopicView { leaders: vec![Some(1), None, Some(2)], ..TopicView::default() };
        assert!(!topic.lacks_a_leader_of(&[0, 2]) && topic.lacks_a_leader_of(&[0, 1]));
        assert!(topic.lacks_a_leader_of(&[3]), "nobody has heard of it");
        assert_eq!(topic.leaders_of(&[2, 1, 0]).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn a_leader_that_is_no_broker_is_none() {
        let broker =
            |node_id, host: &str| MetadataResponseBroker { node_id, host: host.into(), port: 9, rack: None };
        let partition = |partition_index, leader_id| MetadataResponsePartition {
            partition_index,
            leader_id,
            ..Default::default()
        };
        let mut response = MetadataResponse {
            brokers: vec![broker(1, "::1"), broker(2, "h")],
            topics: vec![MetadataResponseTopic {
                name: Some("t".to_owned()),
                partitions: vec![partition(1, 2), partition(0, 1), partition(2, -1), partition(9, 1)],
                ..Default::default()
            }],
            ..Default::default()
        };
        let Described::There(view) = describe("t", &response) else { panic!("it is there") };
        assert_eq!(view.leaders, [Some(1), Some(2), None, None]);
        assert_eq!(view.brokers[&1], "[::1]:9");
        assert_eq!(describe("u", &response), Described::Refused(3));
        response.topics[0].error_code = 29;
        assert_eq!(describe("t", &response), Described::Refused(29));
    }
}
