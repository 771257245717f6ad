//! Static members that come back.

use aplomb_model::ErrorCode as E;

use super::lab::{JoinSpec, Lab, Log, MILLI, REBALANCE, SESSION, SyncSpec, code};
use crate::group::GroupRecord;

fn two() -> (Lab, Vec<String>) {
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new().instance("i"), JoinSpec::new().instance("j")]);
    (lab, ids)
}

#[test]
fn a_static_member_that_comes_back_makes_no_rebalance() {
    for version in 5..=9 {
        for (instance, was_leader) in [("i", true), ("j", false)] {
            let (mut lab, ids) = two();
            let old = &ids[usize::from(!was_leader)];
            let joined = lab.join_now(&JoinSpec::new().version(version).instance(instance));
            assert_eq!((code(joined.error_code), joined.generation_id), (E::None, 1));
            assert_ne!(joined.member_id, *old);
            assert_eq!(joined.protocol_name.as_deref(), Some("range"));
            let knows_skip = version >= 9;
            // Before version 9 the leader is called by its old id: it follows then.
            let leader = if knows_skip && was_leader { &joined.member_id } else { &ids[0] };
            assert_eq!(joined.leader, *leader, "version {version}");
            assert_eq!(joined.skip_assignment, knows_skip && was_leader);
            assert_eq!(joined.members.len(), if knows_skip && was_leader { 2 } else { 0 });
            assert_eq!(lab.state(), "Stable");
            // It has what it had.
            let synced = lab.sync_now(&SyncSpec::of(&joined.member_id, 1));
            assert_eq!(synced.assignment, usize::from(!was_leader).to_string().as_bytes());
            let is_leader = **lab.group().leader().expect("a leader") == *joined.member_id;
            assert_eq!(is_leader, was_leader);
            let records = lab.records();
            let Some(GroupRecord::Classic(_, Some(value))) = records.last() else { panic!("a record") };
            assert!(value.members.iter().any(|member| member.member_id == joined.member_id));
            assert_eq!((value.members.len(), value.generation), (2, 1));
            // librdkafka takes this for fatal, and must get it.
            assert_eq!(lab.heartbeat(old, Some(instance), 1), E::FencedInstanceId);
            assert_eq!(lab.heartbeat(old, None, 1), E::UnknownMemberId);
            let sync = SyncSpec { instance: Some(instance.to_owned()), ..SyncSpec::of(old, 1) };
            assert_eq!(code(lab.sync_now(&sync).error_code), E::FencedInstanceId);
            let fenced = lab.join_now(&JoinSpec::new().version(version).member(old).instance(instance));
            assert_eq!((code(fenced.error_code), &fenced.member_id), (E::FencedInstanceId, old));
            assert_eq!(fenced.protocol_name.as_deref(), if version < 7 { Some("") } else { None });
        }
    }
}

#[test]
fn it_is_told_when_the_log_has_kept_it() {
    let (mut lab, ids) = two();
    lab.log = Log::Holds;
    let ticket = lab.join(&JoinSpec::new().instance("i"));
    for _ in 0..3 {
        lab.pass(SESSION / 2);
        assert_eq!(lab.heartbeat(&ids[1], None, 1), E::None);
    }
    assert!(lab.is_waiting(ticket));
    assert_eq!(lab.heartbeat(&ids[0], Some("i"), 1), E::FencedInstanceId);
    lab.keep();
    let joined = lab.joined(ticket);
    assert_eq!(joined.generation_id, 1);
    // Its session has begun when it was told.
    lab.log = Log::Keeps;
    lab.pass(SESSION - MILLI);
    assert!(lab.group().members().any(|(id, _)| **id == *joined.member_id));
    assert_eq!(lab.heartbeat(&ids[1], None, 1), E::None);
    lab.pass(MILLI);
    assert!(!lab.group().members().any(|(id, _)| **id == *joined.member_id));
}

#[test]
fn a_static_member_that_the_log_refuses_never_came_back() {
    let (mut lab, ids) = two();
    lab.log = Log::Holds;
    let longer = JoinSpec { session: SESSION * 2, ..JoinSpec::new().protocols(&["sticky", "range"]) };
    let ticket = lab.join(&longer.instance("i"));
    lab.refuse(E::NotEnoughReplicas);
    let joined = lab.joined(ticket);
    assert_eq!((code(joined.error_code), joined.member_id.as_str()), (E::CoordinatorNotAvailable, ""));
    assert_eq!((joined.generation_id, joined.leader.as_str()), (1, &*ids[0]));
    assert_eq!((lab.state(), lab.group().size()), ("Stable", 2));
    assert_eq!(lab.heartbeat(&ids[0], Some("i"), 1), E::None);
    assert_eq!(**lab.group().leader().expect("a leader"), *ids[0]);
    assert_eq!(lab.sync_now(&SyncSpec::of(&ids[0], 1)).assignment, &b"0"[..]);
    let again = lab.join(&JoinSpec::new().protocols(&["sticky"]).member(&ids[1]));
    assert_eq!(code(lab.joined(again).error_code), E::InconsistentGroupProtocol, "it offers what it did");
    lab.pass(SESSION);
    assert_eq!(lab.group().size(), 0, "with the session that it had");
}

#[test]
fn one_whose_successor_never_was_has_its_session() {
    let (mut lab, _) = two();
    lab.log = Log::Refuses(E::NotEnoughReplicas);
    assert_eq!(code(lab.join_now(&JoinSpec::new().instance("i")).error_code), E::CoordinatorNotAvailable);
    lab.log = Log::Keeps;
    lab.pass(SESSION);
    assert_eq!((lab.state(), lab.group().size()), ("Empty", 0));
}

#[test]
fn a_rebalance_that_begins_before_the_log_has_kept_it_takes_it_along() {
    for is_kept in [true, false] {
        let (mut lab, ids) = two();
        lab.log = Log::Holds;
        let ticket = lab.join(&JoinSpec::new().instance("i"));
        let other = lab.join(&JoinSpec::new().metadata(b"changed").member(&ids[1]));
        // Both have come: the next generation is there.
        let joined = lab.joined(ticket);
        assert_eq!((joined.generation_id, joined.members.len()), (2, 2));
        assert_eq!(lab.joined(other).leader, joined.member_id);
        if is_kept {
            lab.keep()
        } else {
            lab.refuse(E::NotEnoughReplicas)
        }
        lab.log = Log::Keeps;
        // It has been told of a generation: it is who it is, and the next record will say so.
        lab.complete(&[joined.member_id.clone(), ids[1].clone()]);
        lab.reload();
        assert_eq!(lab.heartbeat(&joined.member_id, Some("i"), 2), E::None);
    }
}

#[test]
fn one_that_waits_for_others_does_not_mind_what_becomes_of_its_record() {
    for is_kept in [true, false] {
        let (mut lab, ids) = two();
        let third = lab.pending_id(&JoinSpec::new());
        lab.log = Log::Holds;
        let ticket = lab.join(&JoinSpec::new().instance("i"));
        lab.join(&JoinSpec::new().member(&third));
        if is_kept {
            lab.keep()
        } else {
            lab.refuse(E::NotEnoughReplicas)
        }
        assert!(lab.is_waiting(ticket));
        lab.join(&JoinSpec::new().member(&ids[1]));
        assert_eq!(lab.joined(ticket).generation_id, 2);
    }
}

#[test]
fn another_protocol_makes_a_rebalance() {
    let both = || JoinSpec::new().protocols(&["range", "sticky"]);
    let mut lab = Lab::new();
    let ids = lab.stable(&[both().instance("i"), both().instance("j")]);
    let ticket = lab.join(&JoinSpec::new().protocols(&["sticky"]).instance("j"));
    assert!(lab.is_waiting(ticket));
    assert_eq!(lab.state(), "PreparingRebalance");
    lab.join(&both().instance("i").member(&ids[0]));
    let joined = lab.joined(ticket);
    assert_eq!((joined.generation_id, joined.protocol_name.as_deref()), (2, Some("sticky")));
}

#[test]
fn one_that_comes_back_while_the_leader_assigns_makes_a_rebalance() {
    // KAFKA-9801: the leader has been told of the id that is gone, and would assign to that.
    let (mut lab, ids) = two();
    let tickets =
        ids.iter().map(|id| lab.join(&JoinSpec::new().metadata(b"new").member(id))).collect::<Vec<_>>();
    tickets.into_iter().for_each(|ticket| assert_eq!(lab.joined(ticket).generation_id, 2));
    let waiting = lab.sync(&SyncSpec::of(&ids[1], 2));
    let ticket = lab.join(&JoinSpec::new().metadata(b"new").instance("j"));
    let fenced = lab.synced(waiting);
    assert_eq!((code(fenced.error_code), fenced.assignment.len()), (E::FencedInstanceId, 0));
    assert_eq!(lab.state(), "PreparingRebalance");
    let leader = lab.join_now(&JoinSpec::new().metadata(b"new").member(&ids[0]));
    let joined = lab.joined(ticket);
    assert_eq!((joined.generation_id, leader.members.len()), (3, 2));
    assert!(leader.members.iter().any(|member| member.member_id == joined.member_id));
}

#[test]
fn one_that_comes_back_while_others_join_fences_the_one_that_waits() {
    let (mut lab, ids) = two();
    let old = lab.join(&JoinSpec::new().metadata(b"new").member(&ids[0]));
    let new = lab.join(&JoinSpec::new().metadata(b"new").instance("i"));
    let fenced = lab.joined(old);
    assert_eq!((code(fenced.error_code), &fenced.member_id), (E::FencedInstanceId, &ids[0]));
    assert_eq!((fenced.protocol_name, fenced.leader.as_str()), (None, ""));
    assert!(lab.is_waiting(new));
    lab.join(&JoinSpec::new().metadata(b"new").member(&ids[1]));
    assert_eq!(lab.joined(new).generation_id, 2);
}

#[test]
fn static_members_that_do_not_join_again_have_their_session() {
    let mut lab = Lab::new();
    let long = JoinSpec { session: REBALANCE * 3, ..JoinSpec::new() };
    let ids = lab.stable(&[long.clone().instance("i"), JoinSpec::new(), long.clone()]);
    let ticket = lab.join(&JoinSpec::new().metadata(b"changed").member(&ids[1]));
    lab.pass(REBALANCE);
    let joined = lab.joined(ticket);
    let shown: Vec<&str> = joined.members.iter().map(|member| member.member_id.as_str()).collect();
    assert_eq!(shown.len(), 2, "the dynamic member is out");
    assert!(shown.contains(&ids[0].as_str()));
    assert_eq!(joined.leader, ids[1], "who has not come does not lead");
}

#[test]
fn a_group_of_static_members_of_which_none_comes_waits_for_their_sessions() {
    let mut lab = Lab::new();
    let long = JoinSpec { session: REBALANCE * 5 / 2, ..JoinSpec::new() };
    let ids = lab.stable(&[long.clone().instance("i"), JoinSpec::new()]);
    lab.leave(3, &[(&ids[1], None)]);
    lab.pass(REBALANCE * 2);
    assert_eq!((lab.state(), lab.group().size()), ("PreparingRebalance", 1));
    lab.pass(REBALANCE / 2);
    assert_eq!((lab.state(), lab.group().generation()), ("Empty", 2));
}

#[test]
fn one_that_came_back_and_does_not_sync_is_out_as_others_are() {
    let long = JoinSpec { session: REBALANCE * 5, ..JoinSpec::new() };
    let mut lab = Lab::new();
    let tickets = ["i", "j"].map(|instance| lab.join(&long.clone().instance(instance)));
    lab.pass(super::lab::DELAY * 2);
    let ids = tickets.map(|ticket| lab.joined(ticket).member_id);
    lab.sync_now(&SyncSpec::of(&ids[0], 1));
    let back = lab.join_now(&long.clone().instance("j"));
    assert_eq!(code(lab.sync_now(&SyncSpec::of(&back.member_id, 1)).error_code), E::None);
    lab.pass(REBALANCE);
    assert_eq!((lab.state(), lab.group().size()), ("Stable", 2), "it owes nothing any more");
}
