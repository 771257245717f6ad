//! `meta.properties`: whose log directory it is
//! (`org.apache.kafka.metadata.properties.MetaProperties`).
//!
//! Version 1 has `cluster.id`, `node.id` and `directory.id`, the latter missing in directories from
//! before 3.7: a broker then makes one up and adds it. Version 0 is of the time of ZooKeeper. Next:
//! `properties.rs` for the text.

use aplomb_model::{BrokerId, DirectoryId};

use super::{MalformedEscape, PropertiesText};

const VERSION: &str = "version";
const CLUSTER_ID: &str = "cluster.id";
const NODE_ID: &str = "node.id";
const BROKER_ID: &str = "broker.id";
const DIRECTORY_ID: &str = "directory.id";

/// The version that the file says it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaVersion {
    /// Of the time of ZooKeeper: the node is called `broker.id`, and everything may be missing.
    V0,
    /// Of a cluster with KRaft.
    V1,
}

/// A text that is no such file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetaPropertiesError {
    /// Not a properties file.
    #[error(transparent)]
    Text(#[from] MalformedEscape),
    /// A property that a file of this version has.
    #[error("meta.properties has no {0}")]
    Missing(&'static str),
    /// A property with a value that it cannot have.
    #[error("meta.properties has {key}={value}, which is not valid")]
    BadValue {
        /// The name of the property.
        key: &'static str,
        /// What it says in the file.
        value: String,
    },
}

/// Whose log directory it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaProperties {
    text: PropertiesText,
    version: MetaVersion,
    cluster_id: Option<String>,
    node_id: Option<BrokerId>,
    directory_id: Option<DirectoryId>,
}

impl MetaProperties {
    /// The file of a directory that is formatted now.
    #[must_use]
    pub fn new(cluster_id: &str, node_id: BrokerId, directory_id: DirectoryId) -> Self {
        let mut text = PropertiesText::default();
        text.set(VERSION, "1");
        text.set(CLUSTER_ID, cluster_id);
        text.set(NODE_ID, &node_id.to_string());
        text.set(DIRECTORY_ID, &directory_id.to_string());
        Self {
            text,
            version: MetaVersion::V1,
            cluster_id: Some(cluster_id.to_owned()),
            node_id: Some(node_id),
            directory_id: Some(directory_id),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`MetaPropertiesError`] names the property that is missing or wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, MetaPropertiesError> {
        let text = PropertiesText::parse(bytes)?;
        let version = match parsed(&text, VERSION)? {
            None | Some(0) => MetaVersion::V0,
            Some(1) => MetaVersion::V1,
            Some(other) => return Err(bad_value(VERSION, &other.to_string())),
        };
        let node_key = if version == MetaVersion::V0 { BROKER_ID } else { NODE_ID };
        let node_id = parsed(&text, node_key)?.map(BrokerId);
        let cluster_id = text.get(CLUSTER_ID).map(str::to_owned);
        if version == MetaVersion::V1 {
            cluster_id.as_ref().ok_or(MetaPropertiesError::Missing(CLUSTER_ID))?;
            node_id.ok_or(MetaPropertiesError::Missing(NODE_ID))?;
        }
        let directory_id = parsed(&text, DIRECTORY_ID)?;
        Ok(Self { text, version, cluster_id, node_id, directory_id })
    }

    /// The file's bytes: to the letter those that were parsed, as long as nothing was set.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.text.encode()
    }

    /// Gives the directory an id.
    pub fn set_directory_id(&mut self, directory_id: DirectoryId) {
        self.text.set(DIRECTORY_ID, &directory_id.to_string());
        self.directory_id = Some(directory_id);
    }

    /// The version that the file says it has.
    #[must_use]
    pub fn version(&self) -> MetaVersion {
        self.version
    }

    /// The cluster; always there in version 1.
    #[must_use]
    pub fn cluster_id(&self) -> Option<&str> {
        self.cluster_id.as_deref()
    }

    /// The node; always there in version 1.
    #[must_use]
    pub fn node_id(&self) -> Option<BrokerId> {
        self.node_id
    }

    /// The log directory's id, which KRaft knows it by.
    #[must_use]
    pub fn directory_id(&self) -> Option<DirectoryId> {
        self.directory_id
    }
}

fn parsed<T: std::str::FromStr>(
    text: &PropertiesText,
    key: &'static str,
) -> Result<Option<T>, MetaPropertiesError> {
    text.get(key).map(|value| value.parse().map_err(|_| bad_value(key, value))).transpose()
}

fn bad_value(key: &'static str, value: &str) -> MetaPropertiesError {
    MetaPropertiesError::BadValue { key, value: value.to_owned() }
}

#[cfg(test)]
mod tests {
    use aplomb_model::Uuid;

    use super::*;

    const JAVA_MADE: &str = "#\n#Wed Nov 04 10:11:12 UTC 2026\ncluster.id=4L6g3nShT-eMCtK--X86sw\n\
        directory.id=AAAAAAAAAAAAAAAAAAAAYw\nnode.id=3\nversion=1\n";

    #[test]
    fn a_file_that_is_not_changed_stays_as_it_is() {
        let mut meta = MetaProperties::parse(JAVA_MADE.as_bytes()).unwrap();
        assert_eq!(meta.version(), MetaVersion::V1);
        assert_eq!(meta.cluster_id(), Some("4L6g3nShT-eMCtK--X86sw"));
        assert_eq!(meta.node_id(), Some(BrokerId(3)));
        assert_eq!(meta.directory_id(), Some(Uuid::from_u128(99)));
        meta.set_directory_id(Uuid::from_u128(99));
        assert_eq!(meta.encode(), JAVA_MADE.as_bytes());
    }

    #[test]
    fn a_directory_without_an_id_gets_one() {
        let mut meta = MetaProperties::parse(b"version=1\ncluster.id=c\nnode.id=3").unwrap();
        assert_eq!(meta.directory_id(), None);
        meta.set_directory_id(Uuid::from_u128(99));
        let text = b"version=1\ncluster.id=c\nnode.id=3\ndirectory.id=AAAAAAAAAAAAAAAAAAAAYw\n";
        assert_eq!(meta.encode(), text);
    }

    #[test]
    fn a_new_file_reads_back_as_it_was_made() {
        let meta = MetaProperties::new("c", BrokerId(1), Uuid::from_u128(99));
        assert_eq!(MetaProperties::parse(&meta.encode()), Ok(meta));
    }

    #[test]
    fn version_0_calls_its_node_broker() {
        let meta = MetaProperties::parse(b"broker.id=5\nnode.id=6\n").unwrap();
        assert_eq!((meta.version(), meta.node_id()), (MetaVersion::V0, Some(BrokerId(5))));
        let empty = MetaProperties::parse(b"").unwrap();
        assert_eq!((empty.node_id(), empty.cluster_id()), (None, None));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let parse = |text: &str| MetaProperties::parse(text.as_bytes()).unwrap_err();
        assert_eq!(parse("version=1\nnode.id=1"), MetaPropertiesError::Missing("cluster.id"));
        assert_eq!(parse("version=1\ncluster.id=c"), MetaPropertiesError::Missing("node.id"));
        assert_eq!(parse("version=2"), bad_value("version", "2"));
        assert_eq!(parse("version=1\ncluster.id=c\nnode.id=x"), bad_value("node.id", "x"));
        assert_eq!(parse("directory.id=short"), bad_value("directory.id", "short"));
        assert_eq!(parse("a=\\u"), MetaPropertiesError::Text(MalformedEscape { line: 1 }));
    }
}
