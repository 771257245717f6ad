//! Reads bytes as a recording of JFR: every field of every event, and the evidence in it.

#![no_main]

use aplomb_doctor::jfr::{FieldSet, JfrEvidence, JfrFile, JfrOptions};
use aplomb_doctor::recording::Role;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut file = JfrFile::in_memory(data);
    let (mut chunks, mut events) = (0, 0);
    while let Some(chunk) = file.next_chunk() {
        chunks += 1;
        let Ok(chunk) = chunk else { continue };
        for event in chunk.events() {
            events += 1;
            if let Ok(event) = event {
                fields(&event.fields, 0);
            }
        }
    }
    // A chunk is at least a header, an event at least its size and its type.
    assert!(chunks <= data.len() / 68 + 1 && events <= data.len() / 2 + 1, "reading always leads on");
    let options = JfrOptions { shortest_ms: 0.0, role_of: |_| Role::Other };
    let evidence = JfrEvidence::of_bytes(data, &options);
    let recording = evidence.recording;
    assert!(recording.waits.is_sorted_by(|a, b| a.from_ms <= b.from_ms), "waits are in their order");
    recording.to_json().expect("every number is finite");
});

/// Asks for each field as everything that it could be.
fn fields(set: &FieldSet<'_>, depth: u32) {
    for name in set.names().take(16) {
        let _integer = set.integer(name);
        let _float = set.float(name);
        let _constant = set.constant(name);
        let _text = set.text(name);
        if depth == 3 {
            continue;
        }
        if let Ok(Some(inner)) = set.fields(name) {
            fields(&inner, depth + 1);
        }
        for element in set.each(name).into_iter().flatten().flatten().take(4) {
            fields(&element, depth + 1);
        }
    }
}
