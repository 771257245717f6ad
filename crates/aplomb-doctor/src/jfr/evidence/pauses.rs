//! Safepoints and collections: events that tell of one pause are put together by its number.

use std::collections::HashMap;

use crate::recording::{Collection, Safepoint};

use super::super::fault::JfrFault;
use super::super::values::FieldSet;
use super::found::micros;
use super::names::ChunkNames;

/// Safepoints, and collections, that are kept of a file, and pauses of one collection.
const MOST: usize = 100_000;
const MOST_PAUSES: usize = 64;

/// What a file says of pauses.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    safepoints: HashMap<i64, SafepointParts>,
    collections: HashMap<i64, CollectionParts>,
}

/// All times in milliseconds since 1970.
#[derive(Clone, Debug, Default)]
struct SafepointParts {
    /// When threads were asked to stop, and when all stood.
    begun: Option<(f64, f64)>,
    ended: Option<f64>,
    /// Beginning, end and name of the longest operation.
    operation: Option<(f64, f64, String)>,
}

#[derive(Clone, Debug, Default)]
struct CollectionParts {
    started: Option<f64>,
    sum_of_pauses_ms: Option<f64>,
    name: String,
    cause: String,
    /// Beginning and end of each.
    pauses: Vec<(f64, f64, String)>,
    /// Beginning of each named part of a pause, and how long it took.
    phases: Vec<(f64, f64)>,
    used_before: Option<u64>,
    /// Used, and the heap's size.
    after: Option<(u64, u64)>,
}

impl Pauses {
    /// Takes what the event says of a pause, if it does.
    pub(super) fn event(&mut self, event: &FieldSet<'_>, names: &ChunkNames) -> Result<(), JfrFault> {
        match event.type_name() {
            "jdk.SafepointBegin" => {
                let span = names.span_ms(event)?;
                if let Some(safepoint) = self.safepoint(event)? {
                    safepoint.begun = Some(span);
                }
            }
            "jdk.SafepointEnd" => {
                let (_, ended) = names.span_ms(event)?;
                if let Some(safepoint) = self.safepoint(event)? {
                    safepoint.ended = Some(ended);
                }
            }
            "jdk.ExecuteVMOperation" if event.integer("safepoint")? == Some(1) => {
                let (from, to) = names.span_ms(event)?;
                let name = event.text("operation")?.unwrap_or_default();
                if let Some(safepoint) = self.safepoint(event)?
                    && safepoint.operation.as_ref().is_none_or(|(f, t, _)| t - f < to - from)
                {
                    safepoint.operation = Some((from, to, name));
                }
            }
            "jdk.GarbageCollection" => {
                let started = names.start_ms(event)?;
                let sum = event.integer("sumOfPauses")?.map(|ticks| names.header.ticks_ms(ticks));
                let (name, cause) = (event.text("name")?, event.text("cause")?);
                if let Some(collection) = self.collection(event)? {
                    collection.started = Some(started);
                    collection.sum_of_pauses_ms = sum;
                    collection.name = name.unwrap_or_default();
                    collection.cause = cause.unwrap_or_default();
                }
            }
            "jdk.GCPhasePause" => {
                let (from, to) = names.span_ms(event)?;
                let name = event.text("name")?.unwrap_or_default();
                if let Some(collection) = self.collection(event)?.filter(|one| one.pauses.len() < MOST_PAUSES)
                {
                    collection.pauses.push((from, to, name));
                }
            }
            "jdk.GCPhasePauseLevel1" => {
                let (from, to) = names.span_ms(event)?;
                if let Some(collection) = self.collection(event)?.filter(|one| one.phases.len() < MOST_PAUSES)
                {
                    collection.phases.push((from, to - from));
                }
            }
            "jdk.GCHeapSummary" => {
                let when = event.text("when")?;
                let used = event.integer("heapUsed")?.and_then(|bytes| u64::try_from(bytes).ok());
                let space = event.fields("heapSpace")?;
                let size = space.map(|space| space.integer("committedSize")).transpose()?.flatten();
                let size = size.and_then(|bytes| u64::try_from(bytes).ok());
                if let (Some(used), Some(collection)) = (used, self.collection(event)?) {
                    match when.as_deref() {
                        Some("Before GC") => collection.used_before = Some(used),
                        _ => collection.after = size.map(|size| (used, size)),
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// All of them, on the clock of a recording that began at `began_unix_ms`.
    pub(super) fn finish(self, began_unix_ms: f64) -> (Vec<Safepoint>, Vec<Collection>) {
        let at = |unix_ms: f64| micros(unix_ms - began_unix_ms);
        let mut safepoints: Vec<Safepoint> =
            self.safepoints.into_values().filter_map(|parts| parts.whole(at)).collect();
        safepoints.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
        let mut collections: Vec<Collection> =
            self.collections.into_values().flat_map(|parts| parts.whole(at)).collect();
        collections.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
        (safepoints, collections)
    }

    /// The safepoint that an event belongs to; `None` once there are too many.
    fn safepoint(&mut self, event: &FieldSet<'_>) -> Result<Option<&mut SafepointParts>, JfrFault> {
        Ok(event.integer("safepointId")?.and_then(|number| entry(&mut self.safepoints, number)))
    }

    fn collection(&mut self, event: &FieldSet<'_>) -> Result<Option<&mut CollectionParts>, JfrFault> {
        Ok(event.integer("gcId")?.and_then(|number| entry(&mut self.collections, number)))
    }
}

fn entry<T: Default>(all: &mut HashMap<i64, T>, number: i64) -> Option<&mut T> {
    let has_room = all.len() < MOST || all.contains_key(&number);
    has_room.then(|| all.entry(number).or_default())
}

impl SafepointParts {
    fn whole(self, at: impl Fn(f64) -> f64) -> Option<Safepoint> {
        let operation = self.operation.as_ref();
        let from = self.begun.map(|(from, _)| from).or(operation.map(|(from, _, _)| *from))?;
        let reached = self.begun.map(|(_, reached)| reached);
        let ends = [reached, self.ended, operation.map(|(_, to, _)| *to)];
        let to = ends.into_iter().flatten().fold(from, f64::max);
        Some(Safepoint {
            at_ms: at(from),
            reaching_ms: reached.map(|reached| micros(reached - from)),
            total_ms: micros(to - from),
            reason: self.operation.map(|(_, _, name)| name).unwrap_or_default(),
            count: 1,
        })
    }
}

impl CollectionParts {
    /// A row a pause. A collection whose pauses were not recorded is one row of their sum.
    fn whole(self, at: impl Fn(f64) -> f64) -> Vec<Collection> {
        let named = match (self.name.as_str(), self.cause.as_str()) {
            ("", "") => String::new(),
            (name, "") => format!(" {name}"),
            (name, cause) => format!(" {name} ({cause})"),
        };
        let heap_bytes =
            self.used_before.zip(self.after).map(|(before, (after, size))| (before, after, size));
        let row = |from: f64, pause_ms: f64, name: &str, phases_ms| Collection {
            at_ms: at(from),
            pause_ms: micros(pause_ms),
            name: format!("{name}{named}"),
            phases_ms,
            heap_bytes,
            ..Collection::default()
        };
        if self.pauses.is_empty() {
            let sum = self.sum_of_pauses_ms.filter(|sum| *sum > 0.0);
            return self
                .started
                .zip(sum)
                .map(|(from, sum)| row(from, sum, "Pauses of", None))
                .into_iter()
                .collect();
        }
        let phases_in = |from: f64, to: f64| {
            let inside = self.phases.iter().filter(|(begun, _)| *begun >= from && *begun < to);
            let lengths: Vec<f64> = inside.map(|(_, length)| *length).collect();
            (!lengths.is_empty()).then(|| micros(lengths.iter().sum()))
        };
        let pauses = self.pauses.iter();
        pauses.map(|(from, to, name)| row(*from, to - from, name, phases_in(*from, *to))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_safepoint_is_put_together_from_what_is_known() {
        let whole = |begun, ended, operation: Option<(f64, f64, &str)>| {
            let operation = operation.map(|(from, to, name)| (from, to, name.to_owned()));
            SafepointParts { begun, ended, operation }.whole(|at| at - 1000.0)
        };
        let all =
            whole(Some((1010.0, 1050.0)), None, Some((1051.0, 1080.0, "G1Collect"))).expect("a safepoint");
        assert_eq!((all.at_ms, all.reaching_ms, all.total_ms), (10.0, Some(40.0), 70.0));
        assert_eq!(all.reason, "G1Collect");
        let begun = whole(Some((1010.0, 1050.0)), None, None).expect("a safepoint");
        assert_eq!((begun.total_ms, begun.reason.as_str()), (40.0, ""));
        let operation = whole(None, None, Some((1051.0, 1080.0, "Halt"))).expect("a safepoint");
        assert_eq!((operation.at_ms, operation.reaching_ms, operation.total_ms), (51.0, None, 29.0));
        assert_eq!(whole(None, Some(1.0), None), None);
    }

    #[test]
    fn a_collection_is_a_row_a_pause() {
        let parts = CollectionParts {
            started: Some(1000.0),
            sum_of_pauses_ms: Some(9.0),
            name: "G1New".to_owned(),
            cause: "System.gc()".to_owned(),
            pauses: vec![(1000.0, 1004.0, "GC Pause".to_owned()), (1010.0, 1015.0, "GC Pause".to_owned())],
            phases: vec![(1000.0, 1.5), (1001.5, 2.0)],
            used_before: Some(100),
            after: Some((20, 400)),
        };
        let rows = parts.clone().whole(|at| at - 1000.0);
        let told: Vec<_> = rows.iter().map(|row| (row.at_ms, row.pause_ms, row.phases_ms)).collect();
        assert_eq!(told, [(0.0, 4.0, Some(3.5)), (10.0, 5.0, None)]);
        assert_eq!(rows[0].name, "GC Pause G1New (System.gc())");
        assert_eq!(rows[0].heap_bytes, Some((100, 20, 400)));
        let sum = CollectionParts { pauses: Vec::new(), ..parts }.whole(|at| at - 1000.0);
        assert_eq!(
            (sum.len(), sum[0].pause_ms, sum[0].name.as_str()),
            (1, 9.0, "Pauses of G1New (System.gc())")
        );
    }
}
