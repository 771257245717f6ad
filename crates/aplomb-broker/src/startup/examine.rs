//! Looking before touching: what log directories hold, whether they can be taken over, and what
//! taking over will change.
//!
//! Holds: nothing is written here. What is refused is refused before the first byte changes; what a
//! start does to the directories of another broker is in [`Examined::changes`] beforehand. Next:
//! `load.rs`, which does it.

use std::collections::{BTreeMap, BTreeSet};

use aplomb_disk_api::{EntryKind, FileName};
use aplomb_log::layout::top_level::{CLEAN_SHUTDOWN, CLUSTER_METADATA_DIR};
use aplomb_log::layout::{DirectoryRole, LogDirEntry, PartitionDir};
use aplomb_log::state_files::{CleanShutdown, QuorumState, QuorumStateFormat};
use aplomb_model::{BrokerId, Offset, TopicPartition, Uuid};

use super::error::StartError;
use super::load::topic_of;
use super::metadata::MetadataFound;
use super::survey::{Directory, offsets, read};
use crate::controller::{Controller, UnsupportedFeature};
use crate::metadata::{MetadataImage, MetadataVersion};

/// Why directories are not taken over. They are as they were.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// They cannot be read, or not understood.
    #[error(transparent)]
    Unreadable(#[from] StartError),
    /// A feature of a later version.
    #[error(transparent)]
    Feature(#[from] UnsupportedFeature),
    /// Others have a say.
    #[error(
        "the metadata log in {path} has the voters {}, and only a node that is the one voter can be taken over: node {node} is {}",
        numbers(voters),
        if voters.contains(node) { "one of several" } else { "not one of them (is it a broker of a cluster?)" }
    )]
    Voters {
        /// The log directory.
        path: String,
        /// Who votes.
        voters: BTreeSet<BrokerId>,
        /// Who asks.
        node: BrokerId,
    },
    /// A broker that is not this one.
    #[error(
        "broker {broker} belongs to this cluster as well ({why}): only a node that is alone can be taken over"
    )]
    OtherBroker {
        /// Which.
        broker: BrokerId,
        /// How one knows.
        why: String,
    },
    /// There are partitions, and nobody says of what.
    #[error("{path} has no metadata log, and {found} is there: the cluster's metadata is missing")]
    NoMetadata {
        /// Where the metadata log should be.
        path: String,
        /// A partition's directory.
        found: String,
    },
    /// The metadata log is not where the settings say. To begin a new one would give up all that
    /// the other one knows, and records that only the tail has.
    #[error(
        "{path} is to have the metadata log and has none, but there is a metadata log in {other}: set metadata.log.dir={other}, or put that first in log.dirs"
    )]
    MetadataElsewhere {
        /// Where the metadata log should be.
        path: String,
        /// The log directory that has one.
        other: String,
    },
}

/// One log directory, looked at.
#[derive(Clone, Debug)]
pub struct ExaminedDirectory {
    /// Its path.
    pub path: String,
    /// What its marker says, if it was closed cleanly.
    pub clean: Option<CleanShutdown>,
    /// Partitions that have a directory, by name.
    pub partitions: Vec<TopicPartition>,
    /// How many directories wait to be deleted.
    pub deleted: usize,
    /// How many belong to no topic, or are the target of a move.
    pub aside: usize,
}

/// Everything, looked at.
pub struct Examined {
    /// What the metadata log says.
    pub found: MetadataFound,
    /// The log directories, in order.
    pub directories: Vec<ExaminedDirectory>,
    /// Which of them has the metadata log.
    pub metadata: usize,
    node: BrokerId,
}

/// Looks at log directories, of which `metadata` has the metadata log, and says whether `node` may
/// take them over.
///
/// # Errors
/// [`Refusal`], with the reason.
pub fn examine(
    directories: &[Directory],
    metadata: usize,
    cluster_id: &str,
    node: BrokerId,
) -> Result<Examined, Refusal> {
    let looked: Vec<ExaminedDirectory> = directories.iter().map(look).collect::<Result<_, _>>()?;
    let home = &directories[metadata];
    let found = MetadataFound::read(home, cluster_id, looked[metadata].clean.is_some())?;
    check_voters(home, &found, node)?;
    let controller = Controller::new(found.replay.image().clone());
    controller.check_features()?;
    check_brokers(controller.image(), node)?;
    if found.replay.image().provenance.end == Offset::ZERO {
        refuse_without_metadata(directories, metadata, &looked)?;
    }
    Ok(Examined { found, directories: looked, metadata, node })
}

fn look(directory: &Directory) -> Result<ExaminedDirectory, StartError> {
    let marker = read(directory, &FileName::new(CLEAN_SHUTDOWN))?;
    offsets(directory)?;
    let mut looked = ExaminedDirectory {
        path: directory.path.clone(),
        clean: marker.map(|bytes| CleanShutdown::parse(&bytes)),
        partitions: Vec::new(),
        deleted: 0,
        aside: 0,
    };
    let failed = |error| StartError::Disk { path: directory.path.clone(), error };
    let entries = directory.disk.list(None).map_err(failed)?;
    for entry in entries.into_iter().filter(|entry| entry.kind == EntryKind::Directory) {
        if entry.name == "lost+found" {
            continue;
        }
        let what = LogDirEntry::of_directory(&entry.name)
            .map_err(|error| StartError::Directory { path: directory.path.clone(), error })?;
        let LogDirEntry::Partition(partition) = what else { continue };
        match partition.role {
            DirectoryRole::Serving => looked.partitions.push(partition.partition),
            DirectoryRole::Deleted { .. } => looked.deleted += 1,
            DirectoryRole::Stray { .. } | DirectoryRole::Future { .. } => looked.aside += 1,
        }
    }
    Ok(looked)
}

/// The metadata log is empty, as a new cluster's is. It must not be if anything here is of an older
/// one.
fn refuse_without_metadata(
    directories: &[Directory],
    metadata: usize,
    looked: &[ExaminedDirectory],
) -> Result<(), Refusal> {
    let path = directories[metadata].path.clone();
    let mut others = directories.iter().enumerate().filter(|(at, _)| *at != metadata);
    if let Some((_, other)) = others.find(|(_, one)| has_metadata_log(one)) {
        return Err(Refusal::MetadataElsewhere { path, other: other.path.clone() });
    }
    let partition = looked.iter().find_map(|one| Some((&one.path, one.partitions.first()?)));
    match partition {
        Some((of, name)) => Err(Refusal::NoMetadata { path, found: format!("{of}/{name}") }),
        None => Ok(()),
    }
}

fn has_metadata_log(directory: &Directory) -> bool {
    let listed = directory.disk.list(Some(&FileName::new(CLUSTER_METADATA_DIR)));
    listed.is_ok_and(|entries| !entries.is_empty())
}

/// The log says who votes, and so does what the voter remembers: it may have been told of others
/// since, or follow one.
fn check_voters(home: &Directory, found: &MetadataFound, node: BrokerId) -> Result<(), Refusal> {
    let (remembered, leader) = match &found.quorum {
        Some(QuorumState { format: QuorumStateFormat::Static { voters, .. }, leader, .. }) => {
            (voters.iter().copied().collect(), *leader)
        }
        Some(QuorumState { format: QuorumStateFormat::Dynamic, leader, .. }) => (BTreeSet::new(), *leader),
        None => (BTreeSet::new(), None),
    };
    let logged = found.voters.clone().unwrap_or_default();
    for voters in [logged, remembered, leader.into_iter().collect()] {
        if !voters.is_empty() && voters != BTreeSet::from([node]) {
            return Err(Refusal::Voters { path: home.path.clone(), voters, node });
        }
    }
    Ok(())
}

/// Brokers that have gone for good may still be registered, without a partition and fenced.
fn check_brokers(image: &MetadataImage, node: BrokerId) -> Result<(), Refusal> {
    if let Some(other) = image.brokers.iter().find(|broker| broker.id != node && !broker.fenced) {
        return Err(Refusal::OtherBroker {
            broker: other.id,
            why: "it is registered, and not fenced".to_owned(),
        });
    }
    for topic in image.topics.iter() {
        for (index, partition) in &topic.partitions {
            if let Some(other) = partition.replicas.iter().find(|replica| **replica != node) {
                let why = format!("it has a replica of {}-{}", topic.name, index.0);
                return Err(Refusal::OtherBroker { broker: *other, why });
            }
        }
    }
    Ok(())
}

fn numbers(ids: &BTreeSet<BrokerId>) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl Examined {
    /// The cluster as the metadata log has it.
    #[must_use]
    pub fn image(&self) -> &MetadataImage {
        self.found.replay.image()
    }

    /// What a start will do to the directories beyond going on with what is in them, one sentence
    /// each. They are those that were examined; of which topic each partition's is, is read from
    /// it.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn changes(&self, directories: &[Directory]) -> Result<Vec<String>, StartError> {
        let mut changes = Vec::new();
        let image = self.image();
        let mut wanted: BTreeMap<TopicPartition, Uuid> = BTreeMap::new();
        for topic in image.topics.iter() {
            wanted.extend(
                topic
                    .partitions
                    .iter()
                    .filter(|(_, partition)| partition.replicas.contains(&self.node))
                    .map(|(index, _)| (TopicPartition::new(topic.name.clone(), index.0), topic.id)),
            );
        }
        let epoch = self.found.epoch.map_or(1, |epoch| epoch.next().to_wire());
        if image.features.is_finalized() {
            changes
                .push(format!("{CLUSTER_METADATA_DIR}: epoch {epoch} begins, and the broker registers anew"));
        } else {
            let level = MetadataVersion::LATEST;
            changes
                .push(format!("{CLUSTER_METADATA_DIR}: a new cluster begins, with metadata.version {level}"));
        }
        for (directory, files) in self.directories.iter().zip(directories) {
            let path = &directory.path;
            let mut strays = 0;
            for partition in &directory.partitions {
                let topic = topic_of(files, &PartitionDir::serving(partition.clone()).name())?;
                if topic.is_some() && wanted.get(partition) == topic.as_ref() {
                    continue;
                }
                strays += 1;
                if strays <= 10 {
                    changes.push(format!(
                        "{path}/{partition}: belongs to no topic, and gets a name that ends in -stray"
                    ));
                }
            }
            if strays > 10 {
                changes.push(format!("{path}: {} more such directories", strays - 10));
            }
            if directory.deleted > 0 {
                changes.push(format!("{path}: {} directories of deleted topics go", directory.deleted));
            }
            match directory.clean {
                Some(_) => changes.push(format!("{path}/{CLEAN_SHUTDOWN}: goes until the next clean stop")),
                None => changes.push(format!(
                    "{path}: was not closed cleanly; logs are checked above their recovery points, and end at their last whole batch"
                )),
            }
        }
        let there: BTreeSet<&TopicPartition> =
            self.directories.iter().flat_map(|one| &one.partitions).collect();
        let new = wanted.keys().filter(|name| !there.contains(name)).count();
        if new > 0 {
            changes.push(format!(
                "{new} partitions have no directory yet, and get one when they are written to"
            ));
        }
        Ok(changes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aplomb_disk_api::sim::{SimDisk, SimOptions};
    use aplomb_disk_api::{DiskIndex, PatientDisk as _, SmallFile};

    use super::*;

    /// Log directories of the same cluster, with these files in them.
    fn directories(files: &[&[&str]]) -> Vec<Directory> {
        let directory = |(n, files): (usize, &&[&str])| {
            let index = DiskIndex(n as u16);
            let disk = SimDisk::new(index, SimOptions::default());
            for name in *files {
                let file = SmallFile { name: FileName::new(*name), content: "x".into() };
                disk.publish(&[file]).expect("the disk is well");
            }
            let id = Uuid::from_u128((n as u128 + 1) << 100);
            Directory { index, id, path: format!("/disk{n}"), disk: Arc::new(disk) }
        };
        files.iter().enumerate().map(directory).collect()
    }

    fn refusal(files: &[&[&str]]) -> Option<String> {
        let result = examine(&directories(files), 0, "a cluster", BrokerId(1));
        result.err().map(|refusal| refusal.to_string())
    }

    #[test]
    fn a_metadata_log_in_another_directory_is_not_begun_anew_here() {
        let log = "__cluster_metadata-0/00000000000000000000.log";
        let said = refusal(&[&[], &["meta.properties"], &[log]]).expect("it is refused");
        assert!(said.starts_with("/disk0 is to have the metadata log and has none"), "{said}");
        assert!(said.contains("set metadata.log.dir=/disk2, "), "{said}");
        assert_eq!(refusal(&[&[], &["meta.properties"]]), None, "a cluster that has never run");
    }

    #[test]
    fn partitions_without_a_metadata_log_are_refused() {
        let said = refusal(&[&[], &["orders-3/00000000000000000000.log"]]).expect("it is refused");
        assert!(said.contains("/disk0 has no metadata log, and /disk1/orders-3 is there"), "{said}");
    }
}
