//! The machine under the process: places, devices, memory, processors.

use serde::{Deserialize, Serialize};

use super::trace::{Latency, SlowRequest};

/// A file or directory that matters, and what is below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// Its path, as the process sees it.
    pub path: String,
    /// What it is to the broker.
    pub of: PlaceOf,
    /// The filesystem's kind, `xfs`.
    pub filesystem: String,
    /// Its mount options.
    pub options: String,
    /// The device's number, as `major:minor`; the name in [`Device::number`].
    pub device: String,
}

/// What a place is to a broker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceOf {
    /// A directory of the records' logs (`log.dirs`).
    LogDirectory,
    /// The directory of the metadata log alone (`metadata.log.dir`).
    MetadataDirectory,
    /// The collector's or the safepoints' log.
    JvmLog,
    /// The broker's own log.
    OwnLog,
    /// The JVM's mapped counters, `/tmp/hsperfdata_USER/PID`.
    PerfData,
    /// Another file that the process writes.
    #[default]
    Other,
}

/// A block device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Device {
    /// `major:minor`.
    pub number: String,
    /// `nvme0n1`.
    pub name: String,
    /// A row every [`super::Sight::host_interval_ms`]; empty where only totals are known.
    pub samples: Vec<DeviceSample>,
    /// What the slowest request took, in milliseconds, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_ms: Option<f64>,
    /// How long its requests took, by kind, where that was traced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latencies: Vec<Latency>,
    /// Requests that took long, where these were traced, in the order of their answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slow: Vec<SlowRequest>,
}

/// A device since the row before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceSample {
    /// When the row was read.
    pub at_ms: f64,
    /// Reads that were answered.
    pub reads: u64,
    /// What these took together.
    pub reads_ms: f64,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Writes that were answered.
    pub writes: u64,
    /// What these took together.
    pub writes_ms: f64,
    /// Bytes that were written.
    pub written_bytes: u64,
    /// Flushes that were answered.
    pub flushes: u64,
    /// What these took together.
    pub flushes_ms: f64,
    /// Requests under way at the moment of the row.
    pub in_flight: u64,
    /// How long something was under way.
    pub busy_ms: f64,
}

/// The machine, and the process's control group, since the row before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostSample {
    /// When the row was read.
    pub at_ms: f64,
    /// How late the row was against its plan.
    pub late_ms: f64,
    /// Processors of the machine.
    pub cpus: u32,
    /// Time that processors ran anything, summed over them.
    pub busy_ms: f64,
    /// Time that a host has kept from this machine, summed over processors.
    pub steal_ms: f64,
    /// Share of the time for which some thread of the machine waited for a processor, 0 to 1;
    /// `None` without pressure information.
    pub cpu_pressure: Option<f64>,
    /// The same for input and output.
    pub io_pressure: Option<f64>,
    /// The same for memory.
    pub memory_pressure: Option<f64>,
    /// Periods of the process's control group, and those in which it was throttled.
    pub cgroup_periods: Option<(u64, u64)>,
    /// How long it was throttled, summed over its threads.
    pub cgroup_throttled_ms: Option<f64>,
    /// Times that the group's memory limit made a thread free pages.
    pub cgroup_limit_hits: Option<u64>,
    /// Major faults of the process.
    pub major_faults: u64,
    /// Pages that the machine read back from swap.
    pub swapped_in: u64,
    /// Times that a thread had to free memory before it got any.
    pub direct_reclaims: u64,
    /// Times that a thread had to move pages together for a huge one.
    pub compact_stalls: u64,
    /// Dirty pages, in bytes.
    pub dirty_bytes: u64,
    /// Pages under writeback, in bytes.
    pub writeback_bytes: u64,
    /// Where writers are held up, in bytes.
    pub dirty_limit_bytes: u64,
    /// Bytes of the process that are in swap.
    pub process_swap_bytes: u64,
    /// The process's sockets; `None` in rows for which they were not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
}

/// What the process's connections are doing, at the moment of the row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// Connections to the process's own ports.
    pub connections: u64,
    /// Those of them whose peers are on the same machine.
    pub local_connections: u64,
    /// Connections whose peers have not taken what was sent to them.
    pub unread_connections: u64,
    /// Bytes that peers have not taken.
    pub unread_bytes: u64,
    /// Connections with bytes that the process has not read.
    pub waiting_connections: u64,
    /// Bytes that it has not read.
    pub waiting_bytes: u64,
    /// Of these connections those of which nothing was read since the look before. Kernels older
    /// than 4.1 do not say what was read: there those that have no fewer unread bytes.
    pub muted_connections: u64,
    /// Connections to other machines that are retransmitting.
    pub retransmitting: u64,
    /// Segments that the machine sent again since the look before.
    pub retransmits: u64,
}

/// A line of the broker's log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogLine {
    /// When, to the second where the log says no more; `None` if it says nothing.
    pub at_ms: Option<i64>,
    /// The line.
    pub text: String,
}
