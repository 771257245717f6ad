//! How long requests take, stage by stage: one table for each shard, with a row for each API that
//! is served.
//!
//! The stages are those of Apache Kafka's `RequestMetrics`. RequestQueue is the time from the turn
//! of the loop that found the frame to the moment the shard takes it up. Local lasts until that
//! turn is settled: the shard has done what it can do at once, for this request and for what else
//! the turn holds. Remote is all that the request then waits for: other shards, records to come,
//! disks. ResponseQueue lasts until the response is handed to the socket, behind those to earlier
//! requests of the connection; ResponseSend until the socket has taken it. Throttle is for how long
//! the client is muted for it, which no other stage has in it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aplomb_broker::api::APIS;
use aplomb_broker::ports::{ErrorTally, peek};
use aplomb_model::{ErrorCode, Instant};

use super::histogram::{Distribution, Histogram};

/// Versions of an API that are told apart.
const VERSIONS: usize = 32;

/// Error codes: all that there are.
const ERRORS: usize = ErrorCode::ALL.len();

/// A part of a request's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    RequestQueue,
    Local,
    Remote,
    ResponseQueue,
    ResponseSend,
    Throttle,
    Total,
}

impl Stage {
    pub(crate) const ALL: [Self; 7] = [
        Self::RequestQueue,
        Self::Local,
        Self::Remote,
        Self::ResponseQueue,
        Self::ResponseSend,
        Self::Throttle,
        Self::Total,
    ];
}

/// One request on its way, by the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    /// The API's key, as the frame has it.
    pub(crate) api_key: i16,
    /// Its version, as the frame has it.
    pub(crate) version: i16,
    /// The frame's size in bytes.
    pub(crate) bytes: usize,
    /// The frame was there.
    pub(crate) arrived: Instant,
    /// The shard took it up.
    pub(crate) begun: Instant,
    /// The turn that took it up was settled.
    pub(crate) settled: Option<Instant>,
    /// The response was made.
    pub(crate) answered: Option<Instant>,
    /// The first attempt to hand the response to the socket.
    pub(crate) sending: Option<Instant>,
    /// For how long the connection is muted after it.
    pub(crate) throttle: Duration,
}

impl Exchange {
    /// Begins with a frame that arrived at `arrived` and is taken up at `begun`.
    pub(crate) fn new(frame: &[u8], arrived: Instant, begun: Instant) -> Self {
        let (api_key, version) = peek(frame);
        Self {
            api_key,
            version,
            bytes: frame.len(),
            arrived,
            begun,
            settled: None,
            answered: None,
            sending: None,
            throttle: Duration::ZERO,
        }
    }

    /// How long a stage took, if the response was sent at `sent`.
    fn took(&self, stage: Stage, sent: Instant) -> Duration {
        let answered = self.answered.unwrap_or(sent);
        let settled = self.settled.unwrap_or(answered);
        let sending = self.sending.unwrap_or(sent);
        match stage {
            Stage::RequestQueue => self.begun.since(self.arrived),
            Stage::Local => settled.since(self.begun),
            Stage::Remote => answered.since(settled),
            Stage::ResponseQueue => sending.since(answered),
            Stage::ResponseSend => sent.since(sending),
            Stage::Throttle => self.throttle,
            Stage::Total => sent.since(self.arrived),
        }
    }
}

/// The figures of one shard's requests.
#[derive(Debug)]
pub(crate) struct RequestFigures {
    /// By API key; `None` where nothing is served.
    apis: Vec<Option<Box<ApiFigures>>>,
}

/// The figures of one API.
#[derive(Debug)]
pub(crate) struct ApiFigures {
    stages: [Histogram; Stage::ALL.len()],
    bytes: Histogram,
    versions: [AtomicU64; VERSIONS],
    /// By place in [`ErrorCode::ALL`].
    errors: [AtomicU64; ERRORS],
}

/// The figures of one API over all shards, at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct ApiTotals {
    /// In microseconds.
    pub(crate) stages: [Distribution; Stage::ALL.len()],
    pub(crate) bytes: Distribution,
    pub(crate) versions: [u64; VERSIONS],
    /// By name; none that did not occur.
    pub(crate) errors: BTreeMap<&'static str, u64>,
}

impl Default for RequestFigures {
    fn default() -> Self {
        let highest = APIS.iter().map(|served| served.key().key()).max().unwrap_or(0);
        let mut apis: Vec<Option<Box<ApiFigures>>> = (0..=highest).map(|_| None).collect();
        for served in APIS {
            let place = usize::try_from(served.key().key()).expect("what is served has a key");
            apis[place] = Some(Box::new(ApiFigures {
                stages: Default::default(),
                bytes: Histogram::default(),
                versions: std::array::from_fn(|_| AtomicU64::new(0)),
                errors: std::array::from_fn(|_| AtomicU64::new(0)),
            }));
        }
        Self { apis }
    }
}

impl RequestFigures {
    /// A response was sent. What is not served is not counted.
    pub(crate) fn on_sent(&self, exchange: &Exchange, sent: Instant) {
        let Some(api) = self.api(exchange.api_key) else { return };
        for (histogram, stage) in api.stages.iter().zip(Stage::ALL) {
            histogram.record(u64::try_from(exchange.took(stage, sent).as_micros()).unwrap_or(u64::MAX));
        }
        api.bytes.record(exchange.bytes as u64);
        if let Some(version) = usize::try_from(exchange.version).ok().and_then(|v| api.versions.get(v)) {
            version.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A response with these error codes was made. What is not served is not counted.
    pub(crate) fn on_errors(&self, api_key: i16, errors: &ErrorTally) {
        let Some(api) = self.api(api_key) else { return };
        for (code, count) in errors.iter() {
            if let Some(counted) = place(code).and_then(|place| api.errors.get(place)) {
                counted.fetch_add(count, Ordering::Relaxed);
            }
        }
    }

    /// Adds an API's figures to `totals`.
    pub(crate) fn add_to(&self, api_key: i16, totals: &mut ApiTotals) {
        let Some(api) = self.api(api_key) else { return };
        for (stage, sum) in api.stages.iter().zip(&mut totals.stages) {
            stage.add_to(sum);
        }
        api.bytes.add_to(&mut totals.bytes);
        for (version, sum) in api.versions.iter().zip(&mut totals.versions) {
            *sum += version.load(Ordering::Relaxed);
        }
        for (errors, code) in api.errors.iter().zip(ErrorCode::ALL) {
            let count = errors.load(Ordering::Relaxed);
            if count > 0 {
                *totals.errors.entry(code.name()).or_default() += count;
            }
        }
    }

    fn api(&self, key: i16) -> Option<&ApiFigures> {
        self.apis.get(usize::try_from(key).ok()?)?.as_deref()
    }
}

/// A code's place in [`ErrorCode::ALL`], which has them all in order.
fn place(code: i16) -> Option<usize> {
    usize::try_from(code - ErrorCode::ALL[0].to_wire()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_code_of_a_response_is_counted_under_its_name() {
        for (at, code) in ErrorCode::ALL.iter().enumerate() {
            assert_eq!(place(code.to_wire()), Some(at));
        }
        let errors = ErrorTally::from_iter([0, 3, -1, 0]);
        let figures = RequestFigures::default();
        figures.on_errors(20, &errors);
        figures.on_errors(20, &errors);
        figures.on_errors(i16::MAX, &errors);
        let mut totals = ApiTotals::default();
        figures.add_to(20, &mut totals);
        let counted: Vec<_> = totals.errors.into_iter().collect();
        assert_eq!(counted, [("NONE", 4), ("UNKNOWN_SERVER_ERROR", 2), ("UNKNOWN_TOPIC_OR_PARTITION", 2)]);
    }

    #[test]
    fn a_requests_time_is_shared_out_among_its_stages() {
        let at = |micros| Instant::START + Duration::from_micros(micros);
        let mut exchange = Exchange::new(&[0, 3, 0, 12, 0, 0, 0, 1], at(0), at(10));
        exchange.settled = Some(at(30));
        exchange.answered = Some(at(70));
        exchange.sending = Some(at(150));
        exchange.throttle = Duration::from_micros(640);
        let figures = RequestFigures::default();
        figures.on_sent(&exchange, at(310));
        figures.on_sent(&Exchange::new(&[0x7f, 0xff, 0, 0], at(0), at(0)), at(1));
        figures.on_sent(&Exchange::new(&[0], at(0), at(0)), at(1));

        let mut totals = ApiTotals::default();
        figures.add_to(3, &mut totals);
        let found: Vec<u64> = totals.stages.iter().map(|stage| stage.quantile(0.5)).collect();
        for (found, expected) in found.into_iter().zip([10, 20, 40, 80, 160, 640, 310]) {
            assert!(found.abs_diff(expected) <= expected / 16, "{found} for {expected}");
        }
        assert_eq!((totals.versions[12], totals.versions.iter().sum::<u64>()), (1, 1));
        assert_eq!(totals.bytes.quantile(0.5), 8);
    }
}
