//! The story told for longer, and the story told in texts that would like to be HTML.

use aplomb_doctor::diagnosis::Diagnosis;
use aplomb_doctor::recording::{Recording, Safepoint, Wait};

use super::story::{LENGTH_MS, inode_lock};

/// The same minute three times over: more than 10 MB of recording.
pub(super) fn long() -> (Recording, Diagnosis) {
    let (mut recording, diagnosis) = inode_lock();
    let (waits, safepoints) = (recording.waits.clone(), recording.safepoints.clone());
    for minute in [1.0, 2.0] {
        let later = minute * LENGTH_MS;
        recording.waits.extend(waits.iter().map(|wait| Wait {
            from_ms: wait.from_ms + later,
            to_ms: wait.to_ms + later,
            ..wait.clone()
        }));
        recording
            .safepoints
            .extend(safepoints.iter().map(|stop| Safepoint { at_ms: stop.at_ms + later, ..stop.clone() }));
    }
    recording.clock.length_ms *= 3.0;
    (recording, diagnosis)
}

/// The same with texts that would like to be HTML.
pub(super) fn hostile() -> (Recording, Diagnosis) {
    let (mut recording, mut diagnosis) = inode_lock();
    let evil =
        "</script><img src=x onerror=\"document.title='owned'\"><style>*{display:none}</style>\u{2028}";
    recording.waits.truncate(400);
    recording.process.name += evil;
    recording.sight.missing.push(evil.to_owned());
    for thread in &mut recording.threads {
        thread.name += evil;
    }
    for wait in &mut recording.waits {
        wait.kernel.push(evil.to_owned());
        wait.frames.push("]]><!--".to_owned() + evil);
    }
    for stop in &mut recording.safepoints {
        stop.reason += evil;
    }
    for cause in &mut diagnosis.causes {
        cause.name += evil;
        cause.summary += evil;
        cause.evidence.push(evil.to_owned());
    }
    (recording, diagnosis)
}
