//! Clients that ask for offsets by timestamp, one request after the other, all over a topic's time.
//!
//! A broker that keeps its indexes in mapped files reads them, page by page, in the thread that
//! answers.

use std::sync::atomic::Ordering;
use std::time::Duration;

use aplomb_bench::Asker;
use aplomb_model::SplitMix64;
use aplomb_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use aplomb_protocol::messages::{ListOffsetsRequest, ListOffsetsResponse};

use super::{Background, WorkloadError};

/// After a request that failed.
const PAUSE: Duration = Duration::from_millis(200);

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Lookups {
    /// The topic whose timestamps are looked up.
    pub topic: String,
    /// How many partitions the topic has.
    pub partitions: i32,
    /// The first and the last time that is asked for, in milliseconds since 1970.
    pub times: (i64, i64),
    /// Clients, each with a connection.
    pub clients: u64,
}

/// Clients that ask.
#[derive(Debug)]
pub(crate) struct Asking {
    threads: Vec<Background<u64>>,
}

impl Lookups {
    /// Starts to ask; which times follows from the seed.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub(crate) fn start(&self, address: &str, seed: u64) -> Result<Asking, WorkloadError> {
        let client = |number: u64| {
            let (what, address, mut dice) =
                (self.clone(), address.to_owned(), SplitMix64::new(seed ^ (number << 32)));
            Background::start("lookups", move |stop| {
                let mut answers = 0;
                while !stop.load(Ordering::Relaxed) {
                    let Ok(mut asker) = Asker::connect(&address, "aplomb-lab-lookups") else {
                        std::thread::sleep(PAUSE);
                        continue;
                    };
                    while !stop.load(Ordering::Relaxed)
                        && asker.ask::<_, ListOffsetsResponse>(&what.request(&mut dice)).is_ok()
                    {
                        answers += 1;
                    }
                }
                answers
            })
        };
        Ok(Asking { threads: (0..self.clients).map(client).collect::<Result<_, _>>()? })
    }

    fn request(&self, dice: &mut SplitMix64) -> ListOffsetsRequest {
        let (first, last) = self.times;
        let span = u64::try_from(last - first).unwrap_or(0).max(1);
        let partitions = vec![ListOffsetsPartition {
            partition_index: dice.within(0..u64::from(self.partitions.unsigned_abs())) as i32,
            timestamp: first + dice.within(0..span).cast_signed(),
            ..Default::default()
        }];
        let topics = vec![ListOffsetsTopic { name: self.topic.clone(), partitions }];
        ListOffsetsRequest { replica_id: -1, topics, ..Default::default() }
    }
}

impl Asking {
    /// Tells it to end, without waiting.
    pub(crate) fn tell(&self) {
        self.threads.iter().for_each(Background::tell);
    }

    /// Ends it. Returns how many answers there were.
    #[must_use]
    pub(crate) fn finish(self) -> u64 {
        self.tell();
        self.threads.into_iter().map(Background::wait).sum()
    }
}
