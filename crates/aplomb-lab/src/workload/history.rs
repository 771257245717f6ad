//! Records that are old when the run begins.

use std::time::Duration;

use aplomb_bench::{ProducerSpec, Spec, Workload};

use super::{WorkloadError, new_topic};

/// Bytes of a record. Larger ones cost the generator and the broker less.
const RECORD: u64 = 8 * 1024;
/// Bytes a second that are offered. What a broker cannot take at once it takes later.
const RATE: u64 = 64 << 20;

/// A topic with old records.
#[derive(Clone, Debug)]
pub struct History {
    /// Its name.
    pub topic: String,
    /// How many partitions the topic has.
    pub partitions: i32,
    /// Its settings.
    pub configs: Vec<(String, String)>,
    /// Bytes of values in all its partitions.
    pub bytes: u64,
}

impl History {
    /// Makes the topic and writes the records.
    ///
    /// # Errors
    /// When not all of them were taken.
    pub fn write(&self, address: &str) -> Result<(), WorkloadError> {
        let rate = RATE / RECORD;
        let wanted = self.bytes.div_ceil(RECORD);
        let spec = Spec {
            bootstrap: vec![address.to_owned()],
            topic: self.topic.clone(),
            create: Some(new_topic(self.partitions, &self.configs)),
            workload: Workload::Produce,
            duration: Duration::from_secs_f64(wanted as f64 / rate as f64),
            warm_up: Duration::ZERO,
            drain: Duration::from_secs(60),
            client_id: "aplomb-lab-history".to_owned(),
            producers: ProducerSpec {
                clients: 2,
                rate,
                record_size: RECORD as usize,
                batch_size: 128 * 1024,
                linger: Duration::from_millis(20),
                ..ProducerSpec::default()
            },
            ..Spec::default()
        };
        let what = "writing old records";
        let report = aplomb_bench::run(&spec, &mut |_| std::ops::ControlFlow::Continue(()))
            .map_err(|error| WorkloadError::Bench { what, error })?;
        if report.failed + report.unanswered == 0 {
            return Ok(());
        }
        let errors: Vec<String> =
            report.errors.iter().map(|(name, count)| format!("{name} {count} times")).collect();
        Err(WorkloadError::NotWritten {
            topic: self.topic.clone(),
            wanted: report.acknowledged + report.failed + report.unanswered,
            acknowledged: report.acknowledged,
            errors: errors.join(", "),
        })
    }
}
