//! A broker on its slow disk, and all that is done to the two of them.
//!
//! What always holds: dropping a scene takes everything away: the disk answers again first, so that
//! nobody who is to end waits for it; then loads end, then the broker, then the disk. What would
//! outlive a lab that is killed is put back by others: the broker dies by the kernel's hand, the
//! disk with its owner, folders and settings by [`Undo`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use aplomb_bench::Asker;
use aplomb_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use aplomb_protocol::messages::{IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse};

use crate::brokers::{BrokerError, BrokerUnderTest, Places};
use crate::conditions::{
    ConditionError, DirtyLimit, LiveSet, ProcessorQuota, Squeeze, Undo, drop_caches, evict, page_out, sync,
};
use crate::incidents::{Action, OnDisk};
use crate::slow_disk::{Delay, DiskError, Operation, SlowDisk};
use crate::workload::lagging::Arrived;
use crate::workload::load::CLIENT;
use crate::workload::lookups::{Asking, Lookups};
use crate::workload::paused::Paused;
use crate::workload::{Background, WorkloadError, allocation, busy, lagging, neighbour, paused, quota};

/// `ConfigResource.Type.TOPIC`, and the operation SET of `AlterConfigOp.OpType`.
const TOPIC_RESOURCE: i8 = 2;
const SET: i8 = 0;
/// Suffixes of the files that Apache Kafka maps.
const INDEXES: [&str; 3] = ["index", "timeindex", "txnindex"];

/// Why a scene could not be set or an action not be done.
#[derive(Debug, thiserror::Error)]
pub(super) enum SceneError {
    /// The slow disk could not be made.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The broker could not be started.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// A condition of the machine.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// A load.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A directory could not be made.
    #[error("{}: {error}", path.display())]
    Folder {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A process that the lab has not started and was not told of.
    #[error("the broker's process is not known; --pid names it")]
    NoProcess,
    /// A topic's setting.
    #[error("the settings of topic {topic}: {why}")]
    Settings {
        /// The topic that was asked for.
        topic: String,
        /// Why not.
        why: String,
    },
}

/// Folders of a scene, which go with it.
#[derive(Debug)]
pub(super) struct Folders {
    quick: PathBuf,
    memory: PathBuf,
    _undo: Undo,
}

impl Folders {
    /// Makes them: one on the disk where temporary files are, one in memory. `name` is nobody
    /// else's.
    ///
    /// # Errors
    /// When they cannot be made.
    pub(super) fn make(name: &str) -> Result<Self, SceneError> {
        let (quick, memory) = (std::env::temp_dir().join(name), Path::new("/dev/shm").join(name));
        let text = |path: &Path| path.display().to_string();
        let undo = Undo::by("rm -rf -- \"$1\" \"$2\"", &[&text(&quick), &text(&memory)])?;
        let folders = Self { quick, memory, _undo: undo };
        for path in [&folders.quick, &folders.memory] {
            make(path)?;
        }
        Ok(folders)
    }

    /// Where a broker finds its room.
    ///
    /// # Errors
    /// When folders cannot be made.
    pub(super) fn places(&self, mount: &Path, on_disk: OnDisk) -> Result<Places, SceneError> {
        let (slow, quick) = (mount.join("records"), self.quick.join("records"));
        let (data, logs) = match on_disk {
            OnDisk::Records => (vec![slow], &*self.quick),
            OnDisk::OneOfTwo => (vec![slow, quick], &*self.quick),
            OnDisk::Logs => (vec![quick], mount),
        };
        let places = Places {
            data,
            own: self.quick.join("own"),
            logs: logs.join("logs"),
            memory: self.memory.clone(),
        };
        for path in places.data.iter().chain([&places.own, &places.logs]) {
            make(path)?;
        }
        Ok(places)
    }
}

fn make(path: &Path) -> Result<(), SceneError> {
    std::fs::create_dir_all(path).map_err(|error| SceneError::Folder { path: path.to_owned(), error })
}

/// What was made for a disturbance and ends with it.
#[derive(Debug, Default)]
struct Disturbances {
    lagging: Option<Background<Vec<Arrived>>>,
    asking: Option<Asking>,
    neighbour: Option<Background<u64>>,
    busy: Vec<Background<u64>>,
    paused: Option<Paused>,
    dirty: Option<DirtyLimit>,
    squeeze: Option<Squeeze>,
    processors: Option<ProcessorQuota>,
    /// Whether the load's clients have a quota.
    throttled: bool,
    /// Whether somebody else has taken the disk's room.
    filled: bool,
}

/// A broker, its disk, and what is done to them.
pub(super) struct Scene {
    disturbances: Disturbances,
    allocation: Option<Background<()>>,
    live_set: Option<LiveSet>,
    /// The broker. It runs until the scene ends.
    pub broker: Box<dyn BrokerUnderTest>,
    /// The disk under the broker's log directories.
    pub disk: SlowDisk,
    _folders: Option<Folders>,
    /// What was done, in words.
    pub commands: Vec<String>,
    /// Times between which the old records lie, in milliseconds since 1970.
    pub history: (i64, i64),
    longest: Duration,
    seed: u64,
}

impl Scene {
    /// A scene whose broker is to be started. Loads beside the main one last `longest` at most.
    #[must_use]
    pub(super) fn new(
        broker: Box<dyn BrokerUnderTest>,
        disk: SlowDisk,
        folders: Option<Folders>,
        longest: Duration,
        seed: u64,
    ) -> Self {
        Self {
            disturbances: Disturbances::default(),
            allocation: None,
            live_set: None,
            broker,
            disk,
            _folders: folders,
            commands: Vec::new(),
            history: (0, 0),
            longest,
            seed,
        }
    }

    /// How long loads beside the main one last at most.
    pub(super) fn longest(&self) -> Duration {
        self.longest
    }

    /// Does something.
    ///
    /// # Errors
    /// When it cannot be done.
    pub(super) fn act(&mut self, action: &Action) -> Result<(), SceneError> {
        self.commands.push(action.to_string());
        match action {
            Action::Disk(change) => self.disk.change(change.clone())?,
            Action::Sync => sync(self.disk.mount_point())?,
            Action::Evict(topic) => {
                for directory in self.broker.data_directories() {
                    evict(directory, &records_of(*topic))?;
                }
            }
            Action::PageOutIndexes => self.page_out_indexes()?,
            Action::DropCaches(which) => drop_caches(*which)?,
            Action::DirtyLimit { limit, background } => {
                self.disturbances.dirty = Some(DirtyLimit::set(*limit, *background)?);
            }
            Action::RoomForPages(bytes) => {
                self.disturbances.squeeze = Some(Squeeze::around(self.process()?, *bytes)?);
            }
            Action::Lag(topic) => {
                let (directories, topic) = (self.broker.data_directories().to_vec(), *topic);
                let cold = move || {
                    for directory in &directories {
                        // A file that goes meanwhile is no longer to be read either.
                        let _ = evict(directory, &records_of(Some(topic)));
                    }
                };
                let lagging = lagging::start(self.broker.address(), topic, self.longest, cold)?;
                self.disturbances.lagging = Some(lagging);
            }
            Action::AskForTimes { topic, clients } => {
                let lookups = Lookups {
                    topic: (*topic).to_owned(),
                    partitions: 4,
                    times: self.history,
                    clients: *clients,
                };
                self.disturbances.asking = Some(lookups.start(self.broker.address(), self.seed)?);
            }
            Action::Allocate(bytes) => {
                self.allocation = Some(allocation::start(self.broker.address(), *bytes, self.longest)?);
            }
            Action::Neighbour(habit) => {
                self.disturbances.neighbour = Some(neighbour::start(self.disk.mount_point(), *habit)?);
            }
            Action::Retain { topic, bytes } => self.retain(topic, *bytes)?,
            Action::Fill { leave } => {
                self.disturbances.filled = true;
                self.disk.fill(*leave)?;
            }
            Action::Busy(count) => self.disturbances.busy = busy::start(*count)?,
            Action::ProcessorQuota(percent) => {
                self.disturbances.processors = Some(ProcessorQuota::around(self.process()?, *percent)?);
            }
            Action::CompileLiveSet => self.live_set = Some(LiveSet::compile(self.process()?)?),
            Action::LiveSet => {
                if let Some(live_set) = &self.live_set {
                    live_set.load()?;
                }
            }
            Action::ProduceQuota(bytes) => {
                self.disturbances.throttled = true;
                quota::set(self.broker.address(), CLIENT, Some(*bytes))?;
            }
            Action::Pause { topic, partitions } => {
                let paused = paused::start(self.broker.address(), topic, *partitions)?;
                self.disturbances.paused = Some(paused);
            }
            Action::Kill => self.broker.kill(),
            Action::StartAgain => self.broker.launch()?,
        }
        Ok(())
    }

    /// Ends the disturbance: the disk answers as fast as it can, the machine is as it was, nobody
    /// disturbs any more. Does not wait for anybody.
    ///
    /// # Errors
    /// When the disk has gone, or the broker does not take a quota back.
    pub(super) fn calm(&mut self) -> Result<(), SceneError> {
        self.disk.thaw()?;
        self.disk.heal()?;
        for operation in Operation::ALL {
            self.disk.set_delay(operation, Delay::NONE)?;
        }
        self.disturbances.busy.iter().for_each(Background::tell);
        self.disturbances.dirty = None;
        self.disturbances.squeeze = None;
        self.disturbances.processors = None;
        self.disturbances.paused = None;
        if let Some(live_set) = &self.live_set {
            live_set.tell();
        }
        if std::mem::take(&mut self.disturbances.filled) {
            self.disk.unfill()?;
        }
        if let Some(lagging) = &self.disturbances.lagging {
            lagging.tell();
        }
        if let Some(asking) = &self.disturbances.asking {
            asking.tell();
        }
        if let Some(neighbour) = &self.disturbances.neighbour {
            neighbour.tell();
        }
        // A broker that has gone has taken its quotas along.
        if std::mem::take(&mut self.disturbances.throttled) && self.broker.ended().is_none() {
            quota::set(self.broker.address(), CLIENT, None)?;
        }
        Ok(())
    }

    /// Waits for the end of those who disturbed, after [`Self::calm`]. Returns what the lagging
    /// consumer received.
    #[must_use]
    pub(super) fn gather(&mut self) -> Vec<Arrived> {
        let Disturbances { lagging, asking, neighbour, busy, .. } = std::mem::take(&mut self.disturbances);
        for one in busy {
            one.finish();
        }
        asking.map(Asking::finish);
        neighbour.map(Background::finish);
        if let Some(allocation) = self.allocation.take() {
            allocation.finish();
        }
        lagging.map(Background::finish).unwrap_or_default()
    }

    fn process(&self) -> Result<u32, SceneError> {
        self.broker.pid().ok_or(SceneError::NoProcess)
    }

    fn page_out_indexes(&self) -> Result<(), SceneError> {
        for directory in self.broker.data_directories() {
            let index = |path: &Path| path.starts_with(directory) && has_extension(path, &INDEXES);
            if let Some(pid) = self.broker.pid() {
                page_out(pid, &index)?;
            }
            // What nobody has mapped is read by plain reads, and is to be as cold.
            evict(directory, &index)?;
        }
        Ok(())
    }

    fn retain(&self, topic: &str, bytes: u64) -> Result<(), SceneError> {
        let failed = |why: String| SceneError::Settings { topic: topic.to_owned(), why };
        let config = |name: &str, value: String| AlterableConfig {
            name: name.to_owned(),
            config_operation: SET,
            value: Some(value),
        };
        let request = IncrementalAlterConfigsRequest {
            resources: vec![AlterConfigsResource {
                resource_type: TOPIC_RESOURCE,
                resource_name: topic.to_owned(),
                configs: vec![
                    config("retention.bytes", bytes.to_string()),
                    config("file.delete.delay.ms", "1000".to_owned()),
                ],
            }],
            validate_only: false,
        };
        let mut asker =
            Asker::connect(self.broker.address(), "aplomb-lab").map_err(|e| failed(e.to_string()))?;
        let answer: IncrementalAlterConfigsResponse =
            asker.ask(&request).map_err(|error| failed(error.to_string()))?;
        match answer.responses.iter().find(|answer| answer.error_code != 0) {
            Some(answer) => Err(failed(answer.error_message.clone().unwrap_or_default())),
            None => Ok(()),
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // A disk that has gone keeps nobody waiting.
        let _ = self.calm();
        let _ = self.gather();
        self.broker.stop();
    }
}

/// The `.log` files of a topic, or of all.
fn records_of(topic: Option<&str>) -> impl Fn(&Path) -> bool {
    move |path| {
        let partition = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let of_topic =
            |name: &str| partition.and_then(|p| p.rsplit_once('-')).is_some_and(|(t, _)| t == name);
        has_extension(path, &["log"]) && topic.is_none_or(of_topic)
    }
}

fn has_extension(path: &Path, any: &[&str]) -> bool {
    path.extension().and_then(|end| end.to_str()).is_some_and(|end| any.contains(&end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_records_of_a_topic_are_its_log_files() {
        let orders = records_of(Some("orders"));
        assert!(orders(Path::new("/d/orders-7/00000000000000000000.log")));
        assert!(!orders(Path::new("/d/orders-new-7/00000000000000000000.log")));
        assert!(!orders(Path::new("/d/orders-7/00000000000000000000.index")));
        assert!(records_of(None)(Path::new("/d/x-0/1.log")));
    }
}
