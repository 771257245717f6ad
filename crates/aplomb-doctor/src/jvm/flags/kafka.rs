//! What Apache Kafka's command line says of its files.

use std::borrow::Cow;

/// Where a broker has its settings and its own log, as its command line has them: relative paths
/// begin where the process did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KafkaFlags {
    /// `server.properties`, the first word behind the main class.
    pub properties: Option<String>,
    /// `--override name=value`, without the word before.
    pub overrides: Vec<String>,
    /// The directory of the broker's own log, `-Dkafka.logs.dir=`.
    pub logs_dir: Option<String>,
    /// The file that says how the broker logs, of log4j 1 or 2.
    pub log4j: Option<String>,
}

/// Main classes that are a broker.
const BROKERS: [&str; 2] = ["kafka.Kafka", "io.confluent.support.metrics.SupportedKafka"];

impl KafkaFlags {
    /// Takes what follows `-D`.
    pub(super) fn take_property(&mut self, property: &str) {
        match property.split_once('=') {
            Some(("kafka.logs.dir", directory)) => self.logs_dir = Some(directory.to_owned()),
            Some(("log4j2.configurationFile" | "log4j.configurationFile" | "log4j.configuration", file)) => {
                let file = file.strip_prefix("file:").unwrap_or(file);
                self.log4j = Some(file.to_owned());
            }
            _ => {}
        }
    }

    /// These, with what follows the main class; `None` if it is no broker's.
    pub(super) fn of<'a>(mut self, main: &str, words: impl Iterator<Item = Cow<'a, str>>) -> Option<Self> {
        BROKERS.contains(&main).then_some(())?;
        let mut is_override = false;
        for word in words {
            if std::mem::take(&mut is_override) {
                self.overrides.push(word.into_owned());
            } else if let Some(setting) = word.strip_prefix("--override=") {
                self.overrides.push(setting.to_owned());
            } else if word == "--override" {
                is_override = true;
            } else if self.properties.is_none() && !word.starts_with('-') {
                self.properties = Some(word.into_owned());
            }
        }
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(main: &str, words: &[&str]) -> Option<KafkaFlags> {
        let mut flags = KafkaFlags::default();
        flags.take_property("log4j.configuration=file:/k/log4j.properties");
        flags.take_property("nothing");
        flags.of(main, words.iter().map(|word| Cow::Borrowed(*word)))
    }

    #[test]
    fn settings_follow_the_main_class() {
        let flags = of("kafka.Kafka", &["--override", "a=b", "s.properties", "--override=c=d", "--override"]);
        let flags = flags.expect("a broker");
        assert_eq!(flags.properties.as_deref(), Some("s.properties"));
        assert_eq!(flags.overrides, ["a=b", "c=d"]);
        assert_eq!(flags.log4j.as_deref(), Some("/k/log4j.properties"));
        assert_eq!(of("kafka.tools.ConsoleConsumer", &["s.properties"]), None);
    }
}
