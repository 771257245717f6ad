//! A controller under any sequence of requests: its log, a snapshot and its image agree.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Request {
    Create { name: String, partitions: i32, retention: Option<i64> },
    Delete(usize),
    Grow(usize, i32),
    Alter(usize, Option<i64>),
    ProducerIds,
    Restart,
    LoseDirectory(bool),
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        3 => ("[ab._]{1,3}", -1..5_i32, proptest::option::of(-3..5_i64))
            .prop_map(|(name, partitions, retention)| Request::Create { name, partitions, retention }),
        1 => (0..4_usize).prop_map(Request::Delete),
        1 => (0..4_usize, 0..8_i32).prop_map(|(which, total)| Request::Grow(which, total)),
        1 => (0..4_usize, proptest::option::of(-3..5_i64)).prop_map(|(which, value)| Request::Alter(which, value)),
        1 => Just(Request::ProducerIds),
        1 => Just(Request::Restart),
        1 => any::<bool>().prop_map(Request::LoseDirectory),
    ]
}

/// Refusals are part of the game: what counts is that log and controller agree afterwards.
fn serve(lab: &mut Lab, request: &Request) {
    let nth = |lab: &Lab, which: usize| lab.controller.image().topics.iter().nth(which).cloned();
    match request {
        Request::Create { name, partitions, retention } => {
            let retention = retention.map(|ms| ms.to_string());
            let configs: Vec<_> = retention.iter().map(|ms| ("retention.ms", ms.as_str())).collect();
            drop(lab.create(name, *partitions, &configs));
        }
        Request::Delete(which) => {
            if let Some(topic) = nth(lab, *which) {
                lab.decide(|draft, _, _| draft.delete_topic(topic.id, &mut Permits::unlimited()))
                    .expect("it is there");
            }
        }
        Request::Grow(which, total) => {
            let topic = nth(lab, *which).map_or_else(|| "none".to_owned(), |topic| topic.name.to_string());
            let new = NewPartitions { topic, total: *total, assigned: None };
            drop(lab.decide(|draft, _, _| draft.create_partitions(&new, &mut Permits::unlimited())));
        }
        Request::Alter(which, value) => {
            let resource =
                nth(lab, *which).map_or_else(Resource::all_brokers, |topic| Resource::topic(&topic.name));
            let name = if resource.kind == Resource::TOPIC { "retention.ms" } else { "log.retention.ms" };
            let operation = if value.is_some() { ConfigOperation::Set } else { ConfigOperation::Delete };
            let change =
                ConfigChange { name: name.to_owned(), operation, value: value.map(|ms| ms.to_string()) };
            drop(lab.decide(|draft, config, _| draft.alter_configs(&resource, &[change], config)));
        }
        Request::ProducerIds => {
            lab.decide(|draft, _, _| Ok(draft.allocate_producer_ids(NODE))).expect("always");
        }
        Request::Restart => {
            lab.controller = Controller::new(lab.replayed());
            let registration = lab.controller.register(&node(), lab.end);
            lab.write(&registration);
            let leadership = lab.controller.take_leadership(NODE);
            lab.write(&leadership);
        }
        Request::LoseDirectory(first) => {
            let lost = lab.controller.lose_directory(NODE, Uuid::from_u128(if *first { 1000 } else { 1001 }));
            lab.write(&lost);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn log_snapshot_and_controller_agree_and_epochs_never_go_back(
        requests in proptest::collection::vec(request(), 1..24)
    ) {
        let mut lab = Lab::new();
        for request in &requests {
            let before = lab.controller.image().clone();
            serve(&mut lab, request);
            let after = lab.controller.image();
            for topic in before.topics.iter() {
                for (index, old) in &topic.partitions {
                    let Some(new) = after.topics.partition(topic.id, *index) else { continue };
                    prop_assert!(new.leader_epoch >= old.leader_epoch);
                    prop_assert!(new.partition_epoch >= old.partition_epoch);
                    prop_assert!(old.leader == new.leader || new.leader_epoch > old.leader_epoch);
                }
            }
            prop_assert!(after.next_producer_id >= before.next_producer_id);
        }
        assert_log_says_the_same(&lab);

        let image = lab.replayed();
        let bytes = snapshot_bytes(&image, None, Timestamp(5), Timestamp(6)).expect("encodes");
        let mut restored = replay(&bytes);
        restored.provenance = image.provenance;
        prop_assert_eq!(restored, image);
    }
}
