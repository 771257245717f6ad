//! How a log line looks: `2026-11-21T18:00:00.000Z INFO broker/produce: what happened`.
//!
//! What always holds: one event is one line. Control characters, which clients can put into names,
//! are written escaped.

use std::fmt::Write as _;

use aplomb_broker::ports::{Event, Severity};
use aplomb_model::Timestamp;

/// Appends the line for `event`, with its line feed.
pub fn format(line: &mut String, at: Timestamp, event: &Event) {
    let severity = match event.severity {
        Severity::Info => "INFO",
        Severity::Warn => "WARN",
        Severity::Error => "ERROR",
    };
    write_time(line, at);
    // Writing to a `String` cannot fail.
    let _ = write!(line, " {severity} {}: ", event.room);
    for c in event.text.chars() {
        if c.is_control() {
            let _ = write!(line, "{}", c.escape_default());
        } else {
            line.push(c);
        }
    }
    line.push('\n');
}

/// Appends `at` as ISO 8601 in UTC, with milliseconds.
fn write_time(line: &mut String, at: Timestamp) {
    let days = at.0.div_euclid(86_400_000);
    let of_day = at.0.rem_euclid(86_400_000);
    let (year, month, day) = civil(days);
    let (hour, minute, second, milli) =
        (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1000 % 60, of_day % 1000);
    let _ = write!(line, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z");
}

/// The date that lies `days` days after 1970-01-01, in the Gregorian calendar. Counts from 1 March
/// of the year 0, so that the leap day is a year's last.
fn civil(days: i64) -> (i64, i64, i64) {
    const DAYS_IN_400_YEARS: i64 = 146_097;
    let from_march_0 = days + 719_468;
    let era = from_march_0.div_euclid(DAYS_IN_400_YEARS);
    let day_of_era = from_march_0.rem_euclid(DAYS_IN_400_YEARS);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: i64, text: &str) -> String {
        let mut line = String::new();
        let event = Event { severity: Severity::Error, room: "server/net", text: text.to_owned() };
        format(&mut line, Timestamp(at), &event);
        line
    }

    #[test]
    fn a_line_has_its_time_its_gravity_its_room_and_its_text() {
        assert_eq!(line(0, "it broke"), "1970-01-01T00:00:00.000Z ERROR server/net: it broke\n");
        assert_eq!(line(951_782_400_123, ""), "2000-02-29T00:00:00.123Z ERROR server/net: \n");
        assert_eq!(line(1_795_283_999_999, ""), "2026-11-21T17:59:59.999Z ERROR server/net: \n");
        assert_eq!(line(4_107_542_400_000, ""), "2100-03-01T00:00:00.000Z ERROR server/net: \n");
    }

    #[test]
    fn a_clients_line_feed_does_not_start_a_line() {
        assert_eq!(
            line(0, "client 'a\nb\u{1b}[31m'"),
            "1970-01-01T00:00:00.000Z ERROR server/net: client 'a\\nb\\u{1b}[31m'\n"
        );
    }
}
