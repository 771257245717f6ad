//! The flight recorder: slow requests with what they waited for.
//!
//! The loops leave them on their tapes ([`crate::figures`]) and know nothing more; here, on the
//! thread that makes the numbers, they are looked at a few times a second, their causes are found
//! ([`cause`]), with what else the machine did at that time ([`timeline`]), and the last of them
//! are kept. It also says to the loops from when on a request is slow.
//!
//! What always holds: what is kept is bounded by [`MOST`]; nothing is written anywhere.

mod cause;
mod timeline;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::api::APIS;
use aplomb_disk_api::stats::DiskStats;
use aplomb_model::Instant;
use serde::Serialize;

use self::cause::{Cause, find};
use self::timeline::Timeline;
use super::page::{Kind, Labels, Page};
use super::recent::Recent;
use crate::clock;
use crate::figures::{Distribution, LoopFigures, SlowRequest, Stage};

/// Slow requests that are kept, the last ones.
const MOST: usize = 512;

/// Without a setting, a request is slow that takes longer than 999 of 1000 of its API did lately,
/// if that is at least the first of these. One that takes longer than the second always is: while
/// everything is slow, nothing stands out.
const FLOOR: Duration = Duration::from_millis(20);
const CEILING: Duration = Duration::from_secs(1);

/// Of so few requests the slowest in a thousand is not known.
const FEW: u64 = 1000;

/// Over which time requests are compared, and how often.
const LATELY: Duration = Duration::from_secs(150);
const ANEW: Duration = Duration::from_secs(5);

/// For how long each shard's thread has waited for a processor since it was started, in order.
pub type RunDelays = Box<dyn FnMut() -> Vec<Duration> + Send>;

/// What the recorder looks at.
pub(crate) struct RecorderParts {
    /// `aplomb.slow.request.ms`
    pub(crate) limit: Option<Duration>,
    pub(crate) loops: Vec<Arc<LoopFigures>>,
    /// By their index.
    pub(crate) directories: Vec<String>,
    pub(crate) disks: Vec<Arc<DiskStats>>,
    pub(crate) delays: RunDelays,
}

/// Slow requests, as far as they have been looked at.
pub(crate) struct Recorder {
    parts: RecorderParts,
    /// How far each loop's tape was read.
    read_to: Vec<u64>,
    /// Those that were overwritten before they were read.
    lost: u64,
    /// The newest last.
    kept: VecDeque<Slow>,
    counts: [u64; Cause::ALL.len()],
    timeline: Timeline,
    recent: Recent<Vec<Distribution>>,
    /// What is slow, by place in [`APIS`].
    limits: Vec<Duration>,
    limits_due: Instant,
}

/// A slow request, as it is shown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Slow {
    /// Which one of all that there were.
    number: u64,
    /// When it was answered, in milliseconds since 1970.
    at: i64,
    api: &'static str,
    version: i16,
    client: String,
    peer: String,
    connection: u64,
    shard: u16,
    bytes: usize,
    /// What most of its time went to, and how much of it.
    cause: &'static str,
    cause_ms: f64,
    /// The directory of the disk that it waited for, and how long that disk's oldest command had
    /// waited at most meanwhile, if the disk was looked at then.
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk_age_ms: Option<f64>,
    total_ms: f64,
    stages_ms: Stages,
    /// How long its client had asked it to wait.
    idle_ms: f64,
    /// For how long its client is muted.
    throttle_ms: f64,
    /// The turn of its shard that took it up: how long, and with how many requests.
    turn_ms: f64,
    turn_requests: u32,
    /// For how long a shard's thread waited for a processor about that time.
    processor_ms: f64,
}

#[derive(Clone, Debug, Serialize)]
struct Stages {
    request_queue: f64,
    local: f64,
    remote: f64,
    response_queue: f64,
    response_send: f64,
}

/// What `/slow` says.
#[derive(Debug, Serialize)]
struct Report<'a> {
    /// `aplomb.slow.request.ms`
    limit_ms: Option<f64>,
    /// Without it: what is slow, by API, where that is not `floor_ms`.
    floor_ms: f64,
    limits_ms: BTreeMap<&'static str, f64>,
    counts: BTreeMap<&'static str, u64>,
    missed: u64,
    /// The newest first.
    requests: Vec<&'a Slow>,
}

impl Recorder {
    /// Begins to record.
    pub(crate) fn new(parts: RecorderParts, now: Instant) -> Self {
        let limit = parts.limit.unwrap_or(FLOOR);
        for figures in &parts.loops {
            APIS.iter().for_each(|served| figures.exchanges().set_limit(served.key().key(), limit));
        }
        Self {
            read_to: vec![0; parts.loops.len()],
            lost: 0,
            kept: VecDeque::new(),
            counts: [0; Cause::ALL.len()],
            timeline: Timeline::default(),
            recent: Recent::new(LATELY, now, vec![Distribution::default(); APIS.len()]),
            limits: vec![limit; APIS.len()],
            limits_due: now + ANEW,
            parts,
        }
    }

    /// Looks at the machine and at what the loops have left.
    pub(crate) fn look(&mut self, now: Instant) {
        if self.timeline.is_due(now) {
            let age = |disk: &Arc<DiskStats>| disk.oldest().map_or(Duration::ZERO, |at| now.since(at));
            let ages = self.parts.disks.iter().map(age).collect();
            self.timeline.push(now, (self.parts.delays)(), ages);
        }
        let mut found = Vec::new();
        for (figures, read_to) in self.parts.loops.iter().zip(&mut self.read_to) {
            let (next, lost) = figures.exchanges().tape().read(*read_to, |request| found.push(request));
            (*read_to, self.lost) = (next, self.lost + lost);
        }
        found.sort_by_key(|request| request.sent);
        for request in found {
            let (cause, slow) = self.explain(&request);
            self.counts[cause as usize] += 1;
            if self.kept.len() == MOST {
                self.kept.pop_front();
            }
            self.kept.push_back(slow);
        }
        if self.parts.limit.is_none() && self.limits_due <= now {
            self.limits_due = now + ANEW;
            self.set_limits(now);
        }
    }

    /// The slow requests as JSON, and what is slow.
    pub(crate) fn report(&self) -> String {
        let limits = APIS.iter().zip(&self.limits).filter(|(_, limit)| **limit != FLOOR);
        let limits = limits.map(|(served, limit)| (served.key().name(), millis(*limit)));
        let (counts, missed) = self.counts();
        let report = Report {
            limit_ms: self.parts.limit.map(millis),
            floor_ms: millis(FLOOR),
            limits_ms: if self.parts.limit.is_none() { limits.collect() } else { BTreeMap::new() },
            counts,
            missed,
            requests: self.last().collect(),
        };
        serde_json::to_string(&report).expect("it has no keys but texts")
    }

    /// The last ones, the newest first.
    pub(crate) fn last(&self) -> impl Iterator<Item = &Slow> {
        self.kept.iter().rev()
    }

    /// How many there were.
    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many there were by their causes, and those that were not looked at.
    pub(crate) fn counts(&self) -> (BTreeMap<&'static str, u64>, u64) {
        let counts = Cause::ALL.iter().map(|cause| (cause.name(), self.counts[*cause as usize]));
        (counts.collect(), self.missed())
    }

    /// What is slow, in words.
    pub(crate) fn limit(&self) -> String {
        match self.parts.limit {
            Some(limit) => format!("what takes {} ms or more", limit.as_millis()),
            None => format!(
                "what takes longer than 999 of 1000 of its kind lately, and {} ms or more",
                FLOOR.as_millis()
            ),
        }
    }

    /// The most that the oldest command of a disk had waited between two times.
    pub(crate) fn age(&self, disk: usize, from: Instant, to: Instant) -> Duration {
        self.timeline.age(disk, from, to)
    }

    pub(crate) fn put_on(&self, page: &mut Page) {
        let help = "Requests that took long, by what most of their time went to.";
        let mut samples = page.samples("aplomb_slow_requests_total", Kind::Counter, help);
        for cause in Cause::ALL {
            samples.put(&Labels::new(&[("cause", cause.name())]), self.counts[cause as usize]);
        }
        page.counter(
            "aplomb_slow_requests_missed_total",
            "Slow requests that were overwritten before they were looked at.",
            &[],
            self.missed(),
        );
    }

    fn missed(&self) -> u64 {
        self.lost + self.parts.loops.iter().map(|of| of.exchanges().tape().missed()).sum::<u64>()
    }

    fn explain(&self, request: &SlowRequest) -> (Cause, Slow) {
        let SlowRequest { exchange, sent, caller } = request;
        let (finding, arrived) = (find(request), exchange.arrived);
        let shard = caller.connection.shard;
        // Where other shards had to answer, any of them may have been late.
        let shards: Vec<usize> = match finding.cause {
            Cause::Shard => (0..self.parts.loops.len()).collect(),
            _ => vec![usize::from(shard.0)],
        };
        let delays = shards.into_iter().map(|shard| self.timeline.delay(shard, arrived, *sent));
        let delay = delays.max().unwrap_or(Duration::ZERO);
        let is_late = finding.cause.may_be_processor() && 2 * delay >= finding.time;
        let cause = if is_late { Cause::Processor } else { finding.cause };
        let disk = finding.disk.map(|disk| usize::from(disk.0));
        let ms = |stage| millis(exchange.took(stage, *sent));
        let now = clock::now();
        let ago = i64::try_from(now.instant.since(*sent).as_millis()).unwrap_or(0);
        let name = APIS.iter().find(|served| served.key().key() == exchange.api_key);
        let slow = Slow {
            number: self.total() + 1,
            at: now.wall.0 - ago,
            api: name.map_or("", |served| served.key().name()),
            version: exchange.version,
            client: String::from_utf8_lossy(caller.name.as_bytes()).into_owned(),
            peer: caller.peer.to_string(),
            connection: caller.connection.number,
            shard: shard.0,
            bytes: exchange.bytes,
            cause: cause.name(),
            cause_ms: millis(finding.time),
            directory: disk.and_then(|disk| self.parts.directories.get(disk).cloned()),
            disk_age_ms: disk
                .map(|disk| millis(self.timeline.age(disk, arrived, *sent)))
                .filter(|age| *age > 0.0),
            total_ms: ms(Stage::Total),
            stages_ms: Stages {
                request_queue: ms(Stage::RequestQueue),
                local: ms(Stage::Local),
                remote: ms(Stage::Remote),
                response_queue: ms(Stage::ResponseQueue),
                response_send: ms(Stage::ResponseSend),
            },
            idle_ms: millis(exchange.waited.idle),
            throttle_ms: millis(exchange.throttle),
            turn_ms: millis(exchange.turn.took),
            turn_requests: exchange.turn.requests,
            processor_ms: millis(delay),
        };
        (cause, slow)
    }

    /// Says to the loops what is slow, by how long requests took lately.
    fn set_limits(&mut self, now: Instant) {
        let sum = |key| {
            let mut times = Distribution::default();
            self.parts.loops.iter().for_each(|figures| figures.exchanges().add_own_times(key, &mut times));
            times
        };
        let current: Vec<Distribution> = APIS.iter().map(|served| sum(served.key().key())).collect();
        let (_, before) = self.recent.before(now, &current);
        for (n, served) in APIS.iter().enumerate() {
            let limit = limit(&current[n].since(&before[n]));
            if std::mem::replace(&mut self.limits[n], limit) != limit {
                let key = served.key().key();
                self.parts.loops.iter().for_each(|figures| figures.exchanges().set_limit(key, limit));
            }
        }
    }
}

/// From when on a request is slow where others took so long, in microseconds.
fn limit(lately: &Distribution) -> Duration {
    if lately.count() < FEW {
        return FLOOR;
    }
    Duration::from_micros(lately.quantile(0.999)).clamp(FLOOR, CEILING)
}

/// Milliseconds, to the microsecond.
fn millis(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::Mutex;

    use aplomb_broker::ports::{ConnectionId, ShardId, Waited, WaitedFor};
    use aplomb_disk_api::{DiskIndex, Lane};

    use super::*;
    use crate::figures::{Caller, ClientName, Exchange, Turn};

    /// A shard and a disk, looked at by a recorder.
    struct Scene {
        figures: Arc<LoopFigures>,
        disk: Arc<DiskStats>,
        delay: Arc<Mutex<Duration>>,
        recorder: Recorder,
    }

    fn at(millis: u64) -> Instant {
        Instant::START + ms(millis)
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    impl Scene {
        fn new(limit: Option<Duration>) -> Self {
            let figures = Arc::new(LoopFigures::new(std::iter::empty()));
            let (disk, delay) = (Arc::new(DiskStats::default()), Arc::new(Mutex::new(Duration::ZERO)));
            let told = Arc::clone(&delay);
            let parts = RecorderParts {
                limit,
                loops: vec![Arc::clone(&figures)],
                directories: vec!["/data".to_owned()],
                disks: vec![Arc::clone(&disk)],
                delays: Box::new(move || vec![*told.lock().expect("no thread panics")]),
            };
            Self { figures, disk, delay, recorder: Recorder::new(parts, at(0)) }
        }

        /// A produce request that was taken up by `begun` and sent by `sent`.
        fn produced(&self, [arrived, begun, sent]: [u64; 3], waited: Waited) {
            let frame = [0, 0, 0, 12, 0, 0, 0, 1, 0, 2, b'm', b'e'];
            let mut exchange = Exchange::new(&frame, at(arrived), at(begun));
            (exchange.settled, exchange.answered) = (Some(at(begun)), Some(at(sent)));
            (exchange.due, exchange.sending) = (Some(at(sent)), Some(at(sent)));
            exchange.turn = Turn { requests: 3, took: ms(1) };
            exchange.waited = waited;
            let mut name = ClientName::NONE;
            name.learn(&frame);
            let connection = ConnectionId { shard: ShardId(0), number: 7 };
            let caller = Caller { connection, peer: Ipv4Addr::LOCALHOST.into(), name };
            self.figures.exchanges().on_sent(&exchange, at(sent), &caller);
        }

        fn report(&mut self, now: u64) -> serde_json::Value {
            self.recorder.look(at(now));
            serde_json::from_str(&self.recorder.report()).expect("it is JSON")
        }
    }

    #[test]
    fn a_slow_request_is_told_with_its_cause_and_the_disks_age() {
        let mut scene = Scene::new(Some(ms(50)));
        scene.disk.lane(Lane::ALL[0]).set_oldest(Some(at(1000)));
        scene.recorder.look(at(1200));
        scene.recorder.look(at(1400));
        scene.disk.lane(Lane::ALL[0]).set_oldest(None);
        let waited = Waited { longest: Some((WaitedFor::Disk(DiskIndex(0)), ms(440))), idle: ms(0) };
        scene.produced([1010, 1011, 1460], waited);
        scene.produced([1470, 1471, 1475], Waited::default());

        let report = scene.report(1500);
        assert_eq!((report["limit_ms"].as_f64(), report["missed"].as_u64()), (Some(50.0), Some(0)));
        assert_eq!(report["requests"].as_array().map(Vec::len), Some(1), "the other one is fast");
        let slow = &report["requests"][0];
        assert_eq!((slow["api"].as_str(), slow["client"].as_str()), (Some("Produce"), Some("me")));
        assert_eq!((slow["cause"].as_str(), slow["directory"].as_str()), (Some("disk"), Some("/data")));
        assert_eq!((slow["disk_age_ms"].as_f64(), slow["cause_ms"].as_f64()), (Some(400.0), Some(440.0)));
        assert_eq!((slow["total_ms"].as_f64(), slow["turn_requests"].as_u64()), (Some(450.0), Some(3)));
        assert_eq!(slow["stages_ms"]["remote"].as_f64(), Some(449.0));
        assert_eq!(
            (report["counts"]["disk"].as_u64(), report["counts"]["queue"].as_u64()),
            (Some(1), Some(0))
        );

        let mut page = Page::default();
        scene.recorder.put_on(&mut page);
        assert!(page.finish().contains("aplomb_slow_requests_total{cause=\"disk\"} 1\n"));
    }

    #[test]
    fn a_queue_of_a_thread_without_a_processor_is_that() {
        let mut scene = Scene::new(Some(ms(50)));
        scene.recorder.look(at(0));
        scene.produced([100, 200, 201], Waited::default());
        let report = scene.report(250);
        assert_eq!(report["requests"][0]["cause"].as_str(), Some("queue"));
        scene.produced([300, 400, 401], Waited::default());
        *scene.delay.lock().expect("no thread panics") = ms(60);
        let report = scene.report(500);
        assert_eq!(report["requests"][0]["cause"].as_str(), Some("processor"));
        assert_eq!(report["requests"][0]["processor_ms"].as_f64(), Some(60.0));
        // A wait that the shards have said is what it is.
        let waited = Waited { longest: Some((WaitedFor::Controller, ms(99))), idle: ms(0) };
        scene.produced([550, 551, 650], waited);
        *scene.delay.lock().expect("no thread panics") = ms(160);
        assert_eq!(scene.report(750)["requests"][0]["cause"].as_str(), Some("controller"));
    }

    #[test]
    fn without_a_setting_what_is_slow_is_slower_than_the_rest_within_bounds() {
        let mut scene = Scene::new(None);
        scene.produced([0, 0, 19], Waited::default());
        scene.produced([0, 0, 20], Waited::default());
        assert_eq!(scene.report(100)["requests"].as_array().map(Vec::len), Some(1));
        (0..2000).for_each(|_| scene.produced([0, 0, 100], Waited::default()));
        let report = scene.report(6000);
        let limit = report["limits_ms"]["Produce"].as_f64().expect("it has one of its own");
        assert!((94.0..=106.0).contains(&limit), "{limit}");
        assert_eq!(report["requests"].as_array().map(Vec::len), Some(257), "no more than the tape has");
        assert_eq!(report["missed"].as_u64(), Some(2000 - 256));
        (0..9000).for_each(|_| scene.produced([0, 0, 60_000], Waited::default()));
        assert_eq!(scene.report(12_000)["limits_ms"]["Produce"].as_f64(), Some(1000.0), "at most");

        assert_eq!(limit_of(999, ms(500)), FLOOR);
        assert_eq!(limit_of(1001, ms(1)), FLOOR);
    }

    fn limit_of(count: usize, took: Duration) -> Duration {
        let histogram = crate::figures::Histogram::default();
        (0..count).for_each(|_| histogram.record(took.as_micros() as u64));
        let mut times = Distribution::default();
        histogram.add_to(&mut times);
        limit(&times)
    }

    #[test]
    fn the_last_ones_are_kept_and_no_more() {
        let mut scene = Scene::new(Some(ms(1)));
        for turn in 0..5_u64 {
            (0..200).for_each(|n| scene.produced([0, 0, 10 + turn * 1000 + n], Waited::default()));
            scene.recorder.look(at(turn * 1000 + 500));
        }
        let report = scene.report(9000);
        let requests = report["requests"].as_array().expect("a list");
        assert_eq!((requests.len(), requests[0]["total_ms"].as_f64()), (MOST, Some(4209.0)));
        assert_eq!((report["counts"]["shard"].as_u64(), report["missed"].as_u64()), (Some(1000), Some(0)));
    }
}
