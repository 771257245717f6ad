use proptest::prelude::*;

use super::*;
use crate::recording::Clock;

/// What a log says, on a clock that began with 1970, with the kernel, and with the JVM.
fn read(log: &str) -> (Vec<Safepoint>, u64) {
    let clock = Clock { began_monotonic_ms: Some(0.0), ..Clock::default() };
    let clock = LogClock::of(&clock).with_jvm_start(0.0);
    let mut reader = SafepointReader::default();
    let mut found: Vec<Safepoint> =
        log.lines().filter_map(|line| reader.line(&DecoratedLine::parse(line), &clock)).collect();
    found.extend(reader.finish());
    (found, reader.unplaced())
}

fn row(at_ms: f64, reaching_ms: Option<f64>, total_ms: f64, reason: &str) -> Safepoint {
    Safepoint { at_ms, reaching_ms, total_ms, reason: reason.to_owned(), count: 1 }
}

#[track_caller]
fn assert_close(found: &[Safepoint], expected: &[Safepoint]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (one, other) in found.iter().zip(expected) {
        assert_eq!((&one.reason, one.count), (&other.reason, other.count));
        assert!((one.at_ms - other.at_ms).abs() < 2e-3, "{one:?} {other:?}");
        assert!((one.total_ms - other.total_ms).abs() < 1e-6, "{one:?} {other:?}");
        let (a, b) = (one.reaching_ms.unwrap_or(-1.0), other.reaching_ms.unwrap_or(-1.0));
        assert!((a - b).abs() < 1e-6, "{one:?} {other:?}");
    }
}

#[test]
fn jdk_8_tells_in_prose_with_dates_or_uptimes_or_in_the_words_of_jdk_7() {
    let (found, _) = read("\
2017-01-06T20:53:02.802+0900: 60.898: Total time for which application threads were stopped: 2.3118335 seconds, Stopping threads took: 2.3054883 seconds
60.898: Application time: 1.0 seconds
60.898: Total time for which application threads were stopped: 0,3118335 seconds, Stopping threads took: 0,3054883 seconds
61.000: Total time for which application threads were stopped: 0.5 seconds
");
    assert_close(
        &found,
        &[
            row(1_483_703_582_802.0 - 2311.8335, Some(2305.4883), 2311.8335, ""),
            row(60_898.0 - 311.8335, Some(305.4883), 311.8335, ""),
            row(60_500.0, None, 500.0, ""),
        ],
    );
}

#[test]
fn jdk_8_has_a_table_whose_rows_are_stamped_when_they_began() {
    let (found, _) = read("\
         vmop                    [threads: total initially_running wait_to_block]    [time: spin block sync cleanup vmop] page_trap_count
0.234: G1IncCollectionPause             [      12          0              1    ]      [     1     6     7     2     5    ]  0
1.500: no vm operation                  [      12          0              1    ]      [     0     0     0     0     0    ]  0

Polling page always armed
");
    let expected =
        [row(234.0, Some(7.0), 14.0, "G1IncCollectionPause"), row(1500.0, Some(0.0), 0.0, "no vm operation")];
    assert_close(&found, &expected);
}

#[test]
fn jdk_11_tells_the_reason_first() {
    let (found, unplaced) = read("\
[0.100s][info][safepoint    ] Entering safepoint region: G1CollectForAllocation
[0.101s][info][safepoint    ] Leaving safepoint region
[0.101s][info][safepoint    ] Total time for which application threads were stopped: 0.0001599 seconds, Stopping threads took: 0.0000670 seconds
[0.101s][info][safepoint    ] Application time: 0.0025 seconds
[0.300s][info][safepoint    ] Total time for which application threads were stopped: 0.0100000 seconds, Stopping threads took: 0.0000000 seconds
");
    let expected =
        [row(101.0 - 0.1599, Some(0.067), 0.1599, "G1CollectForAllocation"), row(290.0, Some(0.0), 10.0, "")];
    assert_close(&found, &expected);
    assert_eq!(unplaced, 0);
}

#[test]
fn jdk_13_to_25_name_each_figure() {
    let (found, unplaced) = read("\
[1500000000ns][safepoint] Safepoint \"ICBufferFull\", Time since last: 900 ns, Reaching safepoint: 100 ns, At safepoint: 50 ns, Total: 150 ns
[2000000000ns][safepoint] Safepoint \"G1CollectForAllocation\", Time since last: 20170975 ns, Reaching safepoint: 4677 ns, Cleanup: 6259 ns, At safepoint: 1171537 ns, Total: 1182473 ns
[3000000000ns] Safepoint \"G1CollectForAllocation\", Time since last: 9 ns, Reaching safepoint: 425000000 ns, Cleanup: 1 ns, At safepoint: 20000000 ns, Leaving safepoint: 17086 ns, Total: 445017087 ns
[4000000000ns] Safepoint \"G1PauseRemark\", Time since last: 9 ns, Reaching safepoint: 4000 ns, At safepoint: 2000000 ns, Leaving safepoint: 1000 ns, Total: 2005000 ns, Threads: 0 runnable, 10 total
[5000000000ns] Safepoint \"Cut\", Time since last: 9 ns, Reaching safepoint: 4000000 ns, At saf
[x] Safepoint \"unknown\", Total: 7 ns
[5000000000ns] Safepoint \"broken
");
    let expected = [
        row(1500.0, Some(1e-4), 1.5e-4, "ICBufferFull"),
        row(2000.0 - 1.182473, Some(0.004677), 1.182473, "G1CollectForAllocation"),
        row(3000.0 - 445.017087, Some(425.0), 445.017087, "G1CollectForAllocation"),
        row(4000.0 - 2.005, Some(0.004), 2.005, "G1PauseRemark"),
        row(4996.0, Some(4.0), 4.0, "Cut"),
    ];
    assert_close(&found, &expected);
    assert_eq!(unplaced, 1);
}

#[test]
fn the_table_of_later_jdks_is_in_nanoseconds_and_stamped_at_its_end() {
    let (found, _) = read("\
[2.0s][safepoint,stats] VM Operation                 [ threads: total initial_running ][ time:       sync    cleanup       vmop      total ] page_trap_count
[2.0s][safepoint,stats] G1CollectForAllocation       [       13               1       ][       26000      5000    1171000    1202000 ]               0
[3.0s][safepoint,stats] Cleanup                      [       13               1       ][       26000    1171000    1197000 ]               0
");
    let expected = [
        row(2000.0 - 1.202, Some(0.026), 1.202, "G1CollectForAllocation"),
        row(3000.0 - 1.197, Some(0.026), 1.197, "Cleanup"),
    ];
    assert_close(&found, &expected);
}

#[test]
fn a_row_and_the_line_after_it_are_one_safepoint() {
    let (found, _) = read("\
[2.0s][safepoint,stats] Early [ 13 1 ][ 1 1 2 ] 0
[3.0s][safepoint,stats] G1CollectFull [ 10 0 ][ 1863 18452170 18454033 ] 0
[3.0s][safepoint      ] Safepoint \"G1CollectFull\", Time since last: 9 ns, Reaching safepoint: 1863 ns, At safepoint: 18440363 ns, Leaving safepoint: 11807 ns, Total: 18454033 ns, Threads: 0 runnable, 10 total
");
    let expected = [
        row(2000.0, Some(1e-6), 2e-6, "Early"),
        row(3000.0 - 18.454033, Some(0.001863), 18.454033, "G1CollectFull"),
    ];
    assert_close(&found, &expected);
}

#[test]
fn one_that_is_told_of_twice_is_one() {
    let told = vec![
        row(100.0, Some(7.0), 14.0, "G1IncCollectionPause"),
        row(300.0, Some(1.0), 2.0, ""),
        row(99.5, Some(7.2), 14.3, ""),
        row(200.0, Some(0.0), 9.0, "RevokeBias"),
        row(200.5, Some(0.0), 9.0, "RevokeBias"),
    ];
    let expected = [
        row(99.5, Some(7.2), 14.3, "G1IncCollectionPause"),
        row(200.0, Some(0.0), 9.0, "RevokeBias"),
        row(200.5, Some(0.0), 9.0, "RevokeBias"),
        row(300.0, Some(1.0), 2.0, ""),
    ];
    assert_close(&in_order(told), &expected);
}

proptest! {
    #[test]
    fn no_line_is_too_strange(
        lines in proptest::collection::vec(
            prop_oneof![
                any::<String>(),
                "\\[[0-9]{1,12}ns\\] Safepoint \"[a-z]{0,3}\"?(, [A-Za-z ]{3,20}: [0-9.,]{1,25} ns){0,6}",
                "[0-9]\\.[0-9]: Total time for which application threads were stopped: [0-9.,]{1,20} seconds?.{0,40}",
                "([0-9]\\.[0-9]: )?[a-z ]{0,9}\\[ ?(threads: [a-z ]{0,9}|[0-9 ]{0,30})\\] *\\[(time: [a-z ]{0,30}|[0-9 ]{0,50})\\]",
            ],
            0..8,
        )
    ) {
        let (found, _) = read(&lines.join("\n"));
        for one in &found {
            prop_assert!(one.at_ms.is_finite() && one.total_ms.is_finite() && one.total_ms >= 0.0);
            prop_assert!(one.reaching_ms.is_none_or(|reaching| (0.0..=one.total_ms).contains(&reaching)));
        }
        in_order(found);
    }
}
