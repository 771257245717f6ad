//! The machine that a run ran on.

use std::fs;

use crate::record::Machine;

/// What the kernel says.
#[must_use]
pub fn describe() -> Machine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
    let kib: u64 = memory.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    Machine {
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
        memory_bytes: kib * 1024,
        cpu_model: field(&read("/proc/cpuinfo"), "model name")
            .unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_kernel_and_memory() {
        let machine = describe();
        assert!(!machine.kernel.is_empty() && machine.cpus > 0 && machine.memory_bytes > 1 << 20);
    }
}
