//! Files, environment variables and flags into checked values.
//!
//! What always holds: whatever is wrong is said in one sentence that names the place (file and
//! line, the variable, or the flag), the key and what would be accepted; nothing has been touched
//! by then.

mod environment;
mod providers;
mod references;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use aplomb_broker::config::{BrokerConfig, ClientSettings, ConfigError, Properties, Warning};
use aplomb_log::state_files::{MalformedEscape, PropertiesText};
use environment::{CLUSTER_ID, Variable};
use providers::{ProviderError, follow};

/// A broker's settings, as written and as understood.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The broker's.
    pub(crate) broker: BrokerConfig,
    /// What is worth saying about them.
    pub(crate) warnings: Vec<Warning>,
    /// The cluster that directories become part of which have no identity yet; `None` lets chance
    /// say.
    pub(crate) cluster_id: Option<String>,
}

/// Settings that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{}: {error}", path.display())]
    Malformed { path: PathBuf, error: MalformedEscape },
    #[error("--override, number {0} of them: a setting is written key=value")]
    NotASetting(usize),
    #[error(
        "the environment variable {CLUSTER_ID}={0}: a cluster's id is letters, digits and signs of ASCII, without spaces"
    )]
    ClusterId(String),
    #[error("{place}{sentence}")]
    Invalid { place: String, sentence: String },
}

/// Reads `file`, if there is one, puts this process's environment and then `overrides`
/// (`key=value`) over it, and checks the result.
pub(crate) fn load(file: Option<&Path>, overrides: &[String]) -> Result<Settings, SettingsError> {
    load_with(file, std::env::vars_os(), overrides)
}

fn load_with(
    file: Option<&Path>,
    environment: impl Iterator<Item = (OsString, OsString)>,
    overrides: &[String],
) -> Result<Settings, SettingsError> {
    let environment: Vec<_> = environment.collect();
    let cluster_id = environment::cluster_id(&environment).map_err(SettingsError::ClusterId)?;
    let (mut properties, bytes) = match file {
        None => (Properties::new(), Vec::new()),
        Some(path) => {
            let unreadable = |source| SettingsError::Unreadable { path: path.to_owned(), source };
            let bytes = std::fs::read(path).map_err(unreadable)?;
            let text = PropertiesText::parse(&bytes)
                .map_err(|error| SettingsError::Malformed { path: path.to_owned(), error })?;
            (text.entries().map(owned).collect(), bytes)
        }
    };
    let (variables, mut ignored) = environment::settings(environment.iter().cloned());
    properties.extend(variables.iter().map(|variable| (variable.key.clone(), variable.value.clone())));
    for (index, setting) in overrides.iter().enumerate() {
        let (key, value) = setting.split_once('=').ok_or(SettingsError::NotASetting(index + 1))?;
        properties.insert(key.trim().to_owned(), value.to_owned());
    }
    let invalid = |sentence: String| {
        let place = place_of(&sentence, file, &bytes, &variables, overrides);
        SettingsError::Invalid { place, sentence }
    };
    let mut followed =
        follow(properties, &environment).map_err(|error: ProviderError| invalid(error.to_string()))?;
    match BrokerConfig::from_properties(&followed.properties) {
        Ok((broker, mut warnings)) => {
            warnings.append(&mut followed.warnings);
            warnings.append(&mut ignored);
            Ok(Settings { broker, warnings, cluster_id })
        }
        Err(error) => Err(invalid(followed.origins.hide(&error.to_string()))),
    }
}

/// Reads a client's settings, in the form of Apache Kafka's tools (`--command-config`).
pub(crate) fn load_client(path: &Path) -> Result<(ClientSettings, Vec<Warning>), SettingsError> {
    let bytes =
        std::fs::read(path).map_err(|source| SettingsError::Unreadable { path: path.to_owned(), source })?;
    let text = PropertiesText::parse(&bytes)
        .map_err(|error| SettingsError::Malformed { path: path.to_owned(), error })?;
    let invalid = |sentence: String| {
        let place = place_of(&sentence, Some(path), &bytes, &[], &[]);
        SettingsError::Invalid { place, sentence }
    };
    let environment: Vec<_> = std::env::vars_os().collect();
    let followed = follow(text.entries().map(owned).collect(), &environment)
        .map_err(|error: ProviderError| invalid(error.to_string()))?;
    let settings = ClientSettings::from_properties(&followed.properties)
        .map_err(|error: ConfigError| invalid(followed.origins.hide(&error.to_string())))?;
    Ok((settings, followed.warnings))
}

fn owned((key, value): (&str, &str)) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

/// Where the setting stands that `sentence` names first, with a colon; the file, or nothing, if
/// that was not written anywhere.
fn place_of(
    sentence: &str,
    file: Option<&Path>,
    bytes: &[u8],
    variables: &[Variable],
    overrides: &[String],
) -> String {
    let in_a_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let words = sentence.split(|c| !in_a_key(c)).map(|word| word.trim_end_matches('.'));
    for word in words.filter(|word| !word.is_empty()) {
        let is_it = |setting: &&String| setting.split_once('=').is_some_and(|(key, _)| key.trim() == word);
        if overrides.iter().any(|setting| is_it(&setting)) {
            // Its value may be a secret.
            return format!("--override {word}: ");
        }
        if let Some(variable) = variables.iter().find(|variable| variable.key == word) {
            return format!("{}: ", variable.name);
        }
        if let (Some(path), Some(line)) = (file, line_of(bytes, word)) {
            return format!("{}, line {line}: ", path.display());
        }
    }
    file.map(|path| format!("{}: ", path.display())).unwrap_or_default()
}

/// The first line, counted from 1, of the last entry with this key. Continued lines are one entry,
/// and count.
fn line_of(bytes: &[u8], wanted: &str) -> Option<usize> {
    let count = |bytes: &[u8]| {
        let text = PropertiesText::parse(bytes).ok()?;
        Some(text.entries().filter(|(key, _)| *key == wanted).count())
    };
    let (mut seen, mut end, mut found) = (0, 0, None);
    for (index, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        end += line.len();
        let entries = count(&bytes[..end])?;
        if entries > seen {
            (seen, found) = (entries, Some(index + 1));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file for the test");
        std::fs::write(file.path(), text).expect("it can be written");
        file
    }

    fn none() -> impl Iterator<Item = (OsString, OsString)> {
        std::iter::empty()
    }

    fn error(text: &str, overrides: &[&str]) -> String {
        let file = file(text);
        let overrides: Vec<String> = overrides.iter().map(|&setting| setting.to_owned()).collect();
        let error = load_with(Some(file.path()), none(), &overrides).expect_err("it is wrong").to_string();
        error.replace(&file.path().display().to_string(), "FILE")
    }

    #[test]
    fn no_configuration_is_one() {
        let settings = load_with(None, none(), &[]).expect("defaults work");
        assert_eq!(settings.broker.network.listeners[0].port, 9092);
        assert!(settings.warnings.is_empty());
    }

    #[test]
    fn a_file_is_read_as_java_reads_it_and_an_override_wins() {
        let file = file("# a comment\nnum.partitions : 3\nlog.dirs=/a,\\\n    /b\nmin.insync.replicas 1\n");
        let settings = load_with(Some(file.path()), none(), &["num.partitions=5".to_owned()])
            .expect("all of it is right");
        assert_eq!(settings.broker.metadata.default_partitions, 5);
        assert_eq!(settings.broker.storage.log_dirs, ["/a", "/b"]);
    }

    #[test]
    fn the_environment_wins_over_the_file_and_loses_to_a_flag() {
        let file = file("num.partitions=2\nmin.insync.replicas=2\ndelete.topic.enable=true\n");
        let variables =
            [("KAFKA_NUM_PARTITIONS", "3"), ("KAFKA_DELETE_TOPIC_ENABLE", "false"), ("KAFKA_HOME", "/")];
        let variables = || variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        let overrides = ["num.partitions=4".to_owned()];
        let settings = load_with(Some(file.path()), variables(), &overrides).expect("all of it is right");
        assert_eq!(settings.broker.metadata.default_partitions, 4);
        assert!(!settings.broker.metadata.delete_topics);
        assert_eq!(settings.broker.properties["min.insync.replicas"], "2");
        let warned: Vec<&str> = settings.warnings.iter().map(|warning| warning.name.as_str()).collect();
        assert_eq!(
            warned,
            ["min.insync.replicas", "KAFKA_HOME"],
            "what does nothing here, and what is no key"
        );

        let wrong = [("KAFKA_NUM_PARTITIONS".into(), "many".into())];
        let error =
            load_with(Some(file.path()), wrong.into_iter(), &[]).expect_err("it is wrong").to_string();
        assert!(error.starts_with("KAFKA_NUM_PARTITIONS: Invalid value many"), "{error}");
    }

    #[test]
    fn the_cluster_of_new_directories_is_in_the_environment_as_in_the_image() {
        let load = |value: &str| {
            let variables = [("CLUSTER_ID".into(), value.into())];
            load_with(None, variables.into_iter(), &[]).map(|settings| settings.cluster_id)
        };
        let id = "5L6g3nShT-eMCtK--X86sw";
        assert_eq!(load(id).expect("an id"), Some(id.to_owned()));
        assert_eq!(load("").expect("as if it were not there"), None);
        let error = load("two words").expect_err("not an id").to_string();
        assert!(error.starts_with("the environment variable CLUSTER_ID=two words: "), "{error}");
    }

    #[test]
    fn what_is_wrong_is_found() {
        let wrong = error("# one\nlog.dirs=/a,\\\n /b\nnum.partitions=many\n", &[]);
        assert!(wrong.starts_with("FILE, line 4: ") && wrong.contains("num.partitions"), "{wrong}");
        let wrong = error("num.partition=1\n", &[]);
        assert!(
            wrong.starts_with("FILE, line 1: ") && wrong.ends_with("did you mean num.partitions?"),
            "{wrong}"
        );
        let wrong = error("num.partitions=1\n", &["num.partitions=0"]);
        assert!(wrong.starts_with("--override num.partitions: "), "{wrong}");
        assert_eq!(error("\n\na=\\u12\n", &[]), "FILE: malformed \\uxxxx escape in line 3");
        assert_eq!(
            error("", &["num.partitions"]),
            "--override, number 1 of them: a setting is written key=value"
        );
    }

    #[test]
    fn a_value_from_elsewhere_is_in_no_sentence() {
        let secret = file("password=hunter2 and more\n");
        let class = "org.apache.kafka.common.config.provider.FileConfigProvider";
        let reference = format!("${{file:{}:password}}", secret.path().display());
        let wrong = |key: &str| {
            let text = format!("config.providers=f\nconfig.providers.f.class={class}\n{key}=");
            error(&format!("{text}{}\n", reference.replacen("file", "f", 1)), &[])
        };
        for key in [
            "num.partitions",
            "log.retention.ms",
            "listener.security.protocol.map",
            "listeners",
            "no.such.key",
        ] {
            let sentence = wrong(key);
            assert!(sentence.starts_with("FILE, line 3: ") && sentence.contains(key), "{sentence}");
            assert!(!sentence.to_lowercase().contains("hunter2"), "{sentence}");
        }
        let text = format!("config.providers=f\nconfig.providers.f.class={class}\nbroker.rack=");
        let right = file(&format!("{text}{}", reference.replacen("file", "f", 1)));
        let settings = load_with(Some(right.path()), none(), &[]).expect("all of it is right");
        assert_eq!(settings.broker.rack.as_deref(), Some("hunter2 and more"));
        assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = load_with(Some(Path::new("/nowhere/server.properties")), none(), &[])
            .expect_err("it is not there");
        assert!(error.to_string().starts_with("/nowhere/server.properties cannot be read: "), "{error}");
    }
}
