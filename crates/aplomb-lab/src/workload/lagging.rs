//! A consumer that has fallen behind: it reads a topic from the beginning, again and again, for the
//! whole time.
//!
//! It takes 100 MB a second where it gets them, and gives way to others for a processor: what is to
//! be seen is who waits for a disk. Without both it takes all that a machine with two processors
//! has, and then everybody waits for those.

use std::sync::atomic::Ordering;
use std::time::Duration;

use aplomb_bench::{ConsumerSpec, From, Report, Spec, Workload};

use crate::clock::wall_ms;
use crate::standing::Standing;

use super::{Background, WorkloadError, go_on};

/// Between two readings: a topic that is read in no time is not read in a loop that does nothing
/// else.
const PAUSE: Duration = Duration::from_millis(200);

/// Bytes it asks for at a time.
const FETCH_BYTES: i32 = 4 << 20;
/// How often it asks in a second.
const FETCHES: u64 = 25;

/// Bytes that arrived about a moment of the wall clock, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// The beginning of the second.
    pub at_ms: i64,
    /// Bytes of values in it.
    pub bytes: u64,
}

/// Starts to read `topic`. What it gives back is what arrived, by seconds. `before_each` is called
/// before each reading: it makes the topic cold again.
pub(crate) fn start(
    address: &str,
    topic: &str,
    longest: Duration,
    before_each: impl Fn() + Send + 'static,
) -> Result<Background<Vec<Arrived>>, WorkloadError> {
    let spec = Spec {
        bootstrap: vec![address.to_owned()],
        topic: topic.to_owned(),
        workload: Workload::Consume,
        duration: longest,
        warm_up: Duration::ZERO,
        drain: Duration::ZERO,
        client_id: "aplomb-lab-lagging".to_owned(),
        consumers: ConsumerSpec {
            from: From::Beginning,
            fetch_rate: Some(FETCHES),
            max_bytes: FETCH_BYTES,
            // The last partition is to be read as fast as all of them.
            max_partition_bytes: FETCH_BYTES,
            ..ConsumerSpec::default()
        },
        ..Spec::default()
    };
    Background::start("lagging", move |stop| {
        Standing::GivesWay.take();
        let mut arrived = Vec::new();
        let until = wall_ms() + i64::try_from(longest.as_millis()).unwrap_or(i64::MAX);
        while !stop.load(Ordering::Relaxed) && wall_ms() < until {
            before_each();
            // A broker that lets no client in at present is asked again; a consumer comes back,
            // too.
            if let Ok(report) = aplomb_bench::run(&spec, &mut |_| go_on(stop)) {
                arrived.extend(by_second(&report));
            } else {
                std::thread::sleep(PAUSE);
            }
            std::thread::sleep(PAUSE);
        }
        arrived
    })
}

fn by_second(report: &Report) -> Vec<Arrived> {
    let row = |row: &aplomb_bench::Row| Arrived {
        at_ms: report.started_at_ms + 1000 * i64::try_from(row.second).unwrap_or(i64::MAX),
        bytes: row.received_bytes,
    };
    report.rows.iter().map(row).collect()
}
