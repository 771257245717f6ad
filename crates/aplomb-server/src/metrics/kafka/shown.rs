//! Partitions and groups as the console shows them: the largest, and those that are farthest
//! behind.

use serde::Serialize;

use super::groups::Groups;
use super::topics::Topics;

/// Some of the partitions and groups, and how many there are.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    pub(super) partitions: ShownPartitions,
    pub(super) groups: ShownGroups,
}

#[derive(Debug, Serialize)]
pub(super) struct ShownPartitions {
    total: usize,
    offline: usize,
    /// The largest first.
    shown: Vec<PartitionRow>,
}

#[derive(Debug, Serialize)]
struct PartitionRow {
    topic: String,
    partition: i32,
    size: u64,
    segments: u64,
    start: u64,
    end: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct ShownGroups {
    total: usize,
    /// Those that have no numbers of their own, because there are too many.
    left_out: u64,
    /// Those that are the farthest behind first.
    shown: Vec<GroupRow>,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct GroupRow {
    id: String,
    members: u64,
    topics: u64,
    offsets: u64,
    lag: u64,
    /// The partition in which it is the farthest behind, if it is in any.
    worst: Option<String>,
}

/// Partitions, the largest of them one by one.
pub(super) fn partitions(topics: &Topics, most: usize) -> ShownPartitions {
    let mut sizes: Vec<(u64, usize)> = Vec::new();
    let (mut total, mut offline) = (0, 0);
    for (n, partition) in topics.of_topics().enumerate() {
        total += 1;
        match partition.is_offline() {
            true => offline += 1,
            false => sizes.push((partition.extent().size, n)),
        }
    }
    let largest = highest(&mut sizes, most);
    let all: Vec<_> = topics.of_topics().collect();
    let shown = largest.iter().map(|(_, n)| {
        let (name, extent) = (all[*n].name(), all[*n].extent());
        PartitionRow {
            topic: name.topic.to_string(),
            partition: name.partition.0,
            size: extent.size,
            segments: extent.segments,
            start: extent.start,
            end: extent.end,
        }
    });
    ShownPartitions { total, offline, shown: shown.collect() }
}

/// Groups with members or offsets, those that are the farthest behind one by one.
pub(super) fn groups(groups: &Groups, topics: &Topics, left_out: u64, most: usize) -> ShownGroups {
    let mut rows: Vec<GroupRow> = Vec::new();
    let members = |id: &str| {
        let place = groups.all().binary_search_by(|group| (**group.id()).cmp(id));
        place.map_or(0, |place| groups.all()[place].members())
    };
    let (mut topic, mut worst) = (None, 0);
    // By group, then topic.
    for offset in groups.offsets() {
        let id = &**offset.group().id();
        if rows.last().is_none_or(|row| row.id != id) {
            rows.push(GroupRow { id: id.to_owned(), members: members(id), ..GroupRow::default() });
            (topic, worst) = (None, 0);
        }
        let row = rows.last_mut().expect("it is there now");
        row.offsets += 1;
        row.topics += u64::from(topic.replace(offset.topic()) != Some(offset.topic()));
        let committed = u64::try_from(offset.committed()).unwrap_or(0);
        let end = topics.end_of(offset.topic(), offset.partition());
        let lag = end.map_or(0, |end| end.saturating_sub(committed));
        row.lag += lag;
        if lag > worst {
            worst = lag;
            row.worst = Some(format!("{}-{}", offset.topic(), offset.partition()));
        }
    }
    let with_offsets = rows.len();
    for group in groups.all().iter().filter(|group| group.members() > 0) {
        let is_there = rows[..with_offsets].binary_search_by(|row| row.id.as_str().cmp(group.id())).is_ok();
        if !is_there {
            let (id, members) = (group.id().to_string(), group.members());
            rows.push(GroupRow { id, members, ..GroupRow::default() });
        }
    }
    let mut lags: Vec<(u64, usize)> = rows.iter().enumerate().map(|(n, row)| (row.lag, n)).collect();
    let total = rows.len();
    let shown = highest(&mut lags, most).iter().map(|(_, n)| std::mem::take(&mut rows[*n])).collect();
    ShownGroups { total, left_out, shown }
}

/// The highest first, and of equals those that came first: as many as are to be shown.
fn highest(values: &mut [(u64, usize)], most: usize) -> &[(u64, usize)] {
    let order = |(value, n): &(u64, usize)| (std::cmp::Reverse(*value), *n);
    let many = most.min(values.len());
    if many < values.len() {
        values.select_nth_unstable_by_key(many, order);
    }
    let shown = &mut values[..many];
    shown.sort_unstable_by_key(order);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_are_shown_first_and_no_more_than_are_to_be() {
        let mut values: Vec<(u64, usize)> = [5, 9, 0, 9, 7].into_iter().zip(0..).collect();
        assert_eq!(highest(&mut values, 3), [(9, 1), (9, 3), (7, 4)]);
        let mut values = [(5, 0), (9, 1)];
        assert_eq!(highest(&mut values, 3), [(9, 1), (5, 0)]);
        assert_eq!(highest(&mut [], 3), []);
    }
}
