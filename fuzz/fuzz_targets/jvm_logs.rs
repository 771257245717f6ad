//! Reads bytes as a JVM's log, as what it prints of its threads, and as its command line.

#![no_main]

use aplomb_doctor::jvm::{JvmFlags, JvmLogReader, LineCutter, LogClock, MAX_LINE, ThreadDump};
use aplomb_doctor::recording::Clock;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let clock = Clock { began_monotonic_ms: Some(0.0), length_ms: f64::MAX, ..Clock::default() };
    let clock = LogClock::of(&clock).with_jvm_start(0.0);
    let mut reader = JvmLogReader::new(clock);
    let mut lines = LineCutter::default();
    let mut each = |line: &str| {
        assert!(line.len() <= 3 * MAX_LINE, "each byte that is none of UTF-8 becomes three");
        reader.line(line);
    };
    lines.feed(data, &mut each);
    lines.finish(&mut each);
    let log = reader.finish();
    for one in &log.safepoints {
        assert!(one.at_ms.is_finite() && one.total_ms.is_finite() && one.total_ms >= 0.0);
        assert!(one.reaching_ms.is_none_or(|reaching| (0.0..=one.total_ms).contains(&reaching)));
    }
    assert!(log.safepoints.is_sorted_by(|a, b| a.at_ms <= b.at_ms));
    for one in &log.collections {
        let figures = [Some(one.pause_ms), one.phases_ms, one.other_ms, one.cpu_ms, one.real_ms];
        assert!(one.at_ms.is_finite());
        assert!(figures.into_iter().flatten().all(|ms| ms.is_finite() && ms >= 0.0));
    }

    let dump = ThreadDump::read(&String::from_utf8_lossy(data));
    for one in &dump.threads {
        assert!(dump.holder_of(one).is_none_or(|holder| holder.tid != one.tid));
    }
    let _flags = JvmFlags::read(data);
});
