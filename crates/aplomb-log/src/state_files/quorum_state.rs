//! `quorum-state`: what a KRaft voter must not forget, its vote and the leader it follows
//! (`org.apache.kafka.raft.FileQuorumStateStore`, schema `QuorumStateData.json`).
//!
//! One line of JSON with the schema's version in `data_version`. Version 1 came with directory ids
//! (kraft.version 1); version 0 keeps the voters instead.

use aplomb_model::{BrokerId, DirectoryId, LeaderEpoch, Uuid};
use serde_json::{Map, Value, json};

const NO_NODE: i32 = -1;

/// What a voter remembers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumState {
    /// The leader of `epoch`, if it is known.
    pub leader: Option<BrokerId>,
    /// The latest epoch seen.
    pub epoch: LeaderEpoch,
    /// Whom this voter has voted for in `epoch`.
    pub vote: Option<Vote>,
    /// In which form it is written.
    pub format: QuorumStateFormat,
}

/// A vote that this node has given in an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vote {
    /// For whom it was given.
    pub candidate: BrokerId,
    /// The candidate's directory; zero if it is not known, and always in version 0.
    pub directory: DirectoryId,
}

/// What the two versions of the file hold besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuorumStateFormat {
    /// Version 0, of a quorum whose voters are configured.
    Static {
        /// Written empty by Apache Kafka.
        cluster_id: String,
        /// Written as 0 by Apache Kafka.
        applied_offset: i64,
        /// The voters, from the configuration.
        voters: Vec<BrokerId>,
    },
    /// Version 1, of a quorum whose voters are in its log.
    Dynamic,
}

/// A text that is no quorum state. A voter must not start on it: it might vote twice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuorumStateError {
    /// The first line is no JSON object.
    #[error("quorum state is no JSON object: {0}")]
    NotAnObject(String),
    /// A field is missing or of the wrong type.
    #[error("quorum state has no valid field '{0}'")]
    BadField(&'static str),
    /// Another version than 0 and 1.
    #[error("quorum state has version {0}, only 0 and 1 are known")]
    UnknownVersion(i64),
}

impl QuorumState {
    /// What to write into the file.
    #[must_use]
    pub fn encode(&self) -> String {
        let leader = self.leader.map_or(NO_NODE, |leader| leader.0);
        let epoch = self.epoch.to_wire();
        let voted = self.vote.map_or(NO_NODE, |vote| vote.candidate.0);
        match &self.format {
            QuorumStateFormat::Static { cluster_id, applied_offset, voters } => {
                let voters: Vec<_> = voters.iter().map(|voter| json!({ "voterId": voter.0 })).collect();
                format!(
                    r#"{{"clusterId":{},"leaderId":{leader},"leaderEpoch":{epoch},"votedId":{voted},"appliedOffset":{applied_offset},"currentVoters":{},"data_version":0}}"#,
                    json!(cluster_id),
                    json!(voters),
                )
            }
            QuorumStateFormat::Dynamic => {
                let directory = self.vote.map_or(Uuid::ZERO, |vote| vote.directory);
                format!(
                    r#"{{"leaderId":{leader},"leaderEpoch":{epoch},"votedId":{voted},"votedDirectoryId":"{directory}","data_version":1}}"#
                )
            }
        }
    }

    /// Reads the text: its first line, as Apache Kafka does. Fields that are not known are ignored.
    ///
    /// # Errors
    /// [`QuorumStateError`] if it is not JSON, or a field is not as it should be.
    pub fn parse(bytes: &[u8]) -> Result<Self, QuorumStateError> {
        let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let object: Map<String, Value> =
            serde_json::from_slice(line).map_err(|error| QuorumStateError::NotAnObject(error.to_string()))?;
        let version = integer(&object, "data_version")?;
        let (format, directory) = match version {
            0 => (static_format(&object)?, Uuid::ZERO),
            1 => (QuorumStateFormat::Dynamic, directory(&object)?),
            other => return Err(QuorumStateError::UnknownVersion(other)),
        };
        let epoch = LeaderEpoch::from_wire(number(&object, "leaderEpoch")?)
            .ok_or(QuorumStateError::BadField("leaderEpoch"))?;
        let vote = node(&object, "votedId")?.map(|candidate| Vote { candidate, directory });
        Ok(Self { leader: node(&object, "leaderId")?, epoch, vote, format })
    }
}

fn static_format(object: &Map<String, Value>) -> Result<QuorumStateFormat, QuorumStateError> {
    let cluster_id =
        object.get("clusterId").and_then(Value::as_str).ok_or(QuorumStateError::BadField("clusterId"))?;
    let bad_voters = QuorumStateError::BadField("currentVoters");
    let voters = match object.get("currentVoters") {
        Some(Value::Null) => Vec::new(),
        Some(Value::Array(voters)) => voters
            .iter()
            .map(|voter| voter.as_object().and_then(|voter| number(voter, "voterId").ok()).map(BrokerId))
            .collect::<Option<_>>()
            .ok_or(bad_voters)?,
        Some(_) | None => return Err(bad_voters),
    };
    let applied_offset = integer(object, "appliedOffset")?;
    Ok(QuorumStateFormat::Static { cluster_id: cluster_id.to_owned(), applied_offset, voters })
}

fn directory(object: &Map<String, Value>) -> Result<DirectoryId, QuorumStateError> {
    let text = object.get("votedDirectoryId").and_then(Value::as_str);
    text.and_then(|text| text.parse().ok()).ok_or(QuorumStateError::BadField("votedDirectoryId"))
}

fn node(object: &Map<String, Value>, name: &'static str) -> Result<Option<BrokerId>, QuorumStateError> {
    match number(object, name)? {
        NO_NODE => Ok(None),
        id if id >= 0 => Ok(Some(BrokerId(id))),
        _ => Err(QuorumStateError::BadField(name)),
    }
}

fn integer(object: &Map<String, Value>, name: &'static str) -> Result<i64, QuorumStateError> {
    object.get(name).and_then(Value::as_i64).ok_or(QuorumStateError::BadField(name))
}

fn number(object: &Map<String, Value>, name: &'static str) -> Result<i32, QuorumStateError> {
    i32::try_from(integer(object, name)?).map_err(|_| QuorumStateError::BadField(name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn state(leader: Option<i32>, vote: Option<i32>, format: QuorumStateFormat) -> QuorumState {
        let directory = if format == QuorumStateFormat::Dynamic { Uuid::from_u128(99) } else { Uuid::ZERO };
        QuorumState {
            leader: leader.map(BrokerId),
            epoch: LeaderEpoch::new(5),
            vote: vote.map(|id| Vote { candidate: BrokerId(id), directory }),
            format,
        }
    }

    fn old() -> QuorumStateFormat {
        let voters = vec![BrokerId(1), BrokerId(2)];
        QuorumStateFormat::Static { cluster_id: "a \"b\"".to_owned(), applied_offset: 7, voters }
    }

    #[test]
    fn both_versions_read_back_as_they_were_written() {
        for format in [QuorumStateFormat::Dynamic, old()] {
            for (leader, vote) in [(None, None), (Some(1), None), (None, Some(3))] {
                let state = state(leader, vote, format.clone());
                assert_eq!(QuorumState::parse(state.encode().as_bytes()), Ok(state));
            }
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let parse = |text: &str| QuorumState::parse(text.as_bytes()).unwrap_err();
        assert!(matches!(parse(""), QuorumStateError::NotAnObject(_)));
        assert!(matches!(parse("[1]"), QuorumStateError::NotAnObject(_)));
        assert_eq!(parse("{}"), QuorumStateError::BadField("data_version"));
        assert_eq!(parse(r#"{"data_version":2}"#), QuorumStateError::UnknownVersion(2));
        let good = state(Some(1), Some(2), QuorumStateFormat::Dynamic).encode();
        for (field, from, to) in [
            ("leaderId", "\"leaderId\":1", "\"leaderId\":4294967296"),
            ("leaderEpoch", "\"leaderEpoch\":5", "\"leaderEpoch\":-1"),
            ("votedId", "\"votedId\":2", "\"votedId\":\"x\""),
            ("votedId", "\"votedId\":2", "\"votedId\":-2"),
            ("votedDirectoryId", "AAAA", "A"),
        ] {
            assert!(good.contains(from));
            assert_eq!(parse(&good.replacen(from, to, 1)), QuorumStateError::BadField(field));
        }
        let old = state(None, None, old()).encode();
        let bad = old.replacen("voterId", "voter", 1);
        assert_eq!(parse(&bad), QuorumStateError::BadField("currentVoters"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_reader_panic(bytes: Vec<u8>) {
            let _ = QuorumState::parse(&bytes);
        }
    }
}
