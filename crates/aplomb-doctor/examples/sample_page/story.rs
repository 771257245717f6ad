//! A minute of a broker on which one consumer lags: its reads miss the page cache and hold the lock
//! of the active segment's inode, and appends stand behind them.

use aplomb_doctor::diagnosis::{Cause, Confidence, Diagnosis, Remedy, Span};
use aplomb_doctor::recording::{
    Call, Clock, Collection, Device, DeviceSample, FileId, HostSample, Kind, Place, PlaceOf, Process,
    Recording, Role, Safepoint, Sight, Sighting, Thread, Trace, Usage, Wait, WaitClass, Waker,
};

pub(super) const LENGTH_MS: f64 = 60_000.0;
const LOOK_MS: f64 = 10.0;
const LOG: &str = "/data/kafka/orders-0/00000000000000368769.log";
const HANDLERS: u32 = 8;
const NETWORK: u32 = 3;
/// The first of the threads of each kind.
const FIRST_HANDLER: u32 = 4_301;
const FIRST_NETWORK: u32 = 4_321;

/// Marsaglia's xorshift: a sample is the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.roll()
    }

    /// Many are short, few are long.
    fn skewed(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.roll().powi(3))
    }
}

/// The recording, and what a diagnosis says of it.
pub(super) fn inode_lock() -> (Recording, Diagnosis) {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut waits = Vec::new();
    let mut slow = Vec::new();
    // The reader lags from 12 s on, with a calm stretch in the middle.
    for (from, to) in [(12_000.0, 31_000.0), (37_000.0, 54_000.0)] {
        let mut at = from;
        while at < to {
            let held = dice.skewed(18.0, 620.0);
            read_and_wait(&mut dice, &mut waits, at, held);
            if held > 60.0 {
                slow.push(Span { from_ms: at, to_ms: at + held });
            }
            at += held + dice.between(4.0, 70.0);
        }
    }
    background(&mut dice, &mut waits);
    waits.sort_by(|a, b| a.from_ms.total_cmp(&b.from_ms));
    let recording = Recording {
        format: aplomb_doctor::recording::FORMAT,
        clock: Clock {
            began_unix_ms: 1_795_676_400_000.0,
            began_monotonic_ms: Some(81_234_567.0),
            length_ms: LENGTH_MS,
            uncertainty_ms: 1.0,
            steps: vec![],
        },
        process: Process {
            pid: Some(4_242),
            kind: Kind::Kafka,
            name: "Apache Kafka 4.4.0".to_owned(),
            java: Some("OpenJDK 17.0.15".to_owned()),
            jvm_flags: vec!["-XX:+UseG1GC".to_owned(), "-Xmx1G".to_owned()],
        },
        sight: sight(),
        threads: threads(&mut dice),
        waits,
        safepoints: safepoints(&mut dice),
        collections: vec![],
        places: vec![
            place("/data/kafka", PlaceOf::LogDirectory, "xfs", "259:1"),
            place("/var/log/kafka", PlaceOf::OwnLog, "ext4", "8:1"),
        ],
        devices: vec![device(&mut dice, "nvme0n1", "259:1", 11.0), device(&mut dice, "sda", "8:1", 0.6)],
        host: host(&mut dice),
        log: vec![],
        stages: vec![],
    };
    let recording = Recording { collections: collections(&recording.safepoints), ..recording };
    (recording, diagnosis(slow))
}

/// One cold read, and those who wait for the lock that it holds.
fn read_and_wait(dice: &mut Dice, waits: &mut Vec<Wait>, at: f64, held: f64) {
    // One in ten is another handler's read of batch headers, the rest are sends.
    let by_handler = dice.roll() < 0.1;
    let holder = if by_handler { FIRST_HANDLER + HANDLERS - 1 } else { FIRST_NETWORK + 1 };
    let mut from = at;
    // A send is a row of reads of 10 to 30 ms, which looks see as several waits in one place.
    while from < at + held {
        let long = dice.between(25.0, 90.0).min(at + held - from);
        waits.push(cold_read(holder, from, from + long, by_handler));
        from += long + 1.5;
    }
    for handler in 0..HANDLERS - 1 {
        if dice.roll() < 0.86 {
            let began = at + dice.between(0.0, (held * 0.6).min(120.0));
            waits.push(append(FIRST_HANDLER + handler, began, at + held + 1.0, holder, dice.roll() < 0.93));
        }
    }
    let second = FIRST_NETWORK + 2;
    if dice.roll() < 0.4 {
        let mut wait = append(second, at + held * 0.3, at + held + 1.5, holder, false);
        wait.kernel = names(&["xfs_ilock", "xfs_file_splice_read", "do_splice_read", "do_sendfile"]);
        wait.frames = names(SEND);
        wait.call = Some(call("sendfile", LOG));
        waits.push(wait);
    }
}

const APPEND: &[&str] = &[
    "sun.nio.ch.FileDispatcherImpl.pwrite0",
    "sun.nio.ch.FileChannelImpl.write",
    "org.apache.kafka.common.record.FileRecords.append",
    "org.apache.kafka.storage.internals.log.LogSegment.append",
    "kafka.log.UnifiedLog.append",
    "kafka.server.ReplicaManager.appendRecords",
    "kafka.server.KafkaApis.handleProduceRequest",
    "kafka.server.KafkaRequestHandler.run",
];

const SEND: &[&str] = &[
    "sun.nio.ch.FileChannelImpl.transferTo0",
    "org.apache.kafka.common.network.PlaintextTransportLayer.transferFrom",
    "org.apache.kafka.common.record.FileRecords.writeTo",
    "org.apache.kafka.common.network.KafkaChannel.write",
    "org.apache.kafka.common.network.Selector.poll",
    "kafka.network.Processor.run",
];

fn append(tid: u32, from_ms: f64, to_ms: f64, holder: u32, known: bool) -> Wait {
    let looks = ((to_ms - from_ms) / LOOK_MS) as u64;
    Wait {
        tid,
        from_ms,
        to_ms,
        sighting: Sighting::One { looks: looks.max(1) },
        class: WaitClass::Inode,
        call: Some(call("pwrite64", LOG)),
        kernel: names(&[
            "rwsem_down_write_slowpath",
            "xfs_ilock",
            "xfs_file_buffered_write",
            "vfs_write",
            "ksys_pwrite64",
        ]),
        frames: names(APPEND),
        holders: vec![holder],
        holders_known: known,
        woken_by: known.then(|| Waker {
            tid: Some(holder),
            kernel: names(&["rwsem_wake", "up_read", "xfs_iunlock", "xfs_file_splice_read", "do_sendfile"]),
        }),
    }
}

fn cold_read(tid: u32, from_ms: f64, to_ms: f64, by_handler: bool) -> Wait {
    let looks = ((to_ms - from_ms) / LOOK_MS) as u64;
    let (kernel, frames, name): (&[&str], &[&str], _) = if by_handler {
        (
            &[
                "folio_wait_bit_common",
                "filemap_get_pages",
                "filemap_read",
                "xfs_file_buffered_read",
                "vfs_read",
                "ksys_pread64",
            ],
            &[
                "sun.nio.ch.FileDispatcherImpl.pread0",
                "org.apache.kafka.common.record.FileLogInputStream.nextBatch",
                "kafka.server.KafkaRequestHandler.run",
            ],
            "pread64",
        )
    } else {
        (
            &[
                "folio_wait_bit_common",
                "filemap_get_pages",
                "filemap_splice_read",
                "xfs_file_splice_read",
                "do_splice_read",
                "do_sendfile",
            ],
            SEND,
            "sendfile",
        )
    };
    Wait {
        tid,
        from_ms,
        to_ms,
        sighting: if looks > 4 { Sighting::Several { looks } } else { Sighting::One { looks: looks.max(1) } },
        class: WaitClass::Page,
        call: Some(call(name, LOG)),
        kernel: names(kernel),
        frames: names(frames),
        holders: vec![],
        holders_known: false,
        // The device has answered.
        woken_by: Some(Waker { tid: None, kernel: names(&["folio_end_read", "blk_update_request"]) }),
    }
}

/// What goes on all the time, and disturbs no request: flushes, the journal, idle sockets.
fn background(dice: &mut Dice, waits: &mut Vec<Wait>) {
    let mut every = |tid, class, kernel: &[&str], name: &str, path: &str, gap: f64, long: f64| {
        let mut at = dice.between(0.0, gap);
        while at < LENGTH_MS {
            let wait = dice.skewed(long * 0.2, long * 2.0);
            waits.push(Wait {
                tid,
                from_ms: at,
                to_ms: at + wait,
                sighting: Sighting::One { looks: ((wait / LOOK_MS) as u64).max(1) },
                class,
                call: (!name.is_empty()).then(|| call(name, path)),
                kernel: names(kernel),
                frames: vec![],
                holders: if tid == 4_341 && class == WaitClass::Sync { vec![901] } else { vec![] },
                holders_known: false,
                woken_by: None,
            });
            at += wait + dice.between(gap * 0.2, gap);
        }
    };
    for scheduler in 0..3 {
        let stack = &["folio_wait_writeback", "xfs_file_fsync", "do_fsync"];
        every(4_341 + scheduler, WaitClass::Sync, stack, "fsync", LOG, 2_400.0, 90.0);
    }
    let journal = &["jbd2_journal_commit_transaction", "kjournald2", "kthread"];
    every(901, WaitClass::Journal, journal, "", "", 700.0, 12.0);
    every(905, WaitClass::Device, &["blk_mq_get_tag", "submit_bio", "wb_workfn"], "", "", 34.0, 3.0);
    every(906, WaitClass::Device, &["blk_mq_get_tag", "submit_bio", "wb_workfn"], "", "", 34.0, 3.0);
    every(4_361, WaitClass::Lock, &["futex_wait_queue", "futex_wait"], "futex", "", 34.0, 4.0);
    for fetcher in 0..4 {
        every(4_351 + fetcher, WaitClass::Socket, &["ep_poll", "do_epoll_wait"], "epoll_wait", "", 30.0, 8.0);
    }
    every(
        4_371,
        WaitClass::Fault,
        &["folio_wait_bit_common", "filemap_fault", "__do_fault"],
        "fault",
        "/data/kafka/orders-0/00000000000000368769.timeindex",
        4_000.0,
        20.0,
    );
}

fn threads(dice: &mut Dice) -> Vec<Thread> {
    let mut all = Vec::new();
    let mut add = |tid: u32, name: String, role| {
        let usage = match role {
            Role::Request | Role::Network => (0..60)
                .map(|_| Usage {
                    ran_ms: dice.between(80.0, 200.0),
                    runnable_ms: dice.skewed(5.0, 160.0),
                    turns: 50,
                })
                .collect(),
            _ => vec![],
        };
        all.push(Thread { tid, name, role, usage });
    };
    for at in 0..HANDLERS {
        add(FIRST_HANDLER + at, format!("data-plane-kafka-request-handler-{at}"), Role::Request);
    }
    for at in 0..NETWORK {
        let name = format!("data-plane-kafka-network-thread-1-ListenerName(PLAINTEXT)-PLAINTEXT-{at}");
        add(FIRST_NETWORK + at, name, Role::Network);
    }
    for at in 0..4 {
        add(4_351 + at, format!("ReplicaFetcherThread-0-{at}"), Role::Replica);
    }
    for at in 0..3 {
        add(4_341 + at, format!("kafka-scheduler-{at}"), Role::Disk);
    }
    add(4_344, "kafka-log-cleaner-thread-0".to_owned(), Role::Disk);
    add(4_371, "VM Thread".to_owned(), Role::Collector);
    for at in 0..4 {
        add(4_380 + at, format!("G1 Conc#{at}"), Role::Collector);
    }
    add(4_361, "C2 CompilerThread0".to_owned(), Role::Machinery);
    add(901, "jbd2/sda1-8".to_owned(), Role::Kernel);
    add(905, "kworker/u4:1+flush-259:0".to_owned(), Role::Kernel);
    add(906, "kworker/u4:3+flush-8:0".to_owned(), Role::Kernel);
    for at in 0..46 {
        add(4_400 + at, format!("executor-Rebalance-{at}"), Role::Other);
    }
    all
}

fn safepoints(dice: &mut Dice) -> Vec<Safepoint> {
    let mut all = Vec::new();
    let mut at = 800.0;
    while at < LENGTH_MS {
        // A few are late: a thread came late out of a page fault.
        let reaching = if dice.roll() < 0.04 { dice.between(60.0, 410.0) } else { dice.skewed(0.004, 0.8) };
        let stood = dice.skewed(1.1, 14.0);
        let reason = if dice.roll() < 0.8 { "G1CollectForAllocation" } else { "ICBufferFull" };
        all.push(Safepoint {
            at_ms: at,
            reaching_ms: Some(reaching),
            total_ms: reaching + stood,
            reason: reason.to_owned(),
            count: 1,
        });
        at += dice.between(150.0, 520.0) + reaching;
    }
    all
}

fn collections(safepoints: &[Safepoint]) -> Vec<Collection> {
    let of_collector = safepoints.iter().filter(|stop| stop.reason.starts_with("G1"));
    of_collector
        .map(|stop| {
            let pause_ms = stop.total_ms - stop.reaching_ms.unwrap_or(0.0);
            Collection {
                at_ms: stop.at_ms + stop.reaching_ms.unwrap_or(0.0),
                pause_ms,
                name: "Pause Young (Normal) (G1 Evacuation Pause)".to_owned(),
                phases_ms: Some(pause_ms * 0.9),
                other_ms: Some(pause_ms * 0.1),
                cpu_ms: Some((pause_ms / 10.0).round() * 10.0),
                real_ms: Some((pause_ms / 10.0).round() * 10.0),
                heap_bytes: Some((56 << 20, 3 << 20, 96 << 20)),
            }
        })
        .collect()
}

fn device(dice: &mut Dice, name: &str, number: &str, busy: f64) -> Device {
    let samples = (1..=240).map(|row| {
        let at_ms = f64::from(row) * 250.0;
        let lagging = (12_000.0..31_000.0).contains(&at_ms) || (37_000.0..54_000.0).contains(&at_ms);
        let reads = if lagging { (busy * dice.between(0.6, 1.4)) as u64 } else { 0 };
        let writes = dice.between(2.0, 9.0) as u64;
        // For a second and a half it answers nothing.
        let frozen = busy > 5.0 && (44_000.0..45_500.0).contains(&at_ms);
        let (reads, writes) = if frozen { (0, 0) } else { (reads, writes) };
        DeviceSample {
            at_ms,
            reads,
            reads_ms: reads as f64 * dice.between(14.0, 32.0),
            read_bytes: reads * 131_072,
            writes,
            writes_ms: writes as f64 * dice.between(0.3, 2.0),
            written_bytes: writes * 65_536,
            flushes: 0,
            flushes_ms: 0.0,
            in_flight: if frozen { 12 } else { reads / 3 },
            busy_ms: if frozen { 250.0 } else { (reads as f64 * 20.0).min(250.0) },
        }
    });
    let named = Device { number: number.to_owned(), name: name.to_owned(), ..Device::default() };
    Device { samples: samples.collect(), ..named }
}

fn host(dice: &mut Dice) -> Vec<HostSample> {
    let rows = (1..=60).map(|row| HostSample {
        at_ms: f64::from(row) * 1_000.0,
        cpus: 2,
        busy_ms: dice.between(500.0, 1_100.0),
        steal_ms: if dice.roll() < 0.06 { dice.between(50.0, 400.0) } else { 0.0 },
        cpu_pressure: Some(dice.between(0.02, 0.2)),
        io_pressure: Some(dice.between(0.1, 0.8)),
        memory_pressure: Some(0.0),
        major_faults: 3,
        dirty_bytes: 41 << 20,
        dirty_limit_bytes: 800 << 20,
        ..HostSample::default()
    });
    rows.collect()
}

fn sight() -> Sight {
    Sight {
        sources: vec!["/proc (as root)".to_owned(), "safepoint log".to_owned()],
        missing: vec![
            "waits shorter than 10 ms from beginning to end, at times: there were too many".to_owned(),
            "Java frames of waits shorter than 20 ms: record with async-profiler (wall, nobatch).".to_owned(),
        ],
        look_interval_ms: Some(LOOK_MS),
        looks: 5_991,
        host_interval_ms: 1_000.0,
        cost_cpu_ms: 1_840.0,
        trace: Some(Trace {
            threshold_ms: 5.0,
            highest_threshold_ms: 10.0,
            waits: 1_402,
            cost_cpu_ms: 260.0,
            runs: 1_310_000,
            ..Trace::default()
        }),
    }
}

fn diagnosis(slow: Vec<Span>) -> Diagnosis {
    let handlers: Vec<u32> = (0..HANDLERS - 1).map(|at| FIRST_HANDLER + at).collect();
    let when = vec![Span { from_ms: 12_000.0, to_ms: 31_000.0 }, Span { from_ms: 37_000.0, to_ms: 54_000.0 }];
    let texts = |texts: &[&str]| names(texts);
    let inode = Cause {
        name: "inode-lock".to_owned(),
        confidence: Confidence::Proved,
        share: 0.93,
        summary: "Appends to orders-0 wait, up to 620 ms, for the inode's lock that a lagging reader's cold read of the same segment holds.".to_owned(),
        evidence: texts(&[
            "7 of 8 request handlers stood in xfs_ilock < xfs_file_buffered_write, on one inode (259:1, 99817).",
            "Of 1,185 looks at such a wait, 1,141 (96 %) had a thread in a read of the same file: network-thread-1 in sendfile, 90 %.",
            "nvme0n1 answered reads in 14 to 32 ms in these moments, and had none in the calm ones.",
            "From 31 to 37 s the reader paused: no handler waited.",
        ]),
        against: texts(&["4 % of the looks had nobody in the file: the look may have come between two reads."]),
        mechanism: "XFS takes a file's lock shared for a read and alone for a write. A read that misses the page cache keeps it while the disk works. The next append to that file waits, and with it every handler that has an append for the same partition.".to_owned(),
        remedy: vec![
            Remedy { change: "log.segment.bytes=134217728 for orders, so that a lagging reader reads a closed segment".to_owned(), cost: "four times as many files; mind nofile and vm.max_map_count".to_owned() },
            Remedy { change: "consumer_byte_rate=20971520 for the client that lags".to_owned(), cost: "it catches up later".to_owned() },
            Remedy { change: "More memory for the page cache".to_owned(), cost: "helps as far as the reader's lag fits".to_owned() },
        ],
        threads: handlers,
        when,
    };
    let fault = Cause {
        name: "page-fault".to_owned(),
        confidence: Confidence::Possible,
        share: 0.02,
        summary: "Four safepoints took 60 to 410 ms until all threads stood.".to_owned(),
        evidence: texts(&["Reaching was long and the stop itself short."]),
        against: texts(&[
            "No thread was seen in a page fault in three of the four.",
            "The share of the slow time is small.",
        ]),
        mechanism: String::new(),
        remedy: vec![],
        threads: vec![4_371],
        when: vec![Span { from_ms: 20_000.0, to_ms: 26_000.0 }],
    };
    Diagnosis {
        causes: vec![inode, fault],
        slow,
        unexplained: vec![Span { from_ms: 50_000.0, to_ms: 50_800.0 }],
        observations: texts(&[
            "nvme0n1 answered nothing for 1.5 s from 44 s on, with 12 requests in flight; appends waited for the same lock before and after.",
        ]),
        next: texts(&[
            "sched:sched_waking (perf, CAP_PERFMON): names the thread that lets go of the lock, every time.",
        ]),
    }
}

fn place(path: &str, of: PlaceOf, filesystem: &str, device: &str) -> Place {
    Place {
        path: path.to_owned(),
        of,
        filesystem: filesystem.to_owned(),
        options: "rw,noatime".to_owned(),
        device: device.to_owned(),
    }
}

fn call(name: &str, path: &str) -> Call {
    let file = (!path.is_empty()).then_some(FileId { device: 0x10301, inode: 99_817 });
    Call {
        name: name.to_owned(),
        path: (!path.is_empty()).then(|| path.to_owned()),
        file,
        active_segment: path.ends_with(".log").then_some(true),
    }
}

fn names(all: &[&str]) -> Vec<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}
