//! Groups that become consumer groups, and in the end do not.

use std::time::Duration;

use aplomb_model::ErrorCode as E;
use aplomb_protocol::messages as m;

use super::lab::{DELAY, GROUP, JoinSpec, Lab, Log, REBALANCE, SESSION, SyncSpec, caller, code};
use crate::group::{Bounded, ConsumerSettings, GroupAsk, GroupReply, MigrationPolicy};
use crate::runtime::Ticket;

fn lab() -> Lab {
    let bounded = |seconds| {
        let it = Duration::from_secs(seconds);
        Bounded { default: it, min: it, max: it }
    };
    let mut lab = Lab::new();
    lab.settings().consumer = Some(ConsumerSettings {
        session_timeout: bounded(45),
        heartbeat_interval: bounded(5),
        hurried_interval: None,
        assignment_interval: bounded(1),
        max_size: usize::MAX,
        assignors: vec!["uniform".into()],
        migration: MigrationPolicy { upgrade: true, downgrade: true },
    });
    lab
}

fn beat(lab: &mut Lab, epoch: i32) -> Ticket {
    let joins = epoch == 0;
    lab.ask(GroupAsk::ConsumerHeartbeat(
        caller(1),
        m::ConsumerGroupHeartbeatRequest {
            group_id: GROUP.to_owned(),
            member_id: "new".to_owned(),
            member_epoch: epoch,
            rebalance_timeout_ms: if joins { 60_000 } else { -1 },
            subscribed_topic_names: joins.then(|| vec!["t".to_owned()]),
            topic_partitions: joins.then(Vec::new),
            ..Default::default()
        },
    ))
}

fn both() -> JoinSpec {
    JoinSpec::new().protocols(&["range", "sticky"])
}

/// A stable group in which no member has anything.
fn stable<const N: usize>(lab: &mut Lab) -> [String; N] {
    let tickets = [(); N].map(|()| lab.join(&both().version(3)));
    lab.pass(DELAY * 3);
    let ids = tickets.map(|ticket| lab.joined(ticket).member_id);
    ids.iter().for_each(|id| assert_eq!(code(lab.sync_now(&SyncSpec::of(id, 1)).error_code), E::None));
    ids
}

#[test]
fn the_first_generation_is_waited_for_again() {
    let mut lab = lab();
    let id = lab.pending_id(&both());
    let waiting = lab.join(&both().member(&id));
    lab.log = Log::Holds;
    beat(&mut lab, 0);
    assert!(lab.has_consumer_group());
    assert_eq!(code(lab.joined(waiting).error_code), E::RebalanceInProgress);
    lab.refuse(E::NotEnoughReplicas);
    lab.log = Log::Keeps;
    assert_eq!((lab.state(), lab.group().size()), ("PreparingRebalance", 1));
    let ticket = lab.join(&both().member(&id));
    lab.pass(REBALANCE);
    let joined = lab.joined(ticket);
    assert_eq!((code(joined.error_code), joined.generation_id), (E::None, 1));
    lab.complete(&[id]);
}

#[test]
fn a_group_whose_leader_was_to_assign_begins_anew() {
    let mut lab = lab();
    let tickets = [(); 2].map(|()| lab.join(&both().version(3)));
    lab.pass(DELAY * 3);
    let ids = tickets.map(|ticket| lab.joined(ticket).member_id);
    lab.log = Log::Holds;
    let sync = lab.sync(&SyncSpec::of(&ids[0], 1));
    beat(&mut lab, 0);
    assert_eq!(code(lab.synced(sync).error_code), E::RebalanceInProgress);
    lab.keep(); // what the leader has said, which is nothing to a consumer group
    lab.refuse(E::NotEnoughReplicas);
    lab.log = Log::Keeps;
    assert_eq!(lab.state(), "PreparingRebalance");
    let tickets = [0, 1].map(|n: usize| lab.join(&both().version(3).member(&ids[n])));
    tickets.into_iter().for_each(|ticket| assert_eq!(lab.joined(ticket).generation_id, 2));
    lab.complete(&ids);
}

#[test]
fn a_stable_group_is_what_it_was_with_all_that_its_members_offer() {
    let mut lab = lab();
    let ids = stable::<2>(&mut lab);
    lab.log = Log::Holds;
    beat(&mut lab, 0);
    assert!(lab.has_consumer_group());
    lab.refuse(E::NotEnoughReplicas);
    lab.log = Log::Keeps;
    assert_eq!(lab.state(), "Stable");
    assert_eq!(lab.heartbeat(&ids[0], None, 1), E::None);
    assert!(lab.group().members().all(|(_, member)| member.protocols.iter().count() == 2));
    lab.pass(SESSION);
    assert_eq!(lab.state(), "Empty", "sessions are those of a classic group again");
}

#[test]
fn a_consumer_group_that_does_not_become_classic_after_all() {
    let mut lab = lab();
    let ids = stable::<1>(&mut lab);
    let ticket = beat(&mut lab, 0);
    let Some(Ok(GroupReply::ConsumerHeartbeat(joined))) = lab.take(ticket) else { panic!("answered") };
    assert_eq!(code(joined.error_code), E::None);
    lab.log = Log::Holds;
    beat(&mut lab, -1);
    assert_eq!(lab.state(), "PreparingRebalance");
    let other = lab.pending_id(&both());
    let waiting = lab.join(&both().member(&other));
    assert!(lab.is_waiting(waiting));
    lab.refuse(E::NotEnoughReplicas);
    lab.log = Log::Keeps;
    assert_eq!(code(lab.joined(waiting).error_code), E::CoordinatorNotAvailable);
    assert!(lab.has_consumer_group());
    assert_eq!(lab.heartbeat(&ids[0], None, 1), E::RebalanceInProgress);
    // No member is heard of any more.
    lab.pass(Duration::from_secs(100));
    assert!(lab.is_consumer_group_empty());
}
