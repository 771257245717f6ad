//! An incident as `aplomb lab list --json` tells it to programs.

use serde::Serialize;

use super::{Action, Incident, Truth, Whom};
use crate::brokers::Kind;

/// What there is to know of an incident before it is run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The name on the command line.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// What is on the slow disk: `xfs` or `ext4`.
    pub filesystem: String,
    /// Whether nothing is to be seen.
    pub control: bool,
    /// Whether it only looks like an incident of a disk.
    pub look_alike: bool,
    /// What is done, in a few words; empty where nothing is.
    pub disturbance: &'static str,
    /// Whom it hurts: `nobody`, `everybody`, `kafka`, `kafka before 3.7`, or `kafka, at times`.
    pub hurts: String,
    /// What the doctor is to say of it.
    pub truth: Truths,
    /// What it is known by.
    pub signatures: Vec<&'static str>,
    /// Whether it changes something for the whole machine as long as it runs, so that two such runs
    /// at once are in each other's way.
    pub changes_the_machine: bool,
}

/// What the doctor is to say of an incident, by broker; `null` for a broker that it is not for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Truths {
    /// Of Apache Kafka of the version that was asked about.
    pub kafka: Option<Truth>,
    /// Of Aplomb of this build.
    pub aplomb: Option<Truth>,
}

impl Listed {
    /// The incident; what is true of Apache Kafka is for this version of it.
    #[must_use]
    pub fn of(incident: &Incident, kafka_version: &str) -> Self {
        let hurts = match incident.hurts {
            Whom::Nobody => "nobody".to_owned(),
            Whom::Everybody => "everybody".to_owned(),
            Whom::Kafka => "kafka".to_owned(),
            Whom::KafkaAtTimes => "kafka, at times".to_owned(),
            Whom::KafkaBefore(major, minor) => format!("kafka before {major}.{minor}"),
        };
        Self {
            name: incident.name,
            title: incident.title,
            filesystem: incident.filesystem.name().to_owned(),
            control: incident.control,
            look_alike: incident.look_alike,
            disturbance: incident.disturbance,
            hurts,
            truth: Truths {
                kafka: incident.truth(Kind::Kafka, kafka_version),
                aplomb: incident.truth(Kind::Aplomb, ""),
            },
            signatures: incident.signatures.iter().map(|signature| signature.name).collect(),
            changes_the_machine: incident.actions().any(|action| {
                matches!(action, Action::DirtyLimit { .. } | Action::DropCaches(_) | Action::Busy(_))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incidents::named;

    #[test]
    fn what_is_set_for_the_whole_machine_is_told() {
        let listed = |name| Listed::of(&named(name).expect("it is there"), "4.4.0");
        assert!(listed("dirty-limit").changes_the_machine && listed("cold-metadata").changes_the_machine);
        assert!(listed("cpu-starvation").changes_the_machine, "who runs beside it waits, too");
        assert!(!listed("freeze").changes_the_machine && !listed("calm").changes_the_machine);
        assert_eq!(
            (listed("roll").hurts.as_str(), listed("calm").hurts.as_str()),
            ("kafka before 3.7", "nobody")
        );
        assert_eq!(listed("freeze").signatures.len(), 1);
    }
}
