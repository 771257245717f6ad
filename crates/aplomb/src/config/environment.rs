//! Settings in environment variables, as the `apache/kafka` image has them (`KafkaDockerWrapper` of
//! Apache Kafka 4): `KAFKA_LOG_DIRS` is `log.dirs`, two underscores are an underscore, three a
//! dash.
//!
//! What always holds: they win over the file. A variable that is no setting is a warning and not an
//! error, since others put variables of such names there too: Kubernetes does for a service that is
//! called `kafka`.

use std::ffi::OsString;

use aplomb_broker::config::{BrokerConfig, Warning};

/// Variables that the image reads for itself, or hands to the JVM.
const NO_SETTINGS: [&str; 11] = [
    "KAFKA_VERSION",
    "KAFKA_HEAP_OPTS",
    "KAFKA_LOG4J_OPTS",
    "KAFKA_OPTS",
    "KAFKA_JMX_OPTS",
    "KAFKA_JVM_PERFORMANCE_OPTS",
    "KAFKA_GC_LOG_OPTS",
    "KAFKA_LOG4J_ROOT_LOGLEVEL",
    "KAFKA_LOG4J_LOGGERS",
    "KAFKA_TOOLS_LOG4J_LOGLEVEL",
    "KAFKA_JMX_HOSTNAME",
];

/// The variable that names the cluster which directories become part of that are formatted at a
/// start of the image.
pub(super) const CLUSTER_ID: &str = "CLUSTER_ID";

/// The cluster's id among some variables, if there is one that says something.
///
/// # Errors
/// The value, if it can be no id.
pub(super) fn cluster_id(variables: &[(OsString, OsString)]) -> Result<Option<String>, String> {
    let Some((_, value)) = variables.iter().find(|(name, value)| name == CLUSTER_ID && !value.is_empty())
    else {
        return Ok(None);
    };
    let value = value.to_string_lossy().into_owned();
    if value.chars().all(|c| c.is_ascii_graphic()) { Ok(Some(value)) } else { Err(value) }
}

/// A variable that is a setting.
#[derive(Debug)]
pub(super) struct Variable {
    /// Its own name.
    pub(super) name: String,
    /// The setting's.
    pub(super) key: String,
    pub(super) value: String,
}

/// The settings among some variables, and what is worth saying about the others.
pub(super) fn settings(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> (Vec<Variable>, Vec<Warning>) {
    let (mut settings, mut warnings) = (Vec::new(), Vec::new());
    for (name, value) in variables {
        let (Ok(name), Ok(value)) = (name.into_string(), value.into_string()) else { continue };
        let Some(key) = key_of(&name) else { continue };
        match BrokerConfig::check_name(&key) {
            Ok(()) => settings.push(Variable { name, key, value }),
            Err(error) => {
                let text = format!("the environment variable {name} is ignored: {error}");
                warnings.push(Warning { name, text });
            }
        }
    }
    settings.sort_by(|left, right| left.name.cmp(&right.name));
    (settings, warnings)
}

/// The setting that a variable would be.
fn key_of(variable: &str) -> Option<String> {
    let name = variable.strip_prefix("KAFKA_").filter(|_| !NO_SETTINGS.contains(&variable))?;
    Some(name.to_lowercase().replace('_', ".").replace("...", "-").replace("..", "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_names_a_setting_as_in_the_image() {
        let key = |variable| key_of(variable).unwrap_or_default();
        assert_eq!(key("KAFKA_LOG_DIRS"), "log.dirs");
        assert_eq!(
            key("KAFKA_LISTENER_NAME_IN__SIDE_SSL_KEY_PASSWORD"),
            "listener.name.in_side.ssl.key.password"
        );
        assert_eq!(key("KAFKA_LISTENER_NAME_A___B_X"), "listener.name.a-b.x");
        assert_eq!(key("KAFKA_APLOMB_TAIL_BYTES"), "aplomb.tail.bytes");
        assert_eq!(key("KAFKA_HEAP_OPTS"), "");
        assert_eq!(key("LOG_DIRS"), "");
    }

    #[test]
    fn what_is_no_setting_is_said_and_ignored() {
        let variables = [("KAFKA_NODE_ID", "3"), ("KAFKA_SERVICE_HOST", "10.0.0.1"), ("HOME", "/")];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let (settings, warnings) = settings(variables.into_iter());
        let keys: Vec<_> = settings.iter().map(|variable| variable.key.as_str()).collect();
        assert_eq!(keys, ["node.id"]);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].text.contains("KAFKA_SERVICE_HOST is ignored"), "{}", warnings[0].text);
    }
}
