//! Times in a JVM's logs, and where they lie on a recording's clock.
//!
//! What always holds: a time is known as exactly as it was printed, and says how exactly. Nothing
//! here reads a clock.

use super::figures::{decimal, digits};
use crate::recording::Clock;

/// A time that a line has, and by how much the truth may be later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockReading {
    /// Milliseconds; since when, the field says that it is in.
    pub ms: f64,
    /// The last digit's worth, in milliseconds.
    pub precision_ms: f64,
}

/// The times that a line has: a JVM prints none, one, or several of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LogStamp {
    /// Since 1970 (`time`, `utctime`, `timemillis`).
    pub wall: Option<ClockReading>,
    /// Since the JVM began (`uptime`, `uptimemillis`, `uptimenanos`).
    pub uptime: Option<ClockReading>,
    /// On the kernel's monotonic clock (`timenanos`).
    pub monotonic: Option<ClockReading>,
}

impl LogStamp {
    /// Whether the line had no time at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// When the JVM began, in milliseconds since 1970, if the line has the wall clock's time and
    /// the JVM's: it places lines of another log that has the latter only.
    #[must_use]
    pub fn jvm_started_unix_ms(&self) -> Option<f64> {
        Some(self.wall?.ms - self.uptime?.ms)
    }
}

/// Where a log's times lie on a recording's clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogClock {
    clock: Clock,
    jvm_started_unix_ms: Option<f64>,
}

impl LogClock {
    /// For logs beside a recording with this clock.
    #[must_use]
    pub fn of(clock: &Clock) -> Self {
        Self { clock: clock.clone(), jvm_started_unix_ms: None }
    }

    /// The same, where it is known when the JVM began, in milliseconds since 1970: for logs that
    /// have uptimes only.
    #[must_use]
    pub fn with_jvm_start(self, jvm_started_unix_ms: f64) -> Self {
        Self { jvm_started_unix_ms: Some(jvm_started_unix_ms), ..self }
    }

    /// A line's time in milliseconds since the recording began, by the best of its clocks; `None`
    /// if it has none that can be compared.
    #[must_use]
    pub fn place(&self, stamp: &LogStamp) -> Option<ClockReading> {
        let monotonic = || {
            let (at, began) = (stamp.monotonic?, self.clock.began_monotonic_ms?);
            Some(ClockReading { ms: at.ms - began, ..at })
        };
        let wall = || stamp.wall.map(|at| self.place_wall(at));
        let uptime = || {
            let (at, started) = (stamp.uptime?, self.jvm_started_unix_ms?);
            Some(self.place_wall(ClockReading { ms: started + at.ms, ..at }))
        };
        monotonic().or_else(wall).or_else(uptime)
    }

    /// Whether something that began and ended then, in milliseconds since the recording began, is
    /// of the recording's time.
    #[must_use]
    pub fn covers(&self, from_ms: f64, to_ms: f64) -> bool {
        to_ms >= 0.0 && from_ms <= self.clock.length_ms
    }

    /// The wall clock may have been set meanwhile; the recording's goes on.
    fn place_wall(&self, at: ClockReading) -> ClockReading {
        let plain = at.ms - self.clock.began_unix_ms;
        let ms = self.clock.steps.iter().fold(
            plain,
            |ms, (when_ms, by_ms)| {
                if ms - by_ms >= *when_ms { ms - by_ms } else { ms }
            },
        );
        ClockReading { ms, ..at }
    }
}

/// A date with a time zone at the beginning of a text, `2024-01-02T03:04:05.678+0900`, in
/// milliseconds since 1970, and the rest.
pub(super) fn date(text: &str) -> Option<(ClockReading, &str)> {
    let (year, rest) = field(text, 4, "")?;
    let (month, rest) = field(rest, 2, "-")?;
    let (day, rest) = field(rest, 2, "-")?;
    let (hour, rest) = field(rest, 2, "T")?;
    let (minute, rest) = field(rest, 2, ":")?;
    let (_, seconds) = rest.split_at_checked(1).filter(|(colon, _)| *colon == ":")?;
    let (second, places, rest) = decimal(seconds)?;
    let (offset_minutes, rest) = zone(rest)?;
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day);
    let is_time = hour < 24 && minute < 60 && second < 61.0;
    (is_date && is_time).then_some(())?;
    let minutes = (days_since_1970(year, month, day) * 24 + hour) * 60 + minute - offset_minutes;
    // Rounded to the nanosecond: a fraction of a second has no exact double.
    let ms = minutes as f64 * 60e3 + (second * 1e9).round() / 1e6;
    Some((ClockReading { ms, precision_ms: 1e3 / 10f64.powi(places as i32) }, rest))
}

/// `Z`, `+0900` or `-03:30` at the beginning of a text: minutes east of Greenwich, and the rest.
fn zone(text: &str) -> Option<(i64, &str)> {
    if let Some(rest) = text.strip_prefix('Z') {
        return Some((0, rest));
    }
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, rest) = field(text.get(1..)?, 2, "")?;
    let (minutes, rest) = field(rest, 2, ":").or_else(|| field(rest, 2, ""))?;
    Some((sign * (hours * 60 + minutes), rest))
}

/// A number of so many digits behind `before` at the beginning of a text, and the rest.
fn field<'a>(text: &'a str, length: usize, before: &str) -> Option<(i64, &'a str)> {
    let (number, rest) = text.strip_prefix(before)?.split_at_checked(length)?;
    let (number, none) = digits(number)?;
    none.is_empty().then_some(())?;
    Some((number.parse().ok()?, rest))
}

/// Days from 1970 to a date of the Gregorian calendar. Years begin in March here, so that a leap
/// day is their last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let months = (month + 9) % 12;
    let days = (153 * months + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + days - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exactly(ms: f64) -> Option<ClockReading> {
        Some(ClockReading { ms, precision_ms: 0.0 })
    }

    #[test]
    fn dates_are_read_with_their_time_zone() {
        let read = |text| date(text).map(|(at, rest)| (at.ms, at.precision_ms, rest));
        assert_eq!(read("1970-01-01T00:00:00.000+0000"), Some((0.0, 1.0, "")));
        assert_eq!(read("2017-01-06T20:53:02.802+0900: 6"), Some((1_483_703_582_802.0, 1.0, ": 6")));
        assert_eq!(read("2017-01-06T11:53:02.802Z"), Some((1_483_703_582_802.0, 1.0, "")));
        assert_eq!(read("2024-02-29T23:59:59-03:30]"), Some((1_709_263_799_000.0, 1000.0, "]")));
        assert_eq!(read("2000-03-01T00:00:00.0+0000"), Some((951_868_800_000.0, 100.0, "")));
        for wrong in
            ["2017-01-06T20:53:02.802", "2017-13-06T20:53:02.8Z", "2017-01-06 20:53", "20", "é017-01-0"]
        {
            assert_eq!(date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_monotonic_clock_is_preferred_and_uptimes_need_a_beginning() {
        let clock = Clock { began_unix_ms: 1000.0, began_monotonic_ms: Some(50.0), ..Clock::default() };
        let log = LogClock::of(&clock);
        let all = LogStamp { wall: exactly(1500.0), uptime: exactly(9.0), monotonic: exactly(551.0) };
        let at = |log: &LogClock, stamp: &LogStamp| log.place(stamp).map(|at| at.ms);
        assert_eq!(at(&log, &all), Some(501.0));
        assert_eq!(at(&log, &LogStamp { monotonic: None, ..all }), Some(500.0));
        let uptime = LogStamp { uptime: exactly(9.0), ..LogStamp::default() };
        assert_eq!(at(&log, &uptime), None);
        assert_eq!(all.jvm_started_unix_ms(), Some(1491.0));
        assert_eq!(at(&log.with_jvm_start(1491.0), &uptime), Some(500.0));
        assert!(LogStamp::default().is_empty() && !uptime.is_empty());
    }

    #[test]
    fn a_step_of_the_wall_clock_moves_what_was_stamped_behind_it() {
        let steps = vec![(400.0, 3000.0)];
        let log = LogClock::of(&Clock { began_unix_ms: 1000.0, steps, length_ms: 900.0, ..Clock::default() });
        let at =
            |ms| log.place(&LogStamp { wall: exactly(ms), ..LogStamp::default() }).map(|reading| reading.ms);
        assert_eq!(at(1300.0), Some(300.0));
        assert_eq!(at(4500.0), Some(500.0));
        assert!(log.covers(-5.0, 0.0) && log.covers(900.0, 950.0));
        assert!(!log.covers(-5.0, -1.0) && !log.covers(901.0, 950.0));
    }

    proptest! {
        #[test]
        fn a_date_is_the_days_before_it_and_its_time(day in 0i64..60_000, ms in 0i64..86_400_000) {
            // The calendar counted out, against the formula.
            let (mut year, mut left) = (1970, day);
            let is_leap = |y: i64| y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
            while left >= 365 + i64::from(is_leap(year)) {
                left -= 365 + i64::from(is_leap(year));
                year += 1;
            }
            let mut month = 1;
            let days = |m: i64| match m { 2 => 28 + i64::from(is_leap(year)), 4 | 6 | 9 | 11 => 30, _ => 31 };
            while left >= days(month) {
                left -= days(month);
                month += 1;
            }
            let (s, ms_of_s) = (ms / 1000, ms % 1000);
            let text = format!(
                "{year:04}-{month:02}-{:02}T{:02}:{:02}:{:02}.{ms_of_s:03}+0000",
                left + 1, s / 3600, s / 60 % 60, s % 60
            );
            prop_assert_eq!(date(&text).map(|(at, _)| at.ms), Some((day * 86_400_000 + ms) as f64));
        }

        #[test]
        fn no_text_is_too_strange(text: String) {
            let _date = date(&text);
        }
    }
}
