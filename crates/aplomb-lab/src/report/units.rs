//! Figures as people read them: two or three digits that matter, and a unit.
//!
//! What always holds: the same figure is written the same way on a page, in a picture, in a table
//! and on a terminal, and as the doctor writes it.

use aplomb_doctor::units;
pub(super) use aplomb_doctor::units::count;

/// A latency in microseconds: `640 µs`, `5.7 ms`, `848 ms`, `1.1 s`, `50 s`.
pub(super) fn time(us: f64) -> String {
    units::time(us / 1e3)
}

/// The same for whole microseconds.
pub(super) fn time_us(us: u64) -> String {
    time(us as f64)
}

/// A round time, as on an axis: `1 ms`, not `1.0 ms`.
pub(super) fn round_time(us: f64) -> String {
    units::round_time(us / 1e3)
}

/// How many times: `149×`, `1.2×`.
pub(super) fn times(factor: f64) -> String {
    if factor < 9.95 { format!("{factor:.1}×") } else { format!("{}×", grouped(factor)) }
}

/// A moment of the run: `21.5 s`.
pub(super) fn moment(ms: f64) -> String {
    format!("{:.1} s", ms / 1e3)
}

/// Bytes of memory: `24 GiB`.
pub(super) fn memory(bytes: u64) -> String {
    let gib = bytes as f64 / (1_u64 << 30) as f64;
    if gib < 9.95 { format!("{gib:.1} GiB") } else { format!("{gib:.0} GiB") }
}

/// Bytes a second: `52 MB/s`.
pub(super) fn rate(bytes: u64) -> String {
    let mb = bytes as f64 / 1e6;
    if mb < 9.95 { format!("{mb:.1} MB/s") } else { format!("{} MB/s", grouped(mb)) }
}

/// `1 thread`, `2 threads`.
pub(super) fn plural(number: u64, one: &str) -> String {
    units::plural(usize::try_from(number).unwrap_or(usize::MAX), one)
}

fn grouped(value: f64) -> String {
    count(value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_two_or_three_digits_and_a_unit() {
        let cases = [
            (0, "0 µs"),
            (640, "640 µs"),
            (999, "999 µs"),
            (1_000, "1.0 ms"),
            (5_749, "5.7 ms"),
            (9_960, "10 ms"),
            (848_000, "848 ms"),
            (999_700, "1.0 s"),
            (1_095_000, "1.1 s"),
            (49_900_000, "50 s"),
            (1_234_000_000, "1,234 s"),
        ];
        for (us, text) in cases {
            assert_eq!(time_us(us), text);
        }
        assert_eq!(round_time(1_000.0), "1 ms");
        assert_eq!(round_time(2_500.0), "2.5 ms");
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(times(1.04), "1.0×");
        assert_eq!(times(12_345.0), "12,345×");
        assert_eq!(rate(52_400_000), "52 MB/s");
        assert_eq!(memory(24 << 30), "24 GiB");
        assert_eq!(plural(1, "thread") + " " + &plural(2, "stack"), "1 thread 2 stacks");
    }
}
