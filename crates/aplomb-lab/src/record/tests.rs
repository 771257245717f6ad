//! A record reads back, and its words are those of the contract.

use super::*;

fn latency(p999_us: u64) -> Latency {
    Latency {
        count: 80_000,
        p50_us: 1_300,
        p90_us: 1_700,
        p99_us: 2_200,
        p999_us,
        p9999_us: p999_us + 100,
        max_us: p999_us + 2_000,
        curve: vec![(0.0, 900), (50.0, 1_300), (99.9, p999_us), (100.0, p999_us + 2_000)],
    }
}

fn stall() -> Stall {
    Stall {
        thread: "data-plane-kafka-request-handler-0".to_owned(),
        role: Role::Request,
        from_ms: 21_000.5,
        to_ms: 21_150.25,
        samples: 3,
        stack: vec!["xfs_ilock".to_owned(), "xfs_file_buffered_write".to_owned()],
    }
}

fn groups() -> Groups {
    let commit = |p999_us| Some(Percentiles { p50_us: 1, p99_us: 2, p999_us, max_us: p999_us });
    let phase = |rebalances, p999_us| GroupPhase {
        rebalances,
        longest_unowned_ms: 1.5 * rebalances as f64,
        unowned_ms: 2.25,
        heartbeats: 40,
        failed_heartbeats: rebalances,
        commits: 80,
        commit: commit(p999_us),
        ..GroupPhase::default()
    };
    let figures = GroupFigures { calm: phase(0, 2_000), during: phase(3, 9_000), after: phase(1, 1) };
    let load = |protocol: &str, lacks: &str| GroupsOf {
        protocol: protocol.to_owned(),
        groups: 10,
        members: 5,
        session_timeout_ms: 6_000,
        heartbeat_interval_ms: 1_000,
        commit_interval_ms: 500,
        lacks: lacks.to_owned(),
        figures: lacks.is_empty().then_some(figures),
    };
    let loads = vec![load("classic", ""), load("consumer", "there is none")];
    Groups { placed: "somewhere".to_owned(), loads, figures: Some(figures) }
}

#[test]
fn groups_are_told_by_what_came_of_the_disturbance() {
    let figures = groups().figures.expect("there are some");
    assert_eq!((figures.caused(), figures.longest_unowned_ms()), (4, 4.5));
    assert_eq!(figures.commits_rose(), Some(4.5));
    assert_eq!(GroupFigures::default().commits_rose(), None);
}

fn run() -> Run {
    let latency = Latencies { calm: Some(latency(5_700)), during: Some(latency(848_000)), after: None };
    Run {
        format: FORMAT,
        incident: Story {
            name: "inode-lock".to_owned(),
            title: "A lagging reader holds the inode".to_owned(),
            explanation: "Reads take 20 ms.".to_owned(),
            control: false,
            look_alike: false,
        },
        began: "2026-11-22T02:00:00Z".to_owned(),
        seed: u64::MAX,
        machine: Machine {
            kernel: "6.18.0".to_owned(),
            cpus: 2,
            memory_bytes: 24 << 30,
            cpu_model: "A \"quick\" one".to_owned(),
        },
        command: vec!["aplomb".to_owned(), "lab".to_owned(), "run".to_owned(), "inode-lock".to_owned()],
        brokers: vec![BrokerRun {
            broker: Broker {
                kind: "kafka".to_owned(),
                name: "Apache Kafka".to_owned(),
                version: "4.4.0".to_owned(),
                command: vec!["java".to_owned()],
                jvm_flags: vec!["-Xmx1g".to_owned()],
                java: Some("17.0.1".to_owned()),
                overrides: vec!["num.io.threads=2".to_owned()],
            },
            disk: Disk { filesystem: "xfs".to_owned(), device: "loop7".to_owned(), how: "fuse".to_owned() },
            phases: vec![Phase {
                name: PhaseName::During,
                from_ms: 20_000.0,
                to_ms: 50_000.125,
                disturbance: "reads take 20 ms".to_owned(),
            }],
            seconds: vec![Second {
                second: 21,
                phase: PhaseName::During,
                acknowledged: 4_000,
                failed: 1,
                produce: Some(Percentiles { p50_us: 1, p99_us: 2, p999_us: 3, max_us: 4 }),
                end_to_end: None,
                lagging_bytes: 50_000_000,
            }],
            amplification: latency.amplification(),
            latency,
            counted: Some(Counted {
                who: "producers of the other log directory".to_owned(),
                partitions: vec![1, 3],
                others: Others { acknowledged: 1, failed: 2 },
            }),
            recovery: Some(Recovery {
                killed_ms: 21_000.0,
                started_ms: 21_400.5,
                answers_ms: 22_000.25,
                acknowledged_ms: Some(22_100.0),
                acknowledged: 50_000,
                missing: 0,
                repeated: 1,
            }),
            groups: Some(groups()),
            sender_lateness_us: Lateness { p99: 80, max: 900 },
            machine_standstill: Some(MachineStandstill {
                calm: Some(Percentiles { p50_us: 60, p99_us: 300, p999_us: 2_000, max_us: 9_000 }),
                during: None,
                after: None,
            }),
            sampling_ms: 50,
            stalls: vec![stall()],
            signatures: vec![Sighting {
                name: "a handler waits for the inode".to_owned(),
                expected: true,
                seen: true,
                count: 17,
                example: stall().stack,
            }],
            stages: vec![Stage {
                request: "Produce".to_owned(),
                stage: "LocalTimeMs".to_owned(),
                before_p99_ms: 0.7,
                after_p99_ms: 640.5,
                before_mean_ms: Some(0.5),
                after_mean_ms: None,
            }],
            safepoints: vec![Safepoint {
                at_ms: 30_000.0,
                reaching_ms: 425.3,
                total_ms: 445.0,
                reason: "G1CollectForAllocation".to_owned(),
            }],
            device: Device {
                read: PhaseTimes {
                    calm: vec![],
                    during: vec![Bucket { up_to_us: 20_500, count: 900 }],
                    after: vec![],
                },
                ..Device::default()
            },
            witness: Some(Witness { silent: false, stalls: vec![stall()], guard_violations: 0 }),
            expectation: Expectation {
                text: "p99.9 rises tenfold".to_owned(),
                met: true,
                lacks: "a cleaner".to_owned(),
            },
            log_excerpt: "[2026-11-22] <b>INFO</b>\n".to_owned(),
            commands: vec!["mkfs.xfs /dev/loop7".to_owned()],
            ended: Ended::Failed("the broker has died".to_owned()),
        }],
    }
}

#[test]
fn a_record_reads_back_as_what_was_written() {
    let json = run().to_json().expect("finite numbers");
    assert_eq!(Run::from_json(json.as_bytes()).expect("our own"), run());
}

#[test]
fn the_words_of_the_json_are_those_of_the_contract() {
    let json = serde_json::to_value(run()).expect("finite numbers");
    let broker = &json["brokers"][0];
    assert_eq!(json["incident"]["name"], "inode-lock");
    assert_eq!(broker["phases"][0]["name"], "during");
    assert_eq!(broker["stalls"][0]["role"], "request");
    assert_eq!(broker["latency"]["during"]["curve"][2], serde_json::json!([99.9, 848_000]));
    assert_eq!(broker["device"]["read"]["during"][0]["up_to_us"], 20_500);
    assert_eq!(broker["groups"]["loads"][0]["figures"]["during"]["rebalances"], 3);
    assert_eq!(broker["groups"]["loads"][1]["lacks"], "there is none");
    assert_eq!(broker["ended"]["failed"], "the broker has died");
    assert_eq!(serde_json::to_value(Ended::Completed).expect("a word"), "completed");
}

#[test]
fn amplification_is_during_over_calm_and_absent_without_either() {
    let both = run().brokers.remove(0).latency;
    let amplification = both.amplification().expect("both phases have records");
    assert_eq!(amplification.p99, 1.0);
    assert!((amplification.p999 - 848_000.0 / 5_700.0).abs() < 1e-9);
    assert_eq!(Latencies { during: None, ..both }.amplification(), None);
}

#[test]
fn a_record_from_before_there_were_kills_and_groups_is_read() {
    let mut old = run();
    (old.brokers[0].counted, old.brokers[0].recovery, old.brokers[0].groups) = (None, None, None);
    let json = old.to_json().expect("finite numbers");
    assert!(!["counted", "recovery", "groups"].iter().any(|word| json.contains(word)), "{json}");
    assert_eq!(Run::from_json(json.as_bytes()).expect("our own"), old);
}

#[test]
fn a_broker_is_away_from_the_kill_to_the_first_acknowledgement() {
    let recovery = run().brokers.remove(0).recovery.expect("it was killed");
    assert_eq!((recovery.away_ms(), recovery.starting_ms()), (Some(1_100.0), Some(699.5)));
    assert_eq!(Recovery { acknowledged_ms: None, ..recovery }.away_ms(), None);
}

#[test]
fn another_format_is_named_before_its_content_is_looked_at() {
    let other = Run::from_json(br#"{"format": 2, "incident": "another shape"}"#);
    assert!(matches!(other, Err(RecordError::OtherFormat { found: 2 })));
    for json in [&b"[]"[..], b"", b"{\"format\": 1}", b"\xff"] {
        assert!(matches!(Run::from_json(json), Err(RecordError::NotARecord(_))));
    }
}
