//! Made-up recordings for the tests of rules: calm but for what a story puts in.

use crate::recording::{
    Call, Collection, Device, DeviceSample, FORMAT, FileId, HostSample, Kind, LogLine, Place, PlaceOf,
    Recording, Role, Safepoint, Sighting, Thread, Traffic, Usage, Wait, WaitClass, Waker,
};

/// Between two rows.
const ROW_MS: f64 = 200.0;
/// How long each story is.
pub(super) const LENGTH_MS: f64 = 30_000.0;
/// Threads that are there in each.
pub(super) const HANDLER: u32 = 1;
pub(super) const ANOTHER_HANDLER: u32 = 2;
pub(super) const NETWORK: u32 = 3;
pub(super) const VM: u32 = 4;
pub(super) const SCHEDULER: u32 = 5;
pub(super) const CLEANER: u32 = 6;
pub(super) const JOURNAL: u32 = 7;
/// Files.
pub(super) const SEGMENT: &str = "/data/orders-0/00000000000000000000.log";
pub(super) const SERVER_LOG: &str = "/logs/server.log";
pub(super) const GC_LOG: &str = "/logs/kafkaServer-gc.log";

/// A recording in the making.
#[derive(Debug)]
pub(super) struct Story(pub(super) Recording);

impl Story {
    /// Apache Kafka with its records on this filesystem, and nothing to tell.
    pub(super) fn of_kafka(filesystem: &str) -> Self {
        let rows = (LENGTH_MS / ROW_MS) as usize;
        let thread = |(tid, name, role): (u32, &str, Role)| Thread {
            tid,
            name: name.to_owned(),
            role,
            usage: vec![Usage { ran_ms: 5.0, runnable_ms: 1.0, turns: 20 }; rows],
        };
        let threads = [
            (HANDLER, "data-plane-kafka-request-handler-0", Role::Request),
            (ANOTHER_HANDLER, "data-plane-kafka-request-handler-1", Role::Request),
            (NETWORK, "data-plane-kafka-network-thread-1", Role::Network),
            (VM, "VM Thread", Role::Collector),
            (SCHEDULER, "kafka-scheduler-1", Role::Disk),
            (CLEANER, "kafka-log-cleaner-thread-0", Role::Disk),
            (JOURNAL, "jbd2/sda-8", Role::Kernel),
        ];
        let place = |(path, of, device): (&str, PlaceOf, &str)| Place {
            path: path.to_owned(),
            of,
            filesystem: filesystem.to_owned(),
            options: "rw".to_owned(),
            device: device.to_owned(),
        };
        let places = [
            ("/data", PlaceOf::LogDirectory, "8:0"),
            (SERVER_LOG, PlaceOf::OwnLog, "8:16"),
            (GC_LOG, PlaceOf::JvmLog, "8:16"),
        ];
        let quiet = |number: &str, name: &str| Device {
            number: number.to_owned(),
            name: name.to_owned(),
            samples: (1..=rows)
                .map(|row| DeviceSample {
                    at_ms: row as f64 * ROW_MS,
                    writes: 10,
                    writes_ms: 5.0,
                    busy_ms: 5.0,
                    ..DeviceSample::default()
                })
                .collect(),
            ..Device::default()
        };
        let host = |row: usize| HostSample {
            at_ms: row as f64 * ROW_MS,
            cpus: 4,
            busy_ms: 80.0,
            cpu_pressure: Some(0.01),
            dirty_bytes: 1 << 20,
            dirty_limit_bytes: 1 << 30,
            traffic: Some(Traffic { connections: 10, ..Traffic::default() }),
            ..HostSample::default()
        };
        let mut recording = Recording { format: FORMAT, ..Recording::default() };
        recording.clock.length_ms = LENGTH_MS;
        recording.process.kind = Kind::Kafka;
        recording.sight.host_interval_ms = ROW_MS;
        recording.sight.look_interval_ms = Some(20.0);
        recording.threads = threads.map(thread).to_vec();
        recording.places = places.map(place).to_vec();
        recording.devices = vec![quiet("8:0", "sda"), quiet("8:16", "sdb")];
        recording.host = (1..=rows).map(host).collect();
        Self(recording)
    }

    /// A thread waits, so often: a second apart from 10 s on, so long each.
    pub(super) fn waits(mut self, tid: u32, class: WaitClass, times: u32, ms: f64, stack: &str) -> Self {
        for time in 0..times {
            let from_ms = 10_000.0 + f64::from(time) * 1_000.0;
            self.0.waits.push(Wait {
                tid,
                from_ms,
                to_ms: from_ms + ms,
                sighting: Sighting::One { looks: (ms / 20.0) as u64 },
                class,
                call: None,
                kernel: stack.split(" < ").map(str::to_owned).collect(),
                frames: Vec::new(),
                holders: Vec::new(),
                holders_known: false,
                woken_by: None,
            });
        }
        self
    }

    /// The waits that were added last by this thread are in this call on this file.
    pub(super) fn in_call(mut self, tid: u32, name: &str, path: &str) -> Self {
        for wait in self.0.waits.iter_mut().filter(|wait| wait.tid == tid) {
            wait.call = Some(Call {
                name: name.to_owned(),
                path: Some(path.to_owned()),
                file: Some(FileId { device: 1, inode: path.len() as u64 }),
                active_segment: Some(true),
            });
        }
        self
    }

    /// This thread's waits are held by that one.
    pub(super) fn held_by(mut self, tid: u32, holder: u32) -> Self {
        for wait in self.0.waits.iter_mut().filter(|wait| wait.tid == tid) {
            wait.holders = vec![holder];
            wait.holders_known = true;
        }
        self
    }

    /// The waits of this thread were traced, and that one let go of what they were for.
    pub(super) fn let_go_by(mut self, tid: u32, holder: u32, stack: &str) -> Self {
        for wait in self.0.waits.iter_mut().filter(|wait| wait.tid == tid) {
            wait.sighting = Sighting::Exact;
            wait.woken_by =
                Some(Waker { tid: Some(holder), kernel: stack.split(" < ").map(str::to_owned).collect() });
        }
        self.held_by(tid, holder)
    }

    /// A device answers nothing from 10 s on, for so long.
    pub(super) fn frozen(mut self, number: &str, ms: f64) -> Self {
        let device = self.0.devices.iter_mut().find(|device| device.number == number);
        for row in &mut device.expect("it is in the story").samples {
            if row.at_ms > 10_000.0 && row.at_ms <= 10_000.0 + ms {
                *row = DeviceSample {
                    at_ms: row.at_ms,
                    in_flight: 4,
                    busy_ms: ROW_MS,
                    ..DeviceSample::default()
                };
            }
        }
        self
    }

    /// Rows from 10 s on, for so long, are changed.
    pub(super) fn rows(mut self, ms: f64, change: impl Fn(&mut HostSample)) -> Self {
        let rows = self.0.host.iter_mut();
        rows.filter(|row| row.at_ms > 10_000.0 && row.at_ms <= 10_000.0 + ms).for_each(change);
        self
    }

    /// The process's sockets are changed, likewise.
    pub(super) fn sockets(self, ms: f64, change: impl Fn(&mut Traffic)) -> Self {
        self.rows(ms, |row| row.traffic.iter_mut().for_each(&change))
    }

    /// Threads that carry requests fared so in rows from 10 s on, for so long.
    pub(super) fn usage(mut self, ms: f64, usage: Usage) -> Self {
        for thread in self.0.threads.iter_mut().filter(|thread| thread.role.carries_requests()) {
            for (row, of_row) in thread.usage.iter_mut().enumerate() {
                let at_ms = (row + 1) as f64 * ROW_MS;
                if at_ms > 10_000.0 && at_ms <= 10_000.0 + ms {
                    *of_row = usage;
                }
            }
        }
        self
    }

    /// The JVM stopped its threads, so often: a second apart from 10 s on.
    pub(super) fn stood(mut self, times: u32, reaching_ms: f64, total_ms: f64, reason: &str) -> Self {
        for time in 0..times {
            self.0.safepoints.push(Safepoint {
                at_ms: 10_000.0 + f64::from(time) * 1_000.0,
                reaching_ms: Some(reaching_ms),
                total_ms,
                reason: reason.to_owned(),
                count: 1,
            });
        }
        self
    }

    /// Pauses of the collector's, likewise.
    pub(super) fn collected(mut self, times: u32, pause_ms: f64, phases_ms: f64, cpu_ms: f64) -> Self {
        for time in 0..times {
            self.0.collections.push(Collection {
                at_ms: 10_000.0 + f64::from(time) * 1_000.0,
                pause_ms,
                name: "Pause Young (Normal) (G1 Evacuation Pause)".to_owned(),
                phases_ms: Some(phases_ms),
                other_ms: Some(pause_ms - phases_ms),
                cpu_ms: Some(cpu_ms),
                real_ms: Some(pause_ms),
                heap_bytes: Some((900 << 20, 800 << 20, 1 << 30)),
            });
        }
        self
    }

    /// The broker's log says this, at 12 s.
    pub(super) fn says(mut self, text: &str) -> Self {
        self.0.log.push(LogLine { at_ms: Some(12_000), text: text.to_owned() });
        self
    }

    /// A second log directory, on another device.
    pub(super) fn and_another_directory(mut self) -> Self {
        let place = self.0.places[0].clone();
        self.0.places.push(Place { path: "/other".to_owned(), device: "8:16".to_owned(), ..place });
        self
    }
}
