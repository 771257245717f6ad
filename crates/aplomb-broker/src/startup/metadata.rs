//! Reading the metadata log: the newest snapshot, then the batches behind it, to the end. The only
//! voter may apply all of it.
//!
//! Holds: bytes that are no batches end the reading where a power cut may have left them, at the
//! end of what was not synced yet. Anywhere else they are damage, and the log is refused: what came
//! behind them would be lost with them. See [`Damage`].

use std::collections::BTreeSet;

use aplomb_disk_api::{DiskError, Entry as DiskEntry, EntryKind, FileName};
use aplomb_log::layout::SegmentFile;
use aplomb_log::layout::top_level::{BOOTSTRAP_CHECKPOINT, CLUSTER_METADATA_DIR, QUORUM_STATE};
use aplomb_log::state_files::QuorumState;
use aplomb_model::batch::{BatchHeader, Batches, HEADER_SIZE, Stop};
use aplomb_model::{BrokerId, LeaderEpoch, Offset};

use super::error::{Damage, StartError};
use super::survey::{Directory, read};
use crate::metadata::{Entry, MetadataImage, Replay, decode_batch, parse_snapshot_name, snapshot_name};

/// What the metadata log says.
pub struct MetadataFound {
    /// The image, and whether a transaction is open at its end.
    pub replay: Replay,
    /// The latest epoch that was ever led in.
    pub epoch: Option<LeaderEpoch>,
    /// What the voter remembered.
    pub quorum: Option<QuorumState>,
    /// Who votes, as the log says last; `None` if it does not.
    pub voters: Option<BTreeSet<BrokerId>>,
    /// The snapshots that are there.
    pub snapshots: Vec<(Offset, LeaderEpoch)>,
}

impl MetadataFound {
    /// Reads the log in `directory`; a new cluster's is empty, or has only what a format command
    /// wrote. `clean`: it was closed cleanly.
    ///
    /// # Errors
    /// When the disk fails, the log is damaged, or says what cannot be understood.
    pub fn read(directory: &Directory, cluster_id: &str, clean: bool) -> Result<Self, StartError> {
        let mut found = Self {
            replay: Replay::from_image(MetadataImage::empty(cluster_id)),
            epoch: None,
            quorum: None,
            voters: None,
            snapshots: Vec::new(),
        };
        let name = FileName::new(CLUSTER_METADATA_DIR);
        let entries = match directory.disk.list(Some(&name)) {
            Ok(entries) => entries,
            Err(DiskError::NotFound { .. }) => Vec::new(),
            Err(error) => return Err(StartError::Disk { path: directory.path.clone(), error }),
        };
        let quorum = FileName::new(format!("{CLUSTER_METADATA_DIR}/{QUORUM_STATE}"));
        if let Some(bytes) = read(directory, &quorum)? {
            let state = QuorumState::parse(&bytes).map_err(|error| StartError::File {
                path: directory.path.clone(),
                file: quorum,
                reason: error.to_string(),
            })?;
            found.epoch = Some(state.epoch);
            found.quorum = Some(state);
        }
        found.snapshots = entries.iter().filter_map(|entry| parse_snapshot_name(&entry.name)).collect();
        let mut end = Offset::ZERO;
        if let Some((snapshot_end, epoch)) = found.snapshots.iter().copied().max() {
            found.apply_snapshot(
                directory,
                &format!("{CLUSTER_METADATA_DIR}/{}", snapshot_name(snapshot_end, epoch)),
            )?;
            found.end_at(snapshot_end, epoch);
            end = snapshot_end;
        }
        let segments = segments(&entries);
        let has_batches = |entry: &DiskEntry| matches!(entry.kind, EntryKind::File { len, .. } if len > 0);
        let is_new = end == Offset::ZERO && !segments.iter().any(|(_, entry)| has_batches(entry));
        if is_new && found.snapshots.is_empty() {
            // Apache Kafka up to 4.3 formats so; once there is a log, it has these records.
            found.apply_snapshot(directory, BOOTSTRAP_CHECKPOINT)?;
        }
        let from = end;
        for (n, (base, entry)) in segments.iter().enumerate() {
            let damage = if *base > end {
                Some(Damage::Gap { file: entry.name.clone(), found: *base, expected: end })
            } else {
                let (reached, damage) = found.apply_segment(directory, &entry.name, *base, from)?;
                end = end.max(reached);
                damage
            };
            let Some(mut damage) = damage else { continue };
            let epoch = Some(found.replay.image().provenance.epoch);
            if !clean && epoch >= latest_epoch(directory, &segments[n..], end)? {
                break; // as a power cut leaves it; loading the log will cut it here
            }
            if let Damage::Segment { how, .. } = &mut damage {
                *how = if clean { "the log was closed cleanly" } else { "a later leader wrote behind it" };
            }
            return Err(damaged(directory, damage));
        }
        Ok(found)
    }

    fn end_at(&mut self, end: Offset, epoch: LeaderEpoch) {
        let applied = self.replay.apply_batch(&[], end, epoch);
        applied.expect("nothing always fits");
        self.epoch = self.epoch.max(Some(epoch));
    }

    /// Applies a file of its own offsets, if it is there.
    fn apply_snapshot(&mut self, directory: &Directory, name: &str) -> Result<(), StartError> {
        let Some(bytes) = read(directory, &FileName::new(name))? else { return Ok(()) };
        let mut batches = Batches::new(&bytes).checked();
        let mut last = None;
        for batch in batches.by_ref() {
            let entries = decode_batch(&batch).map_err(|error| unusable(directory, name, &error))?;
            self.note_voters(&entries);
            let (end, epoch) = (Offset::ZERO, LeaderEpoch::default());
            self.replay
                .apply_batch(&entries, end, epoch)
                .map_err(|error| unusable(directory, name, &error))?;
            last = entries.last().cloned();
        }
        let end = batches.end().expect("the walk is over");
        let why = match end.why {
            Stop::Complete if last == Some(Entry::SnapshotFooter) => return Ok(()),
            Stop::Complete => "its footer is missing".to_owned(),
            why => said(&why),
        };
        Err(damaged(directory, Damage::Snapshot { file: name.to_owned(), position: end.position, why }))
    }

    /// Applies the batches of a segment from offset `from` on. Says where it ends, and what is
    /// wrong there.
    fn apply_segment(
        &mut self,
        directory: &Directory,
        name: &str,
        base: Offset,
        from: Offset,
    ) -> Result<(Offset, Option<Damage>), StartError> {
        let file = format!("{CLUSTER_METADATA_DIR}/{name}");
        let bytes = read(directory, &FileName::new(file.as_str()))?.unwrap_or_default();
        let mut next = base;
        let mut batches = Batches::new(&bytes).checked();
        for batch in batches.by_ref() {
            let first = batch.header.base_offset();
            if first != next {
                return Ok((next, Some(Damage::Gap { file: name.to_owned(), found: first, expected: next })));
            }
            next = batch.header.last_offset().next();
            let epoch = batch.header.leader_epoch().unwrap_or_default();
            self.epoch = self.epoch.max(Some(epoch));
            if next <= from {
                continue;
            }
            let entries = decode_batch(&batch).map_err(|error| unusable(directory, &file, &error))?;
            self.note_voters(&entries);
            self.replay
                .apply_batch(&entries, next, epoch)
                .map_err(|error| unusable(directory, &file, &format!("batch at offset {first}: {error}")))?;
        }
        let end = batches.end().expect("the walk is over");
        let damage = (end.why != Stop::Complete).then(|| Damage::Segment {
            file: name.to_owned(),
            position: end.position,
            why: said(&end.why),
            how: "",
        });
        Ok((next, damage))
    }

    fn note_voters(&mut self, entries: &[Entry]) {
        for entry in entries {
            match entry {
                Entry::Voters(voters) => {
                    self.voters = Some(voters.voters.iter().map(|voter| BrokerId(voter.voter_id)).collect());
                }
                Entry::LeaderChange(change) => {
                    self.voters = Some(change.voters.iter().map(|voter| BrokerId(voter.voter_id)).collect());
                }
                Entry::Record(_)
                | Entry::KraftVersion(_)
                | Entry::SnapshotHeader(_)
                | Entry::SnapshotFooter
                | Entry::UnknownControl(_) => {}
            }
        }
    }
}

/// The segments of a log, in order.
fn segments(entries: &[DiskEntry]) -> Vec<(Offset, &DiskEntry)> {
    let mut segments: Vec<(Offset, &DiskEntry)> = entries
        .iter()
        .filter(|entry| matches!(entry.kind, EntryKind::File { .. }))
        .filter_map(|entry| match SegmentFile::parse(&entry.name) {
            Some((SegmentFile::Log, base, None)) => Some((base, entry)),
            _ => None,
        })
        .collect();
    segments.sort_unstable_by_key(|(base, _)| *base);
    segments
}

/// The latest epoch of whole batches from offset `from` on that are anywhere in these segments. A
/// leader's first batches are synced before its next, so that a power cut never takes what an
/// earlier leader wrote.
fn latest_epoch(
    directory: &Directory,
    segments: &[(Offset, &DiskEntry)],
    from: Offset,
) -> Result<Option<LeaderEpoch>, StartError> {
    let mut latest = None;
    for (_, entry) in segments {
        let file = FileName::new(format!("{CLUSTER_METADATA_DIR}/{}", entry.name));
        let bytes = read(directory, &file)?.unwrap_or_default();
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= HEADER_SIZE) {
            let is_later = |header: &BatchHeader| header.base_offset() >= from;
            let batch = match BatchHeader::parse(rest) {
                Ok(header) if is_later(&header) => Batches::new(rest).checked().next(),
                _ => None,
            };
            latest = latest.max(batch.as_ref().and_then(|batch| batch.header.leader_epoch()));
            at += batch.map_or(1, |batch| batch.header.size());
        }
    }
    Ok(latest)
}

fn said(why: &Stop) -> String {
    match why {
        Stop::Complete => "nothing".to_owned(),
        Stop::Cut { needed, available } => format!("{available} of {needed} bytes"),
        Stop::BadLength(length) => format!("a length of {length}"),
        Stop::BadMagic { magic, .. } => format!("a batch of format {magic}"),
        Stop::BadCrc { .. } => "a checksum that does not fit".to_owned(),
        Stop::BadHeader(error) => error.to_string(),
    }
}

fn damaged(directory: &Directory, damage: Damage) -> StartError {
    StartError::Damaged { path: format!("{}/{CLUSTER_METADATA_DIR}", directory.path), damage }
}

fn unusable(directory: &Directory, file: &str, error: &dyn std::fmt::Display) -> StartError {
    StartError::Metadata(format!("{}/{file}: {error}", directory.path))
}
