//! A plain append waits for the filesystem's journal to commit.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, count, device_said, let_go, names, remedy, told};
use crate::recording::{PlaceOf, WaitClass};

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let logs_alone = evidence.logs_are_slow();
    let waits = evidence.waits(|seen| {
        let own = seen.path().map_or(logs_alone, |path| evidence.is_of(path, PlaceOf::OwnLog));
        seen.carries_requests() && seen.is(WaitClass::Journal) && !own
    });
    if waits.is_empty() {
        return None;
    }
    let paths = waits.paths();
    let file = paths.first().copied().unwrap_or("a file");
    let holders = waits.holders();
    let mut evidence_for = vec![told(&waits, "waited for the journal")];
    if !holders.is_empty() {
        evidence_for.push(format!("which was committing: {}", names(evidence, &holders)));
    }
    evidence_for.extend(let_go(evidence, &waits));
    let syncs = evidence.waits(|seen| !seen.carries_requests() && seen.is(WaitClass::Sync));
    if !syncs.is_empty() {
        evidence_for.push(told(&syncs, "synced files meanwhile, which commits the journal"));
    }
    let device = device_said(evidence, file, &waits.spans());
    let ground = device.is_some() || !holders.is_empty();
    evidence_for.extend(device);
    Some(Finding {
        name: "journal",
        explained: waits.spans(),
        ground,
        waited: true,
        summary: format!(
            "Appends of {} waited for the journal of {} to commit",
            count(waits.threads().len(), "request thread"),
            evidence.device_of(file).map_or("the filesystem", |device| device.name.as_str())
        ),
        evidence: evidence_for,
        against: Vec::new(),
        mechanism: "A plain write updates the file's time stamp. If the inode's block belongs to the \
            transaction that ext4's journal is committing, the write waits for the commit. The journal \
            commits every five seconds, and whenever anything on the filesystem is synced.",
        remedy: vec![
            remedy("XFS for log directories", "a new filesystem, one directory after the other"),
            remedy("the mount option noatime, so that reads write nothing", "none to speak of"),
            remedy("whatever syncs files on this filesystem elsewhere", "a disk"),
        ],
        threads: waits.threads(),
        absorbs: &["gc-log", "own-log"],
        ..Finding::default()
    })
}
