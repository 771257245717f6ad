//! Groups as the log tells of them.

use aplomb_model::{ErrorCode as E, SplitMix64};
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::group_metadata_value::MemberMetadata;
use aplomb_protocol::{Message, Writer};
use bytes::Bytes;

use super::lab::{GROUP, JoinSpec, Lab, MILLI, REBALANCE, SESSION, SyncSpec, subscription};
use crate::group::state::classic::{ClassicGroup, ClassicMember, Expiry};
use crate::group::state::table::{Group, GroupTable};
use crate::group::{GroupAsk, GroupRecord, GroupReply};

fn key() -> m::GroupMetadataKey {
    m::GroupMetadataKey { group: GROUP.to_owned() }
}

fn member(id: &str) -> MemberMetadata {
    MemberMetadata {
        member_id: id.to_owned(),
        client_id: "c".to_owned(),
        client_host: "/h".to_owned(),
        rebalance_timeout: 60_000,
        session_timeout: 10_000,
        subscription: subscription(&["t"]),
        assignment: Bytes::from_static(b"a"),
        ..Default::default()
    }
}

fn value(members: Vec<MemberMetadata>) -> m::GroupMetadataValue {
    m::GroupMetadataValue {
        protocol_type: "consumer".to_owned(),
        generation: 7,
        protocol: Some("range".to_owned()),
        leader: members.last().map(|member| member.member_id.clone()),
        current_state_timestamp: 5,
        members,
    }
}

fn loaded(value: m::GroupMetadataValue) -> Lab {
    let mut lab = Lab::new();
    lab.put(&GroupRecord::Classic(key(), Some(value)));
    lab.reload();
    lab
}

#[test]
fn a_group_is_as_it_was_and_its_members_have_their_sessions_anew() {
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new(), JoinSpec::new().instance("i")]);
    lab.pass(SESSION - MILLI);
    lab.reload();
    lab.pass(SESSION - MILLI);
    assert_eq!((lab.state(), lab.group().size()), ("Stable", 2));
    assert_eq!(lab.heartbeat(&ids[0], None, 1), E::None);
    assert_eq!(lab.heartbeat("else", Some("i"), 1), E::FencedInstanceId);
    assert_eq!(**lab.group().leader().expect("a leader"), *ids[0]);
    assert_eq!(lab.sync_now(&SyncSpec::of(&ids[1], 1)).assignment, &b"1"[..]);
    // The leader may ask for a rebalance; a follower that offers what it did is told what is.
    let follower = lab.join_now(&JoinSpec::new().member(&ids[1]));
    assert_eq!((follower.generation_id, &follower.leader), (1, &ids[0]));
    lab.pass(SESSION);
    assert_eq!(lab.state(), "Empty");
}

#[test]
fn every_version_of_the_record_is_read() {
    for version in 0..=4 {
        let written = value(vec![member("m"), member("n")]);
        let mut w = Writer::new();
        w.i16(version);
        written.encode(&mut w, version).expect("a value of this version");
        let (raw_key, _) = GroupRecord::Classic(key(), None).encode().expect("a key");
        let read = GroupRecord::decode(raw_key, Some(w.freeze())).expect("readable").expect("known");
        let mut lab = Lab::new();
        lab.put(&read);
        lab.reload();
        let group = lab.group();
        assert_eq!((lab.state(), group.generation(), group.size()), ("Stable", 7, 2), "version {version}");
        assert_eq!(group.leader().map(|leader| &**leader), Some("n"));
        let rebalance = if version == 0 { 10_000 } else { 60_000 };
        let as_written = |(_, member): (_, &ClassicMember)| {
            member.rebalance_timeout_ms == rebalance && member.session_timeout_ms == 10_000
        };
        assert!(group.members().all(as_written));
        assert!(group.is_subscribed_to("t") && !group.is_subscribed_to("u"));
    }
}

#[test]
fn an_empty_group_knows_since_when_if_its_record_does() {
    let mut empty = value(Vec::new());
    empty.protocol = None;
    assert_eq!(loaded(empty.clone()).group().expiry("t"), Expiry::Since(aplomb_model::Timestamp(5)));
    empty.current_state_timestamp = -1;
    assert_eq!(loaded(empty.clone()).group().expiry("t"), Expiry::SinceCommit);
    empty.protocol_type = String::new();
    assert_eq!(loaded(empty).group().listed(), ("", "Empty"));
}

#[test]
fn a_record_that_makes_no_sense_makes_a_group_that_does() {
    let with = |change: &dyn Fn(&mut MemberMetadata)| {
        let mut changed = member("n");
        change(&mut changed);
        value(vec![member("m"), changed])
    };
    let cases = [
        (with(&|other| other.member_id = "m".to_owned()), 1),
        (with(&|other| other.session_timeout = -5), 2),
        (with(&|other| other.rebalance_timeout = i32::MIN), 2),
        (m::GroupMetadataValue { leader: Some("gone".to_owned()), ..value(vec![member("m")]) }, 1),
        (m::GroupMetadataValue { protocol: None, ..value(vec![member("m"), member("n")]) }, 2),
        (m::GroupMetadataValue { protocol_type: String::new(), ..value(vec![member("m")]) }, 1),
        (m::GroupMetadataValue { generation: -9, ..value(vec![member("m")]) }, 1),
        (m::GroupMetadataValue { generation: i32::MAX, ..value(vec![member("m"), member("n")]) }, 2),
    ];
    for (value, members) in cases {
        let mut lab = loaded(value.clone());
        assert_eq!((lab.state(), lab.group().size()), ("Stable", members), "{value:?}");
        assert!(lab.group().leader().is_some());
        lab.leave(3, &[("m", None)]);
        lab.pass(REBALANCE * 2);
        assert_eq!(lab.state(), "Empty");
        assert!(lab.group().generation() >= 0, "no generation is negative");
    }
    // Who had been called to join when the record was written is so again.
    let mut unled = loaded(m::GroupMetadataValue { leader: None, ..value(vec![member("m")]) });
    assert_eq!((unled.state(), unled.group().generation()), ("PreparingRebalance", 7));
    unled.pass(REBALANCE * 2);
    assert_eq!(unled.state(), "Empty", "nobody has joined");
    let mut twins = [member("m"), member("n")];
    twins.iter_mut().for_each(|member| member.group_instance_id = Some("i".to_owned()));
    assert_eq!(loaded(value(twins.to_vec())).group().size(), 1);
}

#[test]
fn bytes_that_are_damaged_make_a_group_that_makes_sense_or_none() {
    let mut random = SplitMix64::new(7);
    let (raw_key, Some(good)) =
        GroupRecord::Classic(key(), Some(value(vec![member("m"), member("n")]))).encode().expect("a record")
    else {
        panic!("it has a value");
    };
    let mut read = 0;
    for _ in 0..20_000 {
        let mut bad = good.to_vec();
        for _ in 0..1 + random.within(0..3) {
            let place = random.within(2..bad.len() as u64) as usize;
            bad[place] = random.bits() as u8;
        }
        let Ok(Some(GroupRecord::Classic(_, value))) = GroupRecord::decode(raw_key.clone(), Some(bad.into()))
        else {
            continue;
        };
        read += 1;
        let mut table = GroupTable::default();
        table.replay(GroupRecord::Classic(key(), value));
        table.classic(GROUP).expect("a group").check();
    }
    assert!(read > 5_000, "{read} could be read");
}

#[test]
fn a_tombstone_takes_a_group_out_and_is_nothing_without_one() {
    let mut lab = Lab::new();
    lab.put(&GroupRecord::Classic(key(), None));
    lab.put(&GroupRecord::Classic(key(), Some(value(vec![member("m")]))));
    lab.put(&GroupRecord::Classic(key(), None));
    lab.reload();
    assert!(!lab.has_group());
}

#[test]
fn what_is_replayed_is_taken_back_exactly() {
    let mut table = GroupTable::default();
    let one = GroupRecord::Classic(key(), Some(value(vec![member("m"), member("n")])));
    let mut empty = value(Vec::new());
    (empty.protocol, empty.leader) = (None, None);
    let other = GroupRecord::Classic(key(), Some(empty));
    let none = GroupRecord::Classic(key(), None);
    let mut before = none.clone();
    for record in [&none, &one, &other, &one, &none, &other] {
        let undo = table.replay(record.clone());
        assert_eq!(undo, before);
        // Back, and on again.
        assert_eq!(table.replay(undo), *record);
        assert_eq!(table.replay(record.clone()), before);
        before = record.clone();
    }
    let bytes = table.classic(GROUP).map_or(0, ClassicGroup::bytes);
    assert_eq!(table.bytes(), bytes);
}

#[test]
fn a_tombstone_is_not_about_a_group_of_another_type() {
    let mut table = GroupTable::default();
    table.count_foreign(GROUP, true);
    let undo = table.replay(GroupRecord::Classic(key(), None));
    assert_eq!(undo, GroupRecord::Classic(key(), None));
    assert!(matches!(table.get(GROUP), Some(Group::Foreign(1))));
}

#[test]
fn a_share_groups_id_is_taken() {
    let mut lab = Lab::new();
    let kind = 10_i16.to_be_bytes();
    let mut raw = kind.to_vec();
    raw.extend(1_u16.to_be_bytes());
    raw.extend(GROUP.as_bytes());
    lab.put_raw(&raw, b"value");
    lab.reload();
    let joined = lab.join_now(&JoinSpec::new());
    assert_eq!(super::lab::code(joined.error_code), E::InconsistentGroupProtocol);
    let ticket = lab.ask(GroupAsk::Describe(6, GROUP.to_owned()));
    let Some(Ok(GroupReply::Describe(described))) = lab.take(ticket) else { panic!("answered") };
    assert_eq!(described.error_message.as_deref(), Some("Group g is not a classic group."));
    assert_eq!(lab.heartbeat("m", None, 1), E::UnknownMemberId);
}

#[test]
fn a_group_that_was_deleted_in_vain_is_there_again() {
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new()]);
    lab.leave(3, &[(&ids[0], None)]);
    lab.log = super::lab::Log::Holds;
    lab.ask(GroupAsk::Delete(GROUP.to_owned()));
    assert!(!lab.has_group());
    let ticket = lab.join(&JoinSpec::new().version(3));
    lab.refuse(E::NotEnoughReplicas);
    assert_eq!(super::lab::code(lab.joined(ticket).error_code), E::CoordinatorNotAvailable);
    assert_eq!((lab.state(), lab.group().generation()), ("Empty", 2));
}

#[test]
fn a_consumer_group_without_members_makes_way_and_comes_back_if_the_log_refuses() {
    let mut lab = Lab::new();
    let epoch = m::ConsumerGroupMetadataKey { group_id: GROUP.to_owned() };
    let consumers =
        GroupRecord::Epoch(epoch, Some(m::ConsumerGroupMetadataValue { epoch: 3, ..Default::default() }));
    lab.put(&consumers);
    lab.reload();
    let known = lab.join_now(&JoinSpec::new().member("m"));
    assert_eq!(super::lab::code(known.error_code), E::UnknownMemberId);
    lab.log = super::lab::Log::Holds;
    let ticket = lab.join(&JoinSpec::new().version(3));
    assert_eq!(lab.state(), "PreparingRebalance");
    lab.refuse(E::NotEnoughReplicas);
    assert_eq!(super::lab::code(lab.joined(ticket).error_code), E::CoordinatorNotAvailable);
    assert!(lab.has_consumer_group());
    lab.log = super::lab::Log::Keeps;
    let pending = lab.pending_id(&JoinSpec::new());
    let records = lab.records();
    assert!(records.iter().any(|record| matches!(record, GroupRecord::Epoch(_, None))));
    assert!(matches!(records.last(), Some(GroupRecord::Classic(_, Some(_)))));
    lab.join(&JoinSpec::new().member(&pending));
    lab.pass(super::lab::DELAY);
    assert_eq!(lab.state(), "CompletingRebalance");
    lab.reload();
    assert_eq!(lab.state(), "Empty");
}

#[test]
fn a_consumer_group_with_members_takes_no_classic_ones_when_groups_may_not_change() {
    let mut lab = Lab::new();
    let id = || GROUP.to_owned();
    lab.put(&GroupRecord::Member(
        m::ConsumerGroupMemberMetadataKey { group_id: id(), member_id: "m".to_owned() },
        Some(m::ConsumerGroupMemberMetadataValue::default()),
    ));
    lab.put(&GroupRecord::Epoch(
        m::ConsumerGroupMetadataKey { group_id: id() },
        Some(m::ConsumerGroupMetadataValue { epoch: 3, ..Default::default() }),
    ));
    lab.reload();
    for join in [JoinSpec::new(), JoinSpec::new().member("m")] {
        let joined = lab.join_now(&join);
        assert_eq!(super::lab::code(joined.error_code), E::InconsistentGroupProtocol);
    }
    assert!(lab.has_consumer_group());
}
