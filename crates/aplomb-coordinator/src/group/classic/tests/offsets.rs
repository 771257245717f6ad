//! What a group has to say about committed offsets.

use aplomb_model::{ErrorCode as E, Timestamp};
use bytes::Bytes;

use super::lab::{DELAY, JoinSpec, Lab, MILLI, REBALANCE, SESSION, SyncSpec, subscription};
use crate::group::GroupAsk;
use crate::group::state::classic::{ClassicGroup, Expiry};

/// Member, instance, generation, and whether they may commit.
type Case<'a> = ((&'a str, Option<&'a str>, i32), Result<(), E>);

#[test]
fn who_may_commit() {
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new().instance("i"), JoinSpec::new()]);
    let (one, other) = (ids[0].as_str(), ids[1].as_str());
    let check = |lab: &Lab, cases: &[Case<'_>]| {
        for ((member, instance, generation), expected) in cases {
            let checked = lab.group().check_commit(member, *instance, *generation);
            assert_eq!(checked, *expected, "{} {member} {instance:?} {generation}", lab.state());
        }
    };
    let (unknown, illegal) = (Err(E::UnknownMemberId), Err(E::IllegalGeneration));
    let cases = [
        ((one, Some("i"), 1), Ok(())),
        ((other, None, 1), Ok(())),
        (("", None, -1), unknown),
        (("", None, 1), unknown),
        ((other, None, -1), illegal),
        ((other, None, 0), illegal),
        (("else", Some("i"), 1), Err(E::FencedInstanceId)),
        (("", Some("i"), -1), Err(E::FencedInstanceId)),
        (("else", None, 1), unknown),
    ];
    check(&lab, &cases);
    // While members join those of the generation that is over may commit.
    let leader = lab.join(&JoinSpec::new().instance("i").member(one));
    check(&lab, &cases);
    lab.join(&JoinSpec::new().member(other));
    assert_eq!(lab.joined(leader).generation_id, 2);
    check(&lab, &[((other, None, 2), Err(E::RebalanceInProgress)), ((other, None, 1), illegal)]);
    lab.leave(3, &[(one, None), (other, None)]);
    check(&lab, &[(("", None, -1), Ok(())), (("any", Some("i"), -1), Ok(())), ((other, None, 3), unknown)]);
    check(&lab, &[(("", None, 0), unknown)]);
}

#[test]
fn a_commit_counts_as_a_heartbeat() {
    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new()]);
    for _ in 0..5 {
        lab.pass(SESSION - MILLI);
        lab.ask(GroupAsk::Commit(
            super::lab::caller(8),
            aplomb_protocol::messages::OffsetCommitRequest {
                group_id: super::lab::GROUP.to_owned(),
                generation_id_or_member_epoch: 1,
                member_id: ids[0].clone(),
                ..Default::default()
            },
        ));
    }
    assert_eq!(lab.group().size(), 1);
    lab.pass(SESSION);
    assert_eq!(lab.group().size(), 0);
}

#[test]
fn when_offsets_expire() {
    let simple = ClassicGroup::simple("g".into());
    assert_eq!(simple.expiry("t"), Expiry::SinceCommit);
    assert!(simple.is_empty() && !simple.is_subscribed_to("t") && !simple.uses_consumer_protocol());
    assert_eq!(simple.check_delete(), Ok(()));
    assert_eq!(simple.listed(), ("", "Empty"));

    let mut lab = Lab::new();
    let ids = lab.stable(&[JoinSpec::new(), JoinSpec::new()]);
    assert_eq!((lab.group().expiry("t"), lab.group().expiry("u")), (Expiry::Never, Expiry::SinceCommit));
    assert!(lab.group().is_subscribed_to("t") && !lab.group().is_subscribed_to("u"));
    assert_eq!(lab.group().check_delete(), Err(E::NonEmptyGroup));
    let both = JoinSpec { protocols: vec![("range", subscription(&["u", "v"]))], ..JoinSpec::new() };
    lab.join(&both.member(&ids[0]));
    assert_eq!(lab.group().expiry("u"), Expiry::Never, "who knows what they will be subscribed to");
    lab.join(&JoinSpec::new().member(&ids[1]));
    assert_eq!((lab.state(), lab.group().expiry("w")), ("CompletingRebalance", Expiry::Never));
    lab.complete(&ids);
    assert_eq!((lab.group().expiry("u"), lab.group().expiry("w")), (Expiry::Never, Expiry::SinceCommit));
    lab.pass(MILLI);
    lab.leave(3, &[(&ids[0], None), (&ids[1], None)]);
    let since = Timestamp(1_000_000 + 3_001);
    assert_eq!(
        (lab.group().expiry("t"), lab.group().listed()),
        (Expiry::Since(since), ("consumer", "Empty"))
    );
    assert_eq!(lab.group().check_delete(), Ok(()));
}

#[test]
fn what_members_say_may_be_anything() {
    let mut lengths: Vec<Bytes> =
        vec![Bytes::new(), Bytes::from_static(b"\0"), Bytes::from_static(&[0xff; 64])];
    let good = subscription(&["t"]);
    lengths.extend((0..8).map(|length| good.slice(..length)));
    // A list that is longer than there are bytes.
    lengths.push(Bytes::from_static(&[0, 1, 0x7f, 0xff, 0xff, 0xff]));
    for metadata in lengths {
        let mut lab = Lab::new();
        let join = JoinSpec { protocols: vec![("range", metadata.clone())], ..JoinSpec::new() };
        lab.stable(&[JoinSpec::new(), join]);
        assert!(lab.group().is_subscribed_to("any"), "{metadata:?}");
        assert_eq!(lab.group().expiry("any"), Expiry::Never);
        lab.reload();
        assert!(lab.group().is_subscribed_to("any"));
    }
    // Of a version that is not known, and with more behind it: it begins as all of them do.
    let mut newer = good.to_vec();
    newer[1] = 99;
    newer.extend([1, 2, 3]);
    let join = JoinSpec { protocols: vec![("range", newer.into())], ..JoinSpec::new() };
    let mut lab = Lab::new();
    lab.stable(&[join]);
    assert!(lab.group().is_subscribed_to("t") && !lab.group().is_subscribed_to("u"));
}

#[test]
fn other_types_have_no_topics() {
    let mut lab = Lab::new();
    let connect = JoinSpec { protocol_type: "connect", ..JoinSpec::new().version(1) };
    let ticket = lab.join(&connect);
    lab.pass(DELAY);
    let id = lab.joined(ticket).member_id;
    lab.sync(&SyncSpec::of(&id, 1));
    assert_eq!((lab.state(), lab.group().expiry("t")), ("Stable", Expiry::Never));
    assert!(!lab.group().is_subscribed_to("t") && !lab.group().uses_consumer_protocol());
    lab.pass(REBALANCE);
    assert!(matches!(lab.group().expiry("t"), Expiry::Since(_)));
}
