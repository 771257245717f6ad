//! Cases that take time, moves or refusals, one by one. What is answered at once is in `kafka.txt`.

use std::time::Duration;

use aplomb_model::{ErrorCode, Timestamp};
use aplomb_protocol::messages as m;
use m::consumer_group_current_member_assignment_value::TopicPartitions;

use super::lab::{GROUP, Lab, Request, beat, join};
use crate::group::state::consumer::{Current, MemberState, records};
use crate::group::{GroupAsk, GroupRecord, GroupReply};
use crate::runtime::Machine as _;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn all_of_a(lab: &Lab, response: &super::lab::Response, partitions: &[i32]) {
    assert_eq!(lab.assigned(response), Some(vec![("a".to_owned(), partitions.to_vec())]));
}

/// Two members of which the first has to give up two partitions.
fn revoking() -> Lab {
    let mut lab = Lab::new();
    lab.world.set_topic("a", 4);
    lab.join("m1", &["a"]);
    lab.join("m2", &["a"]);
    let told = lab.beat("m1", 2);
    all_of_a(&lab, &told, &[0, 1]);
    lab
}

#[test]
fn a_member_that_is_not_heard_of_is_taken_out_with_its_session() {
    let mut lab = Lab::new();
    lab.world.set_topic("a", 3);
    lab.join("m1", &["a"]);
    lab.advance(seconds(44));
    assert_eq!(lab.beat("m1", 2).error_code, 0);
    lab.advance(seconds(44));
    assert_eq!(lab.group().state().name(), "Stable");
    lab.written();
    lab.advance(seconds(2));
    assert_eq!(lab.written(), ["-8 m1", "-7 m1", "-5 m1", "3 epoch 3", "6 epoch 3 at 0"]);
    assert_eq!(lab.group().state().name(), "Empty");
}

#[test]
fn a_member_that_does_not_give_up_in_time_is_taken_out() {
    let mut lab = revoking();
    for _ in 0..29 {
        lab.advance(seconds(1));
        assert_eq!(lab.beat("m1", 2).error_code, 0);
        assert_eq!(lab.beat("m2", 3).error_code, 0);
    }
    lab.advance(seconds(2));
    assert_eq!(lab.beat("m1", 2).error_code, ErrorCode::UnknownMemberId.to_wire());
    let all = lab.beat("m2", 3);
    all_of_a(&lab, &all, &[0, 1, 2, 3]);
}

#[test]
fn a_member_that_gives_up_in_time_stays() {
    let mut lab = revoking();
    lab.advance(seconds(29));
    assert_eq!(lab.own("m1", 2, &[("a", &[0, 1])]).member_epoch, 3);
    lab.advance(seconds(5));
    assert_eq!(lab.beat("m1", 3).error_code, 0);
}

#[test]
fn after_a_move_all_have_their_whole_time_again() {
    let mut lab = revoking();
    lab.advance(seconds(29));
    let log = lab.log.clone();
    lab.reload(log);
    lab.group().check();
    lab.advance(seconds(29));
    assert_eq!(lab.group().members().len(), 2);
    assert_eq!(lab.beat("m2", 3).error_code, 0);
    lab.advance(seconds(2));
    assert_eq!(lab.beat("m1", 2).error_code, ErrorCode::UnknownMemberId.to_wire());
    lab.advance(seconds(46));
    assert_eq!(lab.group().state().name(), "Empty");
}

#[test]
fn a_target_is_computed_when_the_last_one_is_old_enough() {
    let mut lab = Lab::new();
    lab.world.consumer().assignment_interval.default = seconds(1);
    lab.world.set_topic("a", 4);
    assert_eq!(lab.join("m1", &["a"]).member_epoch, 2);
    let early = lab.join("m2", &["a"]);
    assert_eq!((early.member_epoch, lab.assigned(&early)), (2, Some(Vec::new())));
    assert_eq!(lab.group().state().name(), "Assigning");
    lab.advance(Duration::from_millis(999));
    assert_eq!(lab.beat("m1", 2).assignment, None);
    lab.advance(Duration::from_millis(1));
    let told = lab.beat("m1", 2);
    all_of_a(&lab, &told, &[0, 1]);
    // The last one leaves: who comes next need not wait.
    lab.beat("m1", -1);
    lab.beat("m2", -1);
    assert_eq!(lab.join("m3", &["a"]).member_epoch, 6);
}

#[test]
fn what_a_group_sets_for_itself_is_kept_within_bounds() {
    let mut lab = Lab::new();
    lab.world.set_topic("a", 1);
    lab.world.overrides.heartbeat_interval = Some(seconds(1));
    lab.world.overrides.session_timeout = Some(seconds(600));
    assert_eq!(lab.join("m1", &["a"]).heartbeat_interval_ms, 5000);
    lab.advance(seconds(59));
    assert_eq!(lab.group().members().len(), 1);
    lab.advance(seconds(2));
    assert_eq!(lab.group().members().len(), 0);
}

#[test]
fn while_a_group_changes_its_members_are_in_a_hurry() {
    let mut lab = Lab::new();
    lab.world.consumer().hurried_interval = Some(seconds(1));
    lab.world.set_topic("a", 4);
    assert_eq!(lab.join("m1", &["a"]).heartbeat_interval_ms, 1000);
    lab.advance(seconds(15));
    assert_eq!(lab.beat("m1", 2).heartbeat_interval_ms, 5000);
    assert_eq!(lab.join("m2", &["a"]).heartbeat_interval_ms, 1000);
    assert_eq!(lab.beat("m1", 2).heartbeat_interval_ms, 1000);
    lab.advance(seconds(14));
    assert_eq!(lab.beat("m2", 3).heartbeat_interval_ms, 1000);
    lab.advance(seconds(1));
    assert_eq!(lab.beat("m2", 3).heartbeat_interval_ms, 5000);
    lab.world.consumer().hurried_interval = Some(seconds(7));
    assert_eq!(lab.join("m3", &["a"]).heartbeat_interval_ms, 5000, "never less often than usual");
}

#[test]
fn a_full_group_takes_a_static_member_that_returns() {
    let mut lab = Lab::new();
    lab.world.set_topic("a", 2);
    lab.world.consumer().max_size = 2;
    let fixed = |member: &str| Request { instance_id: Some("i".to_owned()), ..join(member, &["a"]) };
    assert_eq!(lab.send(fixed("s1")).error_code, 0);
    assert_eq!(lab.join("m1", &["a"]).error_code, 0);
    let refused = lab.join("m2", &["a"]);
    assert_eq!(refused.error_code, ErrorCode::GroupMaxSizeReached.to_wire());
    assert_eq!(
        refused.error_message.as_deref(),
        Some("The consumer group has reached its maximum capacity of 2 members.")
    );
    let away = Request { instance_id: Some("i".to_owned()), ..beat("s1", -2) };
    assert_eq!(lab.send(away).member_epoch, -2);
    assert_eq!(lab.send(fixed("s2")).error_code, 0);
    assert_eq!(lab.group().members().len(), 2);
    lab.group().check();
}

#[test]
fn a_static_member_that_stays_away_is_taken_out_with_its_session() {
    let mut lab = Lab::new();
    lab.world.set_topic("a", 2);
    lab.send(Request { instance_id: Some("i".to_owned()), ..join("s1", &["a"]) });
    lab.send(Request { instance_id: Some("i".to_owned()), ..beat("s1", -2) });
    lab.advance(seconds(46));
    assert_eq!(lab.group().state().name(), "Empty");
}

#[test]
fn what_the_log_refuses_never_was() {
    let mut lab = Lab::new();
    lab.world.set_topic("a", 4);
    lab.join("m1", &["a"]);
    let before = format!("{:?}", lab.group().members().collect::<Vec<_>>());
    lab.refuses = true;
    assert_eq!(lab.heartbeat(join("m2", &["a"])), Err(ErrorCode::CoordinatorNotAvailable));
    assert_eq!(lab.heartbeat(beat("m1", -1)), Err(ErrorCode::CoordinatorNotAvailable));
    lab.refuses = false;
    assert_eq!(format!("{:?}", lab.group().members().collect::<Vec<_>>()), before);
    lab.group().check();
    assert_eq!(lab.beat("m1", 2).member_epoch, 2);
    // The session that it was to end with is there again.
    lab.advance(seconds(46));
    assert_eq!(lab.group().state().name(), "Empty");
}

#[test]
fn a_coordinator_without_memory_takes_no_new_members() {
    let mut lab = Lab::new();
    lab.world.set_topic("a", 4);
    lab.join("m1", &["a"]);
    lab.world.has_room = false;
    let refused = lab.join("m2", &["a"]);
    assert_eq!(refused.error_code, ErrorCode::CoordinatorNotAvailable.to_wire());
    assert_eq!(lab.beat("m1", 2).error_code, 0);
    let long = Request { subscribed_topic_names: Some(vec!["x".repeat(10_000)]), ..beat("m1", 2) };
    assert_eq!(lab.send(long).error_code, ErrorCode::CoordinatorNotAvailable.to_wire());
    assert_eq!(lab.beat("m1", -1).error_code, 0);
}

fn put(lab: &mut Lab, record: &GroupRecord) {
    let mut log = lab.log.clone();
    log.push(crate::group::Groups::encode(record).expect("a record"));
    lab.reload(log);
}

#[test]
fn a_group_goes_on_without_the_record_of_its_epoch() {
    let mut lab = Lab::new();
    lab.world.set_topic("a", 2);
    assert_eq!(lab.join("m1", &["a"]).member_epoch, 2);
    put(&mut lab, &records::target_epoch(GROUP, Some((7, Timestamp(1)))));
    assert_eq!(lab.group().epoch(), 7);
    assert_eq!(lab.beat("m1", 2).member_epoch, 7);
    assert_eq!(lab.join("m2", &["a"]).member_epoch, 8);
}

#[test]
fn records_of_other_releases_are_understood() {
    let mut lab = Lab::new();
    let topic_id = lab.world.set_topic("a", 2);
    lab.join("m1", &["a"]);
    // Of before 4.1: it goes with the next change of the hash, or of the metadata.
    let key = m::ConsumerGroupPartitionMetadataKey { group_id: GROUP.to_owned() };
    put(
        &mut lab,
        &GroupRecord::Topics(key, Some(m::ConsumerGroupPartitionMetadataValue { topics: Vec::new() })),
    );
    assert_eq!(lab.beat("m1", 2).member_epoch, 2);
    assert_eq!(lab.written(), ["-4"]);
    // Of before 4.3: without epochs of partitions.
    let key =
        m::ConsumerGroupCurrentMemberAssignmentKey { group_id: GROUP.to_owned(), member_id: "m1".to_owned() };
    let partitions =
        |epochs| vec![TopicPartitions { topic_id, partitions: vec![0, 1], assignment_epochs: epochs }];
    let value = |state, epochs| m::ConsumerGroupCurrentMemberAssignmentValue {
        member_epoch: 2,
        previous_member_epoch: 0,
        state,
        assigned_partitions: partitions(epochs),
        partitions_pending_revocation: Vec::new(),
    };
    for epochs in [None, Some(vec![7])] {
        let current = Current::from_record(&value(0, epochs));
        assert_eq!(current.assigned[&topic_id].values().copied().collect::<Vec<_>>(), [2, 2]);
    }
    // A state that later versions know: the member comes again with nothing.
    put(&mut lab, &GroupRecord::Current(key, Some(value(9, None))));
    assert_eq!(lab.group().member("m1").unwrap().state(), MemberState::Unknown(9));
    let fenced = lab.own("m1", 2, &[("a", &[0, 1])]);
    assert_eq!(fenced.error_code, ErrorCode::FencedMemberEpoch.to_wire());
    assert_eq!(lab.join("m1", &["a"]).member_epoch, 2);
    assert_eq!(lab.group().state().name(), "Stable");
    lab.group().check();
}

#[test]
fn a_member_may_commit_by_its_epoch() {
    let mut lab = revoking();
    let group = |lab: &Lab| {
        [None, Some("m1"), Some("m2"), Some("m3")]
            .map(|member| [-1, 2, 3].map(|epoch| lab.group().check_fetch(member, epoch).err()))
    };
    use ErrorCode::{StaleMemberEpoch as Stale, UnknownMemberId as Unknown};
    assert_eq!(
        group(&lab),
        [
            [None, Some(Unknown), Some(Unknown)],
            [Some(Stale), None, Some(Stale)],
            [Some(Stale), Some(Stale), None],
            [Some(Unknown), Some(Unknown), Some(Unknown)],
        ]
    );
    lab.beat("m1", -1);
    assert_eq!(lab.group().check_fetch(None, -1), Ok(()));
}

#[test]
fn a_group_that_is_deleted_leaves_nothing() {
    let mut lab = Lab::new();
    lab.world.set_topic("a", 1);
    lab.join("m1", &["a"]);
    lab.beat("m1", -1);
    lab.written();
    assert!(matches!(lab.ask(GroupAsk::Delete(GROUP.to_owned())), Ok(GroupReply::Delete(_))));
    assert_eq!(lab.written(), ["-6", "-4", "-3"]);
    assert!(lab.runtime.machine().table.consumer(GROUP).is_none());
}

#[test]
fn ten_thousand_members_join_and_share() {
    let mut lab = Lab::new();
    lab.world.consumer().assignment_interval.default = seconds(1);
    lab.world.set_topic("a", 10_000);
    let members: Vec<String> = (0..10_000).map(|member| format!("member-{member:032}")).collect();
    for member in &members {
        assert_eq!(lab.join(member, &["a"]).error_code, 0);
    }
    lab.advance(seconds(1));
    let told = lab.beat(&members[0], 2);
    assert_eq!(lab.assigned(&told).unwrap()[0].1.len(), 1);
    assert!(lab.own(&members[0], 2, &[("a", &[0])]).member_epoch > 2);
    let epoch = lab.group().epoch();
    for member in &members[1..] {
        let told = lab.beat(member, 2);
        assert_eq!((told.error_code, told.member_epoch), (0, epoch));
    }
    lab.group().check();
    assert_eq!(lab.group().state().name(), "Stable");
}
