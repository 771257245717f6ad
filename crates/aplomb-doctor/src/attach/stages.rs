//! How long Apache Kafka's requests spent in each of their stages. It tells that by JMX to Java
//! programs only: one of these is started beside it, and asked.
//!
//! The broker needs no flag and no port for that: who runs as the same user may attach to a JVM.
//! What always holds: the program has done all that takes time when [`RequestStages::open`]
//! returns, waits without doing anything between two questions, and ends when its input does.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{MemfdFlags, memfd_create};

use super::java_of;
use crate::recording::StageSample;

/// The program, as `java` runs it: from its source.
const PROGRAM: &str = include_str!("RequestStages.java");
/// The Java that it is written in; Apache Kafka 4 runs on this one and later ones.
const RELEASE: &str = "17";
/// A small JVM that does nothing by itself.
const FLAGS: [&str; 4] = ["-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"];
/// How long the program has for its first answer, compiling included.
const START: Duration = Duration::from_secs(30);
/// Between two questions.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long an answer is waited for before the next question; a JVM may stand.
const PATIENCE: Duration = Duration::from_secs(5);
/// An end is looked for this often.
const LOOK_FOR_END: Duration = Duration::from_millis(50);
/// Rows that are kept: two requests with seven stages for an hour.
const MOST_ROWS: usize = 2 * 7 * 3600;
/// What metrics begin with, and the names of stages: as metrics have them and as Kafka does.
const METRIC: &str = "kafka_network_requestmetrics_";
const STAGES: [(&str, &str); 7] = [
    ("requestqueuetimems", "RequestQueueTimeMs"),
    ("localtimems", "LocalTimeMs"),
    ("remotetimems", "RemoteTimeMs"),
    ("throttletimems", "ThrottleTimeMs"),
    ("responsequeuetimems", "ResponseQueueTimeMs"),
    ("responsesendtimems", "ResponseSendTimeMs"),
    ("totaltimems", "TotalTimeMs"),
];

/// The program beside a broker's JVM.
#[derive(Debug)]
pub struct RequestStages {
    program: Child,
    /// Who waits for the next answer, in the order of the questions.
    waiting: Sender<Sender<String>>,
}

impl RequestStages {
    /// Starts it beside the process `pid`, with its `java`. `prepare` is told of the command before
    /// that.
    ///
    /// # Errors
    /// When it does not get to its first answer: a Java without a compiler or too old a one, a JVM
    /// that lets no process attach or is gone.
    pub fn open(java: &Path, pid: u32, prepare: impl FnOnce(&mut Command)) -> io::Result<Self> {
        // In memory: there is no directory that would be left behind. The descriptor is needed
        // until the first answer only.
        let mut source = File::from(memfd_create("RequestStages.java", MemfdFlags::CLOEXEC)?);
        source.write_all(PROGRAM.as_bytes())?;
        let file = format!("/proc/{}/fd/{}", std::process::id(), source.as_raw_fd());
        let mut command = Command::new(java);
        command.args(FLAGS).args(["--source", RELEASE, &file, &pid.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        prepare(&mut command);
        let mut program = command.spawn()?;
        let answers = program.stdout.take().map(BufReader::new).ok_or(io::ErrorKind::BrokenPipe)?;
        let (waiting, questions) = channel();
        thread::Builder::new().name("doctor-jmx".to_owned()).spawn(move || pass_on(answers, &questions))?;
        let opened = Self { program, waiting };
        let first = opened.next_answer();
        match first.recv_timeout(START) {
            Ok(_) => Ok(opened),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Asks. The answer is a page in Prometheus' text format; what it comes by is closed if there
    /// will be none.
    pub fn ask(&mut self) -> Receiver<String> {
        let answer = self.next_answer();
        // A program that has ended answers nothing, and its reader closes what waits for it.
        let _ = self.program.stdin.as_mut().map(|questions| questions.write_all(b"\n"));
        answer
    }

    fn next_answer(&self) -> Receiver<String> {
        let (sender, answer) = channel();
        let _ = self.waiting.send(sender);
        answer
    }
}

impl Drop for RequestStages {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Gives each page to who waits for it, until the program has no more to say.
fn pass_on(answers: BufReader<ChildStdout>, waiting: &Receiver<Sender<String>>) {
    let mut page = String::new();
    for line in answers.lines().map_while(Result::ok) {
        if !line.is_empty() {
            page.push_str(&line);
            page.push('\n');
            continue;
        }
        let Ok(who) = waiting.recv() else { return };
        // Who has lost patience does not want it any more.
        let _ = who.send(std::mem::take(&mut page));
    }
}

/// Asks every second, on a thread of its own.
#[derive(Debug)]
pub(super) struct Asking {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<StageSample>>,
}

impl Asking {
    /// Begins to ask the broker of process `pid`.
    ///
    /// # Errors
    /// Why not, for people.
    pub(super) fn begin(pid: u32) -> Result<Self, String> {
        let java = java_of(pid)?;
        let mut stages = RequestStages::open(&java, pid, |_| ()).map_err(|error| {
            format!("no program of Java {RELEASE} or later could be run beside it: {error}")
        })?;
        if stages.ask().recv_timeout(PATIENCE).unwrap_or_default().is_empty() {
            return Err("it has no beans of Apache Kafka's requests".to_owned());
        }
        let stop = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&stop);
        let thread = thread::Builder::new().name("doctor-stages".to_owned());
        let thread = thread.spawn(move || ask_until(stages, &theirs)).map_err(|error| error.to_string())?;
        Ok(Self { stop, thread })
    }

    /// Ends it. Returns the rows; their times are in milliseconds since 1970.
    pub(super) fn finish(self) -> Vec<StageSample> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

fn ask_until(mut stages: RequestStages, stop: &AtomicBool) -> Vec<StageSample> {
    let (mut all, mut before) = (Vec::new(), String::new());
    let goes_on = || !stop.load(Ordering::Relaxed);
    while goes_on() {
        let (asked, at) = (Instant::now(), SystemTime::now());
        let answer = stages.ask();
        let page = loop {
            match answer.recv_timeout(LOOK_FOR_END) {
                Ok(page) => break page,
                Err(RecvTimeoutError::Timeout) if goes_on() && asked.elapsed() < PATIENCE => {}
                Err(RecvTimeoutError::Timeout) => break String::new(),
                Err(RecvTimeoutError::Disconnected) => return all,
            }
        };
        if !page.is_empty() {
            let at_ms = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1e3;
            let room = MOST_ROWS.saturating_sub(all.len());
            all.extend(rows(&before, &page, at_ms.round()).into_iter().take(room));
            before = page;
        }
        while goes_on() && asked.elapsed() < INTERVAL {
            thread::sleep(LOOK_FOR_END);
        }
    }
    all
}

/// What came between two pages, a row for each stage that requests went through.
#[must_use]
pub fn rows(before: &str, page: &str, at_ms: f64) -> Vec<StageSample> {
    let (before, now) = (sums(before), sums(page));
    let mut rows: Vec<StageSample> = now
        .iter()
        .filter_map(|(key, (count, sum))| {
            let (count_before, sum_before) = before.get(key)?;
            let (stage, request) = key;
            let (count, total_ms) = (count - count_before, sum - sum_before);
            let row = || StageSample {
                at_ms,
                request: (*request).to_owned(),
                stage: (*stage).to_owned(),
                count: count as u64,
                // To the microsecond: sums of decimals are not decimals.
                total_ms: (total_ms.max(0.0) * 1e3).round() / 1e3,
            };
            (count >= 1.0 && total_ms.is_finite()).then(row)
        })
        .collect();
    rows.sort_by(|a, b| a.request.cmp(&b.request).then_with(|| a.stage.cmp(&b.stage)));
    rows
}

/// Requests since the start and what they took together, by stage and kind of request.
fn sums(page: &str) -> HashMap<(&'static str, &str), (f64, f64)> {
    let mut sums: HashMap<(&'static str, &str), (f64, f64)> = HashMap::new();
    for line in page.lines() {
        let Some((metric, rest)) = line.strip_prefix(METRIC).and_then(|rest| rest.split_once("{request=\""))
        else {
            continue;
        };
        let Some((request, value)) = rest.split_once("\"} ") else { continue };
        let Ok(value) = value.parse::<f64>() else { continue };
        let Some((metric, kind)) = metric.rsplit_once('_') else { continue };
        let Some(&(_, stage)) = STAGES.iter().find(|(name, _)| *name == metric) else { continue };
        let both = sums.entry((stage, request)).or_insert((f64::NAN, f64::NAN));
        match kind {
            "count" => both.0 = value,
            "sum" => both.1 = value,
            _ => {}
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_way_to_what_is_no_jvm() {
        let open = |java| RequestStages::open(Path::new(java), 1, |_| ());
        assert!(open("/nowhere/java").is_err());
        // One that ends without an answer is not waited for.
        assert!(open("/bin/false").is_err());
    }

    #[test]
    fn a_row_is_what_came_between_two_pages() {
        let page = |count: u32, sum: f64| {
            format!(
                "{METRIC}localtimems{{request=\"Produce\",quantile=\"0.99\"}} 3.0\n\
                 {METRIC}localtimems_count{{request=\"Produce\"}} {count}.0\n\
                 {METRIC}localtimems_sum{{request=\"Produce\"}} {sum}\n\
                 {METRIC}totaltimems_count{{request=\"FetchConsumer\"}} 7.0\n\
                 {METRIC}totaltimems_sum{{request=\"FetchConsumer\"}} NaN\nnoise\n"
            )
        };
        let found = rows(&page(10, 5.5), &page(14, 405.5), 1_000.0);
        let row = StageSample {
            at_ms: 1_000.0,
            request: "Produce".to_owned(),
            stage: "LocalTimeMs".to_owned(),
            count: 4,
            total_ms: 400.0,
        };
        assert_eq!(found, [row]);
        assert_eq!(rows("", &page(1, 1.0), 0.0), [], "the first page has nothing before it");
        assert_eq!(rows(&page(9, 9.0), &page(2, 1.0), 0.0), [], "a broker that began anew");
    }
}
