//! What a change of settings means for the stores of this broker's listeners: they have to be
//! looked at before it is decided, by threads that may wait for a file
//! (`SslFactory#validateReconfiguration`).

use std::sync::Arc;

use super::configs::{ConfigWish, Target};
use super::draft::Draft;
use crate::config::{BrokerConfig, Layers, is_of_a_listeners_stores};
use crate::metadata::Resource;
use crate::store_checks::{StoreChange, tls_of_listeners};

impl Draft {
    /// The listeners whose TLS would be another. None where the change is refused anyway.
    #[must_use]
    pub fn store_changes(
        &self,
        resource: &Resource,
        wish: ConfigWish<'_>,
        config: &BrokerConfig,
    ) -> Vec<StoreChange> {
        let Ok(target @ Target::Broker) = Target::of(resource, config.node_id) else { return Vec::new() };
        let Ok(values) = self.new_values(&target, resource, wish) else { return Vec::new() };
        if !values.iter().any(|(name, _)| is_of_a_listeners_stores(name)) {
            return Vec::new();
        }
        let mut wanted = self.image().configs.of(resource).clone();
        for (name, value) in values {
            match value {
                Some(value) => wanted.insert(name, value),
                None => wanted.remove(&name),
            };
        }
        let layers = self.image().layers(config);
        // What makes no sense as it is does not count: the settings before it do.
        let old = config.in_force(&layers).map_or_else(|_| config.security.clone(), |old| old.security);
        let Ok(new) = config.in_force(&Layers { for_this: &wanted, ..layers }) else { return Vec::new() };
        let old = tls_of_listeners(&old);
        let change = |(listener, tls): (Arc<str>, Arc<crate::config::TlsConfig>)| {
            let before = old.get(&listener)?;
            let had_trust = before.truststore.is_some();
            (*before != tls).then_some(StoreChange { listener, tls, had_trust })
        };
        tls_of_listeners(&new.security).into_iter().filter_map(change).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Properties;
    use crate::controller::{ConfigChange, ConfigOperation, Controller};
    use crate::metadata::MetadataImage;

    const STORE: &str = "listener.name.out.ssl.keystore.location";

    fn config() -> BrokerConfig {
        let pairs = [
            ("node.id", "1"),
            ("listeners", "OUT://:9093,IN://:9094"),
            ("listener.security.protocol.map", "OUT:SSL,IN:SSL"),
            ("ssl.keystore.type", "PEM"),
            ("ssl.keystore.location", "all.pem"),
        ];
        let pairs: Properties = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        BrokerConfig::from_properties(&pairs).expect("valid").0
    }

    fn set(name: &str, value: &str) -> ConfigChange {
        let operation = ConfigOperation::Set;
        ConfigChange { name: name.to_owned(), operation, value: Some(value.to_owned()) }
    }

    #[test]
    fn only_a_listener_whose_stores_are_others_has_to_be_looked_at() {
        let (config, mut controller) = (config(), Controller::new(MetadataImage::empty("cluster")));
        let broker = Resource { kind: Resource::BROKER, name: "1".to_owned() };
        let changes = |controller: &Controller, wish: ConfigWish<'_>| -> Vec<(String, bool)> {
            let changes = controller.draft().store_changes(&broker, wish, &config);
            let of = |change: StoreChange| (change.listener.to_string(), change.had_trust);
            changes.into_iter().map(of).collect()
        };
        let to = |path: &str| [set(STORE, path)];
        let one = vec![("OUT".to_owned(), false)];
        assert_eq!(changes(&controller, ConfigWish::Change(&to("new.pem"))), one);
        assert_eq!(changes(&controller, ConfigWish::Change(&to("all.pem"))), [], "as in the file");
        let names = [
            "log.retention.ms",
            "listener.name.out.sasl.jaas.config",
            "listener.name.far.ssl.keystore.location",
        ];
        for name in names {
            assert_eq!(changes(&controller, ConfigWish::Change(&[set(name, "7")])), [], "{name}");
        }
        let mut draft = controller.draft();
        draft.alter_configs(&broker, &to("new.pem"), &config).expect("it is not looked at here");
        drop(controller.take(draft));
        assert_eq!(changes(&controller, ConfigWish::Change(&to("new.pem"))), [], "it is in force");
        assert_eq!(changes(&controller, ConfigWish::Replace(&Properties::new())), one, "back to the file's");
    }

    #[test]
    fn what_contradicts_the_file_is_refused_and_what_is_for_all_too() {
        let (config, controller) = (config(), Controller::new(MetadataImage::empty("cluster")));
        let mut draft = controller.draft();
        let both = set("listener.name.out.ssl.keystore.certificate.chain", "chain");
        let (this, all) = ("1", "");
        for (name, change) in
            [(this, both), (this, set("ssl.keystore.location", "x")), (all, set(STORE, "x"))]
        {
            let resource = Resource { kind: Resource::BROKER, name: name.to_owned() };
            let error = draft.alter_configs(&resource, &[change], &config).expect_err("refused");
            assert!(!error.to_string().contains("chain\""), "{error}");
        }
    }
}
