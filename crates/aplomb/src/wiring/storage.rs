//! Log directories without a broker: looked at, and given back.
//!
//! What always holds: whoever looks changes nothing ([`aplomb_broker::startup::examine()`] does the
//! looking); giving back writes what only a tail has into the files first, and forgets the tail
//! after.

use std::path::PathBuf;

use aplomb_broker::config::BrokerConfig;
use aplomb_broker::controller::Controller;
use aplomb_broker::metadata::snapshot_bytes;
use aplomb_broker::startup::{Examined, Refusal, TailRecord};
use aplomb_disk_api::DiskError;
use aplomb_log::layout::top_level::BOOTSTRAP_CHECKPOINT;
use aplomb_log::recovery::restore::Wanted;
use aplomb_model::BrokerId;
use aplomb_protocol::EncodeError;
use aplomb_protocol::messages::UserScramCredentialRecord;
use aplomb_server::log::Log;

use super::directories::{Candidates, DirectoryError, LogDirectories, chance, draw};
use super::tail;
use super::tail_files::{OldTailError, OldTails, Tmpfs, tell};

/// What stands in the way.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StorageError {
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Tail(#[from] OldTailError),
    #[error("log directory {}: {error}", path.display())]
    Disk { path: PathBuf, error: DiskError },
    #[error("there is nothing to give back: no log directory belongs to a cluster")]
    Nothing,
    #[error(
        "the log directories belong to cluster {0} already, and keep it (--ignore-formatted: this is no error)"
    )]
    Formatted(String),
    #[error("the users cannot be written: {0}")]
    Users(#[from] EncodeError),
    #[error("{0}")]
    Lost(String),
    #[error("what is being done cannot be written: {0}")]
    Log(#[from] std::io::Error),
}

/// What is in the directories, a line each.
pub(crate) fn info(config: &BrokerConfig) -> Result<Vec<String>, StorageError> {
    let candidates = look(config)?;
    let Some(cluster) = candidates.cluster_id() else {
        return Ok(vec!["no log directory belongs to a cluster yet".to_owned()]);
    };
    let mut lines = vec![format!("cluster {cluster}, node {}", config.node_id)];
    if let Some(examined) = candidates.examine(config.node_id)? {
        lines.extend(described(&examined, config.node_id));
    }
    for path in OldTails::recorded(&Tmpfs, &candidates.known().0)? {
        let state = if path.exists() {
            "holds records that are not in the files"
        } else {
            "is not there: all is in the files"
        };
        lines.push(format!("tail {}: {state}", path.display()));
    }
    lines.extend(lost(&candidates));
    lines.push("aplomb serve can take these directories over".to_owned());
    Ok(lines)
}

/// Makes the directories a new cluster's: `wanted`, or one by chance. `users` are there from the
/// first start on.
pub(crate) fn format(
    config: &BrokerConfig,
    wanted: Option<&str>,
    users: Vec<UserScramCredentialRecord>,
    ignore_formatted: bool,
) -> Result<Vec<String>, StorageError> {
    let candidates = look(config)?;
    if let Some(cluster) = candidates.cluster_id() {
        if ignore_formatted && wanted.is_none_or(|wanted| wanted == cluster) {
            return Ok(vec![format!("the log directories belong to cluster {cluster} already")]);
        }
        return Err(StorageError::Formatted(cluster.to_owned()));
    }
    let directories = candidates.settle(config.node_id, wanted, &mut chance)?;
    let names: Vec<String> = users.iter().map(|user| user.name.clone()).collect();
    if !users.is_empty() {
        let image = Controller::formatted(&directories.cluster_id, users);
        let now = aplomb_server::clock::now().wall;
        let bytes = snapshot_bytes(&image, None, now, now)?;
        let path = directories.directories[directories.metadata].path.join(BOOTSTRAP_CHECKPOINT);
        let mut file = std::fs::File::create(path)?;
        std::io::Write::write_all(&mut file, &bytes)?;
        file.sync_all()?;
    }
    let mut lines = vec![format!("cluster {}, node {}", directories.cluster_id, config.node_id)];
    lines.extend(names.iter().map(|name| format!("user {name} for SCRAM")));
    Ok(lines)
}

fn described(examined: &Examined, node: BrokerId) -> Vec<String> {
    let image = examined.image();
    let mut lines = Vec::new();
    if image.features.is_finalized() {
        let others = image.features.iter().filter(|(name, _)| *name != "metadata.version");
        let others: Vec<String> = others.map(|(name, level)| format!("{name}={level}")).collect();
        let version = image.features.metadata_version();
        lines.push(format!(
            "metadata.version={version} kraft.version={} {}",
            image.features.kraft_version(),
            others.join(" ")
        ));
    } else {
        lines.push("the cluster has never run".to_owned());
    }
    let topics = image.topics.iter().count();
    let partitions: usize = image.topics.iter().map(|topic| topic.partitions.len()).sum();
    let end = image.provenance.end;
    lines.push(format!("metadata log: offset {end}, {topics} topics, {partitions} partitions"));
    if let Some(broker) = image.brokers.get(node) {
        let state = if broker.fenced { "fenced" } else { "not fenced: it was not stopped cleanly" };
        lines.push(format!("broker {node}: registered with epoch {}, {state}", broker.epoch));
    }
    for directory in &examined.directories {
        let closed = if directory.clean.is_some() { "closed cleanly" } else { "not closed cleanly" };
        lines.push(format!(
            "{}: {closed}, {} partitions, {} to be deleted, {} put aside",
            directory.path,
            directory.partitions.len(),
            directory.deleted,
            directory.aside
        ));
    }
    lines
}

/// What a start changes, a line each.
pub(crate) fn would_change(config: &BrokerConfig) -> Result<Vec<String>, StorageError> {
    let candidates = look(config)?;
    let examined = candidates.examine(config.node_id)?;
    let mut lines = candidates.changes();
    if let Some(examined) = &examined {
        lines.extend(examined.changes(&candidates.known().0).map_err(Refusal::from)?);
    }
    for path in OldTails::recorded(&Tmpfs, &candidates.known().0)?.into_iter().filter(|path| path.exists()) {
        lines.push(format!("{}: its records are written to the files", path.display()));
    }
    lines.extend(lost(&candidates));
    lines.push("everything else stays as it is, and is gone on with".to_owned());
    Ok(lines)
}

fn lost(candidates: &Candidates) -> impl Iterator<Item = String> {
    candidates.lost().iter().map(|lost| format!("{}; a broker starts without it", lost.why))
}

/// Gives the directories back, and says what was done.
pub(crate) fn release(config: &BrokerConfig) -> Result<Vec<String>, StorageError> {
    let candidates = look(config)?;
    if let Some(lost) = candidates.lost().first() {
        return Err(StorageError::Lost(lost.why.clone()));
    }
    let Some(examined) = candidates.examine(config.node_id)? else { return Err(StorageError::Nothing) };
    let clean = examined.directories[examined.metadata].clean.is_some();
    let directories = candidates.settle(config.node_id, None, &mut chance)?;
    if let Some(lost) = directories.lost.first() {
        return Err(StorageError::Lost(lost.why.clone()));
    }
    let (log, writer) = Log::start(Box::new(std::io::stdout()))?;
    let written = write_back(config, &directories, clean, &log);
    writer.close();
    let written = written?;
    let mut lines = Vec::new();
    if written > 0 {
        lines.push(format!("{written} bytes that were only in the tail are in the files now"));
    }
    let unclean = examined.directories.iter().filter(|directory| directory.clean.is_none());
    lines.extend(unclean.map(|directory| {
        format!("{}: not closed cleanly; Apache Kafka will check its logs when it starts", directory.path)
    }));
    lines.push("the directories are as Apache Kafka expects them".to_owned());
    Ok(lines)
}

/// Writes what only a tail has into the files, then forgets the tail. Gives how many bytes that
/// was.
fn write_back(
    config: &BrokerConfig,
    directories: &LogDirectories,
    clean: bool,
    log: &Log,
) -> Result<u64, StorageError> {
    let known = super::known(directories);
    let home = &known[directories.metadata];
    let old = OldTails::find(Tmpfs, &known, directories.metadata, tail::directory(&config.storage))?;
    let mut unique = || draw(&mut chance);
    let mut written = old.restore(home, &Wanted::Metadata, &mut unique, &mut tell(log))?;
    let (topics, is_empty) = super::topics_of(directories, clean).map_err(Refusal::from)?;
    if is_empty {
        old.refuse_without_metadata(&home.path)?;
    }
    let name = |id| topics.by_id(id).map(|topic| topic.name.clone());
    for directory in &known {
        written += old.restore(directory, &Wanted::Topics(&name), &mut unique, &mut tell(log))?;
    }
    old.give_up(&directories.ids(), &name)?;
    for directory in &directories.directories {
        TailRecord::remove(&*directory.disk)
            .map_err(|error| StorageError::Disk { path: directory.path.clone(), error })?;
    }
    Ok(written)
}

fn look(config: &BrokerConfig) -> Result<Candidates, DirectoryError> {
    let storage = &config.storage;
    Candidates::look(&storage.log_dirs, &storage.metadata_log_dir, config.node_id)
}
