//! What the doctor is to say of a broker in an incident. The lab knows what it has done, so it can
//! tell whether one who looked on has understood it.

use serde::Serialize;

use super::{Aim, Incident, Whom};
use crate::brokers::Kind;

/// What is true of one broker in an incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Truth {
    /// The first cause that is named has one of these names; where there are none, no cause is to
    /// be named.
    pub causes: &'static [&'static str],
    /// Whether it is as true to name none.
    pub or_none: bool,
}

/// No request waits for anything.
const NONE: Truth = Truth { causes: &[], or_none: true };

impl Incident {
    /// What is true of a broker; `None` where nothing is known of it, or the incident is not for
    /// it.
    #[must_use]
    pub fn truth(&self, kind: Kind, version: &str) -> Option<Truth> {
        if kind == Kind::External || self.not_for(kind).is_some() {
            return None;
        }
        let named = Truth { causes: self.causes, or_none: false };
        let or_none = Truth { or_none: true, ..named };
        Some(match (kind, self.aim) {
            // Who looks on sees it, whether or not a latency has suffered.
            _ if self.look_alike || self.hurts.includes(kind, version) => named,
            // It comes by coincidence.
            (Kind::Kafka, _) if self.hurts == Whom::KafkaAtTimes => or_none,
            // A directory that is lost is lost to every broker, and who was killed has to read its
            // logs; whether a request has waited for that is not said.
            (Kind::Aplomb, Aim::OneDirectory | Aim::Recovery) => or_none,
            _ => NONE,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incidents::{all, look_alikes, named};

    fn truth(name: &str, kind: Kind, version: &str) -> Option<Truth> {
        named(name).expect("it is there").truth(kind, version)
    }

    #[test]
    fn what_hurts_a_broker_is_to_be_named_and_what_does_not_is_not() {
        let kafka = |name| truth(name, Kind::Kafka, "4.4.0").expect("it is for Apache Kafka");
        assert_eq!(kafka("inode-lock"), Truth { causes: &["inode-lock"], or_none: false });
        assert_eq!(kafka("munmap"), Truth { causes: &["munmap", "page-fault"], or_none: true });
        for quiet in ["calm", "freeze-xfs", "roll"] {
            assert_eq!(kafka(quiet), NONE, "{quiet}");
        }
        assert_eq!(truth("roll", Kind::Kafka, "3.6.2").map(|truth| truth.causes), Some(&["roll"][..]));
    }

    #[test]
    fn aplombs_requests_wait_for_no_disk_and_for_what_everybody_waits_for() {
        let aplomb = |name| truth(name, Kind::Aplomb, "0.1.0");
        assert_eq!(aplomb("inode-lock"), Some(NONE));
        assert_eq!(aplomb("disk-full"), Some(Truth { causes: &["disk-full"], or_none: true }));
        assert_eq!(aplomb("cpu-quota"), Some(Truth { causes: &["cpu-quota"], or_none: false }));
        assert_eq!(aplomb("long-gc"), None);
        assert_eq!(truth("inode-lock", Kind::External, ""), None);
    }

    #[test]
    fn a_control_has_no_name_and_everything_else_has_its_own() {
        for incident in all().iter().chain(&look_alikes()) {
            let own = (!incident.control).then_some(&incident.name);
            assert_eq!(incident.causes.first(), own, "{}", incident.name);
        }
    }
}
