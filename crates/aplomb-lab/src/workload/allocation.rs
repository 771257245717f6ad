//! Makes a JVM allocate, so that its collector runs several times a minute: batches that are larger
//! than their topic takes. A broker has to read each whole into memory to refuse it, and nothing
//! reaches a disk.

use std::time::Duration;

use aplomb_bench::{ProducerSpec, Spec, Workload};

use super::{Background, WorkloadError, go_on, new_topic};

/// Bytes of a batch: below half of a region of G1 with a heap of 1 GiB, so that it is an allocation
/// like others.
const BATCH: usize = 256 * 1024;

/// Starts to send `bytes_per_second` that are refused.
pub(crate) fn start(
    address: &str,
    bytes_per_second: u64,
    longest: Duration,
) -> Result<Background<()>, WorkloadError> {
    let spec = Spec {
        bootstrap: vec![address.to_owned()],
        topic: "refused".to_owned(),
        create: Some(new_topic(1, &[("max.message.bytes".to_owned(), "1024".to_owned())])),
        workload: Workload::Produce,
        duration: longest,
        warm_up: Duration::ZERO,
        drain: Duration::from_secs(1),
        client_id: "aplomb-lab-allocation".to_owned(),
        producers: ProducerSpec {
            rate: (bytes_per_second / BATCH as u64).max(1),
            record_size: BATCH,
            batch_size: BATCH,
            linger: Duration::ZERO,
            acks: 1,
            idempotent: false,
            ..ProducerSpec::default()
        },
        ..Spec::default()
    };
    Background::start("allocation", move |stop| drop(aplomb_bench::run(&spec, &mut |_| go_on(stop))))
}
