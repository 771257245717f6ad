//! Consumer groups as a load: members that join, hold their partitions, heartbeat and commit at a
//! rate, and read nothing. What a broker's coordinators take for that is measured, and whether
//! groups rebalance.
//!
//! What always holds: heartbeats and commits are due at times that no broker decides, but for the
//! interval that a coordinator of the consumer protocol asks for; each latency is counted from the
//! due time. A member has one request under way.
//!
//! [`member`] is what one member does, told the time, and [`phase`] when; [`census`] is what
//! becomes of groups; [`hub`] is the loop over the sockets; [`report`] and [`history`] are what
//! comes out.

mod census;
mod history;
mod hub;
mod member;
mod phase;
mod report;
mod wire;

use std::ops::ControlFlow;
use std::time::Duration;

use aplomb_security::client::ClientSecurity;

pub use self::history::{Due, GroupHistory};
pub use self::report::{GroupProgress, GroupReport};
use crate::BenchError;
use crate::admin::{Asker, PATIENCE};
use crate::entry::Entry;

/// Which protocol members speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupProtocol {
    /// Clients assign partitions (JoinGroup, SyncGroup, Heartbeat).
    Classic,
    /// The coordinator does (KIP-848, ConsumerGroupHeartbeat).
    Consumer,
}

/// What groups, on whom, for how long.
#[derive(Clone, Debug)]
pub struct GroupSpec {
    /// Brokers to begin with, as `host:port`.
    pub bootstrap: Vec<String>,
    /// The topic that all groups are subscribed to; it is made if it is not there.
    pub topic: String,
    /// Partitions of a topic that is made.
    pub partitions: i32,
    /// How many groups.
    pub groups: usize,
    /// Members of each.
    pub members: usize,
    /// What the groups' names begin with.
    pub prefix: String,
    /// Their names, where they are to have others; then there are as many as groups.
    pub names: Vec<String>,
    /// What they speak.
    pub protocol: GroupProtocol,
    /// Between two heartbeats of a member of the classic protocol.
    pub heartbeat_interval: Duration,
    /// `session.timeout.ms`, of the classic protocol.
    pub session_timeout: Duration,
    /// `max.poll.interval.ms`: how long a rebalance waits for a member.
    pub rebalance_timeout: Duration,
    /// Between two commits of a member; `None`: it commits nothing.
    pub commit_interval: Option<Duration>,
    /// From when all groups are stable to when figures count.
    pub warm_up: Duration,
    /// For how long figures count.
    pub duration: Duration,
    /// How long groups may take to become stable.
    pub patience: Duration,
    /// Sent to brokers.
    pub client_id: String,
    /// How members get in.
    pub security: ClientSecurity,
    /// Whether the report has each heartbeat and commit with its time.
    pub history: bool,
}

impl Default for GroupSpec {
    fn default() -> Self {
        Self {
            bootstrap: vec!["localhost:9092".to_owned()],
            topic: "aplomb-bench".to_owned(),
            partitions: 8,
            groups: 10,
            members: 4,
            prefix: "aplomb-bench".to_owned(),
            names: Vec::new(),
            protocol: GroupProtocol::Classic,
            heartbeat_interval: Duration::from_secs(3),
            session_timeout: Duration::from_secs(45),
            rebalance_timeout: Duration::from_secs(300),
            commit_interval: Some(Duration::from_secs(5)),
            warm_up: Duration::from_secs(5),
            duration: Duration::from_secs(30),
            patience: Duration::from_secs(120),
            client_id: "aplomb-bench".to_owned(),
            security: ClientSecurity::default(),
            history: false,
        }
    }
}

impl GroupSpec {
    fn entry(&self) -> Entry {
        Entry::new(&self.client_id, &self.security)
    }

    /// All groups' names.
    fn all_names(&self) -> Vec<String> {
        if self.names.is_empty() {
            (0..self.groups).map(|n| format!("{}-{n}", self.prefix)).collect()
        } else {
            self.names.clone()
        }
    }
}

/// Has the groups join, hold and leave. `watch` hears of it four times a second, and can end it.
///
/// # Errors
/// When no broker answers, one lacks the protocol, or the topic cannot be made. Groups that are not
/// stable in time are in the report.
pub fn run_groups(
    spec: &GroupSpec,
    watch: &mut dyn FnMut(&GroupProgress) -> ControlFlow<()>,
) -> Result<GroupReport, BenchError> {
    if spec.groups == 0 || spec.members == 0 || spec.bootstrap.is_empty() {
        return Err(BenchError::Spec("there must be a broker, a group and a member".to_owned()));
    }
    if !spec.names.is_empty() && spec.names.len() != spec.groups {
        return Err(BenchError::Spec("there must be a name for each group".to_owned()));
    }
    let mut asker = Asker::first_of(&spec.bootstrap, &spec.entry(), PATIENCE)?;
    let ground = wire::prepare(&mut asker, spec)?;
    hub::Hub::new(spec, ground)?.run(watch)
}
