//! Groups that change between the protocols.

use std::time::Duration;

use aplomb_model::ErrorCode;
use aplomb_protocol::{Message as _, Reader, messages as m};
use bytes::Bytes;

use super::lab::{GROUP, Lab, Request, beat};
use crate::group::{GroupAsk, GroupReply, MigrationPolicy};

/// A classic group of two consumers, of generation 1, that have two partitions each.
fn classic() -> (Lab, String, String) {
    let mut lab = Lab::new();
    lab.world.settings.classic.initial_rebalance_delay = Duration::from_secs(3);
    lab.world.set_topic("a", 4);
    let ids: Vec<String> = (0..2)
        .map(|_| {
            let ticket = lab.join_classic("", &["a"], &[]);
            lab.joined(ticket).expect("an id").member_id
        })
        .collect();
    let tickets: Vec<_> = ids.iter().map(|id| lab.join_classic(id, &["a"], &[])).collect();
    lab.advance(Duration::from_secs(7));
    let joined: Vec<_> = tickets.into_iter().map(|ticket| lab.joined(ticket).expect("both come")).collect();
    let generation = joined[0].generation_id;
    let leader = joined.iter().find(|joined| joined.leader == joined.member_id).expect("a leader");
    let (one, two) = (leader.leader.clone(), ids.iter().find(|id| **id != leader.leader).unwrap().clone());
    let synced = lab.sync_classic(&one, generation, &[(&one, "a", &[0, 1]), (&two, "a", &[2, 3])]);
    assert_eq!(synced.error_code, 0);
    lab.written();
    (lab, one, two)
}

fn assigned(bytes: &Bytes) -> Vec<i32> {
    let mut r = Reader::new(bytes.clone());
    let version = r.i16().unwrap();
    let assignment = m::ConsumerProtocolAssignment::decode(&mut r, version).unwrap();
    assignment.assigned_partitions.into_iter().flat_map(|topic| topic.partitions).collect()
}

fn generation(lab: &mut Lab) -> i32 {
    lab.runtime.machine().table.classic(GROUP).expect("a classic group").generation()
}

#[test]
fn a_live_group_goes_over_to_the_other_protocol_and_back() {
    let (mut lab, one, two) = classic();
    let before = generation(&mut lab);
    let joined = lab.join("new", &["a"]);
    assert_eq!((joined.error_code, joined.member_epoch), (0, before + 1));
    let written = lab.written();
    let (mut ids, epoch) = ([one.clone(), two.clone()], before + 1);
    ids.sort();
    let expected = [
        "-2".to_owned(),
        format!("5 {}", ids[0]),
        format!("5 {}", ids[1]),
        format!("3 epoch {before}"),
        format!("7 {}", ids[0]),
        format!("7 {}", ids[1]),
        format!("6 epoch {before} at 0"),
        format!("8 {} epoch {before} state 0", ids[0]),
        format!("8 {} epoch {before} state 0", ids[1]),
        "5 new".to_owned(),
        format!("3 epoch {epoch}"),
    ];
    assert_eq!(written[..11], expected);
    assert_eq!(written.last().unwrap(), &format!("8 new epoch {epoch} state 2"));
    lab.group().check();
    assert_eq!(lab.group().classic_members(), 2);

    // Each classic member hears of it at its heartbeat, and gives up what it must.
    for id in [&one, &two] {
        assert_eq!(lab.beat_classic(id, before), ErrorCode::RebalanceInProgress);
        let owned: &[i32] = if *id == one { &[0, 1] } else { &[2, 3] };
        let ticket = lab.join_classic(id, &["a"], &[("a", owned)]);
        let joined = lab.joined(ticket).expect("it waits for nobody");
        let synced = lab.sync_classic(id, joined.generation_id, &[]);
        assert_eq!(synced.error_code, 0);
        let keeps = assigned(&synced.assignment);
        if joined.generation_id == before {
            assert!(keeps.len() < 2, "it has to give one up");
            assert_eq!(lab.beat_classic(id, before), ErrorCode::RebalanceInProgress);
            let ticket = lab.join_classic(id, &["a"], &[("a", &keeps)]);
            assert_eq!(lab.joined(ticket).unwrap().generation_id, epoch);
            let synced = lab.sync_classic(id, epoch, &[]);
            assert_eq!(assigned(&synced.assignment), keeps);
        }
        assert_eq!(lab.beat_classic(id, epoch), ErrorCode::None);
        lab.group().check();
    }
    let settled = lab.beat("new", epoch);
    assert_eq!(lab.assigned(&settled).unwrap()[0].1.len(), 1);
    assert_eq!(lab.group().state().name(), "Stable");

    // The only member of the new protocol goes.
    lab.written();
    let left = lab.beat("new", -1);
    assert_eq!((left.error_code, left.member_epoch), (0, -1));
    let written = lab.written();
    assert_eq!(written.len(), 3 * 3 + 4);
    assert!(written[..3].iter().all(|record| record.starts_with("-8")));
    assert!(written[3..6].iter().all(|record| record.starts_with("-7")));
    assert_eq!(written[6], "-6");
    assert!(written[7..10].iter().all(|record| record.starts_with("-5")));
    assert_eq!(written[10..], ["-4".to_owned(), "-3".to_owned(), format!("2 generation {epoch}")]);
    assert_eq!(generation(&mut lab), epoch);
    assert_eq!(lab.beat_classic(&one, epoch), ErrorCode::RebalanceInProgress);
    // So it is where the group is loaded before they have joined: what the other had is free.
    let log = lab.log.clone();
    lab.reload(log);
    assert_eq!(lab.beat_classic(&one, epoch), ErrorCode::RebalanceInProgress);
    let tickets = [&one, &two].map(|id| lab.join_classic(id, &["a"], &[]));
    for ticket in tickets {
        assert_eq!(lab.joined(ticket).expect("all have come").generation_id, epoch + 1);
    }
}

#[test]
fn a_conversion_that_the_log_refuses_never_was() {
    let (mut lab, one, _) = classic();
    let before = generation(&mut lab);
    lab.refuses = true;
    assert_eq!(lab.heartbeat(super::lab::join("new", &["a"])), Err(ErrorCode::CoordinatorNotAvailable));
    lab.refuses = false;
    assert_eq!(generation(&mut lab), before);
    assert_eq!(lab.beat_classic(&one, before), ErrorCode::None);

    let epoch = lab.join("new", &["a"]).member_epoch;
    lab.refuses = true;
    assert_eq!(lab.heartbeat(beat("new", -1)), Err(ErrorCode::CoordinatorNotAvailable));
    lab.refuses = false;
    lab.group().check();
    assert_eq!(lab.group().members().len(), 3);
    assert_eq!(lab.beat("new", epoch).error_code, 0);
    // Its session was ended by what never was, and is there again.
    lab.advance(Duration::from_secs(46));
    assert!(lab.runtime.machine().table.consumer(GROUP).is_none_or(|group| group.member("new").is_none()));
}

#[test]
fn a_classic_member_that_does_not_rejoin_in_time_is_taken_out() {
    let (mut lab, one, two) = classic();
    let before = generation(&mut lab);
    lab.join("new", &["a"]);
    for second in 0..=60 {
        for id in [&one, &two] {
            lab.beat_classic(id, before);
        }
        assert_eq!(lab.group().classic_members(), 2, "after {second} s");
        lab.beat("new", before + 1);
        lab.advance(Duration::from_millis(990));
    }
    lab.advance(Duration::from_secs(1));
    assert_eq!(lab.group().classic_members(), 0);
    let all = lab.beat("new", before + 1);
    assert_eq!(lab.assigned(&all), Some(vec![("a".to_owned(), vec![0, 1, 2, 3])]));
}

#[test]
fn policy_and_what_members_are_decide_whether_a_group_may_change() {
    let (mut lab, _, _) = classic();
    lab.world.consumer().migration = MigrationPolicy { upgrade: false, downgrade: true };
    let refused = lab.join("new", &["a"]);
    assert_eq!(refused.error_code, ErrorCode::GroupIdNotFound.to_wire());
    assert_eq!(
        refused.error_message.as_deref(),
        Some("Cannot upgrade classic group group to consumer group because online upgrade is disabled.")
    );
    lab.world.consumer().migration = MigrationPolicy { upgrade: true, downgrade: false };
    lab.world.consumer().max_size = 1;
    assert_eq!(lab.join("new", &["a"]).error_code, ErrorCode::GroupIdNotFound.to_wire());
    lab.world.consumer().max_size = 2;
    assert_eq!(lab.join("new", &["a"]).error_code, ErrorCode::GroupMaxSizeReached.to_wire());
    assert!(lab.runtime.machine().table.classic(GROUP).is_some(), "what is refused changes nothing");
    assert!(lab.written().is_empty());
    lab.world.consumer().max_size = 3;
    assert_eq!(lab.join("new", &["a"]).error_code, 0);
    // Without downgrades it stays what it is.
    lab.beat("new", -1);
    assert_eq!(lab.group().members().len(), 2);
    lab.world.consumer().migration = MigrationPolicy { upgrade: false, downgrade: false };
    let ticket = lab.join_classic("", &["a"], &[]);
    let refused = lab.joined(ticket).unwrap();
    assert_eq!(refused.error_code, ErrorCode::InconsistentGroupProtocol.to_wire());
}

#[test]
fn an_operator_takes_members_of_either_protocol_out() {
    let (mut lab, one, _) = classic();
    let epoch = lab.join("new", &["a"]).member_epoch;
    lab.send(Request { instance_id: Some("static".to_owned()), ..super::lab::join("fixed", &["a"]) });
    let named = |member: &str, instance: Option<&str>| m::leave_group_request::MemberIdentity {
        member_id: member.to_owned(),
        group_instance_id: instance.map(str::to_owned),
        ..Default::default()
    };
    let members = vec![
        named(&one, None),
        named("", Some("static")),
        named("nobody", None),
        named("other", Some("static")),
    ];
    let request =
        m::LeaveGroupRequest { group_id: GROUP.to_owned(), members, ..m::LeaveGroupRequest::default() };
    let Ok(GroupReply::Leave(left)) = lab.ask(GroupAsk::Leave(super::lab::caller(5), request)) else {
        panic!("an answer");
    };
    let codes: Vec<i16> = left.members.iter().map(|member| member.error_code).collect();
    let code = ErrorCode::to_wire;
    assert_eq!(codes, [0, 0, code(ErrorCode::UnknownMemberId), code(ErrorCode::FencedInstanceId)]);
    assert_eq!(lab.group().members().len(), 2);
    assert_eq!(lab.beat("new", epoch).error_code, 0);
    lab.group().check();
}
