//! JoinGroup.

use std::time::Duration;

use aplomb_model::ErrorCode as E;
use aplomb_protocol::Message;

use super::lab::{DELAY, GROUP, JoinSpec, Lab, Log, MILLI, REBALANCE, SESSION, SyncSpec, code, subscription};
use crate::group::GroupRecord;

#[test]
fn what_is_out_of_bounds_is_refused_before_any_group_is_made() {
    let join = JoinSpec::new();
    let cases = [
        (JoinSpec { group: "", ..join.clone() }, E::InvalidGroupId),
        (JoinSpec { session: Duration::from_millis(5_999), ..join.clone() }, E::InvalidSessionTimeout),
        (JoinSpec { session: Duration::from_millis(1_800_001), ..join.clone() }, E::InvalidSessionTimeout),
        (join.clone().member("m"), E::UnknownMemberId),
        (JoinSpec { protocol_type: "", ..join.clone() }, E::InconsistentGroupProtocol),
        (join.clone().protocols(&[]), E::InconsistentGroupProtocol),
    ];
    for (join, error) in cases {
        let mut lab = Lab::new();
        let joined = lab.join_now(&join);
        assert_eq!(code(joined.error_code), error, "{join:?}");
        let names = error != E::InconsistentGroupProtocol;
        assert_eq!(joined.member_id, if names { join.member.as_str() } else { "" });
        assert_eq!((joined.generation_id, joined.protocol_name), (-1, None));
        assert!(!lab.has_group() && lab.records().is_empty());
    }
}

#[test]
fn a_group_is_written_when_its_first_member_wants_to_join() {
    for version in [3, 9] {
        let mut lab = Lab::new();
        let ticket = lab.join(&JoinSpec::new().version(version));
        assert_eq!(lab.is_waiting(ticket), version == 3);
        let [GroupRecord::Classic(key, Some(value))] = &lab.records()[..] else { panic!("one record") };
        assert_eq!((key.group.as_str(), value.generation, value.protocol_type.as_str()), (GROUP, 0, ""));
        assert_eq!((&value.protocol, &value.leader, value.members.len()), (&None, &None, 0));
        assert_eq!(value.current_state_timestamp, 1_000_000);
        lab.reload();
        assert_eq!(lab.state(), "Empty");
    }
}

#[test]
fn a_dynamic_member_is_told_its_id_from_version_4_on() {
    for version in 0..=9 {
        let mut lab = Lab::new();
        let ticket = lab.join(&JoinSpec::new().version(version));
        if version < 4 {
            assert!(lab.is_waiting(ticket));
            assert_eq!(lab.state(), "PreparingRebalance");
            lab.pass(DELAY);
            let joined = lab.joined(ticket);
            assert_eq!(joined.leader, joined.member_id);
            continue;
        }
        let joined = lab.joined(ticket);
        assert_eq!((code(joined.error_code), joined.generation_id), (E::MemberIdRequired, -1));
        let (prefix, uuid) = joined.member_id.split_at("client-".len());
        assert_eq!((prefix, uuid.len(), uuid.matches('-').count()), ("client-", 36, 4));
        assert_eq!((lab.state(), lab.group().size()), ("Empty", 0));
        let ticket = lab.join(&JoinSpec::new().version(version).member(&joined.member_id));
        lab.pass(DELAY);
        assert_eq!(lab.joined(ticket).generation_id, 1);
    }
}

#[test]
fn a_static_member_is_let_in_without_an_id() {
    let mut lab = Lab::new();
    let ticket = lab.join(&JoinSpec::new().instance("i"));
    lab.pass(DELAY);
    let joined = lab.joined(ticket);
    assert_eq!((code(joined.error_code), joined.generation_id), (E::None, 1));
    assert!(joined.member_id.starts_with("i-"));
    assert_eq!(joined.members[0].group_instance_id.as_deref(), Some("i"));
}

#[test]
fn an_id_has_room_for_no_more_than_the_longest_string() {
    let mut lab = Lab::new();
    let instance = "\u{20ac}".repeat(10_922); // 32766 bytes, three each
    let ticket = lab.join(&JoinSpec::new().instance(&instance));
    lab.pass(DELAY);
    let joined = lab.joined(ticket);
    assert!(joined.member_id.len() <= 32_767 && joined.member_id.len() > 32_760);
    assert!(joined.to_bytes(9).is_ok());
}

#[test]
fn the_leader_alone_is_told_who_is_in_the_group() {
    let mut lab = Lab::new();
    let one = lab.join(&JoinSpec::new().version(3));
    let two = lab.join(&JoinSpec::new().version(3));
    lab.pass(DELAY * 3);
    let (one, two) = (lab.joined(one), lab.joined(two));
    assert_eq!((&one.leader, &two.leader), (&one.member_id, &one.member_id));
    assert_eq!((one.members.len(), two.members.len()), (2, 0));
    assert_eq!(one.members[0].metadata, subscription(&["t"]));
    for joined in [one, two] {
        assert_eq!((joined.generation_id, joined.skip_assignment), (1, false));
        assert_eq!(joined.protocol_type.as_deref(), Some("consumer"));
        assert_eq!(joined.protocol_name.as_deref(), Some("range"));
    }
    assert_eq!(lab.state(), "CompletingRebalance");
}

#[test]
fn the_first_wait_is_longer_when_members_come_and_never_longer_than_the_rebalance_timeout() {
    let mut lab = Lab::new();
    let alone = lab.join(&JoinSpec::new().version(3));
    lab.pass(DELAY - MILLI);
    assert!(lab.is_waiting(alone));
    lab.pass(MILLI);
    assert_eq!(lab.joined(alone).generation_id, 1);

    let mut lab = Lab::new();
    let (early, _) = (lab.join(&JoinSpec::new().version(3)), lab.join(&JoinSpec::new().version(3)));
    lab.pass(DELAY - MILLI);
    assert!(lab.is_waiting(early));
    lab.pass(MILLI);
    assert_eq!(lab.joined(early).members.len(), 2, "both came long ago");

    let mut lab = Lab::new();
    let first = lab.join(&JoinSpec::new().version(3));
    lab.pass(DELAY - MILLI);
    lab.join(&JoinSpec::new().version(3));
    lab.pass(DELAY / 3 - MILLI);
    assert!(lab.is_waiting(first), "another may be about to come");
    lab.pass(MILLI);
    assert_eq!(lab.joined(first).members.len(), 2);

    let mut lab = Lab::new();
    let short = JoinSpec { rebalance: DELAY * 3, ..JoinSpec::new().version(3) };
    let first = lab.join(&short);
    for _ in 0..10 {
        lab.pass(DELAY * 3 / 10 - MILLI);
        assert!(lab.is_waiting(first));
        lab.join(&short);
        lab.pass(MILLI);
    }
    assert_eq!(lab.joined(first).members.len(), 11, "no longer than three times the delay");
}

#[test]
fn a_member_with_another_protocol_is_refused() {
    let cases = [
        (JoinSpec::new().protocols(&["sticky"]), false),
        (JoinSpec { protocol_type: "connect", ..JoinSpec::new() }, false),
        (JoinSpec::new().protocols(&["sticky", "range"]), true),
    ];
    for (join, is_let_in) in cases {
        let mut lab = Lab::new();
        let ids = lab.stable(&[JoinSpec::new()]);
        let error = if is_let_in { E::MemberIdRequired } else { E::InconsistentGroupProtocol };
        assert_eq!(code(lab.join_now(&join).error_code), error);
        if !is_let_in {
            let joined = lab.join_now(&join.member(&ids[0]));
            assert_eq!((code(joined.error_code), joined.member_id), (error, ids[0].clone()));
            assert_eq!(lab.state(), "Stable");
        }
    }
}

#[test]
fn an_empty_group_may_become_one_of_another_type() {
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new()]);
    lab.leave(3, &[(&ids[0], None)]);
    assert_eq!(lab.state(), "Empty");
    let connect =
        JoinSpec { protocol_type: "connect", ..JoinSpec::new().version(1).protocols(&["sessioned"]) };
    let ticket = lab.join(&connect);
    lab.pass(DELAY);
    let joined = lab.joined(ticket);
    assert_eq!((joined.protocol_type.as_deref(), joined.generation_id), (Some("connect"), 3));
}

#[test]
fn a_protocol_that_is_named_twice_is_one_protocol() {
    let mut lab = Lab::new();
    let twice = JoinSpec::new().version(3).protocols(&["range", "range", "sticky"]);
    let one = lab.join(&twice);
    let two = lab.join(&JoinSpec::new().version(3));
    lab.pass(DELAY * 3);
    assert_eq!(lab.joined(one).protocol_name.as_deref(), Some("range"));
    assert_eq!(lab.joined(two).generation_id, 1);
}

/// A member of a group in this state joins again: what it is told, and what becomes of the group.
#[test]
fn a_known_member_that_joins_again() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Told {
        /// The generation that is, and so many members.
        Now(usize),
        /// To wait for others.
        Wait,
    }
    let same = || JoinSpec::new();
    let changed = || JoinSpec::new().metadata(b"else");
    let cases = [
        ("CompletingRebalance", 0, same(), Told::Now(2)),
        ("CompletingRebalance", 1, same(), Told::Now(0)),
        ("CompletingRebalance", 0, changed(), Told::Wait),
        ("CompletingRebalance", 1, changed(), Told::Wait),
        ("Stable", 0, same(), Told::Wait),
        ("Stable", 1, same(), Told::Now(0)),
        ("Stable", 0, changed(), Told::Wait),
        ("Stable", 1, changed(), Told::Wait),
        ("PreparingRebalance", 0, same(), Told::Wait),
        ("PreparingRebalance", 1, same(), Told::Wait),
    ];
    for (state, who, join, told) in cases {
        let mut lab = Lab::new();
        let ids = lab.stable(&[JoinSpec::new(), JoinSpec::new()]);
        if state != "Stable" {
            let third = lab.pending_id(&JoinSpec::new());
            lab.join(&JoinSpec::new().member(&third));
            if state == "CompletingRebalance" {
                lab.leave(3, &[(&third, None)]);
                let tickets = ids.clone().map_tickets(&mut lab);
                tickets.into_iter().for_each(|ticket| assert_eq!(lab.joined(ticket).generation_id, 2));
            }
        }
        assert_eq!(lab.state(), state);
        let generation = lab.group().generation();
        let ticket = lab.join(&join.member(&ids[who]));
        match told {
            Told::Now(members) => {
                let joined = lab.joined(ticket);
                assert_eq!((joined.generation_id, joined.members.len()), (generation, members));
                assert_eq!((joined.leader.as_str(), joined.member_id.as_str()), (&*ids[0], &*ids[who]));
                assert_eq!(lab.state(), state);
            }
            Told::Wait => {
                assert!(lab.is_waiting(ticket), "{state}, member {who}");
                assert_eq!(lab.state(), "PreparingRebalance");
                lab.pass(REBALANCE);
                let joined = lab.joined(ticket);
                assert_eq!(joined.generation_id, generation + 1);
                assert_eq!(joined.leader, ids[who], "who has joined leads");
            }
        }
    }
}

trait MapTickets {
    fn map_tickets(self, lab: &mut Lab) -> Vec<crate::runtime::Ticket>;
}

impl MapTickets for Vec<String> {
    /// All of them join again.
    fn map_tickets(self, lab: &mut Lab) -> Vec<crate::runtime::Ticket> {
        self.iter().map(|id| lab.join(&JoinSpec::new().member(id))).collect()
    }
}

#[test]
fn members_that_do_not_join_again_in_time_are_out() {
    let mut lab = Lab::new();
    // Its session is longer than the rebalance may take.
    let long = JoinSpec { session: REBALANCE * 2, ..JoinSpec::new() };
    let ids = lab.stable(&[long.clone(), long.clone(), long.clone()]);
    let ticket = lab.join(&long.metadata(b"changed").member(&ids[2]));
    lab.pass(REBALANCE - MILLI);
    assert!(lab.is_waiting(ticket));
    lab.pass(MILLI);
    let joined = lab.joined(ticket);
    assert_eq!((joined.members.len(), joined.generation_id), (1, 2));
    assert_eq!(joined.leader, ids[2]);
    assert_eq!(lab.heartbeat(&ids[0], None, 1), E::UnknownMemberId);
}

#[test]
fn pending_ids_hold_the_phase_and_are_let_go() {
    // KAFKA-7909: a client that has been told an id is waited for, and no longer than its session.
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new()]);
    let pending = lab.pending_id(&JoinSpec::new());
    assert_eq!(lab.state(), "Stable", "an id that is given out changes nothing yet");
    let ticket = lab.join(&JoinSpec::new().member(&ids[0]));
    assert!(lab.is_waiting(ticket));
    lab.pass(SESSION - MILLI);
    assert!(lab.is_waiting(ticket));
    lab.pass(MILLI);
    assert_eq!(lab.joined(ticket).members.len(), 1);
    let late = lab.join_now(&JoinSpec::new().member(&pending));
    assert_eq!((code(late.error_code), late.member_id), (E::UnknownMemberId, pending));

    // One that leaves is not waited for either.
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new()]);
    let pending = lab.pending_id(&JoinSpec::new());
    let ticket = lab.join(&JoinSpec::new().member(&ids[0]));
    assert!(lab.is_waiting(ticket));
    assert_eq!(code(lab.leave(3, &[(&pending, None)]).members[0].error_code), E::None);
    assert_eq!(lab.joined(ticket).generation_id, 2);
}

#[test]
fn a_client_that_asks_for_an_id_again_before_it_joins_is_let_in() {
    // kafka_ex#539: it uses the first id in the end, which lasts as long as a session.
    let mut lab = Lab::new();
    let first = lab.pending_id(&JoinSpec::new());
    lab.pass(SESSION / 2);
    let second = lab.pending_id(&JoinSpec::new());
    assert_ne!(first, second);
    let ticket = lab.join(&JoinSpec::new().member(&first));
    lab.pass(DELAY);
    assert_eq!(lab.joined(ticket).members.len(), 1, "the first wait is for members, not for ids");
}

#[test]
fn a_pending_id_is_no_static_members() {
    let mut lab = Lab::new();
    let pending = lab.pending_id(&JoinSpec::new());
    let joined = lab.join_now(&JoinSpec::new().member(&pending).instance("i"));
    assert_eq!((code(joined.error_code), joined.member_id.as_str()), (E::UnknownServerError, ""));
}

#[test]
fn a_new_member_waits_for_five_minutes_and_no_longer() {
    // KAFKA-8896: others of the group take their time, and it cannot say that it is there.
    const FIVE_MINUTES: Duration = Duration::from_secs(300);
    let slow = JoinSpec { session: FIVE_MINUTES * 3, rebalance: FIVE_MINUTES * 2, ..JoinSpec::new() };
    let mut lab = Lab::new();
    let ids = lab.stable(std::slice::from_ref(&slow));
    let id = lab.pending_id(&JoinSpec::new());
    let new = lab.join(&JoinSpec::new().member(&id));
    lab.pass(FIVE_MINUTES - MILLI);
    assert!(lab.is_waiting(new), "its own session is far shorter");
    lab.pass(MILLI);
    let joined = lab.joined(new);
    assert_eq!((code(joined.error_code), joined.member_id.as_str()), (E::UnknownMemberId, ""));
    // One that has been a member before is waited for as long as the phase lasts.
    let old = lab.join(&slow.clone().member(&ids[0]));
    assert_eq!(lab.joined(old).members.len(), 1);
}

#[test]
fn a_known_member_that_waits_needs_no_heartbeats() {
    let mut lab = Lab::new();
    let slow = JoinSpec { session: REBALANCE * 3, ..JoinSpec::new() };
    let ids = lab.stable(&[slow, JoinSpec::new()]);
    let ticket = lab.join(&JoinSpec::new().metadata(b"changed").member(&ids[1]));
    lab.pass(REBALANCE - MILLI);
    assert!(lab.is_waiting(ticket), "its session would be over");
    lab.pass(MILLI);
    assert_eq!(lab.joined(ticket).generation_id, 2);
    lab.pass(SESSION - MILLI);
    assert_eq!(lab.group().size(), 1, "its session has begun anew");
    lab.pass(MILLI);
    assert_eq!(lab.state(), "Empty");
}

#[test]
fn a_join_that_is_sent_again_takes_the_place_of_the_first() {
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new(), JoinSpec::new()]);
    let first = lab.join(&JoinSpec::new().member(&ids[0]));
    let second = lab.join(&JoinSpec::new().member(&ids[0]));
    assert_eq!(code(lab.joined(first).error_code), E::RebalanceInProgress);
    lab.join(&JoinSpec::new().member(&ids[1]));
    assert_eq!(lab.joined(second).members.len(), 2);
}

#[test]
fn a_full_group_lets_no_more_in() {
    // Stable: members may come back, others not.
    let mut lab = Lab::new().with_max_size(2);
    let ids = lab.stable(&[JoinSpec::new(), JoinSpec::new()]);
    let joined = lab.join_now(&JoinSpec::new());
    assert_eq!((code(joined.error_code), joined.member_id.as_str()), (E::GroupMaxSizeReached, ""));
    assert_eq!(code(lab.join_now(&JoinSpec::new().member("else")).error_code), E::GroupMaxSizeReached);
    assert_eq!(lab.state(), "Stable");
    let ticket = lab.join(&JoinSpec::new().member(&ids[0]));
    assert!(lab.is_waiting(ticket));

    // Preparing: those who wait count.
    let pending = lab.pending_id(&JoinSpec::new());
    let other = lab.join(&JoinSpec::new().member(&pending));
    assert!(lab.is_waiting(other), "only one waits of those who were members");
    let late = lab.join_now(&JoinSpec::new().member(&ids[1]));
    assert_eq!(code(late.error_code), E::GroupMaxSizeReached);
    assert_eq!(lab.joined(ticket).members.len(), 2, "the one that came late is out");
    assert_eq!(lab.heartbeat(&ids[1], None, 1), E::UnknownMemberId);
}

#[test]
fn a_group_that_is_too_large_is_made_smaller_when_it_is_loaded() {
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new(), JoinSpec::new(), JoinSpec::new()]);
    lab = lab.with_max_size(2);
    lab.reload();
    assert_eq!(lab.state(), "PreparingRebalance");
    assert_eq!(lab.heartbeat(&ids[0], None, 1), E::RebalanceInProgress, "it can commit before it joins");
    let one = lab.join(&JoinSpec::new().member(&ids[2]));
    let two = lab.join(&JoinSpec::new().member(&ids[1]));
    assert_eq!(code(lab.join_now(&JoinSpec::new().member(&ids[0])).error_code), E::GroupMaxSizeReached);
    let (one, two) = (lab.joined(one), lab.joined(two));
    assert_eq!((one.generation_id, one.members.len() + two.members.len()), (2, 2));
}

#[test]
fn no_member_is_let_in_beyond_what_memory_is_for() {
    let mut lab = Lab::new();
    lab.fill_memory();
    assert_eq!(code(lab.join_now(&JoinSpec::new()).error_code), E::CoordinatorNotAvailable);
    assert!(!lab.has_group() && lab.records().is_empty(), "no group is made");

    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new(), JoinSpec::new().instance("i")]);
    lab.fill_memory();
    assert_eq!(code(lab.join_now(&JoinSpec::new()).error_code), E::CoordinatorNotAvailable);
    assert_eq!(code(lab.join_now(&JoinSpec::new().instance("i")).error_code), E::None, "it was there");
    let larger = JoinSpec::new().protocols(&["range", "sticky"]).member(&ids[0]);
    assert_eq!(code(lab.join_now(&larger).error_code), E::CoordinatorNotAvailable);
    let ticket = lab.join(&JoinSpec::new().member(&ids[0]));
    lab.leave(3, &[("", Some("i"))]);
    assert_eq!(lab.joined(ticket).generation_id, 2, "who is in it may go on");
}

#[test]
fn a_group_that_the_log_refuses_never_was() {
    for version in [3, 9] {
        let mut lab = Lab::new();
        lab.log = Log::Holds;
        let first = lab.join(&JoinSpec::new().version(version));
        assert_eq!(lab.is_waiting(first), version == 3, "an id is given out at once");
        let other = lab.join(&JoinSpec::new().version(3));
        lab.pass(DELAY * 3);
        // In the meantime it has a generation.
        let other = lab.joined(other);
        let sync = lab.sync(&SyncSpec::of(&other.member_id, 1));
        lab.refuse(E::NotLeaderOrFollower);
        assert_eq!(code(lab.synced(sync).error_code), E::NotCoordinator);
        assert!(!lab.has_group());
        lab.log = Log::Keeps;
        lab.pass(REBALANCE * 10);
        assert!(!lab.has_group() && lab.records().is_empty());
        let again = lab.join(&JoinSpec::new().version(3));
        lab.pass(DELAY);
        assert_eq!(lab.joined(again).generation_id, 1);
    }
    let mut lab = Lab::new();
    lab.log = Log::Refuses(E::NotEnoughReplicas);
    let joined = lab.join_now(&JoinSpec::new().version(3));
    assert_eq!(code(joined.error_code), E::CoordinatorNotAvailable);
    assert!(!lab.has_group());
}

#[test]
fn ten_thousand_members_join() {
    const MEMBERS: usize = 10_000;
    let mut lab = Lab::new();
    lab.checks = false;
    let join = JoinSpec { session: REBALANCE * 20, ..JoinSpec::new().version(3) };
    let tickets: Vec<_> = (0..MEMBERS).map(|_| lab.join(&join)).collect();
    lab.pass(REBALANCE);
    let joined: Vec<_> = tickets.into_iter().map(|ticket| lab.joined(ticket)).collect();
    assert_eq!(joined[0].members.len(), MEMBERS);
    assert!(joined.iter().all(|joined| joined.generation_id == 1));
    let ids: Vec<String> = joined.into_iter().map(|joined| joined.member_id).collect();
    lab.complete(&ids);
    // One more, and all of them come again.
    let one_more = lab.join(&join);
    let tickets: Vec<_> = ids.iter().map(|id| lab.join(&join.clone().member(id))).collect();
    assert_eq!(lab.joined(one_more).generation_id, 2);
    assert!(tickets.into_iter().all(|ticket| lab.joined(ticket).generation_id == 2));
    lab.checks = true;
    lab.leave(3, &ids[1..].iter().map(|id| (id.as_str(), None)).collect::<Vec<_>>());
    assert_eq!(lab.group().size(), 2);
}
