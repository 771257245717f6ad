//! What the readers say of a JVM is what that JVM says of itself: its beans, its counters, `/proc`.
//!
//! Runs the JDKs 17 and 25 of the machine, JREs 11 and 21 that a package of Python's carries, and a
//! JDK 8 of Debian's; one that is missing is skipped, and said so.

#[path = "jvm/probe.rs"]
mod probe;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use aplomb_doctor::jfr::{JfrEvidence, JfrOptions};
use aplomb_doctor::jvm::{
    FollowFrom, Follower, JavaState, JvmFlags, JvmLog, JvmLogReader, LogClock, PerfData, ThreadDump,
    read_lines, rotated, span,
};
use aplomb_doctor::recording::{Clock, Role};
use probe::{Bean, Probe, jdk, jdk_8, packaged, started};

/// The JVMs that are asked, or that one of them is missing.
fn jdks() -> impl Iterator<Item = (u32, PathBuf)> {
    [11, 17, 21, 25].into_iter().filter_map(|major| match jdk(major).or_else(|| packaged(major)) {
        Some(home) => Some((major, home)),
        None => {
            eprintln!("SKIPPED: there is no JVM {major} to be had on this machine");
            None
        }
    })
}

/// A recording's clock that began now.
fn clock_from_now() -> Clock {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    Clock {
        began_unix_ms: unix.as_secs_f64() * 1e3,
        began_monotonic_ms: Some(now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6),
        length_ms: 3_600_000.0,
        ..Clock::default()
    }
}

fn read(path: &Path, clock: &LogClock) -> JvmLog {
    let mut reader = JvmLogReader::new(clock.clone());
    let files = rotated(path).expect("a log");
    read_lines(&files, &mut |line| reader.line(line)).expect("read");
    reader.finish()
}

/// The counters of a process, in whichever user's directory they are.
fn perf_data(pid: u32) -> PerfData {
    let folders = std::fs::read_dir("/tmp").expect("a folder").flatten();
    let folders = folders.filter(|entry| entry.file_name().to_string_lossy().starts_with("hsperfdata_"));
    let mut files = folders.map(|entry| entry.path().join(pid.to_string()));
    PerfData::open(&files.find(|path| path.exists()).expect("its counters")).expect("counters")
}

/// How often and for how long, by beans of the young generation or of the old.
fn collected(beans: &[Bean], names: &[&str]) -> (u64, f64) {
    let of_it = beans.iter().filter(|bean| names.contains(&bean.name.as_str()));
    of_it.fold((0, 0.0), |(count, ms), bean| (count + bean.count, ms + bean.ms))
}

fn paused(log: &JvmLog, kind: &str) -> (u64, f64) {
    let of_it = log.collections.iter().filter(|one| one.name.starts_with(kind));
    of_it.fold((0, 0.0), |(count, ms), one| (count + 1, ms + one.pause_ms))
}

/// How many JVMs of a kind are looked at whose log and counters cannot agree exactly.
const ATTEMPTS: u32 = 4;

#[test]
fn pauses_and_safepoints_are_those_that_the_jvm_has_counted() {
    let (mut close, mut compared) = (0, 0);
    for (major, home) in jdks() {
        for collector in ["-XX:+UseG1GC", "-XX:+UseParallelGC", "-XX:+UseSerialGC"] {
            for attempt in 1.. {
                let folder = tempfile::tempdir().expect("a folder");
                let clock = clock_from_now();
                let option = "-Xlog:gc*,safepoint*:file=%p.log:time,uptime,timenanos,tags";
                let (mut probe, beans) = Probe::start(&home, &["-Xmx64m", collector, option], folder.path());
                let before = perf_data(probe.pid());
                let path = folder.path().join(format!("{}.log", probe.pid()));
                let log = read(&path, &LogClock::of(&clock));
                let what = format!("JDK {major} {collector}");
                assert_eq!((log.unplaced, log.left_out), (0, 0), "{what}");

                // Beans count each collection in whole milliseconds, and not the writing of its
                // lines: where the log stalls, a pause is longer by it alone. Neither is longer
                // than threads stood.
                let counted = before.safepoints().expect("counters of safepoints");
                let young = ["G1 Young Generation", "PS Scavenge", "Copy"];
                let old = ["G1 Old Generation", "PS MarkSweep", "MarkSweepCompact"];
                for (names, kind) in [(&young, "Pause Young"), (&old, "Pause Full")] {
                    let (bean, logged) = (collected(&beans, names), paused(&log, kind));
                    assert_eq!(logged.0, bean.0, "{what} {kind}: {beans:?}");
                    assert!(bean.0 > 0, "{what} {kind}");
                    assert!(
                        logged.1 > 0.0 && logged.1 <= counted.total_ms,
                        "{what} {kind}: {logged:?} {counted:?}"
                    );
                    let allowed = bean.0 as f64 * 1.5 + bean.1 * 0.05;
                    compared += 1;
                    close += u32::from((logged.1 - bean.1).abs() <= allowed);
                }
                for one in &log.collections {
                    assert!(
                        one.heap_bytes.is_some() && one.cpu_ms.is_some() && one.real_ms.is_some(),
                        "{one:?}"
                    );
                    assert!(one.at_ms > 0.0, "{one:?}");
                }

                // Its counters, one more collection later.
                let logged: f64 = log.safepoints.iter().map(|one| one.total_ms).sum();
                let reached: f64 = log.safepoints.iter().filter_map(|one| one.reaching_ms).sum();
                assert_eq!(log.safepoints.len() as u64, counted.count, "{what}: {:?}", log.safepoints);
                // To the nanosecond, but for the sum's rounding. Up to JDK 12 the log and the
                // counters read the clock one after the other: a thread that loses its processor
                // in between makes them differ, and another JVM is looked at.
                let apart = if major < 13 { 0.02 * counted.count as f64 } else { 1e-3 };
                let near = |a: f64, b: f64| (a - b).abs() <= apart;
                let was_near = near(logged, counted.total_ms) && near(reached, counted.reaching_ms);
                assert!(before.java_version().is_some_and(|it| it.starts_with(&major.to_string())), "{what}");
                assert!(before.java_command().is_some_and(|it| it.contains(started(&home))), "{what}");
                assert!(!before.collectors().is_empty(), "{what}");

                probe.collect();
                let now = perf_data(probe.pid());
                let later = read(&path, &LogClock::of(&clock));
                let fresh = &later.safepoints[log.safepoints.len()..];
                let row = now.safepoints_since(&before, 0.0).expect("a safepoint");
                assert_eq!(row.count, fresh.len() as u64, "{what}: {fresh:?}");
                let is_near = near(fresh.iter().map(|one| one.total_ms).sum(), row.total_ms);
                probe.end();
                if was_near && is_near {
                    break;
                }
                assert!(
                    major < 13 && attempt < ATTEMPTS,
                    "{what}: {logged} {reached} {counted:?}; {row:?} {fresh:?}"
                );
            }
        }
    }
    assert!(compared == 0 || close * 2 > compared, "{close} of {compared} are as the beans have them");
}

#[test]
fn each_clock_of_a_log_tells_the_same_time() {
    for (major, home) in jdks() {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = clock_from_now();
        let options = [
            "-Xlog:gc*,safepoint:file=monotonic.log:timenanos,tags",
            "-Xlog:gc*,safepoint:file=wall.log:time,level,tags",
            "-Xlog:gc*,safepoint:file=uptime.log",
            "-Xlog:gc*,safepoint:file=all.log:time,utctime,uptime,timemillis,uptimemillis,timenanos,uptimenanos,hostname,pid,tid,level,tags",
            "-Xlog:gc*,safepoint:file=millis.log:utctime,uptimemillis",
        ];
        let (probe, _) = Probe::start(&home, &[&["-XX:+UseG1GC"][..], &options].concat(), folder.path());
        let started = perf_data(probe.pid()).jvm_started_unix_ms().expect("its beginning");
        probe.end();
        let log = |name: &str, clock: &LogClock| read(&folder.path().join(name), clock);
        let exact = log("monotonic.log", &LogClock::of(&clock));
        assert!(exact.safepoints.len() > 1 && !exact.collections.is_empty(), "JDK {major}");
        let wall = LogClock::of(&Clock { began_monotonic_ms: None, ..clock.clone() });
        for (name, clock, allowed_ms) in [
            ("wall.log", &wall, 5.0),
            ("millis.log", &wall, 5.0),
            ("all.log", &wall, 5.0),
            ("all.log", &LogClock::of(&clock), 5.0),
            // The JVM counts from some time after it says that it began.
            ("uptime.log", &wall.clone().with_jvm_start(started), 100.0),
        ] {
            let other = log(name, clock);
            assert_eq!(other.safepoints.len(), exact.safepoints.len(), "JDK {major} {name}");
            assert_eq!(other.collections.len(), exact.collections.len(), "JDK {major} {name}");
            for (one, other) in exact.safepoints.iter().zip(&other.safepoints) {
                assert!((one.at_ms - other.at_ms).abs() < allowed_ms, "JDK {major} {name} {one:?} {other:?}");
                assert_eq!((&one.reason, one.total_ms), (&other.reason, other.total_ms));
            }
            for (one, other) in exact.collections.iter().zip(&other.collections) {
                assert!((one.at_ms - other.at_ms).abs() < allowed_ms, "JDK {major} {name} {one:?} {other:?}");
                assert_eq!((&one.name, one.phases_ms), (&other.name, other.phases_ms));
            }
        }
    }
}

#[test]
fn a_log_that_rotates_is_followed_and_read_whole() {
    for (major, home) in jdks() {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = LogClock::of(&clock_from_now());
        let option = "-Xlog:gc*,safepoint:file=gc.log:time,timenanos,tags:filecount=20,filesize=16K";
        let path = folder.path().join("gc.log");
        let mut follower = Follower::new(&path, FollowFrom::Start);
        let (mut followed, mut rotations) = (Vec::new(), 0);
        let mut poll = |follower: &mut Follower| loop {
            let polled = follower.poll(&mut |line| followed.push(line.to_owned())).expect("polled");
            rotations += u32::from(polled.rotated);
            if !polled.more {
                break;
            }
        };
        let (mut probe, _) = Probe::start(&home, &["-Xmx256m", "-XX:+UseG1GC", option], folder.path());
        // What was rotated away before the first look is in the other files.
        poll(&mut follower);
        for _ in 0..12 {
            probe.collect();
            poll(&mut follower);
        }
        probe.end();
        poll(&mut follower);

        let files = rotated(&path).expect("files");
        assert!(files.len() > 2, "JDK {major}: {files:?}");
        assert_eq!(files.last(), Some(&path), "JDK {major}: the one that is written is the last");
        let mut lines = Vec::new();
        read_lines(&files, &mut |line| lines.push(line.to_owned())).expect("read");
        assert!(rotations > 0, "JDK {major}");
        assert_eq!(followed, lines[lines.len() - followed.len()..], "JDK {major}");

        let log = read(&path, &clock);
        let (first, _) = span(&files[0]).expect("read").expect("stamps");
        let (_, last) = span(&path).expect("read").expect("stamps");
        let place = |stamp| clock.place(&stamp).expect("placed").ms;
        let within = place(first) - 1000.0..=place(last);
        assert!(log.safepoints.iter().all(|one| within.contains(&one.at_ms)), "JDK {major}");
        assert!(paused(&log, "Pause Full").0 >= 13, "JDK {major}");
    }
}

#[test]
fn a_thread_dump_names_the_kernels_threads_and_who_holds_a_monitor() {
    for (major, home) in jdks() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = ["-Xlog:safepoint:file=%p.log", "-Xms16m", "-Dkafka.logs.dir=here"];
        let (probe, _) = Probe::start(&home, &options, folder.path());
        let pid = probe.pid();
        let flags = JvmFlags::read(&std::fs::read(format!("/proc/{pid}/cmdline")).expect("its command line"));
        assert_eq!(flags.logs[0].find(folder.path(), pid), Some(folder.path().join(format!("{pid}.log"))));
        assert_eq!((flags.heap_min_bytes, flags.has_perf_data), (Some(16 << 20), true));
        assert!(flags.main.ends_with(started(&home)) && flags.kafka.is_none(), "{flags:?}");

        let Some(printed) = probe.jcmd("Thread.print") else {
            eprintln!("SKIPPED: JDK {major} has no jcmd");
            continue;
        };
        let dump = ThreadDump::read(&printed);
        let waiter = dump.threads.iter().find(|one| one.name == "probe-that-waits-for-the-monitor");
        let waiter = waiter.expect("the thread that waits");
        assert_eq!((waiter.state, waiter.frames[0].as_str()), (Some(JavaState::Blocked), "Probe.waitFor"));
        let holder = dump.holder_of(waiter).expect("a holder");
        assert_eq!(holder.name, "probe-that-holds-the-monitor");
        assert_eq!(holder.state, Some(JavaState::TimedWaiting));
        assert_eq!(holder.frames.last().map(String::as_str), Some("java.lang.Thread.run"));
        for one in [waiter, holder] {
            let comm = std::fs::read_to_string(format!("/proc/{pid}/task/{}/comm", one.tid));
            assert_eq!(comm.expect("a thread of it").trim_end(), &one.name[..15], "JDK {major}");
        }
        let names = dump.names();
        assert!(names.values().any(|name| name == "VM Thread"), "JDK {major}");
        probe.end();
    }
}

/// What JDK 8 is told for a log as brokers of its time had it.
const LOG_OF_8: [&str; 8] = [
    "-Xmx64m",
    "-Xloggc:gc.log",
    "-verbose:gc",
    "-XX:+PrintGCDetails",
    "-XX:+PrintGCDateStamps",
    "-XX:+PrintGCTimeStamps",
    "-XX:+PrintGCApplicationStoppedTime",
    "-XX:+PrintTenuringDistribution",
];

#[test]
fn what_jdk_8_writes_is_what_it_has_counted() {
    let Some(home) = jdk_8() else { return };
    for (collector, young, old) in [
        ("-XX:+UseG1GC", "G1 Young Generation", "G1 Old Generation"),
        ("-XX:+UseParallelGC", "PS Scavenge", "PS MarkSweep"),
        ("-XX:+UseSerialGC", "Copy", "MarkSweepCompact"),
        ("-XX:+UseConcMarkSweepGC", "ParNew", "ConcurrentMarkSweep"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let recording = "-XX:StartFlightRecording=filename=whole.jfr,dumponexit=true";
        let clock = clock_from_now();
        let options = [&LOG_OF_8[..], &[collector, recording]].concat();
        let (mut probe, _) = Probe::start(&home, &options, folder.path());
        let beans = probe.collect();
        let counted = perf_data(probe.pid()).safepoints().expect("counters of safepoints");
        probe.end();
        let log = read(&folder.path().join("gc.log"), &LogClock::of(&clock));
        assert_eq!((log.unplaced, log.left_out), (0, 0), "{collector}");

        // A collection that was asked for is of both generations, and of two lines with Parallel's.
        let kinds = [(young, "GC ("), (young, "GC pause ("), (old, "Full GC (System.gc())")];
        let of = |name: &str| {
            let named = kinds.iter().filter(|(bean, _)| *bean == name);
            named
                .map(|(_, kind)| paused(&log, kind))
                .fold((0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        for name in [young, old] {
            let (bean, logged) = (collected(&beans, &[name]), of(name));
            assert_eq!(logged.0, bean.0, "{collector} {name}: {beans:?} {:?}", log.collections);
            assert!(logged.0 > 0 && logged.1 > 0.0 && logged.1 <= counted.total_ms, "{collector} {name}");
        }
        let heaps = log.collections.iter().filter(|one| one.heap_bytes.is_some());
        assert_eq!(heaps.count(), log.collections.len(), "{collector}: {:?}", log.collections);

        // To its end there may be more than were counted until then.
        let until_then = log.safepoints.iter().take(usize::try_from(counted.count).expect("a few"));
        let (number, logged) = until_then.fold((0, 0.0), |sum, one| (sum.0 + 1, sum.1 + one.total_ms));
        assert_eq!(number, counted.count, "{collector}: {:?}", log.safepoints);
        // The log and the counters read the clock one after the other.
        let apart = (logged - counted.total_ms).abs();
        assert!(apart < 0.05 * counted.count as f64, "{collector}: {logged} {counted:?}");

        let options = JfrOptions { shortest_ms: 0.0, role_of: |_| Role::Other };
        let evidence = JfrEvidence::read(&folder.path().join("whole.jfr"), &options).expect("a recording");
        assert_eq!(evidence.faults, [], "{collector}");
        // A recording begins while the JVM starts, and the starting of it makes garbage of its own:
        // what was collected before its first is not in it. The two clocks are within 2 ms.
        let recording = &evidence.recording;
        let first = recording.collections.first().expect("the one that was asked for");
        let first_ms = recording.clock.began_unix_ms - clock.began_unix_ms + first.at_ms;
        let of_a_bean = |name: &str| kinds.iter().any(|(_, kind)| name.starts_with(kind));
        let later = log.collections.iter().filter(|one| of_a_bean(&one.name) && one.at_ms > first_ms + 2.0);
        let (recorded, later) = (recording.collections.len(), later.count());
        assert!(later > 0 && recorded > later, "{collector}: {recorded} recorded, {later} after the first");
    }
}

#[test]
fn a_log_of_jdk_8_that_rotates_is_read_whole() {
    let Some(home) = jdk_8() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let clock = LogClock::of(&clock_from_now());
    let rotation = ["-XX:+UseGCLogFileRotation", "-XX:NumberOfGCLogFiles=30", "-XX:GCLogFileSize=8K"];
    let (mut probe, _) = Probe::start(&home, &[&LOG_OF_8[..], &rotation].concat(), folder.path());
    let beans = (0..12).map(|_| probe.collect()).last().expect("some");
    let counted = perf_data(probe.pid()).safepoints().expect("counters of safepoints");
    probe.end();
    let files = rotated(&folder.path().join("gc.log")).expect("files");
    assert!(
        files.len() > 1 && files.last().is_some_and(|last| last.ends_with("gc.log.1.current")),
        "{files:?}"
    );
    let log = read(&folder.path().join("gc.log"), &clock);
    assert!(log.safepoints.len() as u64 >= counted.count, "{counted:?}");
    let old = ["PS MarkSweep", "G1 Old Generation", "MarkSweepCompact"];
    assert_eq!(paused(&log, "Full GC").0, collected(&beans, &old).0);
}

#[test]
fn a_thread_dump_of_jdk_8_says_who_holds_a_monitor() {
    let Some(home) = jdk_8() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (probe, _) = Probe::start(&home, &[], folder.path());
    let dump = ThreadDump::read(&probe.jcmd("Thread.print").expect("a JDK has jcmd"));
    let waiter = dump.threads.iter().find(|one| one.name == "probe-that-waits-for-the-monitor");
    let waiter = waiter.expect("the thread that waits");
    assert_eq!((waiter.state, waiter.frames[0].as_str()), (Some(JavaState::Blocked), "Probe.waitFor"));
    assert_eq!(dump.holder_of(waiter).expect("a holder").name, "probe-that-holds-the-monitor");
    let task = Path::new("/proc").join(probe.pid().to_string()).join("task").join(waiter.tid.to_string());
    assert!(task.exists(), "its thread has the number that it says");
    probe.end();
}
