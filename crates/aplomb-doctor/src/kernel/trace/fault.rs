//! Whether there is to be tracing, and why there is none.

use std::io;

use super::btf::BtfFault;

/// The kernel's own types.
pub(super) const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Whether programs are put into the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bpf {
    /// Where that is possible.
    #[default]
    Auto,
    /// Never.
    Off,
    /// It is an error where it is not possible.
    Require,
}

/// Why nothing can be traced.
#[derive(Debug, thiserror::Error)]
pub enum TraceFault {
    /// The kernel does not let us.
    #[error(
        "the kernel does not allow BPF here ({0}): run as root, or with CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN"
    )]
    Refused(io::Error),
    /// Processes have other numbers here than in the kernel.
    #[error("processes have other numbers in here than in the kernel: run it outside of the container")]
    Namespace,
    /// Stacks would be numbers.
    #[error(
        "names of the kernel's functions are hidden (kernel.kptr_restrict): run as root, or with CAP_SYSLOG"
    )]
    Names,
    /// The kernel does not tell where things are.
    #[error("{TYPES} cannot be read ({0}): it takes a kernel with CONFIG_DEBUG_INFO_BTF")]
    Types(io::Error),
    /// What it tells makes no sense.
    #[error("{TYPES} is not understood: {0}")]
    OtherTypes(String),
    /// Something is missing.
    #[error("this kernel has no {0}: it takes Linux 5.18 or later")]
    Missing(&'static str),
    /// The verifier refuses a program.
    #[error("the kernel refuses the program {program} ({error}): {said}")]
    Verifier {
        /// The name that the kernel knows it by.
        program: &'static str,
        /// What the call says.
        error: io::Error,
        /// What the verifier says last.
        said: String,
    },
}

impl From<BtfFault> for TraceFault {
    fn from(fault: BtfFault) -> Self {
        Self::OtherTypes(fault.to_string())
    }
}
