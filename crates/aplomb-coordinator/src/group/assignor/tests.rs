//! What holds for every assignment. That it is also Apache Kafka's is seen in
//! `tests/assignments.rs`.

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

use super::*;

fn topic(number: u8) -> TopicId {
    TopicId::from_u128(u128::from(number) << 120 | 7)
}

/// Members with subscriptions to some of eight topics, and targets that may be stale, doubled or
/// about what does not exist.
fn groups() -> impl Strategy<Value = Subscribers> {
    let partitions = btree_map((0..9u8).prop_map(topic), btree_set(-1..12i32, 0..6), 0..4);
    let member = (proptest::option::of("[a-d]{1,2}"), btree_set((0..8u8).prop_map(topic), 0..6), partitions);
    let alike = btree_set((0..8u8).prop_map(topic), 1..6);
    (btree_map("[a-z]{1,3}", member, 0..9), proptest::option::of(alike)).prop_map(|(members, alike)| {
        let alike = alike.map(Arc::new);
        let subscriber = |(instance, topics, target): (Option<String>, _, _)| Subscriber {
            instance: instance.map(Arc::from),
            topics: alike.clone().unwrap_or_else(|| Arc::new(topics)),
            by_expression: false,
            target,
        };
        members.into_iter().map(|(id, member)| (Arc::from(id), subscriber(member))).collect()
    })
}

fn load(partitions: &Partitions) -> usize {
    partitions.values().map(BTreeSet::len).sum()
}

/// How many partitions all members have as before.
fn kept(members: &Subscribers, assignments: &Assignments) -> usize {
    let of_member = |(id, member): (&Arc<str>, &Subscriber)| {
        let now = &assignments[id];
        let of_topic = |(topic, had): (&TopicId, &BTreeSet<i32>)| {
            now.get(topic).map_or(0, |now| now.intersection(had).count())
        };
        member.target.iter().map(of_topic).sum::<usize>()
    };
    members.iter().map(of_member).sum()
}

fn spread(members: &Subscribers, assignments: &Assignments) -> usize {
    let loads = || members.keys().map(|id| load(&assignments[id]));
    loads().max().unwrap_or(0) - loads().min().unwrap_or(0)
}

proptest! {
    #[test]
    fn each_partition_goes_to_one_subscriber(
        members in groups(),
        counts in vec(0..14i32, 8),
        uniform: bool,
    ) {
        let partitions = |id: TopicId| counts[usize::from(id.0[0])];
        let assignor = if uniform { Assignor::Uniform } else { Assignor::Range };
        let assignments = assign(assignor, &members, &partitions);
        prop_assert!(assignments.keys().eq(members.keys()));
        let mut given = BTreeSet::new();
        for (id, its) in &assignments {
            for (topic, its) in its {
                prop_assert!(members[id].topics.contains(topic));
                prop_assert!(!its.is_empty());
                for &partition in its {
                    prop_assert!(given.insert((*topic, partition)), "given twice");
                }
            }
        }
        let subscribed: BTreeSet<TopicId> = members.values().flat_map(|member| member.topics.iter().copied()).collect();
        let all = subscribed.iter().flat_map(|&topic| (0..partitions(topic)).map(move |n| (topic, n)));
        prop_assert!(given.into_iter().eq(all));
    }

    #[test]
    fn equal_subscriptions_are_balanced_and_what_was_balanced_stays(
        members in groups(),
        counts in vec(0..14i32, 8),
        dealt: bool,
    ) {
        let mut members = members;
        let Some(topics) = members.values().next().map(|member| member.topics.clone()) else { return Ok(()) };
        for member in members.values_mut() {
            member.topics = topics.clone();
            member.by_expression = dealt;
        }
        let partitions = |id: TopicId| counts[usize::from(id.0[0])];
        let assignments = assign(Assignor::Uniform, &members, &partitions);
        prop_assert!(spread(&members, &assignments) <= 1);
        for (id, member) in &mut members {
            member.target = assignments[id].clone();
        }
        prop_assert_eq!(&assign(Assignor::Uniform, &members, &partitions), &assignments);
        // When one goes, none of the others gives up anything.
        if let Some((_, gone)) = members.pop_last() {
            let total = members.values().map(|member| load(&member.target)).sum::<usize>();
            let without = assign(Assignor::Uniform, &members, &partitions);
            prop_assert_eq!(kept(&members, &without), total, "{} had {:?}", "it", gone.target);
        }
    }
}

#[test]
fn ten_thousand_members_are_balanced_after_one_more_joined() {
    let topics: Arc<BTreeSet<TopicId>> = Arc::new((0..100).map(topic).collect());
    let member = |n: u32, dealt| {
        let subscriber = Subscriber { topics: topics.clone(), by_expression: dealt, ..Subscriber::default() };
        (Arc::from(format!("member-{n:05}")), subscriber)
    };
    for dealt in [false, true] {
        let mut members: Subscribers = (0..9_999).map(|n| member(n, dealt)).collect();
        let first = assign(Assignor::Uniform, &members, &|_| 100);
        for (id, member) in &mut members {
            member.target = first[id].clone();
        }
        members.extend([member(9_999, dealt)]);
        let second = assign(Assignor::Uniform, &members, &|_| 100);
        assert_eq!(spread(&members, &second), 0);
        assert_eq!(kept(&members, &second), 9_999, "one partition moved");
    }
}

#[test]
fn overlapping_subscriptions_do_not_balance_for_ever() {
    // Each of 2,000 members is subscribed to half of 1,000 topics, each to other ones, and all had
    // been given to one.
    let topic = |n: u64| TopicId::from_u128(u128::from(n) + 100);
    let mut seed = 7u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    let mut members: Subscribers = (0..2_000)
        .map(|n| {
            let topics = (0..1_000).filter(|_| random() % 2 == 0).map(topic).collect();
            let subscriber = Subscriber { topics: Arc::new(topics), ..Subscriber::default() };
            (Arc::from(format!("{n:04}")), subscriber)
        })
        .collect();
    let greedy = members.first_entry().expect("there are members");
    let its = greedy.get().topics.iter().map(|&topic| (topic, (0..10).collect())).collect();
    greedy.into_mut().target = its;
    let assignments = assign(Assignor::Uniform, &members, &|_| 10);
    assert_eq!(assignments.values().map(load).sum::<usize>(), 10_000);
    assert!(spread(&members, &assignments) <= 2, "10,000 partitions, 2,000 members");
}

#[test]
fn ranges_are_given_to_static_members_first_and_alike_in_each_topic() {
    let both: Arc<BTreeSet<TopicId>> = Arc::new([topic(1), topic(2)].into());
    let member = |id: &str, instance: Option<&str>| {
        let instance = instance.map(Arc::from);
        (Arc::from(id), Subscriber { instance, topics: both.clone(), ..Subscriber::default() })
    };
    let members =
        [member("a", None), member("b", Some("2")), member("c", Some("1")), member("d", None)].into();
    let assignments = assign(Assignor::Range, &members, &|_| 6);
    let of = |id: &str| {
        assignments[id].values().map(|its| its.iter().copied().collect()).collect::<Vec<Vec<i32>>>()
    };
    assert_eq!(of("c"), [[0, 1], [0, 1]]);
    assert_eq!(of("b"), [[2, 3], [2, 3]]);
    assert_eq!(of("a"), [[4], [4]]);
    assert_eq!(of("d"), [[5], [5]]);
}

#[test]
fn instances_are_ordered_as_java_orders_them() {
    let topics: Arc<BTreeSet<TopicId>> = Arc::new([topic(1)].into());
    let member = |id: &str, instance: &str| {
        let instance = Some(Arc::from(instance));
        (Arc::from(id), Subscriber { instance, topics: topics.clone(), ..Subscriber::default() })
    };
    // In UTF-8 the other way round.
    let members = [member("a", "\u{ff21}"), member("b", "\u{1f600}")].into();
    let assignments = assign(Assignor::Range, &members, &|_| 1);
    assert!(assignments["a"].is_empty());
    assert_eq!(load(&assignments["b"]), 1);
}
