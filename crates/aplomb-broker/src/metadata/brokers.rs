//! Brokers and controllers as they have registered.

use std::collections::BTreeMap;
use std::sync::Arc;

use aplomb_model::{BrokerId, DirectoryId, Uuid};
use aplomb_protocol::messages::RegisterControllerRecord;

/// Where a node listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The listener's name.
    pub name: String,
    /// The host that clients are told.
    pub host: String,
    /// The port that clients are told.
    pub port: u16,
    /// 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL (`SecurityProtocol#id`).
    pub security_protocol: i16,
}

/// Which levels of a feature a node can live with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureRange {
    /// The lowest.
    pub min: i16,
    /// The highest.
    pub max: i16,
}

/// A registered broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    /// Its number.
    pub id: BrokerId,
    /// Tells its registrations apart: the offset of the record that registered it.
    pub epoch: i64,
    /// Tells its processes apart.
    pub incarnation: Uuid,
    /// Where it listens.
    pub endpoints: Vec<Endpoint>,
    /// What it can live with.
    pub features: BTreeMap<String, FeatureRange>,
    /// Where it stands.
    pub rack: Option<String>,
    /// Whether it must not lead, and clients are not told of it.
    pub fenced: bool,
    /// Whether it is about to stop.
    pub in_controlled_shutdown: bool,
    /// Whether it came from a cluster with ZooKeeper; only kept.
    pub is_migrating_zk_broker: bool,
    /// Its live log directories, sorted.
    pub directories: Vec<DirectoryId>,
    /// Those that get no new replicas; `None` from brokers that do not know of it.
    pub cordoned_directories: Option<Vec<DirectoryId>>,
}

impl Broker {
    /// Where it listens under a listener's name, whatever its capitals.
    #[must_use]
    pub fn endpoint(&self, listener: &str) -> Option<&Endpoint> {
        self.endpoints.iter().find(|endpoint| endpoint.name.eq_ignore_ascii_case(listener))
    }
}

/// All registered nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Brokers {
    pub(super) brokers: BTreeMap<BrokerId, Arc<Broker>>,
    pub(super) controllers: BTreeMap<i32, Arc<RegisterControllerRecord>>,
}

impl Brokers {
    /// The broker with this number.
    #[must_use]
    pub fn get(&self, id: BrokerId) -> Option<&Arc<Broker>> {
        self.brokers.get(&id)
    }

    /// All brokers, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Broker>> {
        self.brokers.values()
    }

    /// All controllers, by number.
    pub fn controllers(&self) -> impl Iterator<Item = &Arc<RegisterControllerRecord>> {
        self.controllers.values()
    }
}
