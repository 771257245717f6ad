use proptest::prelude::*;

use super::*;
use crate::recording::Clock;

const M: u64 = 1 << 20;

fn read(log: &str) -> (Vec<Collection>, u64) {
    let clock = Clock { began_monotonic_ms: Some(0.0), ..Clock::default() };
    let clock = LogClock::of(&clock).with_jvm_start(0.0);
    let mut reader = CollectionReader::default();
    let mut found: Vec<Collection> =
        log.lines().filter_map(|line| reader.line(&DecoratedLine::parse(line), &clock)).collect();
    found.extend(reader.finish(&clock));
    (found, reader.unplaced())
}

/// Figures in whole microseconds: sums of decimals are not decimals.
fn micros(one: &Collection) -> [Option<i64>; 6] {
    let us = |ms: f64| (ms * 1e3).round() as i64;
    [Some(one.at_ms), Some(one.pause_ms), one.phases_ms, one.other_ms, one.cpu_ms, one.real_ms]
        .map(|ms| ms.map(us))
}

#[test]
fn a_young_collection_of_g1_has_everything() {
    let (found, _) = read("\
[0.500s][gc,start     ] GC(3) Pause Young (Normal) (G1 Evacuation Pause)
[0.500s][gc,task      ] GC(3) Using 2 workers of 2 for evacuation
[0.503s][gc,phases    ] GC(3)   Pre Evacuate Collection Set: 0.1ms
[0.503s][gc,phases    ] GC(3)   Merge Heap Roots: 0.2ms
[0.503s][gc,phases    ] GC(3)     Remembered Sets (ms): Min:  0.0, Avg:  0.1, Max:  0.1, Diff:  0.1, Sum:  0.1, Workers: 2
[0.503s][gc,phases    ] GC(3)   Evacuate Collection Set: 2.6ms
[0.503s][gc,phases    ] GC(3)     Parts Of It: 2.5ms
[0.503s][gc,phases    ] GC(3)   Post Evacuate Collection Set: 0.2ms
[0.503s][gc,phases    ] GC(3)   Other: 107.0ms
[0.503s][gc,heap      ] GC(3) Eden regions: 23->0(30)
[0.503s][gc,metaspace ] GC(3) Metaspace: 321K(512K)->321K(512K)
[0.610s][gc           ] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 56M->3M(96M) 110.188ms
[0.610s][gc,cpu       ] GC(3) User=0.01s Sys=0.02s Real=0.11s
");
    assert_eq!(found.len(), 1);
    assert_eq!(
        micros(&found[0]),
        [Some(500_000), Some(110_188), Some(3_100), Some(107_000), Some(30_000), Some(110_000)]
    );
    assert_eq!(found[0].name, "Pause Young (Normal) (G1 Evacuation Pause)");
    assert_eq!(found[0].heap_bytes, Some((56 * M, 3 * M, 96 * M)));
}

#[test]
fn pauses_of_a_cycle_are_told_apart_from_a_collection_between_them() {
    let (found, _) = read(
        "\
[1.000s][info][gc] GC(4) Concurrent Mark Cycle
[1.001s][info][gc,marking] GC(4) Concurrent Clear Claimed Marks 0.015ms
[1.100s][info][gc,start] GC(5) Pause Young (Normal) (G1 Evacuation Pause)
[1.102s][info][gc] GC(5) Pause Young (Normal) (G1 Evacuation Pause) 20M->5M(96M) 2.000ms
[1.102s][info][gc,cpu] GC(5) User=0.00s Sys=0.00s Real=0.00s
[1.200s][info][gc,start] GC(4) Pause Remark
[1.201s][info][gc] GC(4) Pause Remark 10M->10M(96M) 1.000ms
[1.201s][info][gc,cpu] GC(4) User=0.01s Sys=0.00s Real=0.00s
[1.300s][info][gc,start] GC(4) Pause Cleanup
[1.301s][info][gc] GC(4) Pause Cleanup 12M->12M(96M) 0.100ms
[1.400s][info][gc] GC(4) Concurrent Mark Cycle 400.000ms
[1.500s][info][gc,cpu] GC(9) User=9.00s Sys=0.00s Real=0.00s
",
    );
    let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["Pause Young (Normal) (G1 Evacuation Pause)", "Pause Remark", "Pause Cleanup"]);
    assert_eq!(found[1].at_ms, 1200.0);
    assert_eq!((found[1].cpu_ms, found[2].cpu_ms), (Some(10.0), None));
}

#[test]
fn without_the_line_of_its_beginning_a_pause_began_its_length_before() {
    // Kafka writes [time][tags]; here the beginning was rotated away.
    let (found, _) = read("[2.000s][gc] GC(0) Pause Young (Allocation Failure) 20M->5M(96M) 500.000ms\n");
    assert_eq!(micros(&found[0])[..2], [Some(1_500_000), Some(500_000)]);
    let (found, unplaced) = read("[gc] GC(0) Pause Young (Allocation Failure) 20M->5M(96M) 500.000ms\n");
    assert_eq!((found.len(), unplaced), (0, 1));
}

#[test]
fn parts_of_a_full_collection_are_not_counted_twice() {
    let (found, _) = read(
        "\
[3.000s][info ][gc,start] GC(7) Pause Full (System.gc())
[3.001s][info ][gc,phases,start] GC(7) Phase 1: Mark live objects
[3.002s][debug][gc,phases      ] GC(7) Phase 1: Reference Processing 0.400ms
[3.003s][debug][gc,phases      ] GC(7) Phase 1: Class Unloading and Cleanup 0.600ms
[3.004s][info ][gc,phases      ] GC(7) Phase 1: Mark live objects 3.000ms
[3.005s][info ][gc,phases      ] GC(7) Phase 2: Prepare for compaction 1.000ms
[3.006s][info ][gc,phases      ] GC(7) Phase 3: Adjust pointers 0.500ms
[3.007s][info ][gc             ] GC(7) Pause Full (System.gc()) 56M->3M(96M) 5.000ms
",
    );
    assert_eq!(micros(&found[0])[1..3], [Some(5_000), Some(4_500)]);
}

#[test]
fn pauses_of_zgc_and_shenandoah_are_found_among_phases() {
    let (found, _) = read(
        "\
[1.000s][info][gc,start ] GC(0) Garbage Collection (Warmup)
[1.001s][info][gc,phases] GC(0) Pause Mark Start 0.013ms
[1.050s][info][gc,phases] GC(0) Concurrent Mark 40.000ms
[1.051s][info][gc,phases] GC(1) Y: Pause Mark End 0.020ms
[1.060s][info][gc       ] GC(0) Garbage Collection (Warmup) 200M(10%)->40M(2%)
[2.000s][info][gc,start ] GC(2) Pause Init Mark (unload classes)
[2.001s][info][gc       ] GC(2) Pause Init Mark (unload classes) 0.300ms
[2.002s][info][gc       ] GC(2) Concurrent marking (unload classes) 3M->4M(96M) 2.100ms
",
    );
    let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["Pause Mark Start", "Pause Mark End", "Pause Init Mark (unload classes)"]);
    assert!(found.iter().all(|one| one.phases_ms.is_none() && one.heap_bytes.is_none()));
}

#[test]
fn g1_of_jdk_8_spreads_a_pause_over_lines() {
    let (found, _) = read("\
2017-01-06T20:53:02.802+0900: 60.898: [GC pause (G1 Evacuation Pause) (young), 0.0234567 secs]
   [Parallel Time: 20.1 ms, GC Workers: 8]
      [GC Worker Start (ms): Min: 60898.1, Avg: 60898.2, Max: 60898.3, Diff: 0.2]
      [Ext Root Scanning (ms): Min: 0.1, Avg: 0.2, Max: 0.4, Diff: 0.3, Sum: 1.9]
   [Code Root Fixup: 0.1 ms]
   [Clear CT: 0.2 ms]
   [Other: 2.9 ms]
      [Choose CSet: 0.0 ms]
   [Eden: 24.0M(24.0M)->0.0B(13.0M) Survivors: 0.0B->3072.0K Heap: 24.0M(256.0M)->19.5M(256.0M)]
 [Times: user=0.08 sys=0.01, real=0.02 secs]
2017-01-06T20:53:03.000+0900: 61.096: [GC concurrent-root-region-scan-start]
2017-01-06T20:53:03.001+0900: 61.097: [GC concurrent-mark-end, 0.1234567 secs]
2017-01-06T20:53:03.002+0900: 61.098: [GC remark 61.098: [Finalize Marking, 0.0002 secs] 61.099: [GC ref-proc, 0.0001 secs], 0.0057 secs]
 [Times: user=0.01 sys=0.00, real=0.01 secs]
2017-01-06T20:53:03.010+0900: 61.106: [GC cleanup 19M->18M(256M), 0.0006 secs]
 [Times: user=0.00 sys=0.00, real=0.00 secs]
2017-01-06T20:53:04.000+0900: 62.096: [Full GC (System.gc())  10M->5M(256M), 0.0123 secs]
   [Eden: 1.0M(14.0M)->0.0B(15.0M) Survivors: 1.0M->0.0B Heap: 10.0M(256.0M)->5.0M(256.0M)], [Metaspace: 2.5K->2.5K(1056768K)]
 [Times: user=0.02 sys=0.00, real=0.01 secs]
");
    let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(
        names,
        ["GC pause (G1 Evacuation Pause) (young)", "GC remark", "GC cleanup", "Full GC (System.gc())"]
    );
    assert_eq!(
        micros(&found[0]),
        [Some(1_483_703_582_802_000), Some(23_457), Some(20_400), Some(2_900), Some(90_000), Some(20_000)]
    );
    assert_eq!(found[0].heap_bytes, Some((24 * M, 39 * M / 2, 256 * M)));
    assert_eq!(micros(&found[1])[1], Some(5_700));
    assert_eq!(found[2].heap_bytes, Some((19 * M, 18 * M, 256 * M)));
    assert_eq!((micros(&found[3])[1], found[3].heap_bytes), (Some(12_300), Some((10 * M, 5 * M, 256 * M))));
}

#[test]
fn parallel_and_cms_of_jdk_8_have_a_line_each() {
    let (found, unplaced) = read("\
1.000: [GC (Allocation Failure) [PSYoungGen: 65536K->10720K(76288K)] 65536K->12288K(251392K), 0.0123456 secs] [Times: user=0.05 sys=0.01, real=0.01 secs]
2.000: [Full GC (Ergonomics) [PSYoungGen: 10720K->0K(76288K)] [ParOldGen: 1625K->11111K(175104K)] 12345K->11264K(251392K), [Metaspace: 3K->3K(1056768K)], 0.0456 secs] [Times: user=0.1 sys=0.0, real=0.05 secs]
3.000: [GC (Allocation Failure) 3.000: [ParNew: 78656K->8703K(78656K), 0.0100 secs] 78656K->21504K(253440K), 0.0124 secs] [Times: user=0.02 sys=0.00, real=0.01 secs]
4.000: [GC (CMS Initial Mark) [1 CMS-initial-mark: 12297K(174784K)] 21000K(253440K), 0.0012 secs] [Times: user=0.00 sys=0.00, real=0.00 secs]
4.001: [CMS-concurrent-mark-start]
4.036: [CMS-concurrent-mark: 0.034/0.035 secs] [Times: user=0.05 sys=0.00, real=0.04 secs]
5.000: [GC pause (G1 Evacuation Pause) (young) 5.000: [G1Ergonomics (CSet Construction) start choosing CSet]
, 0.0300 secs]
6.000: [GC (Allocation Failure)  65536K->12288K(251392K), 0.0200 secs]
[GC (Allocation Failure)  65536K->12288K(251392K), 0.0200 secs]
7.000: [GC (Cut) [PSYoungGen: 655
");
    let told: Vec<_> = found.iter().map(|one| (micros(one)[0], micros(one)[1], micros(one)[4])).collect();
    assert_eq!(
        told,
        [
            (Some(1_000_000), Some(12_346), Some(60_000)),
            (Some(2_000_000), Some(45_600), Some(100_000)),
            (Some(3_000_000), Some(12_400), Some(20_000)),
            (Some(4_000_000), Some(1_200), Some(0)),
            (Some(5_000_000), Some(30_000), None),
            (Some(6_000_000), Some(20_000), None),
        ]
    );
    assert_eq!(found[1].heap_bytes, Some((12345 << 10, 11 * M, 251_392 << 10)));
    assert_eq!(found[2].heap_bytes, Some((78656 << 10, 21 * M, 253_440 << 10)));
    assert_eq!(found[3].heap_bytes, None);
    assert_eq!(unplaced, 1);
}

#[test]
fn ages_of_survivors_come_within_a_pause_of_jdk_8() {
    let (found, unplaced) = read("\
0.183: [GC (Allocation Failure)
Desired survivor size 2621440 bytes, new threshold 7 (max 15)
[PSYoungGen: 16384K->544K(18944K)] 16384K->544K(62976K), 0.0027169 secs] [Times: user=0.01 sys=0.00, real=0.01 secs]
0.185: Total time for which application threads were stopped: 0.0028284 seconds, Stopping threads took: 0.0000192 seconds
1.171: [GC (Allocation Failure) 1.171: [DefNew
Desired survivor size 1114112 bytes, new threshold 15 (max 15)
- age   1:     496784 bytes,     496784 total
: 17472K->485K(19648K), 0.0017233 secs] 17472K->485K(63360K), 0.0017856 secs] [Times: user=0.01 sys=0.00, real=0.00 secs]
2.171: [GC (Allocation Failure) 2.171: [ParNew
Desired survivor size 1114112 bytes, new threshold 15 (max 15)
3.045: [GC pause (G1 Evacuation Pause) (young)
Desired survivor size 524288 bytes, new threshold 15 (max 15)
, 0.0016202 secs]
   [Eden: 24.0M(24.0M)->0.0B(13.0M) Survivors: 0.0B->3072.0K Heap: 24.0M(256.0M)->19.5M(256.0M)]
 [Times: user=0.01 sys=0.00, real=0.00 secs]
");
    let told: Vec<_> = found.iter().map(|one| (micros(one)[0], micros(one)[1], micros(one)[4])).collect();
    assert_eq!(
        told,
        [
            (Some(183_000), Some(2_717), Some(10_000)),
            (Some(1_171_000), Some(1_786), Some(10_000)),
            (Some(3_045_000), Some(1_620), Some(10_000)),
        ],
        "and one that was cut"
    );
    assert_eq!(found[0].heap_bytes, Some((16384 << 10, 544 << 10, 62_976 << 10)));
    assert_eq!(found[1].heap_bytes, Some((17472 << 10, 485 << 10, 63_360 << 10)));
    assert_eq!(unplaced, 0);
}

proptest! {
    #[test]
    fn no_line_is_too_strange(
        lines in proptest::collection::vec(
            prop_oneof![
                any::<String>(),
                "\\[[0-9]{1,9}ns\\]\\[gc(,cpu|,phases|,start)? *\\] GC\\([0-9]{1,25}\\) .{0,40}",
                "\\[[0-9]{1,9}ns\\] GC\\([0-3]\\) (Y: )?(Pause [a-z]{1,4}|  Other:|Phase [0-9]: x)( [0-9.]{1,22}[KMGT]->[0-9]M\\([0-9]M\\))?( [0-9.,]{1,25}ms)?",
                "([0-9.]{1,4}: )?\\[(Full )?GC[ a-z()\\[\\]é0-9,.>KMs-]{0,60}",
                " {0,4}\\[?(Times: user=[0-9.]{1,5} sys=[0-9.]{1,5}, real=[0-9.]{1,5}|Other: [0-9.]{1,30} ms|Eden: Heap: .{0,30})\\]?",
            ],
            0..12,
        )
    ) {
        for one in read(&lines.join("\n")).0 {
            let figures = [Some(one.pause_ms), one.phases_ms, one.other_ms, one.cpu_ms, one.real_ms];
            prop_assert!(one.at_ms.is_finite());
            prop_assert!(figures.into_iter().flatten().all(|ms| ms.is_finite() && ms >= 0.0), "{one:?}");
        }
    }
}
