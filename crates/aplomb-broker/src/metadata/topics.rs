//! Topics and their partitions, and the arithmetic of their epochs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use aplomb_model::{BrokerId, DirectoryId, LeaderEpoch, PartitionIndex, TopicId, Uuid};
use aplomb_protocol::messages::{PartitionChangeRecord, PartitionRecord};

/// Whether the leader may lack acknowledged records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryState {
    /// It has them all.
    Recovered,
    /// It was elected out of sync, and the in-sync replicas must be made anew from it.
    Recovering,
}

impl RecoveryState {
    /// The number in records.
    #[must_use]
    pub const fn to_wire(self) -> i8 {
        match self {
            Self::Recovered => 0,
            Self::Recovering => 1,
        }
    }

    fn from_wire(raw: i8) -> Self {
        if raw == 1 { Self::Recovering } else { Self::Recovered }
    }
}

/// What the cluster knows of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Who holds it, the preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// Parallel to `replicas`: in which of their log directories. `Uuid::ZERO` is "not known yet",
    /// `ONE` "not assigned", `TWO` "lost".
    pub directories: Vec<DirectoryId>,
    /// Who has all that is acknowledged.
    pub isr: Vec<BrokerId>,
    /// Whom a reassignment takes away.
    pub removing_replicas: Vec<BrokerId>,
    /// Whom a reassignment adds.
    pub adding_replicas: Vec<BrokerId>,
    /// `None` while the partition is offline.
    pub leader: Option<BrokerId>,
    /// Whether the leader may lack acknowledged records.
    pub recovery_state: RecoveryState,
    /// Counts leaders.
    pub leader_epoch: LeaderEpoch,
    /// Counts changes.
    pub partition_epoch: i32,
    /// Who fell out of the in-sync replicas below `min.insync.replicas` and may lead without loss
    /// all the same (KIP-966).
    pub eligible_leaders: Vec<BrokerId>,
    /// Who was eligible last.
    pub last_known_eligible: Vec<BrokerId>,
}

impl Partition {
    /// The log directory of a replica; `None` if the broker holds none.
    #[must_use]
    pub fn directory(&self, replica: BrokerId) -> Option<DirectoryId> {
        let at = self.replicas.iter().position(|id| *id == replica)?;
        self.directories.get(at).copied()
    }

    pub(crate) fn from_record(record: &PartitionRecord) -> Self {
        Self {
            directories: parallel(&record.directories, record.replicas.len()),
            replicas: ids(&record.replicas),
            isr: ids(&record.isr),
            removing_replicas: ids(&record.removing_replicas),
            adding_replicas: ids(&record.adding_replicas),
            leader: leader(record.leader),
            recovery_state: RecoveryState::from_wire(record.leader_recovery_state),
            leader_epoch: LeaderEpoch::from_wire(record.leader_epoch).unwrap_or_default(),
            partition_epoch: record.partition_epoch,
            eligible_leaders: ids(record.eligible_leader_replicas.as_deref().unwrap_or_default()),
            last_known_eligible: ids(record.last_known_elr.as_deref().unwrap_or_default()),
        }
    }

    /// Applies a change (`PartitionRegistration#merge`). Every change counts in the partition's
    /// epoch. Naming a leader, even the same one again or none, counts in the leader's: the record
    /// does not say the epochs.
    pub(crate) fn change(&mut self, record: &PartitionChangeRecord) {
        let replace = |old: &mut Vec<BrokerId>, new: &Option<Vec<i32>>| {
            if let Some(new) = new {
                *old = ids(new);
            }
        };
        replace(&mut self.replicas, &record.replicas);
        replace(&mut self.isr, &record.isr);
        replace(&mut self.removing_replicas, &record.removing_replicas);
        replace(&mut self.adding_replicas, &record.adding_replicas);
        replace(&mut self.eligible_leaders, &record.eligible_leader_replicas);
        replace(&mut self.last_known_eligible, &record.last_known_elr);
        let directories = record.directories.as_ref().unwrap_or(&self.directories);
        self.directories = parallel(directories, self.replicas.len());
        if record.leader != NO_LEADER_CHANGE {
            self.leader = leader(record.leader);
            self.leader_epoch = self.leader_epoch.next();
        }
        if record.leader_recovery_state != NO_RECOVERY_CHANGE {
            self.recovery_state = RecoveryState::from_wire(record.leader_recovery_state);
        }
        self.partition_epoch += 1;
    }

    pub(crate) fn to_record(&self, topic: TopicId, index: PartitionIndex) -> PartitionRecord {
        let unless_empty = |ids: &[BrokerId]| (!ids.is_empty()).then(|| raw(ids));
        PartitionRecord {
            partition_id: index.0,
            topic_id: topic,
            replicas: raw(&self.replicas),
            isr: raw(&self.isr),
            removing_replicas: raw(&self.removing_replicas),
            adding_replicas: raw(&self.adding_replicas),
            leader: self.leader.map_or(NO_LEADER, |leader| leader.0),
            leader_recovery_state: self.recovery_state.to_wire(),
            leader_epoch: self.leader_epoch.to_wire(),
            partition_epoch: self.partition_epoch,
            directories: self.directories.clone(),
            eligible_leader_replicas: unless_empty(&self.eligible_leaders),
            last_known_elr: unless_empty(&self.last_known_eligible),
        }
    }
}

/// `PartitionChangeRecord.Leader` where the leader stays as it is.
const NO_LEADER_CHANGE: i32 = -2;
const NO_LEADER: i32 = -1;
const NO_RECOVERY_CHANGE: i8 = -1;

fn ids(raw: &[i32]) -> Vec<BrokerId> {
    raw.iter().copied().map(BrokerId).collect()
}

fn raw(ids: &[BrokerId]) -> Vec<i32> {
    ids.iter().map(|id| id.0).collect()
}

fn leader(raw: i32) -> Option<BrokerId> {
    (raw >= 0).then_some(BrokerId(raw))
}

/// Records older than directory assignment name none: all are "not known yet".
fn parallel(directories: &[DirectoryId], replicas: usize) -> Vec<DirectoryId> {
    if directories.len() == replicas { directories.to_vec() } else { vec![Uuid::ZERO; replicas] }
}

/// What the cluster knows of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// The name, which a later topic may have too.
    pub name: Arc<str>,
    /// Its id, for as long as it lives; a later topic of the same name has another.
    pub id: TopicId,
    /// From 0 on, without gaps.
    pub partitions: BTreeMap<PartitionIndex, Partition>,
}

/// The topics of the cluster, by name and by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topics {
    by_name: BTreeMap<Arc<str>, Arc<Topic>>,
    names: HashMap<TopicId, Arc<str>>,
    /// Names with '.' or '_' in them, by what they are with '_' for every '.': so they appear in
    /// metrics.
    by_metric_name: HashMap<String, BTreeSet<Arc<str>>>,
}

impl Topics {
    /// The topic with this name.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<&Arc<Topic>> {
        self.by_name.get(name)
    }

    /// The topic with this id.
    #[must_use]
    pub fn by_id(&self, id: TopicId) -> Option<&Arc<Topic>> {
        self.names.get(&id).and_then(|name| self.by_name.get(name))
    }

    /// The name of the topic with this id.
    #[must_use]
    pub fn name(&self, id: TopicId) -> Option<&Arc<str>> {
        self.names.get(&id)
    }

    /// A partition of the topic with this id.
    #[must_use]
    pub fn partition(&self, id: TopicId, index: PartitionIndex) -> Option<&Partition> {
        self.by_id(id).and_then(|topic| topic.partitions.get(&index))
    }

    /// All topics, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.by_name.values()
    }

    /// How many topics there are, and partitions in all.
    #[must_use]
    pub fn totals(&self) -> (u64, u64) {
        let partitions = self.iter().map(|topic| topic.partitions.len() as u64);
        (self.by_name.len() as u64, partitions.sum())
    }

    /// Names of topics, in their order.
    pub fn names_from(&self, from: Bound<&str>) -> impl Iterator<Item = &Arc<str>> {
        self.by_name.range::<str, _>((from, Bound::Unbounded)).map(|(name, _)| name)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// A topic whose metrics those of a topic of this name would be mixed up with.
    #[must_use]
    pub fn with_same_metrics(&self, name: &str) -> Option<&Arc<str>> {
        self.by_metric_name.get(&metric_name(name)?)?.first()
    }

    pub(super) fn insert(&mut self, name: Arc<str>, id: TopicId) {
        if let Some(metric_name) = metric_name(&name) {
            self.by_metric_name.entry(metric_name).or_default().insert(name.clone());
        }
        self.names.insert(id, name.clone());
        self.by_name.insert(name.clone(), Arc::new(Topic { name, id, partitions: BTreeMap::new() }));
    }

    pub(super) fn remove(&mut self, id: TopicId) -> Option<Arc<Topic>> {
        let name = self.names.remove(&id)?;
        if let Some(metric_name) = metric_name(&name)
            && let Some(names) = self.by_metric_name.get_mut(&metric_name)
        {
            names.remove(&name);
            if names.is_empty() {
                self.by_metric_name.remove(&metric_name);
            }
        }
        self.by_name.remove(&name)
    }

    pub(super) fn topic_mut(&mut self, id: TopicId) -> Option<&mut Topic> {
        let name = self.names.get(&id)?;
        self.by_name.get_mut(name).map(Arc::make_mut)
    }
}

/// `None` for a name that is the same in metrics.
fn metric_name(name: &str) -> Option<String> {
    name.contains(['.', '_']).then(|| name.replace('.', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition() -> Partition {
        Partition::from_record(&PartitionRecord {
            replicas: vec![1, 2],
            isr: vec![1, 2],
            leader: 1,
            leader_epoch: 4,
            partition_epoch: 9,
            directories: vec![Uuid::from_u128(500), Uuid::from_u128(501)],
            ..PartitionRecord::default()
        })
    }

    #[test]
    fn every_change_counts_and_a_named_leader_counts_twice() {
        let mut changed = partition();
        changed.change(&PartitionChangeRecord { isr: Some(vec![1]), ..Default::default() });
        assert_eq!((changed.leader_epoch, changed.partition_epoch), (LeaderEpoch::new(4), 10));

        changed.change(&PartitionChangeRecord { leader: 1, ..Default::default() });
        assert_eq!((changed.leader_epoch, changed.partition_epoch), (LeaderEpoch::new(5), 11));
        assert_eq!(changed.leader, Some(BrokerId(1)));

        changed.change(&PartitionChangeRecord { leader: -1, ..Default::default() });
        assert_eq!((changed.leader_epoch, changed.leader), (LeaderEpoch::new(6), None));
    }

    #[test]
    fn a_change_of_replicas_that_names_no_directories_forgets_them() {
        let mut changed = partition();
        changed.change(&PartitionChangeRecord { replicas: Some(vec![1, 2, 3]), ..Default::default() });
        assert_eq!(changed.directories, [Uuid::ZERO; 3]);
        assert_eq!(partition().directory(BrokerId(2)), Some(Uuid::from_u128(501)));
        assert_eq!(partition().directory(BrokerId(3)), None);
    }

    #[test]
    fn a_partition_reads_back_from_its_record() {
        let id = Uuid::from_u128(77);
        let record = partition().to_record(id, PartitionIndex(3));
        assert_eq!((record.topic_id, record.partition_id), (id, 3));
        assert_eq!(Partition::from_record(&record), partition());
    }
}
