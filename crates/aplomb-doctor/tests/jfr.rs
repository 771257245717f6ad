//! Recordings that JVMs on this machine make, read by us and by their own `jfr`.
//!
//! A JVM is looked for by its version: `JAVA_HOME`, `java` on the path, and where Linux installs
//! them. A test whose JVM is not there says so and passes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use aplomb_doctor::jfr::{JfrEvidence, JfrFile, JfrFlaw, JfrOptions};
use aplomb_doctor::recording::{Role, Sighting, Wait, WaitClass};
use serde_json::Value;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/jfr/Stalls.java");
const ASYNC_PROFILER: &str = "tools.profiler:async-profiler";
/// Its versions and how they are told to record. Up to 3, and with `nobatch`, each sample is an
/// event of its own; up to 4.0 nothing of the JVM is in a stack; up to 4.2 a batch has no length.
const RECORDERS: [(&str, &str); 6] =
    [("3.0", ""), ("4.0", ""), ("4.0", "nobatch,"), ("4.5", ""), ("4.5", "nobatch,"), ("4.6", "")];
const OPTIONS: JfrOptions = JfrOptions { shortest_ms: 0.0, role_of: |_| Role::Other };
/// The program writes five times.
const ROUNDS: usize = 5;
/// Recordings of async-profiler that are made at most, until one has all rounds.
const RECORDINGS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_recording_of_jdk_17_is_what_its_jfr_says() {
    reads_as_its_own_tool(17);
}

#[test]
fn a_recording_of_jdk_25_is_what_its_jfr_says() {
    reads_as_its_own_tool(25);
}

#[test]
fn a_wall_clock_recording_of_async_profiler_is_what_jfr_says() {
    for (version, options) in RECORDERS {
        // The oldest do not know the newest JVM, and end it.
        let java = if version == "4.6" { jdk(25).or_else(|| jdk(17)) } else { jdk(17) };
        let Some(java) = java else { continue };
        // On a busy machine the profiler is late, and may miss a sleep: then it is asked again.
        let has_looked = |_| reads_samples(&java, version, options);
        assert!((0..RECORDINGS).any(has_looked), "async-profiler {version} {options} has missed sleeps");
    }
}

/// Makes a recording and reads it. Whether all sleeps are in it for about as long as they were; or
/// the profiler is not to be had, which is said.
fn reads_samples(java: &Path, version: &str, options: &str) -> bool {
    let what = format!("async-profiler {version} {options}");
    let folder = tempfile::tempdir().expect("a folder");
    let Some(library) = async_profiler(java, version, folder.path()) else { return true };
    let file = folder.path().join("wall.jfr");
    let begin = format!("start,event=wall,interval=10ms,{options}file={}", file.display());
    let agent = format!("-agentpath:{}={begin}", library.display());
    let program = Program::start(java, &[agent], folder.path());
    let live = fs::read(&file).expect("the recording has begun");
    program.end();

    let counted = counts(&file);
    assert_eq!(counted, counts_of_tool(java, &file), "{what}");
    let is_batched = counted.contains_key("profiler.WallClockSample");
    assert_eq!(is_batched, version != "3.0" && options.is_empty(), "{what}: {counted:?}");
    let evidence = JfrEvidence::read(&file, &OPTIONS).expect("the file is there");
    assert_eq!(evidence.faults, [], "{what}");
    let recording = evidence.recording;
    assert_eq!(recording.sight.sources, ["async-profiler"], "{what}");
    assert_eq!(recording.sight.look_interval_ms, Some(10.0), "{what}: as it was asked for");
    let name = |wait: &&Wait| recording.thread(wait.tid).is_some_and(|thread| thread.name == "lock-waiter");
    let waits: Vec<&Wait> = recording.waits.iter().filter(name).collect();
    assert!(waits.iter().all(|wait| wait.class == WaitClass::Lock), "{what}: {waits:?}");
    // Each round's waiter waits for some 200 ms, and is another thread. A sleep may be in pieces.
    let mut slept: BTreeMap<u32, f64> = BTreeMap::new();
    for wait in &waits {
        *slept.entry(wait.tid).or_default() += wait.to_ms - wait.from_ms;
    }
    assert_eq!(slept.len(), sampled_by_tool(java, &file, "lock-waiter"), "{what}: {waits:?}");
    let is_long = |ms: f64| ms > 100.0;
    let long = slept.values().filter(|ms| is_long(**ms)).count();
    let whole = waits.iter().filter(|wait| is_long(wait.to_ms - wait.from_ms)).count();
    let are_whole = version != "4.6" || whole >= ROUNDS - 1;
    let has_looked = slept.len() == ROUNDS && long >= ROUNDS - 1 && are_whole;
    if !has_looked {
        eprintln!("{what} has missed sleeps: {waits:?}");
    }
    let is_below = |wait: &&Wait| wait.frames.iter().any(|frame| frame == "Stalls.enter");
    assert!(waits.iter().all(is_below), "{what}: {waits:?}");

    // A copy from before the end has neither size nor constants.
    let live = JfrEvidence::of_bytes(&live, &OPTIONS);
    let flaws: Vec<JfrFlaw> = live.faults.into_iter().map(|fault| fault.flaw).collect();
    let [JfrFlaw::Unfinished { said, .. }, JfrFlaw::NoConstants] = flaws[..] else {
        panic!("{what}: {flaws:?}")
    };
    assert_eq!(said, 1 << 30, "{what}");
    has_looked
}

/// Makes a recording, reads a copy of it while the program runs, and compares the
/// whole with what the JDK's own tool reads.
fn reads_as_its_own_tool(version: u32) {
    let Some(java) = jdk(version) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("whole.jfr");
    let repository = folder.path().join("repository");
    fs::create_dir(&repository).expect("a folder");
    let recording = format!("-XX:StartFlightRecording:filename={},settings=profile", file.display());
    let flags = [
        format!("{recording},jdk.FileForce#threshold=0ns,jdk.FileWrite#threshold=10ms"),
        format!("-XX:FlightRecorderOptions:repository={}", repository.display()),
    ];
    let program = Program::start(&java, &flags, folder.path());
    let pipe = folder.path().join("slow.pipe").display().to_string();
    read_while_it_is_written(&repository, &pipe);
    program.end();

    assert_eq!(counts(&file), counts_of_tool(&java, &file));
    let types = ["jdk.FileWrite", "jdk.FileForce", "jdk.JavaMonitorEnter", "jdk.GarbageCollection"];
    let told = events_of_tool(&java, &file, &types);
    let times = times(&file, &types);
    assert_eq!(times.len(), told.len());
    for event in &told {
        // Milliseconds since 1970 are exact to a quarter of a microsecond.
        let same = |(kind, start, length): &&(String, i64, i64)| {
            *kind == event.kind && start.abs_diff(event.start_us) < 2 && length.abs_diff(event.length_us) < 2
        };
        assert_eq!(times.iter().filter(same).count(), 1, "{event:?}");
    }

    let evidence = JfrEvidence::read(&file, &OPTIONS).expect("the file is there");
    assert_eq!(evidence.faults, []);
    let recording = evidence.recording;
    let began = recording.clock.began_unix_ms;
    let wait_of = |event: &ToldEvent| {
        let same = |wait: &&Wait| {
            wait.tid == event.tid && ((began + wait.from_ms) * 1e3 - event.start_us as f64).abs() < 2.0
        };
        recording.waits.iter().find(same).unwrap_or_else(|| panic!("no wait for {event:?}"))
    };
    let of = |kind: &str| told.iter().filter(move |event| event.kind == kind).collect::<Vec<_>>();
    let writes: Vec<&ToldEvent> =
        of("jdk.FileWrite").into_iter().filter(|event| event.path.as_deref() == Some(&pipe)).collect();
    assert_eq!(writes.len(), ROUNDS, "a write a round");
    for event in of("jdk.FileWrite").into_iter().chain(of("jdk.FileForce")) {
        let wait = wait_of(event);
        assert_eq!(wait.call.as_ref().and_then(|call| call.path.as_ref()), event.path.as_ref());
        let class = if event.kind == "jdk.FileForce" { WaitClass::Sync } else { WaitClass::Other };
        assert_eq!((wait.class, wait.sighting), (class, Sighting::Exact));
    }
    let monitors = of("jdk.JavaMonitorEnter");
    for event in &monitors {
        let wait = wait_of(event);
        assert_eq!((wait.holders.first().copied(), wait.holders_known), (event.owner, event.owner.is_some()));
        assert_eq!(
            recording.thread(wait.tid).map(|thread| thread.name.as_str()),
            Some(event.thread.as_str())
        );
    }
    let ours = monitors.iter().filter(|event| event.thread == "lock-waiter").map(|event| wait_of(event));
    let ours: Vec<&Wait> = ours.collect();
    assert_eq!(ours.len(), ROUNDS);
    for wait in ours {
        let owner = recording.thread(wait.holders[0]).expect("the owner's name");
        assert_eq!((owner.name.as_str(), wait.frames[0].as_str()), ("lock-holder", "Stalls.enter"));
        let write = recording
            .waits
            .iter()
            .find(|write| write.tid == owner.tid && write.from_ms < wait.to_ms && write.to_ms > wait.from_ms);
        assert!(write.is_some_and(|write| write.frames.iter().any(|frame| frame == "Stalls.append")));
    }
    assert!(
        of("jdk.FileForce")
            .iter()
            .any(|event| event.path.as_deref().is_some_and(|path| path.ends_with("forced.log")))
    );
    let collections = &recording.collections;
    assert!(collections.iter().any(|one| one.name.contains("(System.gc())") && one.heap_bytes.is_some()));
    assert!(recording.safepoints.iter().any(|one| one.reason.starts_with("G1") && one.total_ms > 0.0));
    assert_eq!(recording.sight.sources, ["JFR"]);
    assert!(recording.process.java.is_some_and(|java| java.contains(&format!("{version}."))));
}

/// The repository's chunk is copied until it has been flushed with all writes in it.
fn read_while_it_is_written(repository: &Path, pipe: &str) {
    let began = Instant::now();
    loop {
        let mut chunks: Vec<PathBuf> = files_below(repository);
        chunks.retain(|file| file.extension().is_some_and(|extension| extension == "jfr"));
        for chunk in chunks {
            let bytes = fs::read(&chunk).expect("the chunk that is being written");
            let evidence = JfrEvidence::of_bytes(&bytes, &OPTIONS);
            let is_live = evidence.faults.iter().any(|fault| fault.flaw == JfrFlaw::Live);
            let writes = evidence.recording.waits.iter().filter(|wait| {
                wait.call.as_ref().and_then(|call| call.path.as_deref()) == Some(pipe)
                    && !wait.frames.is_empty()
            });
            let writers = writes.filter(|wait| wait.class == WaitClass::Other);
            if is_live && writers.count() == ROUNDS {
                assert_eq!(evidence.faults.len(), 1, "{:?}", evidence.faults);
                return;
            }
        }
        assert!(began.elapsed() < PATIENCE, "a running recording can be read");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The program, which has done all that it does, and waits to be let go.
struct Program(Child);

impl Program {
    fn start(java: &Path, flags: &[String], folder: &Path) -> Self {
        let mut command = Command::new(java.join("bin/java"));
        command.args(["-Xmx128m", "-XX:+UseG1GC"]).args(flags).arg(PROGRAM).arg(folder);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the JVM can be started");
        let output = BufReader::new(child.stdout.take().expect("it was asked for"));
        let done = output.lines().map_while(Result::ok).any(|line| line == "done");
        let program = Self(child);
        assert!(done, "the program has done all that it does");
        program
    }

    fn end(mut self) {
        drop(self.0.stdin.take());
        let status = self.0.wait().expect("it ends");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It has ended, or a test has failed before.
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

/// How many events there are of each kind.
fn counts(file: &Path) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let mut file = JfrFile::open(file).expect("the file is there");
    while let Some(chunk) = file.next_chunk() {
        let chunk = chunk.expect("it can be read");
        assert_eq!(chunk.faults(), []);
        for event in chunk.events() {
            let name = event.expect("it can be read").fields.type_name();
            *counts.entry(name.to_owned()).or_default() += 1;
        }
    }
    counts
}

/// The same by `jfr summary`: a line a kind, with its name, count and bytes.
fn counts_of_tool(java: &Path, file: &Path) -> BTreeMap<String, u64> {
    let output = tool(java, &["summary"], file);
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, count) = (words.next()?, words.next()?.parse().ok()?);
        let is_event = name.contains('.')
            && !["metadata", "checkpoint"].iter().any(|own| name.to_lowercase().ends_with(own));
        (is_event && count > 0).then(|| (name.to_owned(), count))
    };
    let counts: BTreeMap<String, u64> = output.lines().filter_map(row).collect();
    assert!(!counts.is_empty(), "{output}");
    counts
}

/// How many threads of a name the JDK's own tool knows asleep in the program. One that was only
/// looked at before it slept has not waited.
fn sampled_by_tool(java: &Path, file: &Path, name: &str) -> usize {
    let types = "jdk.ExecutionSample,profiler.WallClockSample";
    let output = tool(java, &["print", "--stack-depth", "64", "--events", types], file);
    let begin = format!("sampledThread = \"{name}\"");
    let sleeping = output.split("\n}\n").filter(|event| {
        let mut lines = event.lines().map(str::trim);
        event.contains("STATE_SLEEPING") && lines.any(|line| line.starts_with("Stalls.enter()"))
    });
    let thread =
        |event: &str| event.lines().map(str::trim).find(|line| line.starts_with(&begin)).map(str::to_owned);
    sleeping.filter_map(thread).collect::<BTreeSet<_>>().len()
}

/// Kind, beginning and length of the events of these types, in microseconds.
fn times(file: &Path, types: &[&str]) -> Vec<(String, i64, i64)> {
    let mut times = Vec::new();
    let mut file = JfrFile::open(file).expect("the file is there");
    while let Some(chunk) = file.next_chunk() {
        let chunk = chunk.expect("it can be read");
        for event in chunk.events() {
            let fields = event.expect("it can be read").fields;
            if types.contains(&fields.type_name()) {
                let number = |name| fields.integer(name).expect("it can be read").expect("it has one");
                let start = chunk.header().unix_ms(number("startTime")) * 1e3;
                let length = chunk.header().ticks_ms(number("duration")) * 1e3;
                times.push((fields.type_name().to_owned(), start.floor() as i64, length.floor() as i64));
            }
        }
    }
    times
}

/// What the JDK's own tool says of an event.
#[derive(Debug)]
struct ToldEvent {
    kind: String,
    start_us: i64,
    length_us: i64,
    tid: u32,
    thread: String,
    path: Option<String>,
    owner: Option<u32>,
}

fn events_of_tool(java: &Path, file: &Path, types: &[&str]) -> Vec<ToldEvent> {
    let output = tool(java, &["print", "--json", "--events", &types.join(",")], file);
    let output: Value = serde_json::from_str(&output).expect("JSON");
    let tid = |thread: &Value| thread["osThreadId"].as_u64().and_then(|tid| u32::try_from(tid).ok());
    let told = |event: &Value| {
        let values = &event["values"];
        ToldEvent {
            kind: event["type"].as_str().expect("a type").to_owned(),
            start_us: micros_of_date(values["startTime"].as_str().expect("a time")),
            length_us: micros_of_duration(values["duration"].as_str().expect("a duration")),
            tid: tid(&values["eventThread"]).unwrap_or(0),
            thread: values["eventThread"]["javaName"].as_str().unwrap_or_default().to_owned(),
            path: values["path"].as_str().map(str::to_owned),
            owner: tid(&values["previousOwner"]),
        }
    };
    let events = output["recording"]["events"].as_array().expect("events");
    events.iter().map(told).collect()
}

/// Of `2026-11-26T07:22:57.855345100Z`, since 1970.
fn micros_of_date(text: &str) -> i64 {
    let (date, time) = text.trim_end_matches('Z').split_once('T').expect("a date and a time");
    let numbers = |text: &str, by: char| -> Vec<f64> {
        text.split(by).map(|number| number.parse().expect("a number")).collect()
    };
    let (date, time) = (numbers(date, '-'), numbers(time, ':'));
    let (year, month, day) = (date[0] as i64, date[1] as i64, date[2] as i64);
    // Years that begin with March have their odd day last.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    let minutes = days * 1440 + time[0] as i64 * 60 + time[1] as i64;
    minutes * 60_000_000 + (time[2] * 1e6 + 1e-4).floor() as i64
}

/// Of `PT1M0.180375496S`.
fn micros_of_duration(text: &str) -> i64 {
    let text = text.strip_prefix("PT").expect("a duration");
    let (minutes, seconds) = text.split_once('M').unwrap_or(("0", text));
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let seconds = seconds.strip_suffix('S').map_or(0.0, number);
    ((number(minutes) * 60.0 + seconds) * 1e6 + 1e-4).floor() as i64
}

fn tool(java: &Path, words: &[&str], file: &Path) -> String {
    let output = Command::new(java.join("bin/jfr")).env("TZ", "UTC").args(words).arg(file).output();
    let output = output.expect("the JDK has the tool");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The home of a JDK of that version; `None`, and a line that says so, where there is none.
fn jdk(version: u32) -> Option<PathBuf> {
    let by_variable = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let by_path = std::env::split_paths(&folders).filter_map(|folder| {
        Some(fs::canonicalize(folder.join("java")).ok()?.parent()?.parent()?.to_owned())
    });
    let installed = fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|entry| entry.path());
    let found = by_variable.into_iter().chain(by_path).chain(installed).find(|home| {
        let release = fs::read_to_string(home.join("release")).unwrap_or_default();
        let is_wanted = release.lines().any(|line| {
            line.strip_prefix("JAVA_VERSION=\"")
                .is_some_and(|rest| rest.split(['.', '"', '-', '+']).next() == Some(&version.to_string()))
        });
        is_wanted && home.join("bin/jfr").is_file() && home.join("bin/javac").is_file()
    });
    if found.is_none() {
        eprintln!("skipped: no JDK {version} on this machine");
    }
    found
}

/// async-profiler's library, from Maven Central; `None`, and a line that says so, where that cannot
/// be reached.
fn async_profiler(java: &Path, version: &str, folder: &Path) -> Option<PathBuf> {
    let artifact = format!("{ASYNC_PROFILER}:{version}");
    let output = Command::new("mvn")
        .args(["-q", "-B", "dependency:copy", "-Dmdep.useBaseVersion=true"])
        .arg(format!("-Dartifact={artifact}"))
        .arg(format!("-DoutputDirectory={}", folder.display()))
        .current_dir(folder)
        .output();
    let jar = files_below(folder).into_iter().find(|file| file.extension().is_some_and(|kind| kind == "jar"));
    let Some(jar) = jar else {
        eprintln!("skipped: {artifact} cannot be fetched: {output:?}");
        return None;
    };
    let unpacked = Command::new(java.join("bin/jar")).arg("xf").arg(jar).current_dir(folder).status();
    assert!(unpacked.expect("the JDK has the tool").success());
    let machine = if cfg!(target_arch = "aarch64") { "linux-arm64" } else { "linux-x64" };
    let library = folder.join(machine).join("libasyncProfiler.so");
    assert!(library.is_file(), "the jar has a library for this machine");
    Some(library)
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
