//! How delays, sizes and the steps of a schedule are written.

use std::time::Duration;

use aplomb_lab::slow_disk::{Change, Delay, Operation};

use super::super::parse_duration;

/// A delay: `20ms`, `20ms~5ms` (five more or less), `300ms/10` (every tenth request), or `0`.
pub(super) fn parse_delay(text: &str) -> Result<Delay, String> {
    let (rest, every_nth) = match text.split_once('/') {
        Some((rest, nth)) => (rest, nth.parse().ok().filter(|nth| *nth > 0)),
        None => (text, Some(1)),
    };
    let (milliseconds, jitter) = match rest.split_once('~') {
        Some((middle, jitter)) => (whole_milliseconds(middle), whole_milliseconds(jitter)),
        None => (whole_milliseconds(rest), Some(0)),
    };
    match (milliseconds, jitter, every_nth) {
        (Some(milliseconds), Some(jitter_milliseconds), Some(every_nth)) => {
            Ok(Delay { milliseconds, jitter_milliseconds, every_nth })
        }
        _ => Err("a delay is expected, for example 20ms, 1.5s, 20ms~5ms, 300ms/10 or 0".to_owned()),
    }
}

/// With a unit: a number alone would be seconds elsewhere, and milliseconds in everybody's mind
/// here.
fn whole_milliseconds(text: &str) -> Option<u64> {
    if text != "0" && !text.ends_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let time = parse_duration(text).ok()?;
    let milliseconds = u64::try_from(time.as_millis()).ok()?;
    (Duration::from_millis(milliseconds) == time).then_some(milliseconds)
}

/// A size: a number of bytes, or of KiB, MiB or GiB with `K`, `M` or `G`.
pub(super) fn parse_bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes.ok_or_else(|| "a size is expected, for example 4096, 512M or 2G".to_owned())
}

/// So few bytes a second that a filesystem could not be made in a reasonable time are refused.
const LEAST_BANDWIDTH: u64 = 1 << 20;

/// Bytes a second, [`LEAST_BANDWIDTH`] or more.
pub(super) fn parse_bandwidth(text: &str) -> Result<u64, String> {
    match parse_bytes(text)? {
        ..LEAST_BANDWIDTH => {
            Err("a device carries 1M a second at least; `freeze` has it carry nothing".to_owned())
        }
        bytes => Ok(bytes),
    }
}

/// A time and what happens then.
pub(super) fn parse_step(at: &str, what: &str) -> Result<(Duration, Change), String> {
    let at = parse_duration(at).map_err(|why| format!("{at:?}: {why}"))?;
    let (word, value) = what.split_once('=').map_or((what, None), |(word, value)| (word, Some(value)));
    let change = match (word, value) {
        (word, Some(delay)) if let Some(operation) = Operation::from_name(word) => {
            Change::Delay { operation, delay: parse_delay(delay).map_err(|why| format!("{what:?}: {why}"))? }
        }
        ("freeze", None) => Change::Freeze,
        ("thaw", None) => Change::Thaw,
        ("heal", None) => Change::Heal,
        ("fail", None) => Change::Fail { operations: Operation::ALL.to_vec() },
        ("fail", Some(names)) => {
            let operations: Option<Vec<Operation>> = names.split(',').map(Operation::from_name).collect();
            let operations =
                operations.ok_or_else(|| format!("{what:?}: read, write and flush can be made to fail"))?;
            Change::Fail { operations }
        }
        _ => {
            return Err(format!(
                "{what:?}: freeze, thaw, heal, fail, fail=write,flush or a delay such as read=20ms is expected"
            ));
        }
    };
    Ok((at, change))
}

/// A step a line; what follows a `#` is a remark.
pub(super) fn parse_lines(text: &str) -> Result<Vec<(Duration, Change)>, String> {
    let mut steps = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default();
        let step = match line.split_whitespace().collect::<Vec<_>>()[..] {
            [] => continue,
            [at, what] => parse_step(at, what),
            _ => Err("a time and one word are expected, such as 10s freeze".to_owned()),
        };
        steps.push(step.map_err(|why| format!("line {number}: {why}"))?);
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_has_a_unit_perhaps_a_jitter_and_perhaps_a_share() {
        assert_eq!(parse_delay("20ms"), Ok(Delay::of(20)));
        assert_eq!(parse_delay("1.5s"), Ok(Delay::of(1_500)));
        assert_eq!(parse_delay("0"), Ok(Delay::NONE));
        assert_eq!(parse_delay("20ms~5ms"), Ok(Delay { jitter_milliseconds: 5, ..Delay::of(20) }));
        assert_eq!(parse_delay("300ms/10"), Ok(Delay { every_nth: 10, ..Delay::of(300) }));
        let all = Delay { milliseconds: 20, jitter_milliseconds: 5, every_nth: 3 };
        assert_eq!(parse_delay("20ms~5ms/3"), Ok(all));
        for text in ["", "20", "ms", "-1ms", "0.5ms", "20ms/0", "20ms/x", "20ms~", "~5ms", "20ms~5", "20µs"]
        {
            assert!(parse_delay(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_is_in_bytes_or_has_a_unit() {
        assert_eq!(parse_bytes("4096"), Ok(4096));
        assert_eq!(parse_bytes("8k"), Ok(8 << 10));
        assert_eq!(parse_bytes("512M"), Ok(512 << 20));
        assert_eq!(parse_bytes("2G"), Ok(2 << 30));
        for text in ["", "G", "-1", "1.5G", "2T", "99999999999G", "1GiB", "2µ"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_schedule_is_a_step_a_line() {
        let text = "# twice as bad\n10s freeze\n\n 13s thaw # over\n500ms read=20ms~5ms\n1s fail=write,flush\n2s fail\n3s heal\n";
        let steps = parse_lines(text).expect("it is one");
        let s = Duration::from_secs;
        let delay = Delay { jitter_milliseconds: 5, ..Delay::of(20) };
        assert_eq!(
            steps,
            [
                (s(10), Change::Freeze),
                (s(13), Change::Thaw),
                (Duration::from_millis(500), Change::Delay { operation: Operation::Read, delay }),
                (s(1), Change::Fail { operations: vec![Operation::Write, Operation::Flush] }),
                (s(2), Change::Fail { operations: Operation::ALL.to_vec() }),
                (s(3), Change::Heal),
            ]
        );
    }

    #[test]
    fn what_is_not_a_step_is_named_with_its_line() {
        for (text, expected) in [
            ("10s freeze\nsoon thaw", "line 2: \"soon\""),
            ("10s melt", "line 1: \"melt\""),
            ("10s", "line 1: a time and one word"),
            ("10s freeze now", "line 1: a time and one word"),
            ("1s freeze=3s", "line 1: \"freeze=3s\""),
            ("1s fail=trim", "line 1: \"fail=trim\""),
            ("1s read=20", "line 1: \"read=20\""),
        ] {
            let why = parse_lines(text).expect_err("not a schedule");
            assert!(why.starts_with(expected), "{why}");
        }
    }
}
