//! Questions about many groups or many offsets: they are answered in pieces, and others in between.

use std::sync::Arc;
use std::time::Duration;

use aplomb_model::{ErrorCode as E, TopicId};
use aplomb_protocol::messages as m;

use super::lab::{GROUP, JoinSpec, Lab, Log, caller};
use crate::group::{GroupAsk, GroupFilter, GroupReply};
use crate::runtime::Ticket;

/// After this the next piece comes.
const NEXT: Duration = Duration::from_micros(1);

/// More than two pieces hold.
const MANY: i32 = 2_500;

fn commit(lab: &mut Lab, group: &str, topic: &str, partitions: std::ops::Range<i32>) {
    use m::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
    let partitions = partitions.map(|partition_index| OffsetCommitRequestPartition {
        partition_index,
        committed_offset: i64::from(partition_index) + 1,
        ..Default::default()
    });
    let topic = OffsetCommitRequestTopic {
        name: topic.into(),
        partitions: partitions.collect(),
        ..Default::default()
    };
    let request = m::OffsetCommitRequest {
        group_id: group.into(),
        generation_id_or_member_epoch: -1,
        retention_time_ms: -1,
        topics: vec![topic],
        ..Default::default()
    };
    let ticket = lab.ask(GroupAsk::Commit(caller(8), request));
    let Some(Ok(GroupReply::Commit(response))) = lab.take(ticket) else { panic!("it is kept") };
    let codes = response.topics.iter().flat_map(|topic| &topic.partitions);
    assert!(codes.into_iter().all(|partition| partition.error_code == 0));
}

/// A lab in which not all groups are looked at after each step.
fn lab() -> Lab {
    let mut lab = Lab::new();
    lab.checks = false;
    lab
}

fn many_groups() -> Lab {
    let mut lab = lab();
    for n in 0..MANY {
        commit(&mut lab, &format!("g{n}"), "t", 0..1);
    }
    lab
}

/// A group with many offsets in two topics.
fn large_group() -> Lab {
    let mut lab = lab();
    commit(&mut lab, GROUP, "a", 0..1_200);
    commit(&mut lab, GROUP, "b", 0..MANY - 1_200);
    lab
}

fn list(lab: &mut Lab, states: &[String]) -> Ticket {
    lab.ask(GroupAsk::List(Arc::new(GroupFilter::new(states, &[]))))
}

fn delete(lab: &mut Lab) -> Ticket {
    lab.ask(GroupAsk::Delete(GROUP.to_owned()))
}

fn deleted(lab: &mut Lab, ticket: Ticket) -> i16 {
    match lab.take(ticket) {
        Some(Ok(GroupReply::Delete(result))) => result.error_code,
        other => panic!("no answer: {other:?}"),
    }
}

/// OffsetFetch of all; how many there are.
fn fetch_all(lab: &mut Lab) -> Ticket {
    let group = m::offset_fetch_request::OffsetFetchRequestGroup {
        group_id: GROUP.to_owned(),
        topics: None,
        ..Default::default()
    };
    lab.ask(GroupAsk::Fetch { group, require_stable: true })
}

fn fetched(lab: &mut Lab, ticket: Ticket) -> Vec<(String, i32, i64)> {
    match lab.take(ticket) {
        Some(Ok(GroupReply::Fetch(group))) => {
            assert_eq!(group.error_code, 0);
            let shown = group.topics.into_iter().flat_map(|topic| {
                let of_topic = topic.partitions.into_iter();
                of_topic.map(move |p| (topic.name.clone(), p.partition_index, p.committed_offset))
            });
            shown.collect()
        }
        other => panic!("no answer: {other:?}"),
    }
}

fn all_offsets(lab: &mut Lab) -> usize {
    let ticket = fetch_all(lab);
    while lab.is_waiting(ticket) {
        lab.pass(NEXT);
    }
    fetched(lab, ticket).len()
}

#[test]
fn a_list_of_many_groups_comes_in_pieces_and_others_are_answered_in_between() {
    let mut lab = many_groups();
    let (all, none) = (list(&mut lab, &["EMPTY".into()]), list(&mut lab, &["stable".into()]));
    let mut pieces = 1;
    while lab.is_waiting(all) || lab.is_waiting(none) {
        let join = lab.join(&JoinSpec::new());
        assert!(!lab.is_waiting(join), "others do not wait for the list");
        lab.pass(NEXT);
        pieces += 1;
    }
    assert_eq!(pieces, 5, "the first ones of both, and two more of each");
    match (lab.take(all), lab.take(none)) {
        (Some(Ok(GroupReply::List(all))), Some(Ok(GroupReply::List(none)))) => {
            let mut ids: Vec<String> = all.into_iter().map(|group| group.group_id).collect();
            ids.retain(|id| *id != GROUP);
            ids.sort_unstable();
            ids.dedup();
            assert_eq!((ids.len(), none.len()), (MANY as usize, 0));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_offsets_of_a_large_group_are_listed_once_and_in_pieces() {
    let mut lab = large_group();
    let ticket = fetch_all(&mut lab);
    assert!(lab.is_waiting(ticket));
    lab.pass(NEXT);
    assert!(lab.is_waiting(ticket));
    lab.pass(NEXT);
    let expected = |topic: &str, index: i32| (topic.to_owned(), index, i64::from(index) + 1);
    let expected: Vec<_> =
        (0..1_200).map(|n| expected("a", n)).chain((0..MANY - 1_200).map(|n| expected("b", n))).collect();
    assert_eq!(fetched(&mut lab, ticket), expected);
}

#[test]
fn many_named_offsets_are_answered_in_the_order_in_which_they_are_named() {
    use m::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
    let mut lab = large_group();
    let topic = |name: &str, partition_indexes| OffsetFetchRequestTopics {
        name: name.into(),
        partition_indexes,
        ..Default::default()
    };
    let topics = vec![topic("b", (0..2_000).rev().collect()), topic("none", vec![]), topic("a", vec![7, 7])];
    let group =
        OffsetFetchRequestGroup { group_id: GROUP.into(), topics: Some(topics), ..Default::default() };
    let ticket = lab.ask(GroupAsk::Fetch { group, require_stable: false });
    assert!(lab.is_waiting(ticket));
    lab.pass(NEXT * 2);
    let of_b = (0..2_000).rev().map(|n| ("b".to_owned(), n, if n < 1_300 { i64::from(n) + 1 } else { -1 }));
    let of_a = ("a".to_owned(), 7, 8);
    let expected: Vec<_> = of_b.chain([of_a.clone(), of_a]).collect();
    assert_eq!(fetched(&mut lab, ticket), expected);
}

#[test]
fn a_large_group_is_deleted_in_pieces() {
    let mut lab = large_group();
    let ticket = delete(&mut lab);
    assert!(lab.is_waiting(ticket) && lab.has_group());
    lab.pass(NEXT * 2);
    assert_eq!(deleted(&mut lab, ticket), 0);
    assert!(!lab.has_group());
    lab.reload();
    assert!(!lab.has_group());
    assert_eq!(all_offsets(&mut lab), 0);
}

#[test]
fn a_member_that_joins_a_group_which_is_being_deleted_keeps_it() {
    let mut lab = large_group();
    let ticket = delete(&mut lab);
    lab.join(&JoinSpec::new().version(3));
    lab.pass(NEXT);
    assert_eq!(deleted(&mut lab, ticket), E::NonEmptyGroup.to_wire());
    assert_eq!(all_offsets(&mut lab), 1_500, "of the piece before the member came nothing is left");
}

#[test]
fn what_a_log_refuses_was_not_deleted_and_is_not_said_to_be() {
    let mut lab = large_group();
    lab.log = Log::Refuses(E::KafkaStorageError);
    let ticket = delete(&mut lab);
    assert!(matches!(lab.take(ticket), Some(Err(E::CoordinatorNotAvailable))));
    lab.log = Log::Keeps;
    lab.pass(Duration::from_secs(1));
    assert_eq!(all_offsets(&mut lab), MANY as usize);
}

#[test]
fn a_question_that_nobody_waits_for_is_not_gone_on_with() {
    let mut lab = large_group();
    let ticket = delete(&mut lab);
    lab.cancel(ticket);
    lab.pass(Duration::from_secs(1));
    assert_eq!(all_offsets(&mut lab), 1_500, "one piece was deleted");
}

#[test]
fn offsets_are_deleted_in_pieces() {
    use m::offset_delete_request::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
    let mut lab = large_group();
    let topic = |name: &str, partitions: std::ops::Range<i32>| OffsetDeleteRequestTopic {
        name: name.into(),
        partitions: partitions
            .map(|partition_index| OffsetDeleteRequestPartition { partition_index })
            .collect(),
    };
    let topics = vec![topic("a", 0..1_199), topic("none", 0..0), topic("b", 0..MANY)];
    let request = m::OffsetDeleteRequest { group_id: GROUP.into(), topics };
    let ticket = lab.ask(GroupAsk::DeleteOffsets(request));
    lab.pass(NEXT * 2);
    assert!(lab.is_waiting(ticket));
    lab.pass(NEXT);
    let Some(Ok(GroupReply::DeleteOffsets(response))) = lab.take(ticket) else { panic!("it is answered") };
    let answered: Vec<_> =
        response.topics.iter().map(|topic| (topic.name.as_str(), topic.partitions.len())).collect();
    assert_eq!(answered, [("a", 1_199), ("none", 0), ("b", MANY as usize)]);
    assert_eq!(all_offsets(&mut lab), 1);
}

#[test]
fn offsets_of_a_large_group_expire_in_pieces() {
    let mut lab = large_group();
    let offsets = &lab.settings().offsets;
    let before = offsets.retention - offsets.check_interval;
    lab.pass(before);
    let mut left = vec![lab.offsets()];
    while lab.has_group() {
        lab.wake();
        left.push(lab.offsets());
    }
    left.dedup();
    assert_eq!(left, [2_500, 1_500, 500, 0]);
}

#[test]
fn a_topic_that_is_deleted_during_a_sweep_is_looked_for_in_all_groups() {
    let mut lab = many_groups();
    for n in 0..MANY {
        commit(&mut lab, &format!("g{n}"), "u", 0..1);
    }
    for topic in ["t", "u"] {
        lab.ask(GroupAsk::TopicsDeleted(vec![(topic.into(), TopicId::ZERO)]));
        lab.pass(NEXT * 2);
    }
    let before = lab.offsets();
    assert!((MANY as usize..2 * MANY as usize).contains(&before), "{before}");
    lab.pass(Duration::from_secs(1));
    assert_eq!(lab.offsets(), 0);
}

#[test]
fn a_coordinator_of_many_groups_begins_in_pieces() {
    let mut lab = many_groups();
    lab.reload();
    for _ in 0..2 {
        let early = list(&mut lab, &[]);
        assert!(matches!(lab.take(early), Some(Err(E::CoordinatorLoadInProgress))));
        lab.wake();
    }
    let listed = list(&mut lab, &[]);
    assert!(lab.is_waiting(listed));
}
