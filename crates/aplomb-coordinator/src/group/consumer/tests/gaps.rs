//! A log that has lost records, and what becomes of the group.

use std::time::Duration;

use aplomb_model::ErrorCode;

use super::lab::{Lab, Request, beat, join};
use crate::group::GroupRecord;
use crate::group::state::consumer::Holdings;

/// Two members that share a topic, each with one partition, both in this epoch.
fn shared() -> (Lab, i32) {
    let mut lab = Lab::new();
    lab.world.set_topic("t", 2);
    let first = lab.join("a", &["t"]).member_epoch;
    let epoch = lab.join("b", &["t"]).member_epoch;
    let told = lab.beat("a", first);
    let keeps = lab.assigned(&told).expect("it is told what to keep");
    let keeps: Vec<(&str, &[i32])> = keeps.iter().map(|(topic, ids)| (topic.as_str(), &ids[..])).collect();
    assert_eq!(lab.own("a", first, &keeps).member_epoch, epoch);
    lab.beat("b", epoch);
    lab.group().check();
    assert_eq!([held(&lab, "a"), held(&lab, "b")], [1, 1]);
    (lab, epoch)
}

fn held(lab: &Lab, member: &str) -> usize {
    let current = lab.group().member(member).and_then(|member| member.written().cloned());
    current.map_or(Holdings::new(), |current| current.all()).values().map(|partitions| partitions.len()).sum()
}

/// The log without the newest record that is like this, and another coordinator that reads it.
fn lose(lab: &mut Lab, is_lost: impl Fn(&GroupRecord) -> bool) {
    let decoded = |(key, value): &(bytes::Bytes, Option<bytes::Bytes>)| {
        GroupRecord::decode(key.clone(), value.clone()).expect("readable").expect("known")
    };
    let at = lab.log.iter().rposition(|record| is_lost(&decoded(record))).expect("there is one");
    let mut log = lab.log.clone();
    log.remove(at);
    lab.reload(log);
    // What a loaded coordinator does first.
    lab.advance(Duration::from_millis(1));
}

fn is_current(record: &GroupRecord, of: &str) -> bool {
    matches!(record, GroupRecord::Current(key, Some(_)) if key.member_id == of)
}

/// The error that a heartbeat is answered.
fn error(lab: &mut Lab, request: Request) -> ErrorCode {
    ErrorCode::from_wire(lab.send(request).error_code).expect("a code")
}

#[test]
fn members_that_have_the_same_partition_are_taken_out_and_come_again() {
    let (mut lab, epoch) = shared();
    // That the one has given up what the other has.
    lose(&mut lab, |record| is_current(record, "a"));
    lose(&mut lab, |record| is_current(record, "a"));
    assert!(lab.group().is_empty());
    assert_eq!(error(&mut lab, beat("a", epoch)), ErrorCode::UnknownMemberId);
    assert_eq!(error(&mut lab, beat("b", epoch)), ErrorCode::UnknownMemberId);
    lab.join("a", &["t"]);
    assert_eq!(held(&lab, "a"), 2);
    lab.group().check();
}

#[test]
fn a_member_that_has_said_nothing_of_itself_is_taken_out() {
    let (mut lab, epoch) = shared();
    lose(&mut lab, |record| matches!(record, GroupRecord::Member(key, Some(_)) if key.member_id == "a"));
    assert_eq!(error(&mut lab, beat("a", epoch)), ErrorCode::UnknownMemberId);
    assert_eq!(error(&mut lab, beat("b", epoch)), ErrorCode::None);
    assert_eq!(held(&lab, "b"), 2, "what it had is the other's");
    lab.group().check();
}

#[test]
fn of_two_members_of_an_instance_none_stays() {
    let mut lab = Lab::new();
    lab.world.set_topic("t", 2);
    let of_instance = |id: &str| Request { instance_id: Some("i".to_owned()), ..join(id, &["t"]) };
    lab.send(of_instance("old"));
    let away = Request { instance_id: Some("i".to_owned()), ..beat("old", -2) };
    assert_eq!(error(&mut lab, away), ErrorCode::None);
    lab.send(of_instance("new"));
    assert_eq!(held(&lab, "new"), 2);
    lose(&mut lab, |record| matches!(record, GroupRecord::Member(key, None) if key.member_id == "old"));
    let again = Request { instance_id: Some("i".to_owned()), ..beat("new", 1) };
    assert_eq!(error(&mut lab, again), ErrorCode::UnknownMemberId);
    assert_eq!(error(&mut lab, of_instance("new")), ErrorCode::None);
    assert_eq!(held(&lab, "new"), 2);
    lab.group().check();
}

#[test]
fn a_target_that_is_lost_is_computed_again() {
    let (mut lab, epoch) = shared();
    lose(&mut lab, |record| matches!(record, GroupRecord::Target(key, Some(_)) if key.member_id == "b"));
    let told = lab.beat("b", epoch);
    assert_eq!((told.error_code, told.member_epoch), (0, epoch + 1));
    assert_eq!(lab.beat("a", epoch).member_epoch, epoch + 1);
    assert_eq!([held(&lab, "a"), held(&lab, "b")], [1, 1]);
    // Where nothing is lost nothing moves.
    let log = lab.log.clone();
    lab.reload(log);
    assert_eq!(lab.beat("b", epoch + 1).member_epoch, epoch + 1);
}

#[test]
fn what_is_left_of_a_member_that_is_gone_goes() {
    let (mut lab, epoch) = shared();
    lab.beat("a", -1);
    lose(&mut lab, |record| matches!(record, GroupRecord::Target(key, None) if key.member_id == "a"));
    assert_eq!(lab.group().targets().len(), 1);
    assert_eq!(lab.beat("b", epoch).error_code, 0);
    assert_eq!(held(&lab, "b"), 2);
}

#[test]
fn members_are_told_what_they_have_once_more_after_it_was_loaded() {
    let (mut lab, epoch) = shared();
    let told = |lab: &mut Lab| lab.beat("a", epoch).assignment.is_some();
    assert!(!told(&mut lab));
    let log = lab.log.clone();
    lab.reload(log);
    assert!(told(&mut lab));
    assert!(!told(&mut lab));
}

#[test]
fn a_log_that_refuses_to_have_them_taken_out_is_asked_again() {
    let (mut lab, epoch) = shared();
    lab.refuses = true;
    lose(&mut lab, |record| matches!(record, GroupRecord::Member(key, Some(_)) if key.member_id == "a"));
    assert_eq!(lab.group().members().len(), 2);
    lab.advance(Duration::from_secs(3));
    lab.refuses = false;
    lab.advance(Duration::from_secs(1));
    assert_eq!(lab.group().members().len(), 1);
    assert_eq!(error(&mut lab, beat("b", epoch)), ErrorCode::None);
}
