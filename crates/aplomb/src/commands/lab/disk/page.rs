//! How a disk is shown: for people and for programs.

use std::io::{self, Write};

use aplomb_lab::slow_disk::{Backing, Cache, Change, Operation, ServiceTimes, Status};

/// The longest bar of a histogram, in characters.
const BAR: u64 = 40;

/// Writes what goes on, as JSON.
pub(super) fn write_json(what: &impl serde::Serialize) -> io::Result<()> {
    writeln!(io::stdout(), "{:#}", serde_json::to_value(what)?)
}

/// Writes a line for each disk.
pub(super) fn write_list(disks: &[Status]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for disk in disks {
        let state = if disk.frozen_ms.is_some() { "frozen" } else { "" };
        writeln!(
            out,
            "{:20} {:5} {:>7} MiB  {} on {}  {state}",
            disk.name,
            disk.filesystem.name(),
            disk.size_bytes >> 20,
            disk.mount.display(),
            disk.device.display()
        )?;
    }
    Ok(())
}

/// Writes all there is to say of one.
pub(super) fn write_status(disk: &Status) -> io::Result<()> {
    write!(io::stdout(), "{}", status(disk))
}

fn status(disk: &Status) -> String {
    let backing = match &disk.backing {
        Backing::Memory => "memory".to_owned(),
        Backing::Directory(directory) => format!("a file in {}", directory.display()),
    };
    let cache = match disk.cache {
        Cache::WriteBack => "write-back",
        Cache::WriteThrough => "write-through",
    };
    let mut lines = vec![
        format!(
            "{}: {} of {} MiB, {} on {}",
            disk.name,
            disk.filesystem.name(),
            disk.size_bytes >> 20,
            disk.mount.display(),
            disk.device.display()
        ),
        format!("bytes in {backing}, cache {cache}, served by process {}", disk.daemon),
    ];
    if let Some(bytes) = disk.bandwidth {
        lines.push(format!("carries {:.1} MiB/s at most", bytes as f64 / f64::from(1 << 20)));
    }
    lines.push(match disk.owner {
        Some(owner) => format!("goes with process {owner}"),
        None => "stays until it is destroyed".to_owned(),
    });
    if let Some(ms) = disk.frozen_ms {
        lines.push(format!("frozen for {:.1} s", ms as f64 / 1e3));
    }
    if !disk.failing.is_empty() {
        lines.push(format!("failing: {}", names(&disk.failing)));
    }
    for step in disk.to_come.clone().in_order() {
        lines.push(format!("in {:.1} s: {}", step.at_ms as f64 / 1e3, change(&step.change)));
    }
    for operation in Operation::ALL {
        let (delay, at_once, times) =
            (disk.delays[operation], disk.at_once[operation], &disk.service_times[operation]);
        lines.push(String::new());
        lines.push(format!(
            "{operation}: delay {delay}; {} under way, at most {} since the delay changed; {} answered",
            at_once.now,
            at_once.most,
            times.count()
        ));
        lines.extend(histogram(times));
    }
    lines.join("\n") + "\n"
}

fn names(operations: &[Operation]) -> String {
    operations.iter().map(|operation| operation.name()).collect::<Vec<_>>().join(", ")
}

fn change(change: &Change) -> String {
    match change {
        Change::Delay { operation, delay } => format!("delay of {operation}s {delay}"),
        Change::Freeze => "freeze".to_owned(),
        Change::Thaw => "thaw".to_owned(),
        Change::Fail { operations } => format!("fail {}", names(operations)),
        Change::Heal => "heal".to_owned(),
    }
}

/// A bar for each range of times, of which the next is twice as long.
fn histogram(times: &ServiceTimes) -> Vec<String> {
    let mut bars: Vec<(u64, u64)> = Vec::new();
    for bucket in &times.buckets {
        let up_to = bucket.up_to_us.next_power_of_two();
        match bars.last_mut() {
            Some((last, count)) if *last == up_to => *count += bucket.count,
            _ => bars.push((up_to, bucket.count)),
        }
    }
    let highest = bars.iter().map(|(_, count)| *count).max().unwrap_or(1);
    bars.into_iter()
        .map(|(up_to, count)| {
            // Of what was seen at all, something is to be seen.
            let length = (count * BAR).div_ceil(highest);
            let bar = "#".repeat(usize::try_from(length).unwrap_or_default());
            format!("  up to {:>10.3} ms {count:>9} {bar}", up_to as f64 / 1e3)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use aplomb_lab::slow_disk::{Delay, Filesystem, PerOperation, Schedule};

    use aplomb_lab::record::Bucket;

    use super::*;

    #[test]
    fn a_page_says_what_the_disk_does_and_did() {
        let times = |buckets: &[(u64, u64)]| ServiceTimes {
            buckets: buckets
                .iter()
                .map(|(up_to_us, count)| Bucket { up_to_us: *up_to_us, count: *count })
                .collect(),
        };
        let disk = Status {
            name: "slow".to_owned(),
            size_bytes: 1 << 30,
            filesystem: Filesystem::Ext4,
            mount: "/mnt/slow".into(),
            device: "/dev/loop3".into(),
            backing: Backing::Memory,
            cache: Cache::WriteBack,
            bandwidth: Some(125 << 20),
            owner: Some(17),
            daemon: 18,
            delays: PerOperation { read: Delay::of(20), ..PerOperation::default() },
            frozen_ms: Some(1_250),
            failing: vec![Operation::Write],
            to_come: Schedule::new().at(std::time::Duration::from_secs(2), Change::Thaw),
            at_once: PerOperation::default(),
            service_times: PerOperation {
                read: times(&[(900, 1), (1_000, 1), (20_600, 80)]),
                ..PerOperation::default()
            },
        };
        let page = status(&disk);
        for expected in [
            "slow: ext4 of 1024 MiB, /mnt/slow on /dev/loop3\n",
            "carries 125.0 MiB/s at most\n",
            "goes with process 17\n",
            "frozen for 1.2 s\n",
            "failing: write\n",
            "in 2.0 s: thaw\n",
            "read: delay 20 ms; 0 under way, at most 0 since the delay changed; 82 answered\n",
            "  up to      1.024 ms         2 #\n",
            &format!("  up to     32.768 ms        80 {}\n", "#".repeat(40)),
            "flush: delay none; 0 under way, at most 0 since the delay changed; 0 answered\n",
        ] {
            assert!(page.contains(expected), "{expected:?} is not in:\n{page}");
        }
    }
}
