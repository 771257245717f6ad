//! Figures as people read them: two or three digits that matter, and a unit.
//!
//! What always holds: the same figure is written the same way by the doctor, the lab and the
//! command line, on a page, in a table and on a terminal; no figure of a recording, however odd,
//! makes these functions fail.

/// A length of time in milliseconds: `640 µs`, `5.7 ms`, `848 ms`, `1.1 s`, `50 s`.
#[must_use]
pub fn time(ms: f64) -> String {
    let ms = if ms.is_finite() { ms } else { 0.0 };
    let (value, unit) = match ms.abs() {
        size if size < 0.9995 => return format!("{:.0} µs", ms * 1e3 + 0.0),
        size if size < 999.5 => (ms, "ms"),
        _ => (ms / 1e3, "s"),
    };
    // 9.96 is 10, not 10.0.
    if value.abs() < 9.95 { format!("{value:.1} {unit}") } else { format!("{} {unit}", grouped(value)) }
}

/// The same for a round figure that was set: `10 ms`, `2.5 ms`, `1 s`.
#[must_use]
pub fn round_time(ms: f64) -> String {
    time(ms).replace(".0 ", " ")
}

/// A moment of the recording, in milliseconds since its beginning: `21.53 s`.
#[must_use]
pub fn moment(ms: f64) -> String {
    format!("{:.2} s", if ms.is_finite() { ms / 1e3 } else { 0.0 })
}

/// A moment since 1970 in UTC: `2026-11-26 07:00:00`.
#[must_use]
pub fn date(unix_ms: f64) -> String {
    // A thousand centuries are enough for a clock that went astray.
    let seconds = if unix_ms.is_finite() { (unix_ms / 1e3).clamp(-3e12, 3e12).floor() as i64 } else { 0 };
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Howard Hinnant's civil_from_days: years begin in March, so that the leap day is the last.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// A share from 0 to 1: `94 %`, `less than 1 %`.
#[must_use]
pub fn share(share: f64) -> String {
    let percent = if share.is_finite() { (share * 100.0).clamp(0.0, 100.0) } else { 0.0 };
    match percent {
        percent if percent > 0.0 && percent < 1.0 => "less than 1 %".to_owned(),
        percent => format!("{percent:.0} %"),
    }
}

/// A count with its thousands apart: `4,000`.
#[must_use]
pub fn count(count: u64) -> String {
    separated(&count.to_string())
}

/// `1 thread`, `2 threads`.
#[must_use]
pub fn plural(number: usize, one: &str) -> String {
    format!("{} {one}{}", count(number as u64), if number == 1 { "" } else { "s" })
}

fn grouped(value: f64) -> String {
    separated(&format!("{value:.0}"))
}

fn separated(digits: &str) -> String {
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && digit.is_ascii_digit() && (digits.len() - at).is_multiple_of(3) && !text.ends_with('-') {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_two_or_three_digits_and_a_unit() {
        let cases = [
            (0.0, "0 µs"),
            (0.64, "640 µs"),
            (1.0, "1.0 ms"),
            (5.749, "5.7 ms"),
            (9.96, "10 ms"),
            (848.0, "848 ms"),
            (999.7, "1.0 s"),
            (49_900.0, "50 s"),
            (1_234_000.0, "1,234 s"),
            (-300.0, "-300 ms"),
            (-123_456_000.0, "-123,456 s"),
            (f64::NAN, "0 µs"),
        ];
        for (ms, text) in cases {
            assert_eq!(time(ms), text);
        }
        assert_eq!(
            round_time(10.0) + ", " + &round_time(2.5) + ", " + &round_time(1_000.0),
            "10 ms, 2.5 ms, 1 s"
        );
    }

    #[test]
    fn a_date_is_that_of_the_calendar() {
        assert_eq!(date(0.0), "1970-01-01 00:00:00");
        assert_eq!(date(951_782_400_000.0), "2000-02-29 00:00:00");
        assert_eq!(date(1_795_676_459_999.0), "2026-11-26 07:00:59");
        assert_eq!(date(-1.0), "1969-12-31 23:59:59");
        assert_eq!(date(f64::NAN), "1970-01-01 00:00:00");
        assert!(!date(f64::MAX).is_empty());
    }

    #[test]
    fn shares_and_counts() {
        assert_eq!(share(0.944), "94 %");
        assert_eq!(share(0.001), "less than 1 %");
        assert_eq!(share(7.0) + ", " + &share(f64::NAN), "100 %, 0 %");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(plural(1, "thread") + ", " + &plural(2_000, "look"), "1 thread, 2,000 looks");
    }
}
