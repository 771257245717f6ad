//! Records of runs that never were, for looking at pages: of the shape and size of real ones, the
//! same each time. The figures are near those of real runs; none of them is a result.

pub(crate) mod groups;

use aplomb_lab::record::{
    Broker, BrokerRun, Bucket, Counted, Device, Disk, Ended, Expectation, FORMAT, Latencies, Latency,
    Lateness, Machine, Others, Percentiles, Phase, PhaseName, PhaseTimes, Recovery, Role, Run, Safepoint,
    Second, Sighting, Stage, Stall, Story, Witness,
};

/// What an incident does to a broker: p50, p99, p99.9 and the largest latency during it, in
/// microseconds.
type Hurt = [u64; 4];

const CALM: Hurt = [1_300, 2_200, 5_700, 11_000];

struct Sketch {
    name: &'static str,
    title: &'static str,
    explanation: &'static str,
    disturbance: &'static str,
    filesystem: &'static str,
    kafka: Hurt,
    stack: &'static [&'static str],
}

const SKETCHES: &[Sketch] = &[
    Sketch {
        name: "inode-lock",
        title: "A lagging reader holds the inode that appends need",
        explanation: "A consumer that lags reads the very segments that are being appended to. XFS takes the inode’s lock shared for a \
                      buffered read and exclusive for a buffered write, so each append waits until a read that missed the page cache has come \
                      back from the disk.\n\nThen request handlers queue on the partition’s own lock, the request queue grows, and everybody \
                      waits. LINE wrote about it in 2022, and saw 600 ms at the 99th percentile.",
        disturbance: "reads take 20 ms",
        filesystem: "xfs",
        kafka: [73_000, 613_000, 799_000, 1_095_000],
        stack: &[
            "rwsem_down_write_slowpath",
            "down_write",
            "xfs_ilock",
            "xfs_file_buffered_write",
            "vfs_write",
            "ksys_write",
            "do_syscall_64",
            "entry_SYSCALL_64_after_hwframe",
        ],
    },
    Sketch {
        name: "journal",
        title: "Appends wait for a journal that commits",
        explanation: "An append updates a time stamp whose block is in the transaction that the journal is writing.",
        disturbance: "writes take 300 ms",
        filesystem: "ext4",
        kafka: [1_900, 310_000, 485_000, 724_000],
        stack: &[
            "do_get_write_access",
            "jbd2_journal_get_write_access",
            "__ext4_journal_get_write_access",
            "ext4_reserve_inode_write",
            "__ext4_mark_inode_dirty",
            "ext4_dirty_inode",
            "__mark_inode_dirty",
            "generic_update_time",
            "file_update_time_flags",
            "ext4_buffered_write_iter",
            "vfs_write",
        ],
    },
    Sketch {
        name: "freeze",
        title: "The device answers nothing for three seconds",
        explanation: "All requests to the device are held for 3 s, twice.",
        disturbance: "nothing is answered for 3 s, twice",
        filesystem: "ext4",
        kafka: [1_900, 1_600_000, 2_050_000, 2_900_000],
        stack: &["do_get_write_access", "jbd2_journal_get_write_access", "ext4_dirty_inode", "vfs_write"],
    },
    Sketch {
        name: "gc-log",
        title: "The collector’s log on a slow journal",
        explanation: "The collector writes a line to its log while all threads stand.",
        disturbance: "writes of the log’s disk take 1 s",
        filesystem: "ext4",
        kafka: [1_400, 404_000, 790_000, 965_000],
        stack: &[
            "do_get_write_access",
            "jbd2_journal_get_write_access",
            "ext4_dirty_inode",
            "generic_update_time",
            "vfs_write",
        ],
    },
    Sketch {
        name: "calm",
        title: "Nothing happens",
        explanation: "A run of equal length without any disturbance.",
        disturbance: "",
        filesystem: "xfs",
        kafka: CALM,
        stack: &[],
    },
];

/// Numbers that look like chance and are not.
struct Dice(u64);

impl Dice {
    /// Between 0 and 1.
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1_u64 << 24) as f64
    }

    /// A figure near another.
    fn near(&mut self, value: u64) -> u64 {
        (value as f64 * (0.75 + 0.5 * self.roll())) as u64
    }
}

/// A run of each sketch against Apache Kafka and Aplomb.
pub(crate) fn runs() -> Vec<Run> {
    SKETCHES.iter().enumerate().map(|(at, sketch)| run(sketch, at as u64)).collect()
}

fn run(sketch: &Sketch, seed: u64) -> Run {
    let words = ["aplomb", "lab", "run", sketch.name, "--broker", "kafka,aplomb", "--out", "results"];
    Run {
        format: FORMAT,
        incident: Story {
            name: sketch.name.to_owned(),
            title: sketch.title.to_owned(),
            explanation: sketch.explanation.to_owned(),
            look_alike: false,
            control: sketch.disturbance.is_empty(),
        },
        began: format!("2026-11-22T0{seed}:30:00Z"),
        seed,
        machine: Machine {
            kernel: "6.18.0".to_owned(),
            cpus: 2,
            memory_bytes: 24 << 30,
            cpu_model: "Sample Processor 9000 @ 2.90GHz".to_owned(),
        },
        command: words.map(str::to_owned).to_vec(),
        brokers: vec![kafka(sketch, seed), aplomb(sketch, seed)],
    }
}

fn kafka(sketch: &Sketch, seed: u64) -> BrokerRun {
    let mut dice = Dice(seed);
    let control = sketch.disturbance.is_empty();
    let broker = Broker {
        kind: "kafka".to_owned(),
        name: "Apache Kafka".to_owned(),
        version: "4.4.0".to_owned(),
        command: ["java", "-cp", "libs/*", "kafka.Kafka", "server.properties"].map(str::to_owned).to_vec(),
        jvm_flags: ["-Xmx1G", "-Xms1G", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"]
            .map(str::to_owned)
            .to_vec(),
        java: Some("17.0.17+10".to_owned()),
        overrides: Vec::new(),
    };
    let stalls = if control { Vec::new() } else { kafka_stalls(sketch, &mut dice) };
    let handlers = stalls.iter().filter(|stall| stall.role == Role::Request).count() as u64;
    let signature = Sighting {
        name: "a request handler waits in an append".to_owned(),
        expected: !control,
        seen: !control,
        count: handlers,
        example: sketch.stack.iter().map(|&function| function.to_owned()).collect(),
    };
    let text = if control {
        "Nothing is to be seen."
    } else {
        "p99.9 rises tenfold or more while the disk is slow."
    };
    BrokerRun {
        stalls,
        signatures: vec![signature],
        safepoints: (0..24).map(|n| safepoint(n, sketch, &mut dice)).collect(),
        expectation: Expectation { text: text.to_owned(), met: true, lacks: String::new() },
        log_excerpt: "[2026-11-22 02:30:41,112] INFO [LocalLog partition=orders-3] Rolled new log segment at offset 12345 in 3 ms.\n"
            .to_owned(),
        ..measured(sketch, broker, sketch.kafka, &mut dice)
    }
}

fn aplomb(sketch: &Sketch, seed: u64) -> BrokerRun {
    let mut dice = Dice(seed + 1_000);
    let broker = Broker {
        kind: "aplomb".to_owned(),
        name: "Aplomb".to_owned(),
        version: "0.1.0".to_owned(),
        command: ["aplomb", "serve", "server.properties"].map(str::to_owned).to_vec(),
        jvm_flags: Vec::new(),
        java: None,
        overrides: Vec::new(),
    };
    let waits = if sketch.disturbance.is_empty() { 0 } else { 12 };
    let stalls = (0..waits).map(|n| {
        let from_ms = 20_000.0 + f64::from(n) * 2_400.0;
        let stack = ["folio_wait_bit_common", "filemap_get_pages", "filemap_read", "xfs_file_read_iter"];
        stall("aplomb-disk-0", Role::Disk, from_ms, from_ms + 300.0 + 900.0 * dice.roll(), &stack)
    });
    let stalls = stalls.collect();
    let stage = |stage: &str, before_p99_ms, after_p99_ms| Stage {
        request: "Produce".to_owned(),
        stage: stage.to_owned(),
        before_p99_ms,
        after_p99_ms,
        before_mean_ms: Some(before_p99_ms / 2.0),
        after_mean_ms: Some(after_p99_ms / 2.0),
    };
    BrokerRun {
        stalls,
        stages: vec![
            stage("RequestQueueTimeMs", 0.1, 0.1),
            stage("LocalTimeMs", 0.3, 0.4),
            stage("TotalTimeMs", 0.9, 1.0),
        ],
        witness: Some(Witness { silent: true, stalls: Vec::new(), guard_violations: 0 }),
        expectation: Expectation {
            text: "p99.9 stays below 1.5 times what it was, and no request thread waits.".to_owned(),
            met: true,
            lacks: String::new(),
        },
        ..measured(sketch, broker, [1_050, 1_700, 3_100, 5_200], &mut dice)
    }
}

fn measured(sketch: &Sketch, broker: Broker, hurt: Hurt, dice: &mut Dice) -> BrokerRun {
    let calm = if broker.kind == "aplomb" { [1_000, 1_600, 2_900, 5_000] } else { CALM };
    let phase = |name, from_ms, to_ms, disturbance: &str| Phase {
        name,
        from_ms,
        to_ms,
        disturbance: disturbance.to_owned(),
    };
    let phases = vec![
        phase(PhaseName::Calm, 0.0, 20_000.0, ""),
        phase(PhaseName::During, 20_000.0, 50_000.0, sketch.disturbance),
        phase(PhaseName::After, 50_000.0, 60_000.0, ""),
    ];
    let seconds = (0..60).map(|second| {
        let name = match second {
            0..20 => PhaseName::Calm,
            20..50 => PhaseName::During,
            _ => PhaseName::After,
        };
        let level = if name == PhaseName::During { hurt } else { calm };
        // A disk that answers nothing is felt in stretches.
        let quiet = sketch.name == "freeze" && !(24..27).contains(&second) && !(40..43).contains(&second);
        let level = if quiet { calm } else { level };
        let mut figures = level.map(|figure| dice.near(figure));
        figures.sort_unstable();
        let [p50_us, p99_us, p999_us, max_us] = figures;
        Second {
            second,
            phase: name,
            acknowledged: dice.near(4_000),
            failed: if max_us > 2_800_000 { 40 } else { 0 },
            produce: Some(Percentiles { p50_us, p99_us, p999_us, max_us }),
            end_to_end: Some(Percentiles {
                p50_us: p50_us + 400,
                p99_us: p99_us + 700,
                p999_us: p999_us + 900,
                max_us: max_us + 1_000,
            }),
            lagging_bytes: if sketch.name == "inode-lock" && second >= 20 {
                dice.near(48_000_000)
            } else {
                0
            },
        }
    });
    let seconds = seconds.collect();
    let latency = Latencies {
        calm: Some(phase_latency(calm, 80_000)),
        during: Some(phase_latency(hurt, 120_000)),
        after: Some(phase_latency(calm, 40_000)),
    };
    BrokerRun {
        broker,
        disk: Disk {
            filesystem: sketch.filesystem.to_owned(),
            device: "/dev/loop3".to_owned(),
            how: "fuse".to_owned(),
        },
        phases,
        seconds,
        amplification: latency.amplification(),
        latency,
        counted: None,
        recovery: None,
        groups: None,
        sender_lateness_us: Lateness { p99: 120, max: 2_400 },
        machine_standstill: None,
        sampling_ms: 50,
        stalls: Vec::new(),
        signatures: Vec::new(),
        stages: Vec::new(),
        safepoints: Vec::new(),
        device: device(sketch),
        witness: None,
        expectation: Expectation { text: String::new(), met: true, lacks: String::new() },
        log_excerpt: String::new(),
        commands: vec![
            "mkfs -t ext4 /dev/loop3".to_owned(),
            "mount /dev/loop3 /var/lib/aplomb-lab/mount".to_owned(),
        ],
        ended: Ended::Completed,
    }
}

fn phase_latency([p50_us, p99_us, p999_us, max_us]: Hurt, count: u64) -> Latency {
    let between = |low: u64, high: u64, part: f64| {
        ((low as f64).ln() * (1.0 - part) + (high as f64).ln() * part).exp() as u64
    };
    let knots = [
        (0.0, p50_us / 2),
        (50.0, p50_us),
        (99.0, p99_us),
        (99.9, p999_us),
        (99.99, between(p999_us, max_us, 0.8)),
    ];
    let mut curve = Vec::new();
    for pair in knots.windows(2) {
        let nines = |percentile: f64| -(1.0 - percentile / 100.0_f64).log10();
        for step in 0..8 {
            let part = f64::from(step) / 8.0;
            let at = nines(pair[0].0) + (nines(pair[1].0) - nines(pair[0].0)) * part;
            curve.push((100.0 * (1.0 - 10_f64.powf(-at)), between(pair[0].1, pair[1].1, part)));
        }
    }
    curve.push((99.99, between(p999_us, max_us, 0.8)));
    curve.push((100.0, max_us));
    Latency {
        count,
        p50_us,
        p90_us: between(p50_us, p99_us, 0.4),
        p99_us,
        p999_us,
        p9999_us: between(p999_us, max_us, 0.8),
        max_us,
        curve,
    }
}

fn stall(thread: &str, role: Role, from_ms: f64, to_ms: f64, stack: &[&str]) -> Stall {
    let samples = ((to_ms - from_ms) / 50.0).ceil() as u64;
    let stack = stack.iter().map(|&function| function.to_owned()).collect();
    Stall { thread: thread.to_owned(), role, from_ms, to_ms, samples, stack }
}

fn kafka_stalls(sketch: &Sketch, dice: &mut Dice) -> Vec<Stall> {
    let mut stalls = Vec::new();
    for thread in 0..8 {
        let mut at = 20_000.0 + 900.0 * dice.roll();
        while at < 49_000.0 {
            let long = 60.0 + 500.0 * dice.roll();
            let name = format!("data-plane-kafka-request-handler-{thread}");
            stalls.push(stall(&name, Role::Request, at, at + long, sketch.stack));
            at += long + 1_800.0 * dice.roll();
        }
    }
    let reading = [
        "folio_wait_bit_common",
        "filemap_get_pages",
        "filemap_splice_read",
        "xfs_file_splice_read",
        "do_sendfile",
    ];
    for n in 0..40 {
        let from_ms = 20_200.0 + 730.0 * f64::from(n);
        let name = format!("data-plane-kafka-network-thread-1-ListenerName(PLAINTEXT)-PLAINTEXT-{}", n % 3);
        stalls.push(stall(&name, Role::Network, from_ms, from_ms + 20.0 + 40.0 * dice.roll(), &reading));
    }
    let collecting = ["do_get_write_access", "ext4_dirty_inode", "vfs_write"];
    stalls.push(stall("VM Thread", Role::Collector, 31_000.0, 31_150.0, &collecting));
    stalls.push(stall(
        "kafka-scheduler-4",
        Role::Other,
        28_000.0,
        28_400.0,
        &["submit_bio_wait", "blkdev_issue_flush", "vfs_fsync_range"],
    ));
    stalls
}

fn safepoint(n: u32, sketch: &Sketch, dice: &mut Dice) -> Safepoint {
    let at_ms = 2_500.0 * f64::from(n) + 300.0 * dice.roll();
    let slow = sketch.name == "gc-log" && (20_000.0..50_000.0).contains(&at_ms);
    let reaching_ms = 0.1 + 0.2 * dice.roll();
    let total_ms = if slow { 700.0 + 260.0 * dice.roll() } else { 3.0 + 5.0 * dice.roll() };
    Safepoint { at_ms, reaching_ms, total_ms, reason: "G1CollectForAllocation".to_owned() }
}

fn device(sketch: &Sketch) -> Device {
    let bell = |around_us: f64, count: f64| -> Vec<Bucket> {
        let bars = (-4..=4).map(|n| Bucket {
            up_to_us: (around_us * 1.3_f64.powi(n)) as u64,
            count: (count * (-f64::from(n * n) / 4.0).exp()) as u64,
        });
        bars.collect()
    };
    let slow = |what: &str, us: f64| if sketch.disturbance.contains(what) { us } else { 160.0 };
    Device {
        read: PhaseTimes {
            calm: Vec::new(),
            during: bell(slow("reads", 21_000.0), 900.0),
            after: bell(160.0, 90.0),
        },
        write: PhaseTimes {
            calm: bell(160.0, 400.0),
            during: bell(slow("writes", 304_000.0), 700.0),
            after: bell(170.0, 200.0),
        },
        flush: PhaseTimes { calm: bell(90.0, 30.0), during: bell(100.0, 40.0), after: Vec::new() },
    }
}

/// A run in which both brokers were killed: one was away for long, and has lost something.
pub(crate) fn killed() -> Run {
    let mut run = runs().remove(0);
    "kill-9-recovery".clone_into(&mut run.incident.name);
    "Killed, and started again".clone_into(&mut run.incident.title);
    for (broker, (away_ms, missing)) in run.brokers.iter_mut().zip([(12_000.0, 3), (400.0, 0)]) {
        "the broker is killed and started again".clone_into(&mut broker.phases[1].disturbance);
        broker.amplification = None;
        broker.recovery = Some(Recovery {
            killed_ms: 21_500.0,
            started_ms: 21_600.0,
            answers_ms: 21_450.0 + away_ms,
            acknowledged_ms: Some(21_500.0 + away_ms),
            acknowledged: 240_000,
            missing,
            repeated: 0,
        });
    }
    run
}

/// A run with the figures of producers of one log directory, of two.
pub(crate) fn half() -> Run {
    let mut run = runs().remove(1);
    "eio".clone_into(&mut run.incident.name);
    for broker in &mut run.brokers {
        "one of two log directories fails".clone_into(&mut broker.phases[1].disturbance);
        broker.counted = Some(Counted {
            who: "producers of the other log directory".to_owned(),
            partitions: vec![1, 3, 5, 7],
            others: Others { acknowledged: 700, failed: 59_300 },
        });
    }
    run
}

/// A run in which every text wants to be markup and every list is empty or long.
pub(crate) fn hostile() -> Run {
    let evil = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>\"&|\u{0}\u{1b}[31m";
    let mut run = runs().remove(0);
    run.incident.title = evil.to_owned();
    run.incident.name = evil.to_owned();
    run.incident.explanation = format!("{evil}\n\n{evil}");
    run.machine.cpu_model = evil.to_owned();
    run.command = vec![evil.to_owned()];
    let kafka = &mut run.brokers[0];
    kafka.broker.name = evil.to_owned();
    kafka.broker.jvm_flags = vec![evil.to_owned()];
    kafka.log_excerpt = evil.to_owned();
    kafka.commands = vec![evil.to_owned()];
    kafka.disk.device = evil.to_owned();
    kafka.expectation.text = evil.to_owned();
    kafka.phases[1].disturbance = evil.to_owned();
    kafka.groups = groups::hostile(evil);
    kafka.seconds[30].produce =
        Some(Percentiles { p50_us: 0, p99_us: u64::MAX, p999_us: 0, max_us: u64::MAX });
    kafka.seconds[31].second = u64::MAX;
    for (n, stall) in kafka.stalls.iter_mut().enumerate() {
        stall.thread = format!("{evil}{n}");
        stall.stack = vec![format!("{evil}{}", n % 50); 20];
        (stall.from_ms, stall.to_ms) = (1e300, -1e300);
    }
    kafka.signatures[0].name = evil.to_owned();
    kafka.signatures[0].example = vec![evil.to_owned()];
    kafka.safepoints[0].reason = evil.to_owned();
    kafka.safepoints[1].total_ms = -1e300;
    kafka.device.read.during = vec![Bucket { up_to_us: u64::MAX, count: u64::MAX }; 3];
    let ours = &mut run.brokers[1];
    ours.seconds.clear();
    ours.phases.clear();
    ours.latency = Latencies { calm: None, during: None, after: None };
    ours.amplification = None;
    ours.device = Device::default();
    ours.ended = Ended::Failed(evil.to_owned());
    run
}
