//! How long requests take, stage by stage: one table for each shard, with a row for each API that
//! is served.
//!
//! A request whose own time, without what its client asked it to wait, is over the limit of its API
//! goes onto the [`Tape`]: one comparison for all others.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aplomb_broker::api::APIS;
use aplomb_broker::ports::ErrorTally;
use aplomb_model::{ErrorCode, Instant};

use super::exchange::{Exchange, Stage};
use super::histogram::{Distribution, Histogram};
use super::slow::{Caller, SlowRequest, Tape};

/// Versions of an API that are told apart.
const VERSIONS: usize = 32;

/// Error codes: all that there are.
const ERRORS: usize = ErrorCode::ALL.len();

/// The figures of one shard's requests.
#[derive(Debug)]
pub(crate) struct RequestFigures {
    /// By API key; `None` where nothing is served.
    apis: Vec<Option<Box<ApiFigures>>>,
    tape: Tape,
}

/// The figures of one API.
#[derive(Debug)]
pub(crate) struct ApiFigures {
    stages: [Histogram; Stage::ALL.len()],
    /// See [`Exchange::own_time`].
    own: Histogram,
    /// An own time from which on a request is slow, in microseconds.
    limit: AtomicU64,
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
                own: Histogram::default(),
                limit: AtomicU64::new(u64::MAX),
                bytes: Histogram::default(),
                versions: std::array::from_fn(|_| AtomicU64::new(0)),
                errors: std::array::from_fn(|_| AtomicU64::new(0)),
            }));
        }
        Self { apis, tape: Tape::default() }
    }
}

impl RequestFigures {
    /// A response was sent. What is not served is not counted.
    pub(crate) fn on_sent(&self, exchange: &Exchange, sent: Instant, caller: &Caller) {
        let Some(api) = self.api(exchange.api_key) else { return };
        for (histogram, stage) in api.stages.iter().zip(Stage::ALL) {
            histogram.record(micros(exchange.took(stage, sent)));
        }
        let own = micros(exchange.own_time(sent));
        api.own.record(own);
        if own >= api.limit.load(Ordering::Relaxed) {
            self.tape.keep(SlowRequest { exchange: *exchange, sent, caller: *caller });
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

    /// Its requests that took long.
    pub(crate) fn tape(&self) -> &Tape {
        &self.tape
    }

    /// Requests of an API are slow from here on that take so long.
    pub(crate) fn set_limit(&self, api_key: i16, limit: Duration) {
        if let Some(api) = self.api(api_key) {
            api.limit.store(micros(limit), Ordering::Relaxed);
        }
    }

    /// Adds the own times of an API's requests to `sum`, in microseconds.
    pub(crate) fn add_own_times(&self, api_key: i16, sum: &mut Distribution) {
        if let Some(api) = self.api(api_key) {
            api.own.add_to(sum);
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

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A code's place in [`ErrorCode::ALL`], which has them all in order.
fn place(code: i16) -> Option<usize> {
    usize::try_from(code - ErrorCode::ALL[0].to_wire()).ok()
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use aplomb_broker::ports::{ConnectionId, ShardId};

    use super::super::slow::ClientName;
    use super::*;

    const CALLER: Caller = Caller {
        connection: ConnectionId { shard: ShardId(1), number: 7 },
        peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
        name: ClientName::NONE,
    };

    #[test]
    fn a_request_is_slow_by_its_own_time_and_by_the_limit_of_its_api() {
        let at = |millis| Instant::START + Duration::from_millis(millis);
        let ms = Duration::from_millis;
        let figures = RequestFigures::default();
        let took = |millis: u64, idle: u64, throttle: u64| {
            let mut exchange = Exchange::new(&[0, 1, 0, 12, 0, 0, 0, 1], at(0), at(0));
            (exchange.waited.idle, exchange.throttle) = (ms(idle), ms(throttle));
            figures.on_sent(&exchange, at(millis), &CALLER);
            let (_, mut seen) = (figures.tape().read(0, |_| {}), 0);
            figures.tape().read(0, |_| seen += 1);
            seen
        };
        assert_eq!(took(60_000, 0, 0), 0, "without a limit nothing is slow");
        figures.set_limit(3, ms(1));
        assert_eq!(took(60_000, 0, 0), 0, "that is another API's");
        figures.set_limit(1, ms(20));
        assert_eq!(took(519, 500, 0), 0, "a long poll");
        assert_eq!(took(520, 500, 0), 1);
        assert_eq!(took(5, 0, 14), 1);
        assert_eq!(took(5, 0, 15), 2, "its client is muted for it");
        let mut own = Distribution::default();
        figures.add_own_times(1, &mut own);
        assert_eq!((own.count(), own.sum()), (6, (60_000 * 2 + 19 + 20 + 19 + 20) * 1000));
    }

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
        figures.on_sent(&exchange, at(310), &CALLER);
        figures.on_sent(&Exchange::new(&[0x7f, 0xff, 0, 0], at(0), at(0)), at(1), &CALLER);
        figures.on_sent(&Exchange::new(&[0], at(0), at(0)), at(1), &CALLER);

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
