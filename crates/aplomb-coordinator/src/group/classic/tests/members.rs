//! Heartbeat, LeaveGroup, DescribeGroups.

use aplomb_model::ErrorCode as E;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::describe_groups_response::DescribedGroup;

use super::lab::{DELAY, GROUP, JoinSpec, Lab, Log, MILLI, REBALANCE, SESSION, SyncSpec, code, subscription};
use crate::group::{GroupAsk, GroupRecord, GroupReply};

fn describe(lab: &mut Lab, version: i16, group: &str) -> DescribedGroup {
    let ticket = lab.ask(GroupAsk::Describe(version, group.to_owned()));
    match lab.take(ticket) {
        Some(Ok(GroupReply::Describe(described))) => described,
        other => panic!("no description: {other:?}"),
    }
}

#[test]
fn a_heartbeat_says_whether_a_member_is_to_join() {
    let mut lab = Lab::new();
    assert_eq!(lab.heartbeat("m", None, 1), E::UnknownMemberId, "no such group");
    let ids = lab.stable(&[JoinSpec::new().instance("i"), JoinSpec::new()]);
    let cases = [
        ((ids[0].as_str(), Some("i"), 1), E::None),
        ((ids[0].as_str(), None, 1), E::None),
        ((ids[0].as_str(), None, 0), E::IllegalGeneration),
        ((ids[0].as_str(), None, 2), E::IllegalGeneration),
        ((ids[0].as_str(), None, -1), E::IllegalGeneration),
        (("else", Some("i"), 0), E::FencedInstanceId),
        ((ids[0].as_str(), Some("else"), 0), E::UnknownMemberId),
        (("else", None, 0), E::UnknownMemberId),
        (("", None, -1), E::UnknownMemberId),
    ];
    for ((member, instance, generation), error) in cases {
        assert_eq!(lab.heartbeat(member, instance, generation), error, "{member} {instance:?} {generation}");
    }
    lab.join(&JoinSpec::new().member(&ids[0]));
    assert_eq!(lab.heartbeat(&ids[1], None, 1), E::RebalanceInProgress);
    let ticket = lab.join(&JoinSpec::new().member(&ids[1]));
    assert_eq!(lab.joined(ticket).generation_id, 2);
    assert_eq!(lab.heartbeat(&ids[1], None, 2), E::None, "the leader has not assigned yet");
    lab.leave(3, &[(&ids[0], None), (&ids[1], None)]);
    assert_eq!((lab.heartbeat(&ids[0], None, 2), lab.state()), (E::UnknownMemberId, "Empty"));
}

#[test]
fn a_group_without_a_name_is_none() {
    let mut lab = Lab::new();
    let ticket = lab.ask(GroupAsk::Heartbeat(m::HeartbeatRequest::default()));
    let Some(Ok(GroupReply::Heartbeat(beat))) = lab.take(ticket) else { panic!("answered") };
    assert_eq!(code(beat.error_code), E::InvalidGroupId);
    let ticket = lab.ask(GroupAsk::Leave(super::lab::caller(5), m::LeaveGroupRequest::default()));
    let Some(Ok(GroupReply::Leave(left))) = lab.take(ticket) else { panic!("answered") };
    assert_eq!(code(left.error_code), E::InvalidGroupId);
    let ticket = lab.ask(GroupAsk::Sync(super::lab::caller(4), m::SyncGroupRequest::default()));
    assert_eq!(code(lab.synced(ticket).error_code), E::InvalidGroupId);
}

#[test]
fn heartbeats_do_not_wait_for_the_log() {
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new(), JoinSpec::new().instance("i")]);
    lab.log = Log::Holds;
    lab.join(&JoinSpec::new().instance("i"));
    assert_eq!(lab.holds(), 1);
    for _ in 0..100 {
        lab.pass(SESSION / 2);
        assert_eq!(lab.heartbeat(&ids[0], None, 1), E::None);
    }
}

#[test]
fn a_session_lasts_as_long_as_heartbeats_come() {
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new(), JoinSpec::new()]);
    for _ in 0..10 {
        assert_eq!(lab.heartbeat(&ids[0], None, 1), E::None);
        assert_eq!(lab.heartbeat(&ids[1], None, 1), E::None);
        lab.pass(SESSION - MILLI);
    }
    assert_eq!(lab.heartbeat(&ids[0], None, 1), E::None);
    lab.pass(MILLI);
    assert_eq!((lab.group().size(), lab.state()), (1, "PreparingRebalance"));
    // Heartbeats count while it prepares, too.
    lab.pass(SESSION - MILLI * 2);
    assert_eq!(lab.heartbeat(&ids[0], None, 1), E::RebalanceInProgress);
    lab.pass(SESSION);
    assert_eq!((lab.group().size(), lab.state()), (0, "Empty"));
    assert_eq!(lab.group().generation(), 2);
}

#[test]
fn a_member_leaves() {
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new(), JoinSpec::new(), JoinSpec::new()]);
    for version in [0, 1, 2] {
        let left = lab.leave(version, &[("else", None)]);
        assert_eq!((code(left.error_code), left.members.len()), (E::UnknownMemberId, 0));
    }
    assert_eq!(lab.state(), "Stable");
    let left = lab.leave(2, &[(&ids[0], None)]);
    assert_eq!((code(left.error_code), left.members.len()), (E::None, 0));
    assert_eq!(lab.state(), "PreparingRebalance");
    assert_eq!(lab.group().size(), 2);
    assert_ne!(**lab.group().leader().expect("one of the others"), *ids[0]);
    // The phase ends when the last one that is waited for leaves.
    let ticket = lab.join(&JoinSpec::new().member(&ids[1]));
    assert!(lab.is_waiting(ticket));
    lab.leave(0, &[(&ids[2], None)]);
    assert_eq!(lab.joined(ticket).members.len(), 1);
    // While the leader is to assign.
    lab.leave(0, &[(&ids[1], None)]);
    assert_eq!((lab.state(), lab.group().generation()), ("Empty", 3));
    let records = lab.records();
    let Some(GroupRecord::Classic(_, Some(value))) = records.last() else { panic!("a group's record") };
    assert_eq!((value.generation, value.members.len()), (3, 0));
    assert_eq!((value.protocol_type.as_str(), &value.protocol, &value.leader), ("consumer", &None, &None));
}

#[test]
fn several_members_leave_at_once_and_each_has_a_result() {
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new(), JoinSpec::new().instance("i"), JoinSpec::new().instance("j")]);
    let pending = lab.pending_id(&JoinSpec::new());
    let who = [
        ("", Some("i")),
        ("", Some("i")),
        ("", Some("else")),
        ("", None),
        ("else", None),
        ("else", Some("j")),
        (ids[0].as_str(), Some("j")),
        (ids[0].as_str(), None),
        (pending.as_str(), None),
    ];
    let left = lab.leave(5, &who);
    assert_eq!(code(left.error_code), E::None);
    let results: Vec<E> = left.members.iter().map(|member| code(member.error_code)).collect();
    let expected = [
        E::None,
        E::UnknownMemberId,
        E::UnknownMemberId,
        E::UnknownMemberId,
        E::UnknownMemberId,
        E::FencedInstanceId,
        E::FencedInstanceId,
        E::None,
        E::None,
    ];
    assert_eq!(results, expected);
    for ((member, instance), result) in who.iter().zip(&left.members) {
        assert_eq!((*member, *instance), (result.member_id.as_str(), result.group_instance_id.as_deref()));
    }
    assert_eq!((lab.group().size(), lab.state()), (1, "PreparingRebalance"));
    let none = Lab::new().leave(3, &[("m", None)]);
    assert_eq!((code(none.error_code), code(none.members[0].error_code)), (E::None, E::UnknownMemberId));
}

#[test]
fn whoever_leaves_while_it_waits_is_answered() {
    // It waits to join.
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new(), JoinSpec::new()]);
    let ticket = lab.join(&JoinSpec::new().member(&ids[0]));
    lab.leave(3, &[(&ids[0], None)]);
    let joined = lab.joined(ticket);
    assert_eq!((code(joined.error_code), joined.member_id.as_str()), (E::UnknownMemberId, ""));
    // It waits for its assignment.
    let ticket = lab.join(&JoinSpec::new().member(&ids[1]));
    assert_eq!(lab.joined(ticket).generation_id, 2);
    lab.log = Log::Holds;
    let ticket = lab.sync(&SyncSpec::of(&ids[1], 2));
    lab.ask(GroupAsk::Leave(
        super::lab::caller(0),
        m::LeaveGroupRequest { group_id: GROUP.to_owned(), member_id: ids[1].clone(), ..Default::default() },
    ));
    assert_eq!(code(lab.synced(ticket).error_code), E::UnknownMemberId);
}

#[test]
fn that_a_group_is_empty_is_said_when_the_log_has_kept_it() {
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new()]);
    lab.log = Log::Holds;
    let leave =
        m::LeaveGroupRequest { group_id: GROUP.to_owned(), member_id: ids[0].clone(), ..Default::default() };
    let ticket = lab.ask(GroupAsk::Leave(super::lab::caller(0), leave));
    assert!(lab.is_waiting(ticket));
    lab.refuse(E::NotEnoughReplicas);
    assert!(matches!(lab.take(ticket), Some(Err(E::CoordinatorNotAvailable))));
    assert_eq!(lab.state(), "Empty", "it is all the same");
    lab.log = Log::Keeps;
    lab.reload();
    assert_eq!(lab.state(), "Stable", "until it is loaded");
    lab.pass(SESSION);
    assert_eq!((lab.state(), lab.group().generation()), ("Empty", 2));
}

#[test]
fn all_who_leave_before_the_first_generation_leave_an_empty_group() {
    let mut lab = Lab::new();
    let id = lab.pending_id(&JoinSpec::new());
    lab.join(&JoinSpec::new().member(&id));
    lab.leave(3, &[(&id, None)]);
    assert_eq!(lab.state(), "PreparingRebalance", "others may be about to come");
    lab.pass(DELAY);
    assert_eq!((lab.state(), lab.group().generation()), ("Empty", 1));
}

#[test]
fn a_group_is_described_with_its_metadata_while_it_is_stable() {
    let mut lab = Lab::new();
    for (version, error) in [(5, E::None), (6, E::GroupIdNotFound)] {
        let described = describe(&mut lab, version, GROUP);
        assert_eq!((code(described.error_code), described.group_state.as_str()), (error, "Dead"));
        let message = (version >= 6).then_some("Group g not found.");
        assert_eq!((described.group_id.as_str(), described.error_message.as_deref()), (GROUP, message));
    }
    let ids = lab.stable(&[JoinSpec::new().instance("i"), JoinSpec::new()]);
    let described = describe(&mut lab, 0, GROUP);
    assert_eq!((described.group_state.as_str(), described.protocol_data.as_str()), ("Stable", "range"));
    assert_eq!(described.protocol_type, "consumer");
    let leader = described.members.iter().find(|member| member.member_id == ids[0]).expect("described");
    assert_eq!((leader.group_instance_id.as_deref(), leader.client_id.as_str()), (Some("i"), "client"));
    assert_eq!((leader.client_host.as_str(), &leader.member_assignment[..]), ("/192.0.2.1", &b"0"[..]));
    assert_eq!(leader.member_metadata, subscription(&["t"]));
    lab.join(&JoinSpec::new().member(&ids[1]).metadata(b"changed"));
    let described = describe(&mut lab, 6, GROUP);
    assert_eq!(
        (described.group_state.as_str(), described.protocol_data.as_str()),
        ("PreparingRebalance", "")
    );
    assert!(described.members.iter().all(|member| member.member_metadata.is_empty()));
    assert_eq!(described.protocol_type, "consumer");
    lab.pass(REBALANCE * 2);
    assert_eq!(describe(&mut lab, 6, GROUP).group_state, "Empty");
}
