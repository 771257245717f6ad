//! Taking the lead: what is written before the first request is answered.
//!
//! 1. A control batch: the new leader's epoch begins; in an empty log of a cluster with dynamic
//!    voters, who votes ([`Activation::control`]).
//! 2. The features, if the log has never been led, and what they want said
//!    ([`super::Controller::say_min_in_sync`]); the end of a transaction that an earlier leader
//!    left open.
//! 3. This process's registration, that it may lead, and that it leads what has no leader
//!    ([`super::Controller::register`]).
//! 4. After an unclean stop, a new leader epoch for every partition that it leads: what was
//!    promised before this start cannot be told from what is promised now otherwise
//!    ([`super::Controller::take_leadership`]).

use std::collections::BTreeMap;

use aplomb_model::{BrokerId, DirectoryId, Offset, Uuid};
use aplomb_protocol::MetadataRecord;
use aplomb_protocol::messages as m;

use super::Controller;
use super::elections::elections;
use crate::metadata::{
    Broker, ELIGIBLE_LEADERS, Endpoint, Entry, FeatureRange, Features, KRAFT_VERSION, METADATA_VERSION,
    MetadataImage, MetadataVersion, TRANSACTION_VERSION,
};

/// This node, as it wants to be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// `node.id`
    pub id: BrokerId,
    /// Tells this process apart from earlier ones.
    pub incarnation: Uuid,
    /// Where clients find it.
    pub endpoints: Vec<Endpoint>,
    /// Where other controllers would find it; may be empty.
    pub controller_endpoints: Vec<Endpoint>,
    /// `broker.rack`
    pub rack: Option<String>,
    /// Its live log directories.
    pub directories: Vec<DirectoryId>,
    /// Those of them that take no new partitions.
    pub cordoned_directories: Vec<DirectoryId>,
    /// The directory of the metadata log.
    pub metadata_directory: DirectoryId,
}

/// A feature level that this version cannot live with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the metadata log has {name} at level {level}, and this version of Aplomb knows it up to {max}")]
pub struct UnsupportedFeature {
    /// The feature.
    pub name: String,
    /// What the log has finalized.
    pub level: i16,
    /// The highest that would do.
    pub max: i16,
}

/// The level of `transaction.version` in which each transaction has an epoch of its own (KIP-890).
const LATEST_TRANSACTIONS: i16 = 2;

/// The levels up to which Apache Kafka 4.4 knows its features
/// (`org.apache.kafka.server.common.Feature`). What a higher one says may have been written into
/// any file.
const KNOWN_LEVELS: [(&str, i16); 7] = [
    (METADATA_VERSION, MetadataVersion::LATEST.0),
    (KRAFT_VERSION, 1),
    (TRANSACTION_VERSION, LATEST_TRANSACTIONS),
    ("group.version", 1),
    (ELIGIBLE_LEADERS, 1),
    ("share.version", 2),
    ("streams.version", 1),
];

/// The features that this version can live with, by name. Others that a log has finalized are about
/// parts that this version does not have, and are left as they are.
#[must_use]
pub fn supported_features() -> BTreeMap<String, FeatureRange> {
    let metadata = FeatureRange { min: MetadataVersion::MINIMUM.0, max: MetadataVersion::LATEST.0 };
    BTreeMap::from([
        (METADATA_VERSION.to_owned(), metadata),
        (KRAFT_VERSION.to_owned(), FeatureRange { min: 0, max: 1 }),
        (ELIGIBLE_LEADERS.to_owned(), FeatureRange { min: 0, max: 1 }),
        (TRANSACTION_VERSION.to_owned(), FeatureRange { min: 0, max: LATEST_TRANSACTIONS }),
    ])
}

/// The features that a broker claims: those that it knows, and those that the cluster has on, which
/// it must not be below.
pub(super) fn claimed_features(finalized: &Features) -> BTreeMap<String, FeatureRange> {
    let mut claimed = supported_features();
    for (name, level) in finalized.iter() {
        claimed.entry(name.to_owned()).or_insert(FeatureRange { min: 0, max: level });
    }
    claimed
}

/// The first words of a leader.
#[derive(Clone, Debug, PartialEq)]
pub struct Activation {
    /// Control records, for one control batch.
    pub control: Vec<Entry>,
    /// Metadata records, for the batch after it; may be empty.
    pub records: Vec<MetadataRecord>,
}

impl Controller {
    /// Whether this version can lead with the features that the log has finalized.
    ///
    /// # Errors
    /// When it is too old for one of them.
    pub fn check_features(&self) -> Result<(), UnsupportedFeature> {
        let features = &self.image().features;
        let finalized = features.iter().chain([(KRAFT_VERSION, features.kraft_version())]);
        for (name, level) in finalized {
            let known = KNOWN_LEVELS.iter().find(|(known, _)| *known == name);
            let max = known.map_or(0, |(_, max)| *max);
            if level > max {
                return Err(UnsupportedFeature { name: name.to_owned(), level, max });
            }
        }
        let level = features.metadata_version();
        if features.is_finalized() && level < MetadataVersion::MINIMUM {
            let (name, max) = (METADATA_VERSION.to_owned(), MetadataVersion::LATEST.0);
            return Err(UnsupportedFeature { name, level: level.0, max });
        }
        Ok(())
    }

    /// Begins to lead. `end` is the end of the log, `in_transaction` whether it ends inside of a
    /// metadata transaction ([`crate::metadata::Replay::in_transaction`]).
    ///
    /// Voters are dynamic (`kraft.version` 1) from the first record on where `dynamic_voters` says
    /// so: with `controller.quorum.bootstrap.servers`, not with `controller.quorum.voters`, as
    /// Apache Kafka has it.
    pub fn activate(
        &mut self,
        node: &Node,
        end: Offset,
        in_transaction: bool,
        dynamic_voters: bool,
    ) -> Activation {
        let is_first = end == Offset::ZERO;
        // Apache Kafka 4.4 writes version 0, which has no directories, and reads nothing else,
        // whatever `kraft.version` is.
        let voter = m::leader_change_message::Voter { voter_id: node.id.0, voter_directory_id: Uuid::ZERO };
        let mut control = vec![Entry::LeaderChange(m::LeaderChangeMessage {
            version: 0,
            leader_id: node.id.0,
            voters: vec![voter.clone()],
            granting_voters: vec![voter],
        })];
        // A formatted directory may already say so, in a checkpoint at offset 0 that is not part of
        // the log.
        if is_first && (dynamic_voters || self.image().features.kraft_version() > 0) {
            control.push(Entry::KraftVersion(1));
            control.push(Entry::Voters(node.voters()));
            std::sync::Arc::make_mut(&mut self.image.features).set_kraft_version(1);
        }
        let mut draft = self.draft();
        if in_transaction {
            let reason = Some("the controller that began it is gone".to_owned());
            draft.push(vec![m::AbortTransactionRecord { reason }.into()]);
        }
        if is_first {
            draft.push(self.first_features());
            // A formatted directory may have users; only its log is read from here on.
            draft.push(self.image().security.scram.values().cloned().map(Into::into).collect());
        }
        Activation { control, records: self.take(draft) }
    }

    /// The image of a new cluster that has these users.
    #[must_use]
    pub fn formatted(cluster_id: &str, users: Vec<m::UserScramCredentialRecord>) -> MetadataImage {
        let controller = Self::new(MetadataImage::empty(cluster_id));
        let mut draft = controller.draft();
        draft.push(controller.first_features());
        draft.push(users.into_iter().map(Into::into).collect());
        draft.image().clone()
    }

    /// The levels that a formatted directory asks for, else those of a new cluster: the latest
    /// metadata version, eligible leaders, transactions with an epoch each, and every other feature
    /// off.
    fn first_features(&self) -> Vec<MetadataRecord> {
        let level = |(name, feature_level): (&str, i16)| {
            MetadataRecord::from(m::FeatureLevelRecord { name: name.to_owned(), feature_level })
        };
        let features = &self.image().features;
        if !features.is_finalized() {
            let first = [
                (METADATA_VERSION, MetadataVersion::LATEST.0),
                (ELIGIBLE_LEADERS, 1),
                (TRANSACTION_VERSION, LATEST_TRANSACTIONS),
            ];
            return first.map(level).into();
        }
        let others = features.iter().filter(|(name, _)| *name != METADATA_VERSION);
        [(METADATA_VERSION, features.metadata_version().0)].into_iter().chain(others).map(level).collect()
    }

    /// Registers this process, and lets it lead: partitions without a leader get this one, and
    /// those that it led in a directory that is not live have none. May be more records than
    /// [`super::MAX_RECORDS`]: they can be applied in several batches. `at` is the offset that the
    /// first of the records will have: it becomes the registration's epoch, which so never repeats.
    pub fn register(&mut self, node: &Node, at: Offset) -> Vec<MetadataRecord> {
        let version = self.image().features.metadata_version();
        let features = claimed_features(&self.image().features);
        let mut directories = node.directories.clone();
        directories.sort_unstable();
        let broker = Broker {
            id: node.id,
            epoch: at.to_wire(),
            incarnation: node.incarnation,
            endpoints: node.endpoints.clone(),
            features,
            rack: node.rack.clone(),
            fenced: true,
            in_controlled_shutdown: false,
            is_migrating_zk_broker: false,
            directories,
            cordoned_directories: version
                .has_cordoned_directories()
                .then(|| node.cordoned_directories.clone()),
        };
        let unfence = m::BrokerRegistrationChangeRecord {
            broker_id: node.id.0,
            broker_epoch: at.to_wire(),
            fenced: -1,
            ..Default::default()
        };
        let mut records = vec![MetadataRecord::from(broker.to_record(version))];
        if version.has_controller_registration() && !node.controller_endpoints.is_empty() {
            records.push(node.controller_record().into());
        }
        records.push(unfence.into());
        let mut draft = self.draft();
        draft.push(records);
        let elections = elections(draft.image(), node.id, |partition| partition.leader.is_none());
        draft.push(elections);
        self.take(draft)
    }

    /// These directories of a broker get no new partitions from here on, and no others; nothing
    /// where it is so already.
    pub fn cordon(&mut self, node: BrokerId, directories: Vec<DirectoryId>) -> Vec<MetadataRecord> {
        let Some(broker) = self.image().brokers.get(node) else { return Vec::new() };
        let sorted = |mut directories: Vec<DirectoryId>| {
            directories.sort_unstable();
            directories
        };
        let old = broker.cordoned_directories.clone().unwrap_or_default();
        let is_known = self.image().features.metadata_version().has_cordoned_directories();
        if !is_known || sorted(old) == sorted(directories.clone()) {
            return Vec::new();
        }
        let change = m::BrokerRegistrationChangeRecord {
            broker_id: node.0,
            broker_epoch: broker.epoch,
            cordoned_log_dirs: Some(directories),
            ..Default::default()
        };
        let mut draft = self.draft();
        draft.push(vec![change.into()]);
        self.take(draft)
    }

    /// This process is about to stop: the next one may register at once, be it Apache Kafka's,
    /// which otherwise waits until the session of a broker that it believes alive has expired. To
    /// be the last record of a clean stop.
    pub fn fence(&mut self, node: BrokerId) -> Vec<MetadataRecord> {
        let Some(broker) = self.image().brokers.get(node) else { return Vec::new() };
        let change = m::BrokerRegistrationChangeRecord {
            broker_id: node.0,
            broker_epoch: broker.epoch,
            fenced: 1,
            ..Default::default()
        };
        let mut draft = self.draft();
        draft.push(vec![change.into()]);
        self.take(draft)
    }
}

impl Node {
    /// The only voter, as a log with dynamic voters names it.
    #[must_use]
    pub fn voters(&self) -> m::VotersRecord {
        let endpoint = |endpoint: &Endpoint| m::voters_record::Endpoint {
            name: endpoint.name.clone(),
            host: endpoint.host.clone(),
            port: endpoint.port,
        };
        m::VotersRecord {
            version: 0,
            voters: vec![m::voters_record::Voter {
                voter_id: self.id.0,
                voter_directory_id: self.metadata_directory,
                endpoints: self.controller_endpoints.iter().map(endpoint).collect(),
                k_raft_version_feature: m::voters_record::KRaftVersionFeature {
                    min_supported_version: 0,
                    max_supported_version: 1,
                },
            }],
        }
    }

    fn controller_record(&self) -> m::RegisterControllerRecord {
        let endpoint = |endpoint: &Endpoint| m::register_controller_record::ControllerEndpoint {
            name: endpoint.name.clone(),
            host: endpoint.host.clone(),
            port: endpoint.port,
            security_protocol: endpoint.security_protocol,
        };
        let feature =
            |(name, range): (String, FeatureRange)| m::register_controller_record::ControllerFeature {
                name,
                min_supported_version: range.min,
                max_supported_version: range.max,
            };
        m::RegisterControllerRecord {
            controller_id: self.id.0,
            incarnation_id: self.incarnation,
            zk_migration_ready: false,
            end_points: self.controller_endpoints.iter().map(endpoint).collect(),
            features: supported_features().into_iter().map(feature).collect(),
        }
    }
}
