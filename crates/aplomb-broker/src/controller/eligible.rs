//! What holds while partitions have eligible leaders (`eligible.leader.replicas.version` 1): how
//! many in-sync replicas an acknowledgement needs is said for the whole cluster, in the metadata
//! log, and by no broker for itself.
//!
//! A broker that is alone is each partition's only replica, which is in sync or offline: no
//! partition ever has an eligible leader besides. The level is on in a new cluster as in Apache
//! Kafka's, so that it is the same cluster for tools, and for a broker that goes on with it.

use aplomb_protocol::MetadataRecord;
use aplomb_protocol::messages as m;

use super::Controller;
use super::draft::Draft;
use super::error::AdminError;
use crate::config::{BrokerConfig, Layers, Properties, broker_key};
use crate::metadata::{ELIGIBLE_LEADERS, Resource};

const MIN_IN_SYNC: &str = "min.insync.replicas";

impl Controller {
    /// See [`Draft::say_min_in_sync`].
    pub fn say_min_in_sync(&mut self, config: &BrokerConfig) -> Vec<MetadataRecord> {
        let mut draft = self.draft();
        draft.say_min_in_sync(config);
        self.take(draft)
    }
}

impl Draft {
    /// Drafts that the cluster has the setting, as the file has it, if it has none, and that no
    /// broker does (`ConfigurationControlManager#maybeGenerateElrSafetyRecords`). Nothing without
    /// eligible leaders.
    pub(super) fn say_min_in_sync(&mut self, config: &BrokerConfig) {
        let image = self.image();
        if image.features.level(ELIGIBLE_LEADERS) == 0 {
            return;
        }
        let record = |resource_name: &str, value| {
            let (resource_type, name) = (Resource::BROKER, MIN_IN_SYNC.to_owned());
            m::ConfigRecord { resource_type, resource_name: resource_name.to_owned(), name, value }.into()
        };
        let of_broker = |name: &str| Resource { kind: Resource::BROKER, name: name.to_owned() };
        let has = |resource: &Resource| image.configs.of(resource).contains_key(MIN_IN_SYNC);
        let mut records = Vec::new();
        if !has(&of_broker("")) {
            let none = Properties::new();
            let of_file = Layers { for_all: &none, for_this: &none, ..image.layers(config) };
            let key = broker_key(MIN_IN_SYNC).expect("it is a broker's key");
            records.push(record("", of_file.value(key).map(|value| value.to_string())));
        }
        let brokers = image.brokers.iter().map(|broker| broker.id.to_string());
        let with_own = brokers.filter(|id| has(&of_broker(id)));
        records.extend(with_own.map(|id| record(&id, None)));
        self.push(records);
    }

    /// Whether a change of a broker's setting, or of all brokers', may be; none takes it away.
    pub(super) fn check_min_in_sync(
        &self,
        resource: &Resource,
        changed: &[(String, Option<String>)],
    ) -> Result<(), AdminError> {
        if resource.kind != Resource::BROKER || self.image().features.level(ELIGIBLE_LEADERS) == 0 {
            return Ok(());
        }
        let why = match changed.iter().find(|(name, _)| name == MIN_IN_SYNC) {
            Some(_) if !resource.name.is_empty() => "Broker-level min.insync.replicas cannot be altered",
            Some((_, None)) => "Cluster-level min.insync.replicas cannot be removed",
            Some((_, Some(_))) | None => return Ok(()),
        };
        Err(AdminError::Config(format!("{why} while ELR is enabled.")))
    }
}

#[cfg(test)]
mod tests {
    use aplomb_model::{BrokerId, Offset};
    use aplomb_protocol::messages::VotersRecord;

    use super::*;
    use crate::controller::{ConfigChange, ConfigOperation, FeatureUpdate, Node, UpgradeType};
    use crate::metadata::{METADATA_VERSION, MetadataImage, TRANSACTION_VERSION};

    const BROKER: BrokerId = BrokerId(1);

    fn config(min_in_sync: &str) -> BrokerConfig {
        let properties = [("node.id", "1"), (MIN_IN_SYNC, min_in_sync)];
        let properties = properties.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        BrokerConfig::from_properties(&properties).expect("valid").0
    }

    fn new_cluster(config: &BrokerConfig) -> Controller {
        let node = Node {
            id: BROKER,
            incarnation: aplomb_model::Uuid::from_u128(5),
            endpoints: Vec::new(),
            controller_endpoints: Vec::new(),
            rack: None,
            directories: Vec::new(),
            cordoned_directories: Vec::new(),
            metadata_directory: aplomb_model::Uuid::from_u128(6),
        };
        let mut controller = Controller::new(MetadataImage::empty("cluster"));
        drop(controller.activate(&node, Offset::ZERO, false, false));
        drop(controller.say_min_in_sync(config));
        drop(controller.register(&node, Offset::new(4)));
        controller
    }

    fn resource(name: &str) -> Resource {
        Resource { kind: Resource::BROKER, name: name.to_owned() }
    }

    fn alter(
        controller: &mut Controller,
        name: &str,
        operation: ConfigOperation,
        value: Option<&str>,
        config: &BrokerConfig,
    ) -> Result<(), String> {
        let change =
            ConfigChange { name: MIN_IN_SYNC.to_owned(), operation, value: value.map(str::to_owned) };
        let mut draft = controller.draft();
        draft.alter_configs(&resource(name), &[change], config).map_err(|error| error.to_string())?;
        drop(controller.take(draft));
        Ok(())
    }

    fn set_level(controller: &mut Controller, level: i16, config: &BrokerConfig) {
        let kind = if level == 0 { UpgradeType::SafeDowngrade } else { UpgradeType::Upgrade };
        let update = FeatureUpdate { feature: ELIGIBLE_LEADERS.to_owned(), level, kind: Some(kind) };
        let mut draft = controller.draft();
        draft.update_features(&[update], &VotersRecord::default(), config).expect("it can be had");
        drop(controller.take(draft));
    }

    fn of_cluster(controller: &Controller) -> Option<&str> {
        controller.image().configs.of(&resource("")).get(MIN_IN_SYNC).map(String::as_str)
    }

    #[test]
    fn a_new_cluster_has_eligible_leaders_and_says_how_many_replicas_are_enough() {
        let controller = new_cluster(&config("3"));
        let features: Vec<_> = controller.image().features.iter().collect();
        assert_eq!(features, [(ELIGIBLE_LEADERS, 1), (METADATA_VERSION, 33), (TRANSACTION_VERSION, 2)]);
        assert_eq!(of_cluster(&controller), Some("3"), "as the file has it");
        let mut again = Controller::new(controller.image().clone());
        assert_eq!(again.say_min_in_sync(&config("2")), [], "it is said already");
    }

    #[test]
    fn what_is_said_for_the_cluster_is_changed_and_not_taken_away() {
        use ConfigOperation::{Delete, Set};
        let config = config("1");
        let mut controller = new_cluster(&config);
        assert_eq!(alter(&mut controller, "", Set, Some("2"), &config), Ok(()));
        assert_eq!(of_cluster(&controller), Some("2"));
        let removed = "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.";
        assert_eq!(alter(&mut controller, "", Delete, None, &config), Err(removed.to_owned()));
        let all = Properties::from([("log.retention.ms".to_owned(), "7000".to_owned())]);
        let replaced = controller.draft().replace_configs(&resource(""), &all, &config);
        assert_eq!(replaced.map_err(|error| error.to_string()), Err(removed.to_owned()));
        let altered = "Broker-level min.insync.replicas cannot be altered while ELR is enabled.";
        for (operation, value) in [(Set, Some("2")), (Delete, None)] {
            assert_eq!(alter(&mut controller, "1", operation, value, &config), Err(altered.to_owned()));
        }
    }

    #[test]
    fn without_eligible_leaders_everybody_says_what_he_likes_until_they_are_back() {
        use ConfigOperation::{Delete, Set};
        let config = config("4");
        let mut controller = new_cluster(&config);
        set_level(&mut controller, 0, &config);
        assert_eq!(alter(&mut controller, "", Delete, None, &config), Ok(()));
        assert_eq!(alter(&mut controller, "1", Set, Some("5"), &config), Ok(()));
        assert_eq!(of_cluster(&controller), None);
        set_level(&mut controller, 1, &config);
        assert_eq!(of_cluster(&controller), Some("4"), "as the file has it");
        assert!(controller.image().configs.of(&resource("1")).is_empty(), "the broker's own is gone");
    }
}
