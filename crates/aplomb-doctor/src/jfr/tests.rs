//! What the reader makes of whole recordings, unfinished ones, and broken ones.

use proptest::prelude::*;

use super::testing::{
    APPEND, ChunkBuilder, ENTER, HANDLER, READER, RUNNABLE, SLEEPING, START_UNIX_MS, THREAD, long, text,
};
use super::*;
use crate::recording::{Recording, Role, Sighting, WaitClass};

const OPTIONS: JfrOptions = JfrOptions { shortest_ms: 0.0, role_of: |_| Role::Other };

fn recorded(bytes: &[u8]) -> (Recording, Vec<JfrFlaw>) {
    let evidence = JfrEvidence::of_bytes(bytes, &OPTIONS);
    (evidence.recording, evidence.faults.into_iter().map(|fault| fault.flaw).collect())
}

fn event_names(bytes: &[u8]) -> Vec<String> {
    let mut file = JfrFile::in_memory(bytes);
    let mut names = Vec::new();
    while let Some(chunk) = file.next_chunk() {
        let Ok(chunk) = chunk else { continue };
        names.extend(chunk.events().flatten().map(|event| event.fields.type_name().to_owned()));
    }
    names
}

#[test]
fn a_recording_is_its_waits_with_stacks_holders_and_paths() {
    let (recording, flaws) = recorded(&ChunkBuilder::whole());
    assert_eq!(flaws, []);
    assert_eq!(recording.clock.began_unix_ms, START_UNIX_MS as f64);
    let told: Vec<_> =
        recording.waits.iter().map(|wait| (wait.tid, wait.from_ms, wait.to_ms, wait.class)).collect();
    let (handler, reader) = (100 + HANDLER as u32, 100 + READER as u32);
    let expected = [
        (handler, 0.0, 300.0, WaitClass::Other),
        (reader, 100.0, 200.0, WaitClass::Lock),
        (handler, 390.0, 450.0, WaitClass::Other),
        (reader, 400.0, 450.0, WaitClass::Lock),
    ];
    assert_eq!(told, expected);
    let [gap, sampled, write, monitor] = &recording.waits[..] else { panic!("four waits") };
    assert_eq!(gap.sighting, Sighting::Gap);
    let append = "org.apache.kafka.storage.internals.log.UnifiedLog.append";
    assert_eq!(gap.frames, ["sun.nio.ch.FileDispatcherImpl.write0", append]);
    assert_eq!((sampled.sighting, &sampled.holders[..]), (Sighting::One { looks: 5 }, &[handler][..]));
    assert!(!sampled.holders_known && sampled.frames[0] == "ObjectMonitor::enter");
    let call = write.call.as_ref().expect("a call");
    assert_eq!((call.name.as_str(), call.path.as_deref()), ("write", Some("/data/t-0/0.log")));
    assert_eq!((&monitor.holders[..], monitor.holders_known), (&[handler][..], true));
    let threads: Vec<_> = recording.threads.iter().map(|thread| (thread.tid, thread.name.as_str())).collect();
    assert_eq!(threads, [(handler, "data-plane-kafka-request-handler-0"), (reader, "reader")]);
    assert_eq!(recording.sight.sources, ["async-profiler"]);
}

#[test]
fn a_field_is_found_by_its_name_and_type() {
    let bytes = ChunkBuilder::whole();
    let mut file = JfrFile::in_memory(&bytes);
    let chunk = file.next_chunk().expect("a chunk").expect("that can be read");
    let event = chunk.events().last().expect("an event").expect("that can be read");
    let fields = event.fields;
    assert_eq!(fields.type_name(), "jdk.FileWrite");
    let names: Vec<&str> = fields.names().collect();
    assert_eq!(names, ["startTime", "duration", "eventThread", "stackTrace", "path"]);
    assert_eq!(fields.integer("duration"), Ok(Some(60_000)));
    assert_eq!(fields.integer("path"), Ok(None), "it is no number");
    assert_eq!(fields.text("path"), Ok(Some("/data/t-0/0.log".to_owned())));
    assert_eq!(fields.text("host"), Ok(None), "this JDK has no such field");
    assert_eq!(fields.float("duration"), Ok(None));
    assert_eq!(fields.constant("eventThread"), Ok(Some(HANDLER)));
    let thread = fields.fields("eventThread").expect("it is in order").expect("a constant");
    assert_eq!(thread.integer("osThreadId"), Ok(Some(101)));
    assert!(thread.each("osName").expect("it is in order").next().is_none(), "it is no array");
}

#[test]
fn chunks_are_read_one_by_one_and_each_has_its_own_clock() {
    let mut second = ChunkBuilder::new();
    second.put(32, (START_UNIX_MS + 1000) * 1_000_000);
    second.wall(0, HANDLER, APPEND, RUNNABLE, 1);
    second.constants();
    let bytes = [ChunkBuilder::whole(), second.finished()].concat();
    let (recording, flaws) = recorded(&bytes);
    assert_eq!(flaws, []);
    let gap = recording.waits.iter().find(|wait| wait.from_ms == 300.0).expect("a gap over both chunks");
    assert_eq!((gap.to_ms, gap.sighting), (1000.0, Sighting::Gap));
    assert_eq!(event_names(&bytes).len(), 6);
}

#[test]
fn a_broken_chunk_does_not_take_the_next_one_with_it() {
    let mut broken = ChunkBuilder::whole();
    // The metadata's type: it is no metadata any more.
    broken[72] = 9;
    let (recording, flaws) = recorded(&[broken, ChunkBuilder::whole()].concat());
    assert_eq!((recording.waits.len(), flaws), (4, vec![JfrFlaw::NoMetadata]));
}

#[test]
fn an_unfinished_chunk_of_the_profiler_has_threads_and_times_and_no_stacks() {
    let mut chunk = ChunkBuilder::new();
    chunk.put(8, 1 << 30);
    chunk.put(24, 0);
    chunk.wall(0, 4321, APPEND, RUNNABLE, 1);
    chunk.wall(300, 4321, APPEND, SLEEPING, 1);
    let bytes = chunk.bytes;
    let (recording, flaws) = recorded(&bytes);
    let unfinished = JfrFlaw::Unfinished { said: 1 << 30, found: bytes.len() as u64 };
    assert_eq!(flaws, [unfinished, JfrFlaw::NoConstants]);
    assert_eq!(event_names(&bytes), ["profiler.WallClockSample"; 2]);
    assert!(recording.sight.missing.iter().any(|said| said.starts_with("2 samples have no stack")));
    let mut file = JfrFile::in_memory(&bytes);
    let chunk = file.next_chunk().expect("a chunk").expect("that can be read");
    let event = chunk.events().next().expect("an event").expect("that can be read");
    assert_eq!(event.fields.constant("sampledThread"), Ok(Some(4321)));
}

#[test]
fn a_live_chunk_is_read_to_its_last_flush() {
    let mut bytes = ChunkBuilder::whole();
    bytes[64] = 3;
    bytes.extend(b"what was not flushed yet");
    let (recording, flaws) = recorded(&bytes);
    assert_eq!((recording.waits.len(), flaws), (4, vec![JfrFlaw::Live]));
    bytes[64] = 255;
    assert_eq!(recorded(&bytes).1, [JfrFlaw::Rewriting]);
    bytes[64] = 0;
    assert_eq!(recorded(&bytes).1, [JfrFlaw::NotAChunk], "a finished one is followed by another");
}

#[test]
fn a_chunk_without_a_size_is_read_to_the_end_of_the_file() {
    let mut chunk = ChunkBuilder::new();
    chunk.file_write(10, 20, HANDLER, "/a");
    chunk.constants();
    let mut bytes = chunk.bytes;
    let size = bytes.len() as u64;
    let (recording, flaws) = recorded(&bytes);
    assert_eq!((recording.waits.len(), flaws), (1, vec![JfrFlaw::Unfinished { said: 0, found: size }]));
    bytes.extend([0; 40]);
    let unfinished = JfrFlaw::Unfinished { said: 0, found: size + 40 };
    assert_eq!(recorded(&bytes).1, [unfinished, JfrFlaw::EventSize(0)], "zeros behind it are no events");
}

#[test]
fn an_event_that_cannot_be_told_from_the_next_ends_its_chunk() {
    for (size, said) in
        [([0x80, 0x80, 0x80, 0], 0), ([1, 0x80, 0x80, 0], 1), ([0xff, 0xff, 0x7f, 0], 0x1f_ffff)]
    {
        let mut chunk = ChunkBuilder::new();
        chunk.constants();
        chunk.file_write(10, 20, HANDLER, "/a");
        let broken = chunk.bytes.len();
        chunk.file_write(10, 20, HANDLER, "/b");
        chunk.file_write(10, 20, HANDLER, "/c");
        chunk.bytes[broken..broken + 4].copy_from_slice(&size);
        let evidence = JfrEvidence::of_bytes(&chunk.finished(), &OPTIONS);
        assert_eq!(evidence.recording.waits.len(), 1);
        let fault = JfrFault { chunk: 1, offset: broken as u64, flaw: JfrFlaw::EventSize(said) };
        assert_eq!(evidence.faults, [fault]);
    }
}

#[test]
fn an_event_of_an_unknown_type_is_passed_over() {
    let mut chunk = ChunkBuilder::new();
    chunk.event(1234, &[1, 2, 3]);
    chunk.file_write(10, 20, HANDLER, "/a");
    chunk.constants();
    let (recording, flaws) = recorded(&chunk.finished());
    assert_eq!((recording.waits.len(), flaws), (1, vec![JfrFlaw::UnknownType(1234)]));
}

#[test]
fn an_event_that_ends_too_early_is_a_fault_of_its_own() {
    let mut chunk = ChunkBuilder::new();
    chunk.event(32, &[1, 2]);
    chunk.file_write(10, 20, HANDLER, "/a");
    chunk.constants();
    let (recording, flaws) = recorded(&chunk.finished());
    assert_eq!((recording.waits.len(), flaws), (1, vec![JfrFlaw::Truncated]));
}

fn named(number: i64, name: &str) -> (i64, i64, Vec<u8>) {
    let mut body = Vec::new();
    long(&mut body, number);
    text(&mut body, "os");
    long(&mut body, 55);
    text(&mut body, name);
    (THREAD, 1, body)
}

#[test]
fn of_two_constants_with_one_number_the_later_counts() {
    let mut chunk = ChunkBuilder::new();
    chunk.checkpoint(&[named(1, "before")]);
    chunk.checkpoint(&[named(2, "other")]);
    chunk.checkpoint(&[named(1, "after")]);
    let whole = chunk.finished();
    let name = |bytes: &[u8]| recorded(bytes).0.threads.first().map(|thread| thread.name.clone());
    assert_eq!(
        name(&whole[..]).as_deref(),
        Some("other"),
        "both are thread 55, and the higher number is later"
    );
    let names = |bytes: &[u8]| -> Vec<String> {
        let mut file = JfrFile::in_memory(bytes);
        let chunk = file.next_chunk().expect("a chunk").expect("that can be read");
        let all = chunk.constants("java.lang.Thread");
        all.iter().filter_map(|(_, thread)| thread.text("javaName").ok().flatten()).collect()
    };
    assert_eq!(names(&whole), ["after", "other"]);
    let mut without_chain = whole;
    without_chain[16..24].fill(0);
    assert_eq!(names(&without_chain), ["after", "other"], "lists are found without a chain, too");
}

#[test]
fn a_chain_that_leads_in_a_ring_is_told_and_its_constants_are_found_all_the_same() {
    for back in [1_i64, 1 << 40, i64::MAX, -(1 << 40), i64::MIN] {
        let mut chunk = ChunkBuilder::new();
        chunk.constants();
        let mut body = Vec::new();
        [0, 0, back].iter().for_each(|number| long(&mut body, *number));
        body.extend([0, 0]);
        let last = chunk.event(1, &body);
        chunk.file_write(10, 20, HANDLER, "/a");
        let mut bytes = chunk.finished();
        bytes[16..24].copy_from_slice(&(last as i64).to_be_bytes());
        let (recording, flaws) = recorded(&bytes);
        assert_eq!((recording.waits.len(), flaws), (1, vec![JfrFlaw::Chain]), "{back}");
    }
}

#[test]
fn what_is_no_recording_says_so() {
    assert_eq!(recorded(b"").1, []);
    assert_eq!(recorded(b"FLR").1, [JfrFlaw::Truncated]);
    assert_eq!(recorded(&[b'x'; 100]).1, [JfrFlaw::NotAChunk]);
    let missing = JfrEvidence::read(std::path::Path::new("there/is/none.jfr"), &OPTIONS);
    assert_eq!(missing.map_err(|error| error.kind()), Err(std::io::ErrorKind::NotFound));
}

/// Reads all that there is; the events and faults that were found.
fn read_all(bytes: &[u8]) -> (usize, usize) {
    let mut file = JfrFile::in_memory(bytes);
    let (mut events, mut faults, mut chunks) = (0, 0, 0);
    while let Some(chunk) = file.next_chunk() {
        chunks += 1;
        assert!(chunks * HEADER_BYTES <= bytes.len() + HEADER_BYTES, "each chunk leads on");
        let Ok(chunk) = chunk else {
            faults += 1;
            continue;
        };
        faults += chunk.faults().len();
        for event in chunk.events() {
            match event {
                Ok(event) => events += 1 + event.fields.names().count(),
                Err(_) => faults += 1,
            }
        }
    }
    assert!(events <= 40 * bytes.len() && faults <= bytes.len() + 16);
    let evidence = JfrEvidence::of_bytes(bytes, &OPTIONS);
    evidence.recording.to_json().expect("all numbers are finite");
    (events, faults)
}

#[test]
fn a_recording_that_is_cut_anywhere_is_read_as_far_as_it_goes() {
    let whole = ChunkBuilder::whole();
    let (mut before, _) = read_all(&whole);
    for end in (0..whole.len()).rev() {
        let (events, faults) = read_all(&whole[..end]);
        assert!(events <= before && (faults > 0 || end == 0), "cut at {end}");
        before = events;
    }
}

#[test]
fn bytes_that_are_wrong_one_by_one_are_no_more_than_faults() {
    let whole = ChunkBuilder::whole();
    for at in 0..whole.len() {
        for value in [0, 1, 2, 0x7f, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            read_all(&bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_change_of_a_recording_makes_its_reader_stumble(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in any::<prop::sample::Index>(),
        repeat in 1..3_usize,
    ) {
        let mut chunk = ChunkBuilder::new();
        chunk.constants();
        chunk.wall(0, HANDLER, ENTER, SLEEPING, 3);
        let mut bytes = [chunk.finished(), ChunkBuilder::whole()].concat().repeat(repeat);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        read_all(&bytes);
        read_all(&bytes[..cut.index(bytes.len())]);
    }
}
