use proptest::prelude::*;

use super::*;

/// A file as a JVM writes it, in either order of bytes.
fn file(is_little: bool, numbers: &[(&str, i64)], texts: &[(&str, &str)]) -> Vec<u8> {
    let int = |value: usize| {
        let value = value as i32;
        if is_little { value.to_le_bytes() } else { value.to_be_bytes() }
    };
    let long = |value: i64| if is_little { value.to_le_bytes() } else { value.to_be_bytes() };
    let mut entries = Vec::new();
    let mut entry = |name: &str, kind: u8, vector: usize, data: &[u8]| {
        let data_at = (ENTRY + name.len() + 1).next_multiple_of(8);
        let length = (data_at + data.len()).next_multiple_of(8);
        let mut bytes = [int(length), int(ENTRY), int(vector), [kind, 0, 4, 2], int(data_at)].concat();
        bytes.extend(name.bytes());
        bytes.resize(data_at, 0);
        bytes.extend(data);
        bytes.resize(length, 0);
        entries.extend(bytes);
    };
    for (name, value) in numbers {
        entry(name, b'J', 0, &long(*value));
    }
    for (name, text) in texts {
        entry(name, b'B', text.len() + 4, format!("{text}\0\0\0\0").as_bytes());
    }
    let mut all = vec![0xca, 0xfe, 0xc0, 0xc0, u8::from(is_little), 2, 0, 1];
    all.extend([int(PROLOGUE + entries.len()), int(0)].concat());
    all.extend(long(123));
    all.extend([int(PROLOGUE), int(numbers.len() + texts.len())].concat());
    all.extend(entries);
    all.resize(all.len() + 100, 0);
    all
}

fn counters(is_little: bool, safepoints: [i64; 3]) -> Vec<u8> {
    counters_of("25.0.3", is_little, safepoints)
}

fn counters_of(version: &str, is_little: bool, safepoints: [i64; 3]) -> Vec<u8> {
    file(
        is_little,
        &[
            ("sun.rt.safepoints", safepoints[0]),
            ("sun.rt.safepointTime", safepoints[1]),
            ("sun.rt.safepointSyncTime", safepoints[2]),
            ("sun.os.hrt.frequency", 1_000_000),
            ("sun.rt.createVmBeginTime", 1_700_000_000_123),
            ("sun.gc.collector.0.invocations", 3),
            ("sun.gc.collector.0.time", 4500),
        ],
        &[
            ("java.property.java.version", version),
            ("sun.rt.javaCommand", "kafka.Kafka server.properties"),
            ("sun.gc.collector.0.name", "G1 young collection pauses"),
        ],
    )
}

#[test]
fn counters_are_read_in_either_order_of_bytes() {
    for is_little in [true, false] {
        let data = PerfData::read(&counters(is_little, [7, 12_000, 500])).expect("counters");
        assert_eq!(data.safepoints(), Some(SafepointCounters { count: 7, total_ms: 12.5, reaching_ms: 0.5 }));
        assert_eq!(data.java_version(), Some("25.0.3"));
        assert_eq!(data.java_command(), Some("kafka.Kafka server.properties"));
        assert_eq!(data.jvm_started_unix_ms(), Some(1_700_000_000_123.0));
        let name = "G1 young collection pauses".to_owned();
        assert_eq!(data.collectors(), [CollectorCounters { name, count: 3, total_ms: 4.5 }]);
        assert_eq!((data.number("none"), data.text("none")), (None, None));
    }
}

#[test]
fn two_readings_make_a_row_that_ends_with_the_later() {
    let read = |counted| PerfData::read(&counters(true, counted)).expect("counters");
    let (before, now) = (read([7, 12_000, 500]), read([9, 22_000, 390_500]));
    let row = now.safepoints_since(&before, 1000.0).expect("safepoints");
    assert_eq!((row.at_ms, row.total_ms, row.reaching_ms, row.count), (600.0, 400.0, Some(390.0), 2));
    assert_eq!(now.safepoints_since(&now, 1000.0), None);
    assert_eq!(before.safepoints_since(&now, 1000.0), None);
    assert_eq!(now.safepoints_since(&PerfData::default(), 1000.0), None);
}

#[test]
fn a_safepoint_under_way_is_told_of_when_it_has_ended() {
    let read = |counted| PerfData::read(&counters(true, counted)).expect("counters");
    let (before, begun) = (read([7, 12_000, 500]), read([8, 12_000, 500]));
    let (reached, ended) = (read([8, 12_000, 300_500]), read([8, 112_000, 300_500]));
    assert_eq!(begun.safepoints_since(&before, 1.0), None);
    assert_eq!(reached.safepoints_since(&before, 1.0), None);
    let row = ended.safepoints_since(&before, 1000.0).expect("a safepoint");
    assert_eq!((row.at_ms, row.total_ms, row.reaching_ms, row.count), (600.0, 400.0, Some(300.0), 1));
    // One that had begun before the earlier reading is one all the same.
    assert_eq!(ended.safepoints_since(&reached, 1000.0).map(|row| row.count), Some(1));
}

#[test]
fn up_to_jdk_12_the_time_has_that_of_reaching_in_it() {
    for (version, total_ms) in [("1.8.0_412", 12.0), ("11.0.2", 12.0), ("17.0.15", 12.5), ("21", 12.5)] {
        let data = PerfData::read(&counters_of(version, true, [7, 12_000, 500])).expect("counters");
        assert_eq!(data.safepoints().map(|counted| counted.total_ms), Some(total_ms), "{version}");
    }
}

#[test]
fn what_is_no_file_of_counters_is_told_apart() {
    let mut bytes = counters(true, [1, 1, 1]);
    assert!(matches!(PerfData::read(&bytes[..31]), Err(PerfDataError::NotCounters)));
    bytes[7] = 0;
    assert!(matches!(PerfData::read(&bytes), Err(PerfDataError::NotReady)));
    bytes[5] = 3;
    assert!(matches!(PerfData::read(&bytes), Err(PerfDataError::OtherVersion(3))));
    bytes[0] = 0;
    assert!(matches!(PerfData::read(&bytes), Err(PerfDataError::NotCounters)));
    let nowhere = tempfile::tempdir().expect("a folder").path().join("1");
    assert!(matches!(PerfData::open(&nowhere), Err(PerfDataError::Io(_))));
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(
        bytes: Vec<u8>,
        patches in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..8),
        length in any::<proptest::sample::Index>(),
    ) {
        let _read = PerfData::read(&bytes);
        let mut file = counters(true, [7, 12_000, 500]);
        for (at, value) in patches {
            let at = at.index(file.len());
            file[at] = value;
        }
        file.truncate(length.index(file.len() + 1));
        if let Ok(data) = PerfData::read(&file) {
            let _collectors = data.collectors();
            let row = data.safepoints_since(&PerfData::read(&counters(true, [0, 0, 0])).expect("counters"), 0.0);
            prop_assert!(row.is_none_or(|row| row.total_ms.is_finite() && row.reaching_ms <= Some(row.total_ms)));
        }
    }
}
