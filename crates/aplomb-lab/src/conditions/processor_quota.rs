//! A quota of processor time for a process, as a container with a limit of processors has it
//! (`cpu.max`): all its threads together may run for so long in each tenth of a second.
//!
//! What always holds: the quota goes with its control group, when it is dropped or the lab has
//! ended.

use super::ConditionError;
use super::control_group::{ControlGroup, Controller, Version};

/// The time that a quota is for, in microseconds: the kernel's default.
const PERIOD_US: u64 = 100_000;

const PROCESSORS: Controller =
    Controller { name: "cpu", limit_of_one: ("cpu.cfs_quota_us", "-1"), limit_of_two: ("cpu.max", "max") };

/// A process with a quota, until this is dropped.
#[derive(Debug)]
pub(crate) struct ProcessorQuota {
    _group: ControlGroup,
}

impl ProcessorQuota {
    /// Why there can be no such quota on this machine; `None` where there can.
    #[must_use]
    pub(crate) fn missing() -> Option<String> {
        PROCESSORS.missing()
    }

    /// Lets a process run for `percent` of one processor's time.
    ///
    /// # Errors
    /// When the machine has no control groups of processors, without root, or when the process has
    /// gone.
    pub(crate) fn around(pid: u32, percent: u64) -> Result<Self, ConditionError> {
        let group = ControlGroup::make(pid, PROCESSORS)?;
        if group.version() == Version::One {
            group.write("cpu.cfs_period_us", &PERIOD_US.to_string())?;
        }
        group.set_limit(&quota(group.version(), percent))?;
        group.enter(pid)?;
        Ok(Self { _group: group })
    }
}

/// As the file with the limit takes it.
fn quota(version: Version, percent: u64) -> String {
    let quota = PERIOD_US * percent / 100;
    match version {
        Version::One => quota.to_string(),
        Version::Two => format!("{quota} {PERIOD_US}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_so_much_of_a_tenth_of_a_second() {
        assert_eq!(quota(Version::One, 10), "10000");
        assert_eq!(quota(Version::Two, 150), "150000 100000");
    }
}
