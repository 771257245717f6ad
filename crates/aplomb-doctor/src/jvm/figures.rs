//! Numbers as a JVM prints them: decimals with a point or a comma, sizes, durations.
//!
//! What always holds: a number that is given is finite and not negative; what follows it is given
//! back, so that readers go on from there.

/// A decimal at the beginning of a text: its value, how many digits stood behind the point, and
/// the rest. In some locales JDK 8 prints a comma for the point.
pub(super) fn decimal(text: &str) -> Option<(f64, u32, &str)> {
    let (whole, mut rest) = digits(text)?;
    let mut value = whole.parse::<u64>().ok()? as f64;
    let mut places = 0;
    if let Some((fraction, after)) = rest.strip_prefix(['.', ',']).and_then(digits) {
        // More digits than a double has.
        let kept = fraction.get(..15).unwrap_or(fraction);
        places = u32::try_from(kept.len()).ok()?;
        value += kept.parse::<u64>().ok()? as f64 / 10f64.powi(places as i32);
        rest = after;
    }
    Some((value, places, rest))
}

/// The digits at the beginning of a text, at least one, and the rest.
pub(super) fn digits(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// A duration at the beginning of a text, `20.1 ms`, `17086 ns`, `0.0002 secs`, in milliseconds,
/// and the rest.
pub(super) fn duration_ms(text: &str) -> Option<(f64, &str)> {
    /// Units, those first of which another is the beginning.
    const UNITS: [(&str, f64); 6] =
        [("ns", 1e-6), ("us", 1e-3), ("ms", 1.0), ("seconds", 1e3), ("secs", 1e3), ("s", 1e3)];
    let (value, _, rest) = decimal(text)?;
    let rest = rest.trim_start_matches(' ');
    let (unit, scale) = UNITS.iter().find(|(unit, _)| rest.starts_with(unit))?;
    Some((value * scale, &rest[unit.len()..]))
}

/// The duration behind the first `name` of a text, in milliseconds.
pub(super) fn named_ms(text: &str, name: &str) -> Option<f64> {
    let (_, after) = text.split_once(name)?;
    Some(duration_ms(after.trim_start())?.0)
}

/// A size at the beginning of a text, `24.0M`, in bytes, and the rest. Without a unit it is bytes.
pub(super) fn size(text: &str) -> Option<(u64, &str)> {
    let (value, _, rest) = decimal(text)?;
    let unit = match rest.chars().next() {
        Some('B') => 1.0,
        Some('K' | 'k') => 1024.0,
        Some('M' | 'm') => 1024.0 * 1024.0,
        Some('G' | 'g') => 1024.0 * 1024.0 * 1024.0,
        Some('T' | 't') => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return Some((value as u64, rest)),
    };
    Some(((value * unit) as u64, &rest[1..]))
}

/// A heap before and after, and its size, `56M->3M(96M)`, in bytes, and the rest.
pub(super) fn heap(text: &str) -> Option<((u64, u64, u64), &str)> {
    let (before, rest) = size(text)?;
    let (after, rest) = size(rest.strip_prefix("->")?)?;
    let (whole, rest) = size(rest.strip_prefix('(')?)?;
    Some(((before, after, whole), rest.strip_prefix(')')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_a_point_or_a_comma() {
        assert_eq!(decimal("60.898: x"), Some((60.898, 3, ": x")));
        assert_eq!(decimal("2,305 s"), Some((2.305, 3, " s")));
        assert_eq!(decimal("12, 3"), Some((12.0, 0, ", 3")));
        assert_eq!(decimal("7."), Some((7.0, 0, ".")));
        assert_eq!(decimal("-1"), None);
        assert_eq!(decimal("99999999999999999999"), None);
    }

    #[test]
    fn durations_and_sizes_come_in_many_units() {
        assert_eq!(duration_ms("17086 ns,"), Some((0.017086, ",")));
        assert_eq!(duration_ms("3.188ms"), Some((3.188, "")));
        assert_eq!(duration_ms("2 seconds, x"), Some((2000.0, ", x")));
        assert_eq!(duration_ms("0.00s Sys"), Some((0.0, " Sys")));
        assert_eq!(duration_ms("3 apples"), None);
        assert_eq!(named_ms("Sys=0.01s Real=0.02s", "Real="), Some(20.0));
        assert_eq!(size("3072.0K "), Some((3 << 20, " ")));
        assert_eq!(size("0.5G"), Some((1 << 29, "")));
        assert_eq!(size("2T"), Some((2 << 40, "")));
        assert_eq!(size("7"), Some((7, "")));
        assert_eq!(heap("56M->3M(96M) 3"), Some(((56 << 20, 3 << 20, 96 << 20), " 3")));
        assert_eq!(heap("56M->3M"), None);
    }
}
