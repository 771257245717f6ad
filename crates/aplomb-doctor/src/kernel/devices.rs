//! Block devices: what they have answered, and what is under way (`/proc/diskstats`).

use std::collections::HashMap;
use std::path::Path;

use super::files::{Kept, read};
use crate::recording::{Device, DeviceSample};

/// Bytes of what the kernel calls a sector here, whatever the device's are.
const SECTOR: u64 = 512;

/// Devices that are followed.
#[derive(Debug)]
pub(super) struct Devices {
    stats: Option<Kept>,
    followed: Vec<Watched>,
}

#[derive(Debug)]
struct Watched {
    device: Device,
    last: Option<DiskCounts>,
}

/// Counters since the boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DiskCounts {
    reads: u64,
    read_sectors: u64,
    reads_ms: u64,
    writes: u64,
    written_sectors: u64,
    writes_ms: u64,
    in_flight: u64,
    busy_ms: u64,
    flushes: u64,
    flushes_ms: u64,
}

impl Devices {
    pub(super) fn new() -> Self {
        Self { stats: Kept::open("/proc/diskstats").ok(), followed: Vec::new() }
    }

    /// Follows the device of this number, the whole disk of a partition, and what a mapped device
    /// is made of. Numbers that are no block devices' are left out.
    pub(super) fn follow(&mut self, number: &str) {
        let Ok(folder) = std::fs::canonicalize(Path::new("/sys/dev/block").join(number)) else { return };
        self.add(number, &folder);
        if folder.join("partition").exists()
            && let Some(disk) = folder.parent()
            && let Some(whole) = read(disk.join("dev"))
        {
            self.add(whole.trim(), disk);
        }
        let Ok(slaves) = std::fs::read_dir(folder.join("slaves")) else { return };
        for slave in slaves.flatten() {
            if let Some(below) = read(slave.path().join("dev"))
                && !self.is_followed(below.trim())
            {
                self.follow(below.trim());
            }
        }
    }

    /// `major:minor` of each that is followed.
    pub(super) fn numbers(&self) -> impl Iterator<Item = &str> {
        self.followed.iter().map(|followed| followed.device.number.as_str())
    }

    fn is_followed(&self, number: &str) -> bool {
        self.followed.iter().any(|followed| followed.device.number == number)
    }

    fn add(&mut self, number: &str, folder: &Path) {
        if self.is_followed(number) {
            return;
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let device = Device { number: number.to_owned(), name, ..Device::default() };
        self.followed.push(Watched { device, last: None });
    }

    /// A row of each.
    pub(super) fn row(&mut self, at_ms: f64) {
        let Some(text) = self.stats.as_mut().and_then(Kept::read) else { return };
        let now: HashMap<&str, DiskCounts> = text.lines().filter_map(counts).collect();
        for Watched { device, last } in &mut self.followed {
            // A device that has been taken away has no row.
            let Some(now) = now.get(device.name.as_str()) else { continue };
            if let Some(last) = last.replace(*now) {
                device.samples.push(now.since(&last, at_ms));
            }
        }
    }

    /// Forgets the oldest rows.
    pub(super) fn forget(&mut self, rows: usize) {
        for Watched { device, .. } in &mut self.followed {
            device.samples.drain(..rows.min(device.samples.len()));
        }
    }

    pub(super) fn finish(self) -> Vec<Device> {
        self.followed.into_iter().map(|followed| followed.device).collect()
    }
}

impl DiskCounts {
    fn since(&self, before: &Self, at_ms: f64) -> DeviceSample {
        let ms = |now: u64, before: u64| now.saturating_sub(before) as f64;
        DeviceSample {
            at_ms,
            reads: self.reads.saturating_sub(before.reads),
            reads_ms: ms(self.reads_ms, before.reads_ms),
            read_bytes: self.read_sectors.saturating_sub(before.read_sectors) * SECTOR,
            writes: self.writes.saturating_sub(before.writes),
            writes_ms: ms(self.writes_ms, before.writes_ms),
            written_bytes: self.written_sectors.saturating_sub(before.written_sectors) * SECTOR,
            flushes: self.flushes.saturating_sub(before.flushes),
            flushes_ms: ms(self.flushes_ms, before.flushes_ms),
            in_flight: self.in_flight,
            busy_ms: ms(self.busy_ms, before.busy_ms),
        }
    }
}

/// A line of `diskstats`: the device's name and its counters. Flushes are counted since 5.5.
fn counts(line: &str) -> Option<(&str, DiskCounts)> {
    let mut words = line.split_ascii_whitespace().skip(2);
    let name = words.next()?;
    let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    let at = |index: usize| numbers.get(index).copied();
    let counts = DiskCounts {
        reads: at(0)?,
        read_sectors: at(2)?,
        reads_ms: at(3)?,
        writes: at(4)?,
        written_sectors: at(6)?,
        writes_ms: at(7)?,
        in_flight: at(8)?,
        busy_ms: at(9)?,
        flushes: at(15).unwrap_or(0),
        flushes_ms: at(16).unwrap_or(0),
    };
    Some((name, counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_what_came_since_the_row_before() {
        let line = |reads, in_flight| {
            format!("   7       1 loop1 {reads} 1 80 400 20 2 160 900 {in_flight} 1000 1300 0 0 0 0 3 30")
        };
        let (before, after) = (line(10, 0), line(14, 2));
        let (name, before) = counts(&before).expect("a line");
        let (_, after) = counts(&after).expect("a line");
        assert_eq!(name, "loop1");
        let sample = after.since(&before, 5.0);
        assert_eq!((sample.reads, sample.writes, sample.in_flight, sample.at_ms), (4, 0, 2, 5.0));
        assert_eq!(before.flushes_ms, 30);
        assert_eq!(counts("7 1 loop1 x"), None);
        assert_eq!(counts("8 0 sda 1 1 1 1 1 1 1 1 1 1 1").map(|(_, counts)| counts.flushes), Some(0));
    }
}
