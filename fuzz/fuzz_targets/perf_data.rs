//! Reads bytes as a JVM's file of counters.

#![no_main]

use aplomb_doctor::jvm::PerfData;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(counters) = PerfData::read(data) else { return };
    let earlier = PerfData::default();
    assert_eq!(counters.safepoints_since(&earlier, 0.0), None, "nothing is known of before");
    for one in counters.collectors() {
        assert!(one.total_ms.is_finite() && one.total_ms >= 0.0);
    }
    if let Some(counted) = counters.safepoints() {
        assert!(counted.total_ms.is_finite() && counted.reaching_ms.is_finite());
    }
    // A later reading that is the same has nothing new.
    assert_eq!(counters.safepoints_since(&counters, 0.0), None);
});
