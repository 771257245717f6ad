//! Consumer groups beside the main load: members that hold their partitions, heartbeat and commit,
//! and read nothing.
//!
//! What always holds: a broker that has no groups, or does not get them stable, ends this load with
//! a reason and no run with it. Members go before the broker, as the main load's clients do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use aplomb_bench::{BenchError, GroupProtocol, GroupReport, GroupSpec, run_groups};

use super::{Background, WorkloadError, go_on};
use crate::standing::Standing;

/// The topic that all groups are subscribed to. Nothing is in it.
pub(crate) const TOPIC: &str = "watched";
/// Members of a group; each has one of the topic's partitions.
pub(crate) const MEMBERS: usize = 5;
/// Between two commits of a member.
pub(crate) const COMMITS: Duration = Duration::from_millis(500);
/// How long groups may take to become stable.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a wait for that looks whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Groups of one protocol.
#[derive(Clone, Debug)]
pub(crate) struct GroupLoad {
    /// What they speak.
    pub protocol: GroupProtocol,
    /// What they are called; there are as many as names.
    pub names: Vec<String>,
    /// The session timeout of the classic protocol; the other's is the broker's.
    pub session: Duration,
    /// Between two heartbeats of the classic protocol.
    pub heartbeats: Duration,
    /// How long they run at most.
    pub longest: Duration,
}

/// Groups that have begun to join.
#[derive(Debug)]
pub(crate) struct RunningGroups {
    thread: Background<Result<GroupReport, BenchError>>,
    stable: Receiver<()>,
}

impl GroupLoad {
    fn spec(&self, address: &str) -> GroupSpec {
        GroupSpec {
            bootstrap: vec![address.to_owned()],
            topic: TOPIC.to_owned(),
            partitions: i32::try_from(MEMBERS).expect("a few"),
            groups: self.names.len(),
            members: MEMBERS,
            names: self.names.clone(),
            protocol: self.protocol,
            heartbeat_interval: self.heartbeats,
            session_timeout: self.session,
            commit_interval: Some(COMMITS),
            warm_up: Duration::ZERO,
            duration: self.longest,
            patience: PATIENCE,
            client_id: "aplomb-lab-groups".to_owned(),
            history: true,
            ..GroupSpec::default()
        }
    }

    /// Has them join.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub(crate) fn start(&self, address: &str) -> Result<RunningGroups, WorkloadError> {
        let spec = self.spec(address);
        let (tell, stable) = mpsc::channel();
        let thread = Background::start("groups", move |stop| {
            Standing::First.take();
            let mut told = false;
            run_groups(&spec, &mut |progress| {
                if !told && progress.stable.0 == progress.stable.1 {
                    let _ = tell.send(());
                    told = true;
                }
                go_on(stop)
            })
        })?;
        Ok(RunningGroups { thread, stable })
    }
}

impl RunningGroups {
    /// Waits until all groups are stable, or `stop` is true.
    ///
    /// # Errors
    /// When they could not begin, or are not stable in time: then they are told to end.
    pub(crate) fn stable(self, stop: &AtomicBool) -> Result<Self, WorkloadError> {
        let give_up = Instant::now() + PATIENCE;
        while !stop.load(Ordering::Relaxed) {
            match self.stable.recv_timeout(LOOK) {
                Ok(()) => break,
                Err(RecvTimeoutError::Timeout) if Instant::now() < give_up => {}
                Err(RecvTimeoutError::Timeout) => {
                    return Err(WorkloadError::NotStable { seconds: PATIENCE.as_secs() });
                }
                Err(RecvTimeoutError::Disconnected) => {
                    self.finish()?;
                    return Err(WorkloadError::NotStable { seconds: PATIENCE.as_secs() });
                }
            }
        }
        Ok(self)
    }

    /// Ends it.
    ///
    /// # Errors
    /// When it could not begin, or the generator lost its sockets.
    pub(crate) fn finish(self) -> Result<GroupReport, WorkloadError> {
        self.thread.finish().map_err(|error| WorkloadError::Bench { what: "consumer groups", error })
    }
}
