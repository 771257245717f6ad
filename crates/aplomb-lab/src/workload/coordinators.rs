//! Names of groups by where the broker keeps what their coordinator writes: in a partition of
//! `__consumer_offsets`, which follows from the name.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use aplomb_bench::{Asker, BenchError};
use aplomb_model::Uuid;
use aplomb_protocol::messages::metadata_request::MetadataRequestTopic;
use aplomb_protocol::messages::{
    FindCoordinatorRequest, FindCoordinatorResponse, MetadataRequest, MetadataResponse,
};

use super::WorkloadError;
use super::placement::{Placement, placed_of};

/// The topic that coordinators of groups write to.
const TOPIC: &str = "__consumer_offsets";
/// How long a broker may take to make it.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(100);

/// `prefix-0`, `prefix-1` and so on.
pub(crate) fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{prefix}-{n}")).collect()
}

/// So many of these names whose coordinators write to none of the log directories below `mount`.
///
/// # Errors
/// When the broker has no groups, does not say where its partitions are, or has none elsewhere.
pub(crate) fn names_off(
    address: &str,
    prefix: &str,
    count: usize,
    mount: &Path,
) -> Result<Vec<String>, WorkloadError> {
    let Placement { slow, elsewhere } = placement(address, mount)?;
    if elsewhere.is_empty() {
        return Err(WorkloadError::OneSide { topic: TOPIC.to_owned() });
    }
    let all = slow.len() + elsewhere.len();
    let is_off = |name: &String| elsewhere.contains(&partition(name, all));
    Ok((0..).map(|n| format!("{prefix}-{n}")).filter(is_off).take(count).collect())
}

/// The partitions of the coordinators' topic, which the broker makes if it is not there.
fn placement(address: &str, mount: &Path) -> Result<Placement, WorkloadError> {
    let what = "asking for coordinators";
    let failed = |error| WorkloadError::Bench { what, error };
    let mut broker = Asker::connect(address, "aplomb-lab").map_err(failed)?;
    // The first question for a coordinator has the topic made.
    let question = FindCoordinatorRequest { coordinator_keys: vec!["lab".to_owned()], ..Default::default() };
    let give_up = Instant::now() + PATIENCE;
    loop {
        let answer: FindCoordinatorResponse = broker.ask(&question).map_err(failed)?;
        if answer.coordinators.iter().all(|found| found.error_code == 0) {
            break;
        }
        if Instant::now() > give_up {
            let why = format!("there is none after {} s", PATIENCE.as_secs());
            return Err(failed(BenchError::System(std::io::Error::new(std::io::ErrorKind::TimedOut, why))));
        }
        sleep(PAUSE);
    }
    let topics = vec![MetadataRequestTopic { topic_id: Uuid::ZERO, name: Some(TOPIC.to_owned()) }];
    let question = MetadataRequest { topics: Some(topics), ..Default::default() };
    let answer: MetadataResponse = broker.ask(&question).map_err(failed)?;
    let count = answer.topics.first().map_or(0, |topic| topic.partitions.len());
    placed_of(&mut broker, TOPIC, i32::try_from(count).unwrap_or(i32::MAX), mount)
}

/// The partition that the coordinator of a group writes to: by Java's hash of the name, without its
/// sign.
fn partition(group: &str, partitions: usize) -> usize {
    let hash = group.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()));
    // The one number without a counterpart stands for zero.
    usize::try_from(hash.checked_abs().unwrap_or(0)).unwrap_or(0) % partitions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_where_javas_hash_says() {
        // "polygenelubricants".hashCode() is the smallest integer, "hello".hashCode() 99162322.
        assert_eq!((partition("polygenelubricants", 50), partition("hello", 50)), (0, 22));
        assert_eq!(partition("lab-classic", 50), 12, "its hash is -1745362862");
        assert_eq!(names("lab", 2), ["lab-0", "lab-1"]);
    }
}
