//! Log directories: opened, locked, and found to be ours, or made so.
//!
//! What always holds: a directory that says that it is another broker's, or another cluster's, is
//! refused with the reason; one that is empty becomes ours; one whose disk fails is lost, as if it
//! had failed later, unless it has the metadata log. Nothing is changed by looking
//! ([`Candidates`]), so that whoever looks can still refuse. `meta.properties` is read as Apache
//! Kafka writes it (`org.apache.kafka.metadata.properties.MetaPropertiesEnsemble`).

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::startup::{Directory, Examined, Refusal, TAIL_RECORD, examine};
use aplomb_disk::EngineError;
use aplomb_disk::lock::{DirectoryLock, LOCK_FILE, LockError};
use aplomb_disk::patient::RealPatientDisk;
use aplomb_disk_api::{DiskError, DiskIndex, FileName, PatientDisk, SmallFile};
use aplomb_log::layout::top_level::META_PROPERTIES;
use aplomb_log::state_files::{MetaProperties, MetaPropertiesError, MetaVersion};
use aplomb_model::{BrokerId, DirectoryId, Uuid};
use bytes::Bytes;

/// What may lie in a directory that counts as empty: traces of an earlier attempt, and of `mkfs`.
const NOTHING: [&str; 3] = [LOCK_FILE, TAIL_RECORD, "lost+found"];

/// How often, and after which pause, what is in use is tried again.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// A log directory that is ours.
pub(crate) struct LogDirectory {
    pub(crate) path: PathBuf,
    pub(crate) id: DirectoryId,
    pub(crate) disk: Arc<RealPatientDisk>,
    _lock: DirectoryLock,
}

/// All log directories, in the order of `log.dirs`.
#[derive(Debug)]
pub(crate) struct LogDirectories {
    pub(crate) cluster_id: String,
    pub(crate) directories: Vec<LogDirectory>,
    /// Which of them has the metadata log.
    pub(crate) metadata: usize,
    /// Those that the broker has to do without.
    pub(crate) lost: Vec<LostDirectory>,
}

/// A log directory whose disk failed before the broker served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LostDirectory {
    pub(crate) path: PathBuf,
    /// A sentence that names the directory.
    pub(crate) why: String,
}

/// A log directory that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DirectoryError {
    #[error("log directory {} cannot be made: {source}", path.display())]
    Make { path: PathBuf, source: std::io::Error },
    #[error("log directory {} cannot be looked at: {source}", path.display())]
    Look { path: PathBuf, source: std::io::Error },
    #[error("none of the log directories can be used: {0}")]
    AllLost(String),
    #[error("log directory {0}")]
    Lock(#[from] LockError),
    #[error("log directory {0}")]
    Open(#[from] EngineError),
    #[error("log directory {}: {error}", path.display())]
    Disk { path: PathBuf, error: DiskError },
    #[error("log directory {}: {error}", path.display())]
    Identity { path: PathBuf, error: MetaPropertiesError },
    #[error("log directory {} was written by a broker of a ZooKeeper cluster; migrate it to KRaft with Apache Kafka first", .0.display())]
    ZooKeeper(PathBuf),
    #[error(
        "log directory {} belongs to node {found}, and node.id is {expected}",
        path.display()
    )]
    OtherNode { path: PathBuf, found: BrokerId, expected: BrokerId },
    #[error("log directory {} belongs to cluster {found}, and {} to cluster {other}", path.display(), beside.display())]
    OtherCluster { path: PathBuf, found: String, beside: PathBuf, other: String },
    #[error("log directories {} and {} have the same directory.id {id}: one is a copy of the other", one.display(), other.display())]
    SameId { one: PathBuf, other: PathBuf, id: DirectoryId },
    #[error("log directory {} has no meta.properties and is not empty ({found} is in it): it is not clear whose it is", path.display())]
    NotEmpty { path: PathBuf, found: String },
    #[error("{} holds the metadata log and is empty, while {} belongs to cluster {cluster}: the cluster's metadata is missing", path.display(), other.display())]
    MetadataMissing { path: PathBuf, other: PathBuf, cluster: String },
}

impl DirectoryError {
    /// Whether the disk has failed, so that a broker with other log directories can do without this
    /// one. What is in a directory that can be read, and is not ours, is no reason to go on:
    /// somebody has to look at it.
    fn is_of_the_disk(&self) -> bool {
        match self {
            Self::Make { .. }
            | Self::Look { .. }
            | Self::Disk { .. }
            | Self::Lock(LockError::Io { .. })
            | Self::Open(EngineError::Directory { .. }) => true,
            Self::Lock(LockError::InUse { .. })
            | Self::Open(EngineError::IoUring { .. } | EngineError::Thread { .. })
            | Self::AllLost(_)
            | Self::Identity { .. }
            | Self::ZooKeeper(_)
            | Self::OtherNode { .. }
            | Self::OtherCluster { .. }
            | Self::SameId { .. }
            | Self::NotEmpty { .. }
            | Self::MetadataMissing { .. } => false,
        }
    }
}

/// Log directories, locked and looked at, and not changed.
pub(crate) struct Candidates {
    /// Those whose disks answer.
    found: Vec<Found>,
    lost: Vec<LostDirectory>,
    /// Which of them has the metadata log.
    metadata: usize,
    /// What those say that have an identity.
    cluster_id: Option<String>,
}

/// A directory that is locked and looked at.
struct Found {
    path: PathBuf,
    there: Option<There>,
}

/// One that exists.
struct There {
    lock: DirectoryLock,
    disk: Arc<RealPatientDisk>,
    identity: Option<MetaProperties>,
}

impl Candidates {
    /// Locks the directories and reads whose they are; missing ones are left missing. `metadata` is
    /// the one with the metadata log; it may stand outside `log.dirs` and is the last then.
    pub(crate) fn look(log_dirs: &[String], metadata: &str, node: BrokerId) -> Result<Self, DirectoryError> {
        let mut paths: Vec<&str> = log_dirs.iter().map(String::as_str).collect();
        if !paths.contains(&metadata) {
            paths.push(metadata);
        }
        let (mut found, mut lost) = (Vec::new(), Vec::new());
        for path in paths {
            match Found::look(Path::new(path)) {
                Ok(one) => found.push(one),
                Err(error) if path != metadata && error.is_of_the_disk() => {
                    lost.push(LostDirectory { path: path.into(), why: error.to_string() });
                }
                Err(error) => return Err(error),
            }
        }
        let metadata = found.iter().position(|one| one.path.as_os_str() == metadata);
        let metadata = metadata.expect("it is there, or an error");
        let agreed = agreed_cluster(&found, node)?;
        if let Some((cluster, other)) = &agreed
            && found[metadata].identity().is_none()
        {
            let (path, other, cluster) = (found[metadata].path.clone(), other.clone(), cluster.clone());
            return Err(DirectoryError::MetadataMissing { path, other, cluster });
        }
        let mut ids: Vec<(DirectoryId, &Path)> = Vec::new();
        for one in &found {
            let Some(id) = one.identity().and_then(MetaProperties::directory_id) else { continue };
            if let Some((_, same)) = ids.iter().find(|(other, _)| *other == id) {
                let (one, other) = ((*same).to_owned(), one.path.clone());
                return Err(DirectoryError::SameId { one, other, id });
            }
            ids.push((id, &one.path));
        }
        Ok(Self { found, lost, metadata, cluster_id: agreed.map(|(cluster, _)| cluster) })
    }

    /// Those whose disks fail.
    pub(crate) fn lost(&self) -> &[LostDirectory] {
        &self.lost
    }

    /// The cluster that they belong to, if they belong to one.
    pub(crate) fn cluster_id(&self) -> Option<&str> {
        self.cluster_id.as_deref()
    }

    /// Those that belong to the cluster, as start-up looks at them, and which of these has the
    /// metadata log. None, in a new cluster.
    pub(crate) fn known(&self) -> (Vec<Directory>, usize) {
        let mut known = Vec::new();
        let mut metadata = 0;
        for (index, found) in self.found.iter().enumerate() {
            let Some(there) = found.there.as_ref().filter(|there| there.identity.is_some()) else { continue };
            if index == self.metadata {
                metadata = known.len();
            }
            known.push(Directory {
                index: DiskIndex(u16::try_from(index).expect("log directories are few")),
                id: there.identity.as_ref().and_then(MetaProperties::directory_id).unwrap_or(Uuid::ZERO),
                path: found.path.display().to_string(),
                disk: there.disk.clone(),
            });
        }
        (known, metadata)
    }

    /// Whether `node` may take over what is in them; `None` if there is nothing yet.
    pub(crate) fn examine(&self, node: BrokerId) -> Result<Option<Examined>, Refusal> {
        let Some(cluster_id) = self.cluster_id() else { return Ok(None) };
        let (known, metadata) = self.known();
        examine(&known, metadata, cluster_id, node).map(Some)
    }

    /// What making these directories ours will change, one sentence each.
    pub(crate) fn changes(&self) -> Vec<String> {
        let change = |found: &Found| {
            let path = found.path.display();
            match found.there.as_ref().map(|there| there.identity.as_ref()) {
                None => Some(format!("{path}: is missing, and is made")),
                Some(None) => Some(format!("{path}: is empty, and gets a {META_PROPERTIES}")),
                Some(Some(identity)) if identity.directory_id().is_none() => {
                    Some(format!("{path}/{META_PROPERTIES}: gets a directory.id"))
                }
                Some(Some(_)) => None,
            }
        };
        self.found.iter().filter_map(change).collect()
    }

    /// Makes missing directories, and gives those an identity that have none. A new cluster's id is
    /// `wanted`, if that is something, and chance's otherwise; `random` draws ids.
    pub(crate) fn settle(
        self,
        node: BrokerId,
        wanted: Option<&str>,
        random: &mut dyn FnMut() -> [u8; 16],
    ) -> Result<LogDirectories, DirectoryError> {
        let Self { found, mut lost, metadata, cluster_id } = self;
        let cluster_id = cluster_id.or(wanted.map(str::to_owned)).unwrap_or_else(|| draw(random).to_string());
        let mut directories = Vec::new();
        let mut has_metadata = 0;
        for (index, found) in found.into_iter().enumerate() {
            let path = found.path.clone();
            match found.identify(&cluster_id, node, random) {
                Ok(directory) => {
                    if index == metadata {
                        has_metadata = directories.len();
                    }
                    directories.push(directory);
                }
                Err(error) if index != metadata && error.is_of_the_disk() => {
                    lost.push(LostDirectory { path, why: error.to_string() });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(LogDirectories { cluster_id, directories, metadata: has_metadata, lost })
    }
}

impl LogDirectories {
    /// The id of the directory that has the metadata log.
    pub(crate) fn metadata_id(&self) -> DirectoryId {
        self.directories[self.metadata].id
    }

    /// Goes on without a directory whose disk has failed; `why` is a sentence that names it. False
    /// for the one with the metadata log, which no broker can do without.
    pub(crate) fn lose(&mut self, id: DirectoryId, why: String) -> bool {
        let at = self.directories.iter().position(|directory| directory.id == id);
        let Some(at) = at.filter(|at| *at != self.metadata) else { return false };
        let LogDirectory { path, .. } = self.directories.remove(at);
        self.metadata -= usize::from(at < self.metadata);
        self.lost.push(LostDirectory { path, why });
        true
    }

    /// That records can be kept somewhere: the directory of the metadata log may be none of
    /// `log_dirs`.
    pub(crate) fn check_that_some_are_left(&self, log_dirs: &[String]) -> Result<(), DirectoryError> {
        let is_left = |path: &String| {
            self.directories.iter().any(|directory| directory.path.as_os_str() == path.as_str())
        };
        if log_dirs.iter().any(is_left) {
            return Ok(());
        }
        let why: Vec<&str> = self.lost.iter().map(|lost| lost.why.as_str()).collect();
        Err(DirectoryError::AllLost(why.join("; ")))
    }

    /// The directories' ids, in order.
    pub(crate) fn ids(&self) -> Vec<DirectoryId> {
        self.directories.iter().map(|directory| directory.id).collect()
    }
}

/// What all directories that have an identity say, and one of them.
fn agreed_cluster(found: &[Found], node: BrokerId) -> Result<Option<(String, PathBuf)>, DirectoryError> {
    let mut agreed: Option<(String, PathBuf)> = None;
    for (path, identity) in found.iter().filter_map(|found| Some((&found.path, found.identity()?))) {
        let (Some(cluster), Some(found_node)) = (identity.cluster_id(), identity.node_id()) else {
            return Err(DirectoryError::ZooKeeper(path.clone()));
        };
        if identity.version() == MetaVersion::V0 {
            return Err(DirectoryError::ZooKeeper(path.clone()));
        }
        if found_node != node {
            return Err(DirectoryError::OtherNode { path: path.clone(), found: found_node, expected: node });
        }
        match &agreed {
            Some((other, beside)) if other != cluster => {
                return Err(DirectoryError::OtherCluster {
                    path: path.clone(),
                    found: cluster.to_owned(),
                    beside: beside.clone(),
                    other: other.clone(),
                });
            }
            Some(_) => {}
            None => agreed = Some((cluster.to_owned(), path.clone())),
        }
    }
    Ok(agreed)
}

impl Found {
    fn look(path: &Path) -> Result<Self, DirectoryError> {
        let there = match std::fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(source) => return Err(DirectoryError::Look { path: path.to_owned(), source }),
            Ok(_) => Some(There::look(path)?),
        };
        Ok(Self { path: path.to_owned(), there })
    }

    fn identity(&self) -> Option<&MetaProperties> {
        self.there.as_ref()?.identity.as_ref()
    }

    /// Gives the directory what is missing of its identity.
    fn identify(
        self,
        cluster_id: &str,
        node: BrokerId,
        random: &mut dyn FnMut() -> [u8; 16],
    ) -> Result<LogDirectory, DirectoryError> {
        let Self { path, there } = self;
        let There { lock, disk, identity } = match there {
            Some(there) => there,
            None => {
                std::fs::create_dir_all(&path)
                    .map_err(|source| DirectoryError::Make { path: path.clone(), source })?;
                There::look(&path)?
            }
        };
        let (identity, id, changed) = match identity {
            None => {
                let id = draw(random);
                (MetaProperties::new(cluster_id, node, id), id, true)
            }
            Some(mut identity) => match identity.directory_id() {
                Some(id) => (identity, id, false),
                // Written before directories had ids (Apache Kafka 3.7).
                None => {
                    let id = draw(random);
                    identity.set_directory_id(id);
                    (identity, id, true)
                }
            },
        };
        if changed {
            let file =
                SmallFile { name: FileName::new(META_PROPERTIES), content: Bytes::from(identity.encode()) };
            disk.publish(&[file]).map_err(|error| DirectoryError::Disk { path: path.clone(), error })?;
        }
        Ok(LogDirectory { path, id, disk, _lock: lock })
    }
}

impl There {
    fn look(path: &Path) -> Result<Self, DirectoryError> {
        let lock =
            patiently(|| DirectoryLock::acquire(path), |error| matches!(error, LockError::InUse { .. }))?;
        let disk = RealPatientDisk::open(path)?;
        let failed = |error| DirectoryError::Disk { path: path.to_owned(), error };
        let identity = match disk.read(&FileName::new(META_PROPERTIES), 0, 1 << 20) {
            Ok(bytes) => Some(
                MetaProperties::parse(&bytes)
                    .map_err(|error| DirectoryError::Identity { path: path.to_owned(), error })?,
            ),
            Err(DiskError::NotFound { .. }) => None,
            Err(error) => return Err(failed(error)),
        };
        if identity.is_none() {
            let entries = disk.list(None).map_err(failed)?;
            let something = entries.into_iter().find(|entry| !NOTHING.contains(&entry.name.as_str()));
            if let Some(entry) = something {
                return Err(DirectoryError::NotEmpty { path: path.to_owned(), found: entry.name });
            }
        }
        Ok(Self { lock, disk: Arc::new(disk), identity })
    }
}

impl fmt::Debug for LogDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogDirectory").field("path", &self.path).field("id", &self.id).finish_non_exhaustive()
    }
}

/// Tries again for a little while as long as something is in use: a process that was killed just
/// now lets go of what it held some time after it is gone for whoever waited for it.
pub(super) fn patiently<T, E>(
    mut attempt: impl FnMut() -> Result<T, E>,
    in_use: impl Fn(&E) -> bool,
) -> Result<T, E> {
    for _ in 0..ATTEMPTS {
        match attempt() {
            Err(error) if in_use(&error) => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
    attempt()
}

/// An id that Kafka accepts.
pub(crate) fn draw(random: &mut dyn FnMut() -> [u8; 16]) -> Uuid {
    loop {
        if let Some(id) = Uuid::from_random(random()) {
            return id;
        }
    }
}

/// Bytes of chance from the operating system.
pub(crate) fn chance() -> [u8; 16] {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("Linux always has some chance left");
    bytes
}

#[cfg(test)]
mod tests;
