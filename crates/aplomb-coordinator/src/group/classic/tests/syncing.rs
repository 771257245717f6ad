//! SyncGroup.

use aplomb_model::ErrorCode as E;
use bytes::Bytes;

use super::lab::{DELAY, JoinSpec, Lab, Log, MILLI, REBALANCE, SESSION, SyncSpec, code};
use crate::group::GroupRecord;

/// A group of two in which no member has synced.
fn completing(lab: &mut Lab) -> [String; 2] {
    let one = lab.join(&JoinSpec::new().version(3));
    let two = lab.join(&JoinSpec::new().version(3));
    lab.pass(DELAY * 3);
    [one, two].map(|ticket| lab.joined(ticket).member_id)
}

fn leaders(id: &str, assignments: &[(&str, &str)]) -> SyncSpec {
    let assignments = assignments.iter().map(|(id, assigned)| ((*id).to_owned(), (*assigned).to_owned()));
    SyncSpec { assignments: assignments.collect(), ..SyncSpec::of(id, 1) }
}

#[test]
fn each_member_is_told_what_the_leader_has_assigned() {
    let mut lab = Lab::new();
    let [leader, other] = completing(&mut lab);
    let waiting = lab.sync(&SyncSpec::of(&other, 1));
    assert!(lab.is_waiting(waiting), "the leader has not assigned");
    let named = SyncSpec {
        version: 5,
        protocol_type: Some("consumer"),
        protocol: Some("range"),
        ..leaders(&leader, &[(&leader, "first"), (&leader, "a"), (&other, "b"), ("gone", "c")])
    };
    let synced = lab.sync_now(&named);
    assert_eq!((code(synced.error_code), synced.assignment), (E::None, Bytes::from_static(b"a")));
    assert_eq!(synced.protocol_type.as_deref(), Some("consumer"));
    assert_eq!(synced.protocol_name.as_deref(), Some("range"));
    assert_eq!(lab.synced(waiting).assignment, Bytes::from_static(b"b"));
    assert_eq!(lab.state(), "Stable");
    // Who asks again is told the same.
    assert_eq!(lab.sync_now(&SyncSpec::of(&other, 1)).assignment, Bytes::from_static(b"b"));

    let records = lab.records();
    let Some(GroupRecord::Classic(_, Some(value))) = records.last() else { panic!("a group's record") };
    assert_eq!((value.generation, value.leader.as_deref()), (1, Some(&*leader)));
    assert_eq!((value.protocol_type.as_str(), value.protocol.as_deref()), ("consumer", Some("range")));
    assert_eq!((records.len(), value.members.len()), (2, 2));
    let member = value.members.iter().find(|member| member.member_id == other).expect("both are in it");
    assert_eq!((&member.assignment[..], member.client_host.as_str()), (&b"b"[..], "/192.0.2.1"));
    assert_eq!((member.session_timeout, member.rebalance_timeout), (10_000, 60_000));
}

#[test]
fn a_member_that_the_leader_left_out_is_told_that_it_has_nothing() {
    let mut lab = Lab::new();
    let [leader, other] = completing(&mut lab);
    let waiting = lab.sync(&SyncSpec::of(&other, 1));
    lab.sync(&leaders(&leader, &[(&leader, "a")]));
    let synced = lab.synced(waiting);
    assert_eq!((code(synced.error_code), synced.assignment.len()), (E::None, 0));
}

#[test]
fn checks_come_in_kafkas_order() {
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new().instance("i")]);
    let good = SyncSpec { instance: Some("i".to_owned()), ..SyncSpec::of(&ids[0], 1) };
    let v5 =
        SyncSpec { version: 5, protocol_type: Some("consumer"), protocol: Some("range"), ..good.clone() };
    let with = |instance: &str, member: &str, generation| SyncSpec {
        instance: Some(instance.to_owned()),
        ..SyncSpec::of(member, generation)
    };
    let cases = [
        (good.clone(), E::None),
        (v5.clone(), E::None),
        (SyncSpec { protocol: None, ..v5.clone() }, E::InconsistentGroupProtocol),
        (SyncSpec { protocol_type: None, ..v5.clone() }, E::InconsistentGroupProtocol),
        (SyncSpec { protocol: Some("sticky"), ..v5.clone() }, E::InconsistentGroupProtocol),
        (SyncSpec { protocol_type: Some("connect"), ..v5.clone() }, E::InconsistentGroupProtocol),
        (SyncSpec { protocol: Some("sticky"), generation: 2, ..v5 }, E::IllegalGeneration),
        (SyncSpec { generation: 0, ..good }, E::IllegalGeneration),
        (with("i", "else", 0), E::FencedInstanceId),
        (with("else", &ids[0], 0), E::UnknownMemberId),
        (SyncSpec::of("else", 0), E::UnknownMemberId),
        (SyncSpec::of("", 1), E::UnknownMemberId),
    ];
    for (sync, error) in cases {
        assert_eq!(code(lab.sync_now(&sync).error_code), error, "{sync:?}");
    }
    assert_eq!(code(Lab::new().sync_now(&SyncSpec::of("m", 1)).error_code), E::UnknownMemberId);
    lab.leave(3, &[("", Some("i"))]);
    assert_eq!(code(lab.sync_now(&SyncSpec::of(&ids[0], 2)).error_code), E::UnknownMemberId);
}

#[test]
fn a_sync_that_comes_while_members_join_is_told_to_join() {
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new(), JoinSpec::new()]);
    lab.join(&JoinSpec::new().member(&ids[0]));
    assert_eq!(code(lab.sync_now(&SyncSpec::of(&ids[1], 1)).error_code), E::RebalanceInProgress);
}

#[test]
fn whoever_waits_for_its_assignment_when_a_rebalance_begins_is_told_to_join() {
    let mut lab = Lab::new();
    let [leader, other] = completing(&mut lab);
    let waiting = lab.sync(&SyncSpec::of(&other, 1));
    lab.join(&JoinSpec::new().version(3));
    assert_eq!(lab.state(), "PreparingRebalance");
    let synced = lab.synced(waiting);
    assert_eq!((code(synced.error_code), synced.assignment.len()), (E::RebalanceInProgress, 0));
    assert_eq!((synced.protocol_type, synced.protocol_name), (None, None));
    // An assignment of the generation that is over is refused.
    let late = lab.sync_now(&leaders(&leader, &[(&leader, "a")]));
    assert_eq!(code(late.error_code), E::RebalanceInProgress);
}

#[test]
fn members_are_told_when_the_log_has_kept_the_assignment_and_the_group_is_stable_then() {
    let mut lab = Lab::new();
    let [leader, other] = completing(&mut lab);
    lab.log = Log::Holds;
    let leaders_sync = lab.sync(&leaders(&leader, &[(&leader, "a"), (&other, "b")]));
    let waiting = lab.sync(&SyncSpec::of(&other, 1));
    // A log that takes its time makes no member go: neither session nor sync ends for who waits.
    lab.pass(REBALANCE * 5);
    assert!(lab.is_waiting(leaders_sync) && lab.is_waiting(waiting));
    assert_eq!((lab.state(), lab.holds()), ("CompletingRebalance", 1));
    assert_eq!(lab.heartbeat(&other, None, 1), E::None);
    // The leader asks again, with something else in mind: what it has said is on its way.
    let again = lab.sync(&leaders(&leader, &[(&leader, "else")]));
    assert_eq!(code(lab.synced(leaders_sync).error_code), E::RebalanceInProgress);
    assert_eq!(lab.holds(), 1);
    lab.keep();
    assert_eq!(lab.synced(again).assignment, Bytes::from_static(b"a"));
    assert_eq!(lab.synced(waiting).assignment, Bytes::from_static(b"b"));
    assert_eq!(lab.state(), "Stable");
    // Sessions have begun anew.
    lab.pass(SESSION - MILLI);
    assert_eq!(lab.group().size(), 2);
    lab.pass(MILLI);
    assert_eq!(lab.state(), "Empty");
}

#[test]
fn an_assignment_that_the_log_refuses_is_nobodys_and_the_group_rebalances() {
    let cases = [
        (E::NotEnoughReplicas, E::CoordinatorNotAvailable),
        (E::UnknownTopicOrPartition, E::CoordinatorNotAvailable),
        (E::RequestTimedOut, E::CoordinatorNotAvailable),
        (E::NotLeaderOrFollower, E::NotCoordinator),
        (E::KafkaStorageError, E::NotCoordinator),
        (E::MessageTooLarge, E::UnknownServerError),
        (E::RecordListTooLarge, E::UnknownServerError),
        (E::InvalidFetchSize, E::UnknownServerError),
    ];
    for (refused, told) in cases {
        let mut lab = Lab::new();
        let [leader, other] = completing(&mut lab);
        lab.log = Log::Holds;
        let one = lab.sync(&leaders(&leader, &[(&leader, "a"), (&other, "b")]));
        let two = lab.sync(&SyncSpec::of(&other, 1));
        lab.refuse(refused);
        assert_eq!(code(lab.synced(one).error_code), told);
        let synced = lab.synced(two);
        assert_eq!((code(synced.error_code), synced.assignment.len()), (told, 0));
        assert_eq!(lab.state(), "PreparingRebalance");
        lab.log = Log::Keeps;
        let tickets = [&leader, &other].map(|id| lab.join(&JoinSpec::new().member(id)));
        assert!(tickets.into_iter().all(|ticket| lab.joined(ticket).generation_id == 2));
        lab.complete(&[leader, other]);
    }
}

#[test]
fn an_assignment_that_is_too_large_for_the_log_is_refused() {
    let mut lab = Lab::new();
    let [leader, _] = completing(&mut lab);
    let huge = "x".repeat(17 << 20);
    let synced = lab.sync_now(&leaders(&leader, &[(&leader, &huge)]));
    assert_eq!(code(synced.error_code), E::UnknownServerError);
    assert_eq!(lab.state(), "PreparingRebalance");
}

#[test]
fn what_the_log_says_of_a_generation_that_is_over_changes_nothing() {
    for is_kept in [true, false] {
        let mut lab = Lab::new();
        let [leader, other] = completing(&mut lab);
        lab.log = Log::Holds;
        lab.sync(&leaders(&leader, &[(&leader, "a"), (&other, "b")]));
        lab.join(&JoinSpec::new().metadata(b"changed").member(&other));
        lab.join(&JoinSpec::new().member(&leader));
        assert_eq!((lab.state(), lab.group().generation()), ("CompletingRebalance", 2));
        if is_kept {
            lab.keep()
        } else {
            lab.refuse(E::NotEnoughReplicas)
        }
        assert_eq!((lab.state(), lab.group().generation()), ("CompletingRebalance", 2));
        assert!(lab.group().members().all(|(_, member)| member.assignment.is_empty()));
    }
}

#[test]
fn members_that_do_not_sync_in_time_are_out() {
    let mut lab = Lab::new();
    let slow = JoinSpec { session: REBALANCE * 2, ..JoinSpec::new().version(3) };
    let tickets = [(); 3].map(|()| lab.join(&slow));
    lab.pass(DELAY);
    let ids = tickets.map(|ticket| lab.joined(ticket).member_id);
    let waiting = lab.sync(&SyncSpec::of(&ids[1], 1));
    lab.pass(REBALANCE - DELAY * 2);
    assert!(lab.is_waiting(waiting));
    lab.pass(DELAY * 2);
    assert_eq!(code(lab.synced(waiting).error_code), E::RebalanceInProgress);
    assert_eq!((lab.state(), lab.group().size()), ("PreparingRebalance", 1));
    let joined = lab.join_now(&slow.clone().member(&ids[1]));
    assert_eq!((joined.generation_id, joined.leader), (2, ids[1].clone()));

    // A stable group, too: one that was told what it has to do with has not asked what that is.
    let mut lab = Lab::new();
    let tickets = [(); 2].map(|()| lab.join(&slow));
    lab.pass(DELAY);
    let ids = tickets.map(|ticket| lab.joined(ticket).member_id);
    lab.sync(&leaders(&ids[0], &[]));
    assert_eq!(lab.state(), "Stable");
    lab.pass(REBALANCE);
    assert_eq!((lab.state(), lab.group().size()), ("PreparingRebalance", 1));
}
