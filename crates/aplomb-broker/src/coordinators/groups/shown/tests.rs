//! All that a coordinator has is shown, as far as there is room.

use std::collections::{BTreeMap, BTreeSet};

use aplomb_coordinator::group::{GroupRecord, OffsetPlace};
use aplomb_coordinator::runtime::Machine as _;
use aplomb_model::SplitMix64;
use aplomb_protocol::messages as m;

use super::*;
use crate::figures::{NewGroups, ShardFigures};

/// One who looks at what a shard shows, as pages are made.
#[derive(Debug, Default)]
struct Visitor(NewGroups);

impl Visitor {
    fn look(&mut self, figures: &ShardFigures) {
        let new = figures.take_new_groups();
        self.0.groups.extend(new.groups);
        self.0.offsets.extend(new.offsets);
        self.0.groups.retain(|group| !group.is_gone());
        self.0.offsets.retain(|offset| !offset.is_gone());
    }

    fn groups(&self) -> BTreeMap<String, u64> {
        let all: BTreeMap<_, _> = self.0.groups.iter().map(|g| (g.id().to_string(), g.members())).collect();
        assert_eq!(all.len(), self.0.groups.len(), "each is there once");
        all
    }

    fn offsets(&self) -> BTreeMap<OffsetPlace, i64> {
        let place = |of: &OffsetFigures| (of.group().id().clone(), of.topic().clone(), of.partition());
        let all: BTreeMap<_, _> = self.0.offsets.iter().map(|of| (place(of), of.committed())).collect();
        assert_eq!(all.len(), self.0.offsets.len(), "each is there once");
        all
    }
}

/// A coordinator's groups, what is shown of them, and one who looks.
struct Lab {
    groups: Groups,
    bound: Arc<ShownBound>,
    shown: ShownGroups,
    notes: GroupNotes,
    figures: ShardFigures,
    visitor: Visitor,
}

impl Lab {
    fn new(most: usize) -> Self {
        Self::beside(&Arc::new(ShownBound::new(most)))
    }

    fn beside(bound: &Arc<ShownBound>) -> Self {
        let mut groups = Groups::observed();
        groups.begin_news();
        Self {
            groups,
            bound: bound.clone(),
            shown: ShownGroups::new(bound.clone()),
            notes: GroupNotes::default(),
            figures: ShardFigures::new(0, Arc::default()),
            visitor: Visitor::default(),
        }
    }

    fn record(group: &str, partition: i32, offset: Option<i64>) -> GroupRecord {
        let key = m::OffsetCommitKey { group: group.to_owned(), topic: "t".to_owned(), partition };
        let value = offset.map(|offset| m::OffsetCommitValue { offset, ..Default::default() });
        GroupRecord::Offset(key, value)
    }

    /// A group commits, or forgets. Gives what takes that back.
    fn commit(&mut self, group: &str, partition: i32, offset: Option<i64>) -> GroupRecord {
        self.groups.replay(Self::record(group, partition, offset), None)
    }

    /// The group is gone; its offsets are first.
    fn delete(&mut self, group: &str) {
        let places: Vec<i32> = self.groups.committed_after(group, None).map(|(_, n, _)| n).collect();
        for partition in places {
            self.commit(group, partition, None);
        }
        let key = m::GroupMetadataKey { group: group.to_owned() };
        self.groups.replay(GroupRecord::Classic(key, None), None);
    }

    fn hear(&mut self) {
        let news = self.groups.take_news();
        self.shown.on_news(news, &self.groups, &mut self.notes);
    }

    /// Until nothing is left to look for. Gives how many pieces that took.
    fn settle(&mut self) -> usize {
        self.hear();
        let mut pieces = 0;
        while self.shown.has_work(&self.groups) {
            self.shown.go_on(&self.groups, &mut self.notes);
            pieces += 1;
            assert!(pieces < 10_000, "it comes to an end");
        }
        self.notes.hand_over(&self.figures);
        self.visitor.look(&self.figures);
        pieces
    }

    /// Everything is shown.
    fn check(&self) {
        assert_eq!(self.shown.left_out(&self.groups), (0, 0));
        let all: BTreeMap<String, u64> =
            self.groups.after(None).map(|(id, n)| (id.to_string(), n.expect("known") as u64)).collect();
        assert_eq!(self.visitor.groups(), all);
        let mut offsets = BTreeMap::new();
        for (id, _) in self.groups.after(None) {
            let of_group = self.groups.committed_after(id, None);
            offsets.extend(of_group.map(|(topic, n, offset)| ((id.clone(), topic.clone(), n), offset)));
        }
        assert_eq!(self.visitor.offsets(), offsets);
    }
}

#[test]
fn what_is_committed_is_seen_at_once_and_what_is_taken_back_never_was() {
    let mut lab = Lab::new(10);
    lab.commit("g", 0, Some(5));
    lab.settle();
    lab.check();
    let undo = lab.commit("g", 0, Some(9));
    let undo_new = lab.commit("g", 1, Some(1));
    lab.hear();
    assert_eq!(lab.visitor.offsets().into_values().collect::<Vec<_>>(), [9], "no list is needed for that");
    lab.groups.replay(undo_new, None);
    lab.groups.replay(undo, None);
    lab.settle();
    lab.check();
    assert_eq!(lab.visitor.offsets().into_values().collect::<Vec<_>>(), [5]);
}

#[test]
fn whatever_happens_it_is_shown_in_the_end() {
    let mut random = SplitMix64::new(3);
    let mut lab = Lab::new(100);
    for n in 0..3_000_i64 {
        let group = format!("g{}", random.within(0..20));
        let partition = i32::try_from(random.within(0..8)).expect("small");
        match random.within(0..10) {
            0 => lab.delete(&group),
            1 | 2 => {
                lab.commit(&group, partition, None);
            }
            _ => {
                lab.commit(&group, partition, Some(n));
            }
        }
        if random.within(0..4) == 0 {
            lab.settle();
            lab.check();
        }
    }
    lab.shown.hide_all();
    lab.visitor.look(&lab.figures);
    assert_eq!((lab.visitor.groups().len(), lab.visitor.offsets().len()), (0, 0));
    assert_eq!(lab.bound.left(), ShownBound::new(100).left(), "all is given back");
}

#[test]
fn a_log_of_very_many_offsets_is_shown_in_pieces() {
    let mut lab = Lab::new(50);
    for group in 0..40 {
        for partition in 0..40 {
            lab.commit(&format!("g{group}"), partition, Some(1));
        }
    }
    // As after a load, of which there are no news.
    lab.groups.take_news();
    assert!(lab.settle() >= 1_600 / PIECE, "a piece is one of {PIECE}");
    lab.check();
}

#[test]
fn groups_beyond_the_bound_are_left_out_and_come_in_when_others_go() {
    let mut lab = Lab::new(3);
    for n in 0..10 {
        lab.commit(&format!("g{n}"), 0, Some(n));
    }
    lab.settle();
    let shown: BTreeSet<String> = lab.visitor.groups().into_keys().collect();
    assert_eq!((shown.len(), lab.shown.left_out(&lab.groups)), (3, (7, 7)));
    assert!(!lab.shown.has_work(&lab.groups), "nothing is looked for in vain");
    for id in &shown {
        lab.delete(id);
    }
    lab.settle();
    let others: BTreeSet<String> = lab.visitor.groups().into_keys().collect();
    assert_eq!((others.len(), lab.shown.left_out(&lab.groups)), (3, (4, 4)));
    assert!(shown.is_disjoint(&others));
    // No room at all: everything is left out.
    let mut none = Lab::new(0);
    none.commit("g", 0, Some(1));
    none.settle();
    assert_eq!((none.visitor.groups().len(), none.shown.left_out(&none.groups)), (0, (1, 1)));
}

#[test]
fn a_group_of_very_many_offsets_takes_no_more_than_there_is_and_gets_room_that_others_leave() {
    let bound = Arc::new(ShownBound::new(2));
    let (mut lab, mut other) = (Lab::beside(&bound), Lab::beside(&bound));
    for partition in 0..5_000 {
        other.commit("other", partition, Some(1));
    }
    other.settle();
    let room = other.visitor.offsets().len();
    assert!((1..1_000).contains(&room), "{room}");
    assert_eq!(other.shown.left_out(&other.groups), (0, 5_000 - room));
    for partition in 0..5_000 {
        lab.commit("g", partition, Some(2));
    }
    lab.settle();
    assert_eq!((lab.visitor.groups().len(), lab.visitor.offsets().len()), (0, 0), "nothing is left");
    other.delete("other");
    other.settle();
    lab.settle();
    assert!(lab.visitor.offsets().len() >= room);
    // Those that are not shown may change as they like, and those that are go on.
    for partition in (0..5_000).rev() {
        lab.commit("g", partition, Some(3));
    }
    lab.settle();
    assert!(lab.visitor.offsets().values().all(|committed| *committed == 3));
    for partition in 0..4_950 {
        lab.commit("g", partition, None);
    }
    lab.settle();
    lab.check();
}

#[test]
fn shards_share_the_bound() {
    let bound = Arc::new(ShownBound::new(3));
    let (mut one, mut other) = (Lab::beside(&bound), Lab::beside(&bound));
    for n in 0..2 {
        one.commit(&format!("g{n}"), 0, Some(1));
        other.commit(&format!("h{n}"), 0, Some(1));
    }
    one.settle();
    other.settle();
    assert_eq!((one.visitor.groups().len(), other.visitor.groups().len()), (2, 1));
    one.shown.hide_all();
    other.settle();
    other.check();
}

#[test]
fn what_nobody_looks_at_does_not_grow() {
    let mut lab = Lab::new(10);
    for n in 0..20_000 {
        let group = format!("g{n}");
        lab.commit(&group, 0, Some(1));
        lab.hear();
        lab.notes.hand_over(&lab.figures);
        lab.delete(&group);
        lab.hear();
        lab.notes.hand_over(&lab.figures);
    }
    let new = lab.figures.take_new_groups();
    assert!(new.groups.len() <= 200 && new.offsets.len() <= 200, "{}", new.groups.len());
}

#[test]
fn names_as_long_as_can_be_find_room_when_any_does() {
    let mut lab = Lab::new(1);
    let long = "g".repeat(i16::MAX as usize);
    lab.commit(&long, 0, Some(1));
    lab.settle();
    lab.check();
}
