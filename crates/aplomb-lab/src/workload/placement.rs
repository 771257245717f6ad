//! Which partitions of a topic are on the slow disk, and which are not: by the broker's own account
//! of its log directories.

use std::path::Path;

use aplomb_bench::{Asker, BenchError, NewTopic};
use aplomb_protocol::messages::describe_log_dirs_request::DescribableLogDirTopic;
use aplomb_protocol::messages::describe_log_dirs_response::DescribeLogDirsResult;
use aplomb_protocol::messages::{DescribeLogDirsRequest, DescribeLogDirsResponse};

use super::WorkloadError;

/// How long a new partition may take until its log directory lists it.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);
/// Between two questions.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// What is done here, where it fails.
const WHAT: &str = "asking for log directories";

/// Where the partitions of a topic are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Partitions in log directories below the slow disk's mount point.
    pub slow: Vec<usize>,
    /// The others.
    pub elsewhere: Vec<usize>,
}

/// Makes the topic if it is not there, and finds its partitions.
///
/// # Errors
/// When the broker does not say, or when one side has no partition: then there is nothing to
/// compare.
pub(crate) fn place(
    address: &str,
    topic: &str,
    new: &NewTopic,
    mount: &Path,
) -> Result<Placement, WorkloadError> {
    let failed = |error| WorkloadError::Bench { what: WHAT, error };
    let mut broker = Asker::connect(address, "aplomb-lab").map_err(failed)?;
    broker.make(topic, new).map_err(failed)?;
    let found = placed_of(&mut broker, topic, new.partitions, mount)?;
    if found.slow.is_empty() || found.elsewhere.is_empty() {
        return Err(WorkloadError::OneSide { topic: topic.to_owned() });
    }
    Ok(found)
}

/// Where so many partitions of a topic are that is there.
///
/// # Errors
/// When the broker does not say.
pub(crate) fn placed_of(
    broker: &mut Asker,
    topic: &str,
    partitions: i32,
    mount: &Path,
) -> Result<Placement, WorkloadError> {
    let failed = |error| WorkloadError::Bench { what: WHAT, error };
    let wanted: Vec<i32> = (0..partitions).collect();
    let request = DescribeLogDirsRequest {
        topics: Some(vec![DescribableLogDirTopic { topic: topic.to_owned(), partitions: wanted.clone() }]),
    };
    let began = std::time::Instant::now();
    loop {
        let answer: DescribeLogDirsResponse = broker.ask(&request).map_err(failed)?;
        let found = placed(topic, &answer.results, mount);
        if found.slow.len() + found.elsewhere.len() == wanted.len() {
            return Ok(found);
        }
        if began.elapsed() > PATIENCE {
            let why = format!("topic {topic} is in them in parts only after {} s", PATIENCE.as_secs());
            return Err(failed(BenchError::System(std::io::Error::new(std::io::ErrorKind::TimedOut, why))));
        }
        std::thread::sleep(PAUSE);
    }
}

fn placed(topic: &str, directories: &[DescribeLogDirsResult], mount: &Path) -> Placement {
    let mut placement = Placement::default();
    for directory in directories {
        let is_slow = Path::new(&directory.log_dir).starts_with(mount);
        let side = if is_slow { &mut placement.slow } else { &mut placement.elsewhere };
        let of_topic = directory.topics.iter().filter(|one| one.name == topic);
        let partitions = of_topic.flat_map(|topic| &topic.partitions).filter(|one| !one.is_future_key);
        side.extend(partitions.filter_map(|one| usize::try_from(one.partition_index).ok()));
        side.sort_unstable();
    }
    placement
}

#[cfg(test)]
mod tests {
    use aplomb_protocol::messages::describe_log_dirs_response::{
        DescribeLogDirsPartition, DescribeLogDirsTopic,
    };

    use super::*;

    #[test]
    fn a_partition_is_where_its_directory_is() {
        let directory = |log_dir: &str, topic: &str, partitions: &[i32]| DescribeLogDirsResult {
            log_dir: log_dir.to_owned(),
            topics: vec![DescribeLogDirsTopic {
                name: topic.to_owned(),
                partitions: partitions
                    .iter()
                    .map(|index| DescribeLogDirsPartition { partition_index: *index, ..Default::default() })
                    .collect(),
            }],
            ..Default::default()
        };
        let mut moving = directory("/mnt/slow/data", "orders", &[4]);
        moving.topics[0].partitions[0].is_future_key = true;
        let all = [
            directory("/mnt/slow/data", "orders", &[2, 0]),
            directory("/mnt/slow/data", "others", &[7]),
            moving,
            directory("/mnt/slower", "orders", &[1, 3]),
        ];
        let placement = placed("orders", &all, Path::new("/mnt/slow"));
        assert_eq!(placement, Placement { slow: vec![0, 2], elsewhere: vec![1, 3] });
    }
}
