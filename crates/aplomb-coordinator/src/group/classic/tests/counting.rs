//! What is counted of groups and offsets. That counts and news are what is there, the lab looks at
//! after each step.

use std::time::Duration;

use aplomb_model::ErrorCode as E;
use aplomb_protocol::messages as m;
use m::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use m::offset_delete_request::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};

use super::lab::{DELAY, GROUP, JoinSpec, Lab, Log, SESSION, caller};
use crate::group::{GroupAsk, GroupEvent, GroupState, Groups};
use crate::runtime::Ticket;

fn commit(lab: &mut Lab, group: &str, partitions: std::ops::Range<i32>, offset: i64) -> Ticket {
    let partition = |partition_index| OffsetCommitRequestPartition {
        partition_index,
        committed_offset: offset,
        committed_leader_epoch: -1,
        ..Default::default()
    };
    let topic = OffsetCommitRequestTopic {
        name: "t".to_owned(),
        partitions: partitions.map(partition).collect(),
        ..Default::default()
    };
    let request = m::OffsetCommitRequest {
        group_id: group.to_owned(),
        generation_id_or_member_epoch: -1,
        retention_time_ms: -1,
        topics: vec![topic],
        ..Default::default()
    };
    lab.ask(GroupAsk::Commit(caller(8), request))
}

fn counts(lab: &Lab) -> Vec<(&'static str, usize)> {
    let counts = lab.groups().counts();
    let there = GroupState::ALL.into_iter().filter(|state| counts.of(*state) > 0);
    there.map(|state| (state.name(), counts.of(state))).collect()
}

fn happened(lab: &Lab, event: GroupEvent) -> u64 {
    lab.groups().events().of(event)
}

#[test]
fn each_state_of_a_classic_group_is_counted_and_a_rebalance_when_it_is_stable() {
    let mut lab = Lab::new();
    assert_eq!(counts(&lab), []);
    let id = lab.pending_id(&JoinSpec::new());
    assert_eq!(counts(&lab), [("Empty", 1)]);
    lab.join(&JoinSpec::new().member(&id));
    assert_eq!((counts(&lab), lab.groups().members(GROUP)), (vec![("PreparingRebalance", 1)], Some(1)));
    lab.pass(DELAY * 2);
    assert_eq!(counts(&lab), [("CompletingRebalance", 1)]);
    lab.log = Log::Refuses(E::NotEnoughReplicas);
    let sync = super::lab::SyncSpec::of(&id, 1);
    lab.sync(&sync);
    assert_eq!(counts(&lab), [("PreparingRebalance", 1)]);
    assert_eq!(happened(&lab, GroupEvent::ClassicRebalance), 0, "the log has refused it");
    lab.log = Log::Keeps;
    lab.join(&JoinSpec::new().member(&id));
    lab.complete(std::slice::from_ref(&id));
    assert_eq!(counts(&lab), [("Stable", 1)]);
    assert_eq!(happened(&lab, GroupEvent::ClassicRebalance), 1);
    commit(&mut lab, "simple", 0..1, 5);
    lab.reload();
    assert_eq!(
        (counts(&lab), happened(&lab, GroupEvent::ClassicRebalance)),
        (vec![("Empty", 1), ("Stable", 1)], 0)
    );
    lab.pass(SESSION);
    assert_eq!((counts(&lab), lab.groups().members(GROUP)), (vec![("Empty", 2)], Some(0)));
}

#[test]
fn a_group_that_its_log_refuses_is_not_counted() {
    let mut lab = Lab::new();
    lab.log = Log::Holds;
    lab.join(&JoinSpec::new());
    assert_eq!(counts(&lab), [("Empty", 1)]);
    lab.refuse(E::NotEnoughReplicas);
    assert_eq!((counts(&lab), lab.groups().members(GROUP)), (vec![], None));
}

#[test]
fn offsets_are_counted_as_they_are_committed_deleted_and_expire() {
    let mut lab = Lab::new();
    commit(&mut lab, "a", 0..3, 5);
    commit(&mut lab, "b", 0..2, 7);
    assert_eq!((lab.offsets(), happened(&lab, GroupEvent::OffsetCommitted)), (5, 5));
    assert_eq!(lab.groups().committed("b", "t", 1), Some(7));

    let partitions = (0..2).map(|partition_index| OffsetDeleteRequestPartition { partition_index });
    let topics = vec![OffsetDeleteRequestTopic { name: "t".to_owned(), partitions: partitions.collect() }];
    let request = m::OffsetDeleteRequest { group_id: "a".to_owned(), topics };
    lab.ask(GroupAsk::DeleteOffsets(request));
    assert_eq!((lab.offsets(), happened(&lab, GroupEvent::OffsetDeleted)), (3, 2));
    let of_a: Vec<_> = lab.groups().committed_after("a", None).map(|(_, index, at)| (index, at)).collect();
    assert_eq!(of_a, [(2, 5)]);

    lab.ask(GroupAsk::Delete("a".to_owned()));
    assert_eq!((lab.offsets(), lab.groups().members("a")), (2, None));
    assert_eq!(happened(&lab, GroupEvent::OffsetDeleted), 2, "its group was deleted, as Kafka counts");

    lab.pass(Duration::from_secs(8 * 24 * 3_600));
    assert_eq!((lab.offsets(), counts(&lab)), (0, vec![]));
    assert_eq!(happened(&lab, GroupEvent::OffsetExpired), 2);
}

#[test]
fn a_commit_that_the_log_refuses_is_taken_back_and_said_so() {
    let mut lab = Lab::new();
    commit(&mut lab, "a", 0..1, 5);
    lab.log = Log::Holds;
    commit(&mut lab, "a", 0..2, 6);
    commit(&mut lab, "new", 0..1, 1);
    assert_eq!(lab.groups().committed("a", "t", 0), Some(6));
    lab.refuse(E::NotEnoughReplicas);
    let committed = |group, index| lab.groups().committed(group, "t", index);
    assert_eq!([committed("a", 0), committed("a", 1), committed("new", 0)], [Some(5), None, None]);
}

#[test]
fn nothing_is_noted_for_a_host_that_does_not_ask_or_while_a_log_is_read() {
    let mut groups = Groups::new();
    groups.begin_news();
    groups.add_simple("g");
    assert_eq!(groups.news(), crate::group::GroupNews::default());
    let mut groups = Groups::observed();
    groups.add_simple("g");
    assert_eq!(groups.news(), crate::group::GroupNews::default());
    groups.begin_news();
    groups.add_simple("h");
    assert_eq!(groups.news().groups, ["h".into()]);
}
