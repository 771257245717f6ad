//! The main load: open-loop producers on several connections, and a consumer at the log's end.

use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use aplomb_bench::{BenchError, ConsumerSpec, KeyDistribution, ProducerSpec, Report, Spec, Workload};

use super::{Background, WorkloadError, go_on, new_topic};
use crate::standing::Standing;

/// What its clients call themselves, so that a quota can be set for them.
pub(crate) const CLIENT: &str = "aplomb-lab-load";
/// How long answers are waited for at the end, as a rule.
pub(crate) const DRAIN: Duration = Duration::from_secs(10);
/// How long clients have to connect, and the generator to say that it has begun.
const BEGINNING: Duration = Duration::from_secs(60);

/// How much, and where to.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// The topic; it is made if it is not there.
    pub topic: String,
    /// How many partitions the topic has.
    pub partitions: i32,
    /// Its settings.
    pub configs: Vec<(String, String)>,
    /// How many different keys its records have, each as likely as any other; `None` for records
    /// without keys.
    pub keys: Option<u64>,
    /// Records a second.
    pub rate: u64,
    /// Bytes of a record.
    pub record_size: usize,
    /// Bytes of records that a producer holds, those on their way among them.
    pub buffer: usize,
    /// Connections that they come by.
    pub connections: usize,
    /// How long it runs before it is measured.
    pub warm_up: Duration,
    /// How long it is measured.
    pub duration: Duration,
    /// The partitions that it is about; without it, all.
    pub only: Option<Vec<usize>>,
    /// Whether there is a consumer at the log's end.
    pub consumed: bool,
    /// How long answers are waited for at the end.
    pub drain: Duration,
    /// Whether the report says which records were acknowledged.
    pub ledger: bool,
    /// Where its threads stand.
    pub standing: Standing,
}

/// A load that runs.
#[derive(Debug)]
pub(crate) struct RunningLoad {
    thread: Background<Result<Report, BenchError>>,
    begun: Receiver<Instant>,
}

impl Load {
    /// As the generator takes it: what is not said is as Apache Kafka's producer has it.
    #[must_use]
    pub(crate) fn spec(&self, address: &str) -> Spec {
        Spec {
            bootstrap: vec![address.to_owned()],
            topic: self.topic.clone(),
            create: Some(new_topic(self.partitions, &self.configs)),
            workload: if self.consumed { Workload::EndToEnd } else { Workload::Produce },
            duration: self.duration,
            warm_up: self.warm_up,
            drain: self.drain,
            client_id: CLIENT.to_owned(),
            producers: ProducerSpec {
                clients: self.connections,
                rate: self.rate,
                record_size: self.record_size,
                buffer_memory: self.buffer,
                keys: self.keys.map_or(KeyDistribution::Sticky, KeyDistribution::Uniform),
                linger: Duration::from_millis(1),
                ..ProducerSpec::default()
            },
            consumers: ConsumerSpec::default(),
            only: self.only.clone(),
            ledger: self.ledger,
            ..Spec::default()
        }
    }

    /// Starts it.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub(crate) fn start(&self, address: &str) -> Result<RunningLoad, WorkloadError> {
        let spec = self.spec(address);
        let (warm_up, standing) = (self.warm_up, self.standing);
        let (tell, begun) = mpsc::channel();
        let thread = Background::start("load", move |stop| {
            standing.take();
            let mut told = false;
            aplomb_bench::run(&spec, &mut |progress| {
                if !told {
                    // The first of the calls once a second comes in the warm-up.
                    let measured = Instant::now() + warm_up;
                    let _ = tell.send(measured.checked_sub(progress.elapsed).unwrap_or(measured));
                    told = true;
                }
                go_on(stop)
            })
        })?;
        Ok(RunningLoad { thread, begun })
    }
}

impl RunningLoad {
    /// The moment from which it is measured, which is still to come; `None` if the load has ended
    /// before, of which [`Self::finish`] has the reason.
    #[must_use]
    pub(crate) fn measured_from(&self) -> Option<Instant> {
        self.begun.recv_timeout(BEGINNING).ok()
    }

    /// Waits for its end; at once if `early`.
    ///
    /// # Errors
    /// When it could not begin.
    pub(crate) fn finish(self, early: bool) -> Result<Report, WorkloadError> {
        let ended = if early { self.thread.finish() } else { self.thread.wait() };
        ended.map_err(|error| WorkloadError::Bench { what: "the load", error })
    }
}
