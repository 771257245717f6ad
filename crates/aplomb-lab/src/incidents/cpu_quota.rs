//! A container with too small a limit of processors: a look-alike.

use super::calm::nothing;
use super::{Action, Incident, Step, Whom};

/// Of one processor's time: less than either broker needs for the load.
const PERCENT: u64 = 10;

pub(super) fn incident() -> Incident {
    Incident {
        name: "cpu-quota",
        causes: &["cpu-quota"],
        title: "A container with a quota of processors",
        explanation: "The broker is put into a control group that may run for a tenth of one processor's time, as a container with too small a limit has it. \
            The machine has processors to spare, and the disk is left alone.\n\n\
            All threads of the group together may run for 10 ms in each tenth of a second. When these are used up all of them stand until the next begins, wherever they \
            are, in any broker: it looks as if something held them all at once.",
        look_alike: true,
        during: vec![Step::first(Action::ProcessorQuota(PERCENT))],
        disturbance: "the broker may run for a tenth of one processor's time",
        hurts: Whom::Everybody,
        ..nothing()
    }
}
