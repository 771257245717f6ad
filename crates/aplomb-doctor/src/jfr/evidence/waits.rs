//! Events with a beginning and an end that are waits: locks, parks, files, sockets.

use crate::recording::Sighting;

use super::super::chunk::JfrEvent;
use super::super::fault::JfrFault;
use super::found::FoundWait;
use super::frames::{WaitReason, parks_for_a_lock, what_is_written};
use super::names::ChunkNames;

/// Whether an event is one that [`wait_of`] knows.
pub(super) fn is_wait(type_name: &str) -> bool {
    kind_of(type_name).is_some()
}

/// The wait that an event tells of. `None` where the thread had nothing to do, or is a virtual one,
/// which has no number.
pub(super) fn wait_of(event: &JfrEvent<'_>, names: &mut ChunkNames) -> Result<Option<FoundWait>, JfrFault> {
    let fields = &event.fields;
    let Some(kind) = kind_of(fields.type_name()) else { return Ok(None) };
    let Some(tid) = names.tid(fields, "eventThread")? else { return Ok(None) };
    let frames = names.frames(fields)?;
    let doing = match kind {
        EventKind::Park => {
            let class = ChunkNames::class(fields, "parkedClass")?;
            if !parks_for_a_lock(class.as_deref(), &frames) {
                return Ok(None);
            }
            WaitReason::Lock
        }
        EventKind::Monitor => WaitReason::Lock,
        EventKind::FileWrite => what_is_written(&frames),
        EventKind::Other(doing) => doing,
    };
    let mut wait = FoundWait::new(tid, names.span_ms(fields)?, Sighting::Exact, doing);
    wait.path = names.path(fields)?;
    wait.frames = frames;
    if matches!(kind, EventKind::Monitor) {
        wait.holders.extend(names.tid(fields, "previousOwner")?);
        wait.holders_known = !wait.holders.is_empty();
    }
    Ok(Some(wait))
}

#[derive(Clone, Copy, Debug)]
enum EventKind {
    Monitor,
    Park,
    FileWrite,
    Other(WaitReason),
}

fn kind_of(type_name: &str) -> Option<EventKind> {
    Some(match type_name {
        "jdk.JavaMonitorEnter" => EventKind::Monitor,
        "jdk.ThreadPark" => EventKind::Park,
        "jdk.FileWrite" => EventKind::FileWrite,
        "jdk.FileRead" => EventKind::Other(WaitReason::Read),
        "jdk.FileForce" => EventKind::Other(WaitReason::Force),
        "jdk.SocketRead" => EventKind::Other(WaitReason::SocketRead),
        "jdk.SocketWrite" => EventKind::Other(WaitReason::SocketWrite),
        "profiler.NativeLock" => EventKind::Other(WaitReason::Lock),
        _ => return None,
    })
}
