//! A recording as the script gets it: numbers in columns, texts and stacks once each.
//!
//! What always holds: every wait, safepoint, collection, device, slow time and cause is in it, in
//! the order of the recording; a number that names a thread, a text, a stack or a place is a
//! position in the list of these. Times are whole ticks of [`TICK_MS`], and so short in JSON.

use std::collections::HashMap;

use serde::Serialize;

use super::intern::Interner;
use super::places;
use super::words::{self, CLASSES, ClassWords, ROLES};
use crate::diagnosis::{Diagnosis, Span};
use crate::recording::{Call, Device, HostSample, Recording, Thread, Wait};

/// What one tick of a time is, in milliseconds.
const TICK_MS: f64 = 0.01;

/// Where a thread would be that ended a wait.
const INTERRUPT: i64 = -1;
const NOT_TRACED: i64 = -2;

/// Everything that the script draws.
#[derive(Serialize)]
pub(super) struct Model<'a> {
    tick: f64,
    length: i64,
    began: f64,
    /// Milliseconds between two looks; 0 without looks.
    look: f64,
    strings: Vec<&'a str>,
    /// Strings of each stack, the innermost first.
    stacks: Vec<Vec<usize>>,
    places: Vec<PlaceRow>,
    /// Who holds: 1 if that is known, else 0; then threads.
    holders: Vec<Vec<usize>>,
    /// What ended a wait: a thread, -1 for an interrupt, -2 where it was not traced; and its stack.
    wakers: Vec<(i64, usize)>,
    threads: Vec<Lane<'a>>,
    waits: WaitColumns,
    safepoints: Vec<(i64, Option<i64>, i64, &'a str, u64)>,
    collections: Vec<CollectionRow<'a>>,
    devices: Vec<DeviceRow<'a>>,
    host: HostRow,
    slow: Vec<(i64, i64)>,
    causes: Vec<CauseRow<'a>>,
    classes: Vec<ClassWords>,
    roles: Vec<&'static str>,
    /// How many of the roles carry requests; these come first.
    carrying: usize,
    seen: &'static [&'static str],
}

/// Class, call, path, device; strings but for the class. Then the stacks of kernel and program, and
/// whether the path is the segment that is appended to.
type PlaceRow = (usize, usize, usize, usize, usize, usize, Option<bool>);

/// Number, name, the same in brief, role, and by row of the machine how much of the time, in
/// percent, the thread could have run and had no processor.
type Lane<'a> = (u32, &'a str, String, usize, Vec<u8>);

/// Beginning, pause, name; sum of named phases, the rest, processor time, the clock's time.
type CollectionRow<'a> = (i64, i64, &'a str, Option<i64>, Option<i64>, Option<i64>, Option<i64>);

/// Waits, a column each thing.
#[derive(Default, Serialize)]
struct WaitColumns {
    thread: Vec<usize>,
    /// Since the beginning of the wait before.
    from: Vec<i64>,
    long: Vec<i64>,
    place: Vec<usize>,
    /// Four times the looks, and how it is known.
    seen: Vec<u64>,
    held: Vec<usize>,
    woke: Vec<usize>,
}

/// A device, a column each thing, a row each sample.
#[derive(Serialize)]
struct DeviceRow<'a> {
    name: &'a str,
    number: &'a str,
    /// Paths that matter and are on it.
    paths: Vec<&'a str>,
    at: Vec<i64>,
    answered: Vec<u64>,
    /// Time for one request, in ticks.
    service: Vec<i64>,
    in_flight: Vec<u64>,
    bytes: Vec<u64>,
}

/// The machine, a column each thing; shares are in percent.
#[derive(Default, Serialize)]
struct HostRow {
    at: Vec<i64>,
    busy: Vec<u8>,
    /// Processor time that a host or a quota has kept from the process.
    withheld: Vec<u8>,
    pressure: Vec<[Option<u8>; 3]>,
    dirty: Vec<u8>,
}

#[derive(Serialize)]
struct CauseRow<'a> {
    name: &'a str,
    threads: Vec<usize>,
    when: Vec<(i64, i64)>,
}

/// Threads by their kernel's number, those included that only a wait names.
struct Lanes<'a> {
    numbers: HashMap<u32, usize>,
    lanes: Vec<Lane<'a>>,
}

impl<'a> Model<'a> {
    pub(super) fn of(recording: &'a Recording, diagnosis: &'a Diagnosis) -> Self {
        let mut threads = Lanes::of(recording);
        let mut strings = Interner::beginning_with("");
        let mut stacks: Interner<&'a [String]> = Interner::beginning_with(&[]);
        let mut places: Interner<PlaceRow> =
            Interner::beginning_with((CLASSES.len() - 1, 0, 0, 0, 0, 0, None));
        let mut holders = Interner::beginning_with(Vec::new());
        let mut wakers = Interner::beginning_with((NOT_TRACED, 0));
        let mut waits = WaitColumns::default();
        let mut before = 0;
        for wait in &recording.waits {
            let place = place(wait, recording, &mut strings, &mut stacks);
            let from = ticks(wait.from_ms);
            let (seen, looks) = words::seen(wait.sighting);
            waits.thread.push(threads.number(wait.tid));
            waits.from.push(from.saturating_sub(before));
            waits.long.push(ticks(places::length(wait)));
            waits.place.push(places.number(place));
            waits.seen.push(looks.saturating_mul(4).saturating_add(seen));
            waits.held.push(holders.number(threads.holders(wait)));
            waits.woke.push(wait.woken_by.as_ref().map_or(0, |waker| {
                let thread = waker.tid.map_or(INTERRUPT, |tid| threads.number(tid) as i64);
                wakers.number((thread, stacks.number(&waker.kernel)))
            }));
            before = from;
        }
        let stacks: Vec<&[String]> = stacks.all();
        let stacks =
            stacks.iter().map(|stack| stack.iter().map(|frame| strings.number(frame)).collect()).collect();
        Self {
            tick: TICK_MS,
            length: ticks(recording.clock.length_ms),
            began: finite(recording.clock.began_unix_ms),
            look: recording.sight.look_interval_ms.map_or(0.0, finite),
            stacks,
            places: places.all(),
            holders: holders.all(),
            wakers: wakers.all(),
            waits,
            safepoints: safepoints(recording),
            collections: collections(recording),
            devices: recording.devices.iter().map(|device| device_row(device, recording)).collect(),
            host: host_row(&recording.host),
            slow: diagnosis.slow.iter().map(span).collect(),
            causes: causes(diagnosis, &mut threads),
            threads: threads.lanes,
            strings: strings.all(),
            classes: CLASSES.map(words::class).to_vec(),
            roles: ROLES.map(words::role).to_vec(),
            carrying: ROLES.iter().filter(|role| role.carries_requests()).count(),
            seen: &words::SEEN,
        }
    }

    /// The model as JSON.
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers, texts and lists of them are JSON")
    }
}

impl<'a> Lanes<'a> {
    fn of(recording: &'a Recording) -> Self {
        let host = &recording.host;
        let mut all = Self { numbers: HashMap::new(), lanes: Vec::new() };
        for thread in &recording.threads {
            all.numbers.insert(thread.tid, all.lanes.len());
            let role = ROLES.iter().position(|role| *role == thread.role).unwrap_or(ROLES.len() - 1);
            let usage = runnable(thread, host);
            all.lanes.push((thread.tid, &thread.name, words::brief(&thread.name), role, usage));
        }
        all
    }

    fn number(&mut self, tid: u32) -> usize {
        *self.numbers.entry(tid).or_insert_with(|| {
            self.lanes.push((tid, "", String::new(), ROLES.len() - 1, Vec::new()));
            self.lanes.len() - 1
        })
    }

    fn holders(&mut self, wait: &Wait) -> Vec<usize> {
        if wait.holders.is_empty() {
            return Vec::new();
        }
        let known = usize::from(wait.holders_known);
        std::iter::once(known).chain(wait.holders.iter().map(|tid| self.number(*tid))).collect()
    }
}

fn place<'a>(
    wait: &'a Wait,
    recording: &'a Recording,
    strings: &mut Interner<&'a str>,
    stacks: &mut Interner<&'a [String]>,
) -> PlaceRow {
    let class = CLASSES.iter().position(|class| *class == wait.class).unwrap_or(CLASSES.len() - 1);
    let call = wait.call.as_ref();
    let device = call.and_then(|call| device_of(call, recording)).map_or("", |device| device.name.as_str());
    (
        class,
        strings.number(call.map_or("", |call| call.name.as_str())),
        strings.number(call.and_then(|call| call.path.as_deref()).unwrap_or_default()),
        strings.number(device),
        stacks.number(&wait.kernel),
        stacks.number(&wait.frames),
        call.and_then(|call| call.active_segment),
    )
}

/// The device of a call's file: by the file's number, or by the place that its path is below.
pub(super) fn device_of<'a>(call: &Call, recording: &'a Recording) -> Option<&'a Device> {
    let named = |number: &str| recording.devices.iter().find(|device| device.number == number);
    let by_file = call.file.and_then(|file| named(&device_number(file.device)));
    by_file.or_else(|| {
        let path = std::path::Path::new(call.path.as_deref()?);
        let above = recording.places.iter().filter(|place| path.starts_with(&place.path));
        named(&above.max_by_key(|place| place.path.len())?.device)
    })
}

/// `major:minor` of a `dev_t`, as glibc packs it.
fn device_number(device: u64) -> String {
    let major = device >> 8 & 0xfff | device >> 32 & !0xfff;
    let minor = device & 0xff | device >> 12 & !0xff;
    format!("{major}:{}", minor & 0xffff_ffff)
}

fn safepoints(recording: &Recording) -> Vec<(i64, Option<i64>, i64, &str, u64)> {
    let all = recording.safepoints.iter();
    all.map(|stop| {
        let reaching = stop.reaching_ms.map(ticks);
        (ticks(stop.at_ms), reaching, ticks(stop.total_ms), stop.reason.as_str(), stop.count)
    })
    .collect()
}

fn collections(recording: &Recording) -> Vec<CollectionRow<'_>> {
    let all = recording.collections.iter();
    all.map(|one| {
        let parts = [one.phases_ms, one.other_ms, one.cpu_ms, one.real_ms].map(|part| part.map(ticks));
        let [phases, other, cpu, real] = parts;
        (ticks(one.at_ms), ticks(one.pause_ms), one.name.as_str(), phases, other, cpu, real)
    })
    .collect()
}

fn device_row<'a>(device: &'a Device, recording: &'a Recording) -> DeviceRow<'a> {
    let samples = &device.samples;
    let on_it = recording.places.iter().filter(|place| place.device == device.number);
    let answered = samples.iter().map(|row| row.reads.saturating_add(row.writes).saturating_add(row.flushes));
    let answered: Vec<u64> = answered.collect();
    let took = samples.iter().map(|row| row.reads_ms + row.writes_ms + row.flushes_ms);
    let each = took.zip(&answered).map(|(ms, answered)| ticks(ms / (*answered).max(1) as f64));
    DeviceRow {
        name: &device.name,
        number: &device.number,
        paths: on_it.map(|place| place.path.as_str()).collect(),
        at: samples.iter().map(|row| ticks(row.at_ms)).collect(),
        service: each.collect(),
        answered,
        in_flight: samples.iter().map(|row| row.in_flight).collect(),
        bytes: samples.iter().map(|row| row.read_bytes.saturating_add(row.written_bytes)).collect(),
    }
}

fn host_row(rows: &[HostSample]) -> HostRow {
    let mut all = HostRow::default();
    for (at, row) in rows.iter().enumerate() {
        let whole = since(rows, at) * f64::from(row.cpus.max(1));
        all.at.push(ticks(row.at_ms));
        all.busy.push(percent(row.busy_ms / whole));
        all.withheld.push(percent((row.steal_ms + row.cgroup_throttled_ms.unwrap_or(0.0)) / whole));
        let pressures = [row.cpu_pressure, row.io_pressure, row.memory_pressure];
        all.pressure.push(pressures.map(|share| share.map(percent)));
        all.dirty.push(percent(row.dirty_bytes as f64 / row.dirty_limit_bytes.max(1) as f64));
    }
    all
}

fn runnable(thread: &Thread, host: &[HostSample]) -> Vec<u8> {
    if thread.usage.iter().all(|row| row.runnable_ms <= 0.0) {
        return Vec::new();
    }
    let rows = thread.usage.iter().enumerate().take(host.len());
    rows.map(|(at, row)| percent(row.runnable_ms / since(host, at))).collect()
}

/// The time between a row and the one before, in milliseconds.
fn since(rows: &[HostSample], at: usize) -> f64 {
    let before = at.checked_sub(1).map_or(0.0, |before| rows[before].at_ms);
    (rows[at].at_ms - before).max(1.0)
}

fn causes<'a>(diagnosis: &'a Diagnosis, threads: &mut Lanes<'a>) -> Vec<CauseRow<'a>> {
    let all = diagnosis.causes.iter();
    all.map(|cause| CauseRow {
        name: &cause.name,
        threads: cause.threads.iter().map(|tid| threads.number(*tid)).collect(),
        when: cause.when.iter().map(span).collect(),
    })
    .collect()
}

fn span(span: &Span) -> (i64, i64) {
    (ticks(span.from_ms), ticks(span.to_ms))
}

/// Milliseconds in ticks; what is not a number is 0.
fn ticks(ms: f64) -> i64 {
    (ms / TICK_MS).round() as i64
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

fn percent(share: f64) -> u8 {
    (share * 100.0).round().clamp(0.0, 100.0) as u8
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::diagnosis::{Cause, Confidence};
    use crate::recording::{FileId, Place as Where, Role, Safepoint, Sighting, WaitClass, Waker};

    const HOSTILE: &str = "</script><img src=x onerror=alert(1)>";

    fn wait(tid: u32, from_ms: f64, to_ms: f64) -> Wait {
        Wait {
            tid,
            from_ms,
            to_ms,
            sighting: Sighting::One { looks: 3 },
            class: WaitClass::Inode,
            call: Some(Call {
                name: "pwrite64".to_owned(),
                path: Some("/data/orders-0/1.log".to_owned()),
                file: Some(FileId { device: 0x10301, inode: 99 }),
                active_segment: Some(true),
            }),
            kernel: vec!["xfs_ilock".to_owned(), "vfs_write".to_owned()],
            frames: vec![],
            holders: vec![11, 77],
            holders_known: true,
            woken_by: None,
        }
    }

    fn sample() -> (Recording, Diagnosis) {
        let thread = |tid, name: &str, role| Thread { tid, name: name.to_owned(), role, usage: vec![] };
        let recording = Recording {
            threads: vec![thread(10, HOSTILE, Role::Request), thread(11, "net", Role::Network)],
            waits: vec![wait(10, 1.0, 21.0), wait(10, 31.5, 32.0), wait(5, 40.0, 39.0)],
            safepoints: vec![Safepoint { at_ms: 7.0, total_ms: 2.5, count: 1, ..Safepoint::default() }],
            devices: vec![Device {
                number: "259:1".to_owned(),
                name: "nvme0n1".to_owned(),
                ..Device::default()
            }],
            places: vec![Where { path: "/data".to_owned(), device: "259:1".to_owned(), ..Where::default() }],
            ..Recording::default()
        };
        let cause = Cause {
            name: "inode-lock".to_owned(),
            confidence: Confidence::Proved,
            share: 0.9,
            summary: String::new(),
            evidence: vec![],
            against: vec![],
            mechanism: String::new(),
            remedy: vec![],
            threads: vec![10],
            when: vec![Span { from_ms: 1.0, to_ms: 32.0 }],
        };
        (recording, Diagnosis { causes: vec![cause], slow: vec![Span::default()], ..Diagnosis::default() })
    }

    fn read(recording: &Recording, diagnosis: &Diagnosis) -> Value {
        serde_json::from_str(&Model::of(recording, diagnosis).to_json()).expect("JSON")
    }

    #[test]
    fn every_wait_safepoint_device_and_cause_is_in_it() {
        let (recording, diagnosis) = sample();
        let model = read(&recording, &diagnosis);
        let waits = &model["waits"];
        assert_eq!(waits["from"], serde_json::json!([100, 3050, 850]), "since the one before");
        assert_eq!(waits["long"], serde_json::json!([2000, 50, 0]));
        assert_eq!(waits["thread"], serde_json::json!([0, 0, 3]));
        assert_eq!(waits["seen"], serde_json::json!([14, 14, 14]));
        assert_eq!(model["safepoints"], serde_json::json!([[700, null, 250, "", 1]]));
        assert_eq!(model["devices"][0]["name"], "nvme0n1");
        assert_eq!(model["devices"][0]["paths"], serde_json::json!(["/data"]));
        assert_eq!(model["causes"][0]["threads"], serde_json::json!([0]));
        assert_eq!(model["causes"][0]["when"], serde_json::json!([[100, 3200]]));
        assert_eq!(model["slow"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn texts_stacks_and_places_are_said_once() {
        let (recording, diagnosis) = sample();
        let model = read(&recording, &diagnosis);
        assert_eq!(model["waits"]["place"], serde_json::json!([1, 1, 1]));
        assert_eq!(model["waits"]["held"], serde_json::json!([1, 1, 1]));
        let text = |number: &Value| model["strings"][number.as_u64().expect("a number") as usize].clone();
        let place = &model["places"][1];
        assert_eq!(text(&place[1]), "pwrite64");
        assert_eq!(text(&place[2]), "/data/orders-0/1.log");
        assert_eq!(text(&place[3]), "nvme0n1");
        let stack =
            model["stacks"][place[4].as_u64().expect("a number") as usize].as_array().expect("a stack");
        assert_eq!(stack.iter().map(text).collect::<Vec<_>>(), ["xfs_ilock", "vfs_write"]);
        assert_eq!(place[5], 0, "the stack of nothing");
        assert_eq!(place[6], true);
    }

    #[test]
    fn what_ended_a_wait_is_in_it_where_that_was_traced() {
        let (mut recording, diagnosis) = sample();
        let kernel = vec!["up_read".to_owned()];
        recording.waits[0].woken_by = Some(Waker { tid: Some(11), kernel: kernel.clone() });
        recording.waits[1].woken_by = Some(Waker { tid: None, kernel });
        let model = read(&recording, &diagnosis);
        assert_eq!(model["waits"]["woke"], serde_json::json!([1, 2, 0]));
        assert_eq!(model["wakers"], serde_json::json!([[-2, 0], [1, 2], [-1, 2]]));
        assert_eq!(model["stacks"][2].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn threads_that_only_a_wait_names_have_a_lane() {
        let (recording, diagnosis) = sample();
        let model = read(&recording, &diagnosis);
        let lanes = model["threads"].as_array().expect("lanes");
        let tids: Vec<_> = lanes.iter().map(|lane| lane[0].as_u64().expect("a number")).collect();
        assert_eq!(tids, [10, 11, 77, 5]);
        assert_eq!(model["holders"], serde_json::json!([[], [1, 1, 2]]));
        assert_eq!(lanes[0][1], HOSTILE, "escaped only where it is written");
    }

    #[test]
    fn numbers_that_are_none_are_drawn_as_nothing() {
        let mut recording = sample().0;
        recording.clock.length_ms = f64::NAN;
        recording.waits[0].from_ms = f64::INFINITY;
        recording.host = vec![HostSample { busy_ms: f64::NAN, ..HostSample::default() }];
        let model = read(&recording, &Diagnosis::default());
        assert_eq!(model["length"], 0);
        assert_eq!(model["waits"]["long"][0], 0);
        assert_eq!(model["host"]["busy"], serde_json::json!([0]));
    }

    #[test]
    fn a_device_is_found_by_a_files_number_or_by_its_path() {
        assert_eq!(device_number(0x10301), "259:1");
        // 8:1048575 has a minor number that does not fit into its lowest byte.
        assert_eq!(device_number(0xfff0_08ff), "8:1048575");
        let (recording, _) = sample();
        let mut call = recording.waits[0].call.clone().expect("a call");
        call.file = None;
        assert_eq!(device_of(&call, &recording).map(|device| device.name.as_str()), Some("nvme0n1"));
        call.path = Some("/database/1.log".to_owned());
        assert!(device_of(&call, &recording).is_none(), "another directory, not one below");
    }
}
