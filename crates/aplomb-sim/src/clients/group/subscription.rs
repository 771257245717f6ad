//! What members of the classic protocol tell each other through the coordinator, which does not
//! have to understand it: what they want, and what they get.

use std::collections::BTreeMap;

use aplomb_protocol::messages as m;
use aplomb_protocol::messages::consumer_protocol_assignment::TopicPartition;
use aplomb_protocol::{Message, Reader, Writer};
use bytes::Bytes;

/// Partitions, by their topics' names.
pub(super) type Assignment = BTreeMap<String, Vec<i32>>;

fn write(version: i16, message: &impl Message) -> Bytes {
    let mut writer = Writer::new();
    writer.i16(version);
    message.encode(&mut writer, version).expect("a message of ours can be written");
    writer.freeze()
}

fn read<M: Message>(bytes: Bytes) -> Result<M, String> {
    let mut reader = Reader::new(bytes);
    let version = reader.i16().map_err(|error| error.to_string())?;
    M::decode(&mut reader, version).map_err(|error| error.to_string())
}

/// What a member wants.
pub(super) fn subscription(version: i16, topics: &[String]) -> Bytes {
    write(version, &m::ConsumerProtocolSubscription { topics: topics.to_vec(), ..Default::default() })
}

/// The topics that a member wants.
pub(super) fn topics(subscription: Bytes) -> Result<Vec<String>, String> {
    read::<m::ConsumerProtocolSubscription>(subscription).map(|said| said.topics)
}

/// What a member gets.
pub(super) fn assignment(version: i16, assignment: &Assignment) -> Bytes {
    let partition = |(topic, partitions): (&String, &Vec<i32>)| TopicPartition {
        topic: topic.clone(),
        partitions: partitions.clone(),
    };
    let assigned_partitions = assignment.iter().map(partition).collect();
    write(version, &m::ConsumerProtocolAssignment { assigned_partitions, ..Default::default() })
}

/// What a member has got; nothing, if the leader has left it out.
pub(super) fn assigned(bytes: Bytes) -> Result<Assignment, String> {
    if bytes.is_empty() {
        return Ok(Assignment::new());
    }
    let said = read::<m::ConsumerProtocolAssignment>(bytes)?;
    Ok(said.assigned_partitions.into_iter().map(|topic| (topic.topic, topic.partitions)).collect())
}

/// Deals the partitions of topics out to the members that want them, one after the other.
pub(super) fn deal(
    members: &BTreeMap<String, Vec<String>>,
    counts: &BTreeMap<String, i32>,
) -> BTreeMap<String, Assignment> {
    let mut dealt: BTreeMap<String, Assignment> =
        members.keys().map(|member| (member.clone(), Assignment::new())).collect();
    let mut turn = 0;
    for (topic, count) in counts {
        let wanting = members.iter().filter(|(_, topics)| topics.contains(topic));
        let wanting: Vec<&String> = wanting.map(|(member, _)| member).collect();
        for partition in 0..if wanting.is_empty() { 0 } else { *count } {
            turn += 1;
            if let Some(assignment) = dealt.get_mut(wanting[turn % wanting.len()]) {
                assignment.entry(topic.clone()).or_default().push(partition);
            }
        }
    }
    dealt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_partition_goes_to_one_of_those_who_want_it_and_reads_back_as_it_was_dealt() {
        let of = |topics: &[&str]| topics.iter().map(|topic| (*topic).to_owned()).collect::<Vec<_>>();
        let wanted = of(&["t0", "t1"]);
        for version in 0..4 {
            assert_eq!(topics(subscription(version, &wanted)), Ok(wanted.clone()));
        }
        let members = BTreeMap::from([("a".to_owned(), wanted), ("b".to_owned(), of(&["t1"]))]);
        let counts = BTreeMap::from([("t0".to_owned(), 2), ("t1".to_owned(), 3), ("t2".to_owned(), 1)]);
        let dealt = deal(&members, &counts);
        assert_eq!(dealt["a"]["t0"], [0, 1]);
        assert_eq!(dealt["a"]["t1"].len() + dealt["b"]["t1"].len(), 3);
        assert!(dealt["b"].keys().all(|topic| topic == "t1"));
        assert_eq!(assigned(assignment(1, &dealt["a"])), Ok(dealt["a"].clone()));
        assert_eq!(assigned(Bytes::new()), Ok(Assignment::new()));
    }
}
