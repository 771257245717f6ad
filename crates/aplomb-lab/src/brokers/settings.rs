//! What brokers that the lab starts are configured with: what each has, and what the user
//! wants otherwise.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::{BrokerError, Places};

/// What an incident asks of a broker's configuration, beside what every broker here has.
pub type Settings = Vec<(String, String)>;

/// Keys that are the lab's: where a broker listens, what it writes where, and whether Aplomb is
/// watched.
const OURS: [&str; 14] = [
    "process.roles",
    "node.id",
    "broker.id",
    "listeners",
    "advertised.listeners",
    "controller.listener.names",
    "controller.quorum.voters",
    "controller.quorum.bootstrap.servers",
    "log.dir",
    "log.dirs",
    "metadata.log.dir",
    "aplomb.guard",
    "aplomb.metrics.listener",
    "aplomb.tail.dir",
];
/// Keys that begin so are Aplomb's alone; another broker does not know them.
const APLOMBS: &str = "aplomb.";

/// A setting that somebody wants to see at work; it wins over what the incident asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    key: String,
    value: String,
}

/// Why there is no such setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    /// Without a key and a sign behind it, or with something that a properties file would take for
    /// more than that.
    #[error("a setting is written key=value, in one line and without a backslash")]
    NotASetting,
    /// A run needs it as it is.
    #[error("{0} is the lab's to set: what a broker keeps and where it listens has to be known")]
    Ours(String),
}

impl Override {
    /// Whether it is for Aplomb alone.
    #[must_use]
    pub fn is_aplombs(&self) -> bool {
        self.key.starts_with(APLOMBS)
    }

    /// As properties have it.
    #[must_use]
    pub fn pair(&self) -> (String, String) {
        (self.key.clone(), self.value.clone())
    }
}

impl FromStr for Override {
    type Err = OverrideError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (key, value) = text.split_once('=').ok_or(OverrideError::NotASetting)?;
        let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
        // A colon, a blank or an escape would end the key elsewhere, and a line feed begin another.
        let plain = |each: char| each.is_ascii_alphanumeric() || "._-".contains(each);
        if key.is_empty()
            || !key.chars().all(plain)
            || value.contains(|each: char| each == '\\' || each.is_control())
        {
            return Err(OverrideError::NotASetting);
        }
        if OURS.contains(&key.as_str()) {
            return Err(OverrideError::Ours(key));
        }
        Ok(Self { key, value })
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

/// What both of our brokers are configured with: one node that is broker and controller.
pub(super) fn common(places: &Places, port: u16, controller: u16) -> Settings {
    let data: Vec<String> = places.data.iter().map(|path| path.display().to_string()).collect();
    [
        ("process.roles", "broker,controller".to_owned()),
        ("node.id", "1".to_owned()),
        ("listeners", format!("PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}")),
        ("controller.listener.names", "CONTROLLER".to_owned()),
        ("controller.quorum.voters", format!("1@127.0.0.1:{controller}")),
        ("log.dirs", data.join(",")),
        ("metadata.log.dir", places.own.join("metadata").display().to_string()),
        // As many as the load's topic has, so that each of two log directories has some.
        ("offsets.topic.num.partitions", "8".to_owned()),
        ("offsets.topic.replication.factor", "1".to_owned()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}

/// Without what is for Aplomb alone.
pub(super) fn without_aplombs(settings: &Settings) -> Settings {
    settings.iter().filter(|(key, _)| !key.starts_with(APLOMBS)).cloned().collect()
}

/// Writes a properties file; of a key that comes twice the last value counts.
pub(super) fn write_properties(path: &Path, settings: &Settings) -> Result<(), BrokerError> {
    let lines: String = settings.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
    std::fs::write(path, lines).map_err(BrokerError::system(format!("writing {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_log_stays_off_the_disk_that_is_disturbed() {
        let places = Places {
            data: vec!["/slow/a".into(), "/slow/b".into()],
            own: "/quick".into(),
            logs: "/quick".into(),
            memory: "/dev/shm/x".into(),
        };
        let settings = common(&places, 9092, 9093);
        let value =
            |key: &str| settings.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
        assert_eq!(value("log.dirs"), Some("/slow/a,/slow/b"));
        assert_eq!(value("metadata.log.dir"), Some("/quick/metadata"));
        assert_eq!(value("controller.quorum.voters"), Some("1@127.0.0.1:9093"));
    }

    #[test]
    fn nobody_moves_a_broker_to_other_directories() {
        for key in ["log.dirs", " log.dir", "listeners", "aplomb.guard"] {
            let error = format!("{key}=x").parse::<Override>().expect_err(key);
            assert_eq!(error, OverrideError::Ours(key.trim().to_owned()));
        }
        for text in
            ["", "x", "=x", "log.dirs:/x=y", "log.dirs /x=y", "log\\.dirs=x", "a=b\nlog.dirs=x", "a=b\\"]
        {
            assert_eq!(text.parse::<Override>(), Err(OverrideError::NotASetting));
        }
    }

    #[test]
    fn a_setting_may_have_a_sign_in_its_value_and_knows_whose_it_is() {
        let setting: Override = "num.io.threads = a=b".parse().expect("it is one");
        assert_eq!(setting.pair(), ("num.io.threads".to_owned(), "a=b".to_owned()));
        assert_eq!(setting.to_string(), "num.io.threads=a=b");
        let ours: Override = "aplomb.tail.bytes=1".parse().expect("it is one");
        assert!(ours.is_aplombs() && !setting.is_aplombs());
        assert_eq!(without_aplombs(&vec![setting.pair(), ours.pair()]), [setting.pair()]);
    }
}
