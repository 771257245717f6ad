//! Counters that a JVM maps into a file, `/tmp/hsperfdata_USER/PID`: how often and how long it
//! stopped its threads, without a log and without asking it.
//!
//! What always holds: the file is read with ordinary reads and never mapped, no more than
//! [`MAX_FILE`] of it, and lengths in it are not believed. A counter that changes meanwhile is as
//! before or as after.
//!
//! In JDK 17.0.15 and 25.0.3 on Linux, of what is of use here:
//!
//! | counter | JDK 17 | JDK 25 | unit |
//! | --- | --- | --- | --- |
//! | `sun.rt.safepoints` | yes | yes | events; counted when one begins |
//! | `sun.rt.safepointSyncTime` | yes | yes | ticks of reaching; counted when it is reached |
//! | `sun.rt.safepointTime` | yes | yes | ticks **after** that; counted when threads run again |
//! | `sun.os.hrt.frequency` | yes | yes | ticks in a second: 1,000,000,000 |
//! | `sun.os.hrt.ticks` | yes | **no** | ticks since the JVM began, as of the last 50 ms |
//! | `sun.gc.collector.N.name`, `.invocations` | yes | yes | events; G1: 0 young, 1 full, 2 remark and cleanup |
//! | `sun.gc.collector.N.time` | yes | yes | ticks |
//! | `sun.rt.createVmBeginTime` | yes | yes | milliseconds since 1970; uptimes count from about then |
//! | `java.property.java.version`, `sun.rt.javaCommand` | yes | yes | text |
//!
//! Up to JDK 12, by its source, `sun.rt.safepointTime` has the time of reaching in it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::figures::digits;
use crate::recording::Safepoint;

/// The most of a file that is read: `-XX:PerfDataMemorySize` is 32 KiB unless it is set.
pub const MAX_FILE: u64 = 1 << 20;

/// What stands before the entries.
const PROLOGUE: usize = 32;

/// What stands in an entry before its name.
const ENTRY: usize = 20;

/// The counter that moves when a safepoint has ended.
const STOPPED: &str = "sun.rt.safepointTime";

/// A reading of a JVM's counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfData {
    numbers: BTreeMap<String, i64>,
    texts: BTreeMap<String, String>,
}

/// Why counters could not be read.
#[derive(Debug, thiserror::Error)]
pub enum PerfDataError {
    /// The file is not there, or may not be read.
    #[error("the JVM's counters cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is a file of something else.
    #[error("these are not a JVM's counters")]
    NotCounters,
    /// It has another version than 2, which JDK 1.5 to 25 have.
    #[error("the JVM's counters have version {0}; this program reads version 2")]
    OtherVersion(u8),
    /// The JVM has only begun, and will fill it.
    #[error("the JVM has not filled its counters yet")]
    NotReady,
}

/// What a JVM has counted of its safepoints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SafepointCounters {
    /// How many there were.
    pub count: u64,
    /// How long they took in all, reaching included.
    pub total_ms: f64,
    /// How long it took to reach them, in all.
    pub reaching_ms: f64,
}

/// What a JVM has counted of one of its collectors.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectorCounters {
    /// `G1 young collection pauses`.
    pub name: String,
    /// How often it ran.
    pub count: u64,
    /// How long it took in all.
    pub total_ms: f64,
}

impl PerfData {
    /// Reads the file of a process.
    ///
    /// # Errors
    /// When it cannot be read, or is of something else.
    pub fn open(path: &Path) -> Result<Self, PerfDataError> {
        let mut bytes = Vec::new();
        File::open(path)?.take(MAX_FILE).read_to_end(&mut bytes)?;
        Self::read(&bytes)
    }

    /// Reads the bytes of such a file. Entries that make no sense end it: those before them are
    /// given.
    ///
    /// # Errors
    /// When the bytes are of something else.
    pub fn read(bytes: &[u8]) -> Result<Self, PerfDataError> {
        let prologue = bytes.get(..PROLOGUE).ok_or(PerfDataError::NotCounters)?;
        if prologue[..4] != [0xca, 0xfe, 0xc0, 0xc0] || prologue[4] > 1 {
            return Err(PerfDataError::NotCounters);
        }
        if prologue[5] != 2 {
            return Err(PerfDataError::OtherVersion(prologue[5]));
        }
        if prologue[7] == 0 {
            return Err(PerfDataError::NotReady);
        }
        let order = Order { is_little: prologue[4] == 1 };
        let mut found = Self::default();
        let mut at = order.offset(bytes, 24).ok_or(PerfDataError::NotCounters)?;
        let count = order.offset(bytes, 28).ok_or(PerfDataError::NotCounters)?;
        for _ in 0..count {
            let Some(length) = order.offset(bytes, at).filter(|length| *length >= ENTRY) else { break };
            let Some(entry) = at.checked_add(length).and_then(|end| bytes.get(at..end)) else { break };
            found.take(entry, order);
            at += length;
        }
        Ok(found)
    }

    /// A counter, in its own unit.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        self.numbers.get(name).copied()
    }

    /// A property or a name, by the counter that has it.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    /// `25.0.3`
    #[must_use]
    pub fn java_version(&self) -> Option<&str> {
        self.text("java.property.java.version")
    }

    /// The main class and its arguments.
    #[must_use]
    pub fn java_command(&self) -> Option<&str> {
        self.text("sun.rt.javaCommand")
    }

    /// When the JVM began, in milliseconds since 1970.
    #[must_use]
    pub fn jvm_started_unix_ms(&self) -> Option<f64> {
        self.number("sun.rt.createVmBeginTime").filter(|began| *began > 0).map(|began| began as f64)
    }

    /// What it has counted of its safepoints.
    #[must_use]
    pub fn safepoints(&self) -> Option<SafepointCounters> {
        let stopped_ms = self.ticks_ms(STOPPED)?;
        let reaching_ms = self.ticks_ms("sun.rt.safepointSyncTime")?;
        let has_reaching = self.java_major().is_some_and(|major| major < 13);
        Some(SafepointCounters {
            count: u64::try_from(self.number("sun.rt.safepoints")?).ok()?,
            total_ms: if has_reaching { stopped_ms } else { stopped_ms + reaching_ms },
            reaching_ms,
        })
    }

    /// What it has counted of its collectors, in its own order.
    #[must_use]
    pub fn collectors(&self) -> Vec<CollectorCounters> {
        let collector = |number| {
            let name = |what: &str| format!("sun.gc.collector.{number}.{what}");
            Some(CollectorCounters {
                name: self.text(&name("name"))?.to_owned(),
                count: u64::try_from(self.number(&name("invocations"))?).ok()?,
                total_ms: self.ticks_ms(&name("time"))?,
            })
        };
        (0..).map_while(collector).collect()
    }

    /// The safepoints that ended between an earlier reading and this one, of the time `at_ms`, as
    /// one row that ends there: which of them took how long is not known, nor when they were.
    ///
    /// `None` if none ended, or the readings are of different processes. Of one that is under way
    /// only a part has been counted: until there is a row, compare with the same earlier reading.
    #[must_use]
    pub fn safepoints_since(&self, earlier: &Self, at_ms: f64) -> Option<Safepoint> {
        let has_ended = self.ticks_ms(STOPPED)? > earlier.ticks_ms(STOPPED)?;
        let (now, before) = (self.safepoints()?, earlier.safepoints()?);
        let count = now.count.checked_sub(before.count)?;
        let total_ms = now.total_ms - before.total_ms;
        let reaching_ms = now.reaching_ms - before.reaching_ms;
        (has_ended && total_ms >= 0.0 && reaching_ms >= 0.0).then(|| Safepoint {
            at_ms: at_ms - total_ms,
            reaching_ms: Some(reaching_ms.min(total_ms)),
            total_ms,
            reason: String::new(),
            count: count.max(1),
        })
    }

    /// 8 of `1.8.0_412`, and 17 of `17.0.15`.
    fn java_major(&self) -> Option<u32> {
        let version = self.java_version()?;
        let version = version.strip_prefix("1.").unwrap_or(version);
        digits(version)?.0.parse().ok()
    }

    fn ticks_ms(&self, name: &str) -> Option<f64> {
        let frequency = self.number("sun.os.hrt.frequency").filter(|frequency| *frequency > 0)?;
        let ticks = self.number(name).filter(|ticks| *ticks >= 0)?;
        Some(ticks as f64 / (frequency as f64 / 1e3))
    }

    /// Takes an entry: a number of 64 bits, or a text; there is nothing else.
    fn take(&mut self, entry: &[u8], order: Order) {
        let bytes_at = |field| order.offset(entry, field).and_then(|from| entry.get(from..));
        let text = |bytes: &[u8]| {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        let (Some(name), Some(data), Some(length)) = (bytes_at(4), bytes_at(16), order.offset(entry, 8))
        else {
            return;
        };
        match entry[12] {
            b'J' if length == 0 => {
                if let Some(number) = order.number(data) {
                    self.numbers.insert(text(name), number);
                }
            }
            b'B' => {
                let data = data.get(..length).unwrap_or(data);
                self.texts.insert(text(name), text(data));
            }
            _ => {}
        }
    }
}

/// The order of bytes in numbers; the magic has its own.
#[derive(Clone, Copy)]
struct Order {
    is_little: bool,
}

impl Order {
    /// A place or a length; negative ones are none.
    fn offset(self, bytes: &[u8], at: usize) -> Option<usize> {
        let field = *bytes.get(at..)?.first_chunk()?;
        let value = if self.is_little { i32::from_le_bytes(field) } else { i32::from_be_bytes(field) };
        usize::try_from(value).ok()
    }

    fn number(self, bytes: &[u8]) -> Option<i64> {
        let field = *bytes.first_chunk()?;
        Some(if self.is_little { i64::from_le_bytes(field) } else { i64::from_be_bytes(field) })
    }
}

#[cfg(test)]
mod tests;
