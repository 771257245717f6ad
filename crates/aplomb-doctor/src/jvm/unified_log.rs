//! What stands before the text of a line: decorations in brackets (`-Xlog`, JDK 9 and later), or
//! the stamps of JDK 8.
//!
//! Decorations have an order (`time`, `utctime`, `uptime`, `timemillis`, `uptimemillis`,
//! `timenanos`, `uptimenanos`, `hostname`, `pid`, `tid`, `level`, `tags`) and no names: any of them
//! may be missing, and they are told by their shape. Where two have one shape, the first of two is
//! the earlier in that order. One alone is taken so: of milliseconds, many are a date and few an
//! uptime; nanoseconds are the monotonic clock's, unless another decoration says that they are the
//! uptime.

use super::figures::decimal;
use super::stamps::{ClockReading, LogStamp, date};

/// A line of a JVM's log, taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecoratedLine<'a> {
    /// When it was written.
    pub stamp: LogStamp,
    /// `info`; `None` where the log does not say.
    pub level: Option<&'a str>,
    /// `gc,start`; `None` where the log does not say.
    pub tags: Option<&'a str>,
    /// What follows, without the space in between.
    pub text: &'a str,
}

/// Uptimes are shorter than three years, and dates are later than 1973: in milliseconds.
const OLDEST_DATE_MS: f64 = 1e11;

/// Decorations before the text: one of each is the most that there can be.
const MAX_DECORATIONS: usize = 12;

impl<'a> DecoratedLine<'a> {
    /// Takes any line apart. One without decorations and stamps is text as a whole.
    #[must_use]
    pub fn parse(line: &'a str) -> Self {
        if !line.starts_with('[') {
            let (stamp, text) = jdk8_stamp(line);
            return Self { stamp, text, ..Self::default() };
        }
        let mut found = Decorations::default();
        let mut rest = line;
        for _ in 0..MAX_DECORATIONS {
            let Some((inner, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
                break;
            };
            if !found.take(inner.trim()) {
                break;
            }
            rest = after;
        }
        let text = rest.strip_prefix(' ').unwrap_or(rest);
        Self { stamp: found.stamp(), level: found.level, tags: found.word, text }
    }

    /// Whether the line has these tags, or does not say which it has.
    pub(super) fn may_have_tags(&self, tags: &str) -> bool {
        self.tags.is_none_or(|these| these == tags)
    }
}

/// A date, an uptime in seconds, or both, at the beginning of a line, each followed by `: `.
pub(super) fn jdk8_stamp(line: &str) -> (LogStamp, &str) {
    let mut stamp = LogStamp::default();
    let mut rest = line;
    if let Some((wall, after)) = date(rest)
        && let Some(after) = after.strip_prefix(": ")
    {
        stamp.wall = Some(wall);
        rest = after;
    }
    if let Some((seconds, places, after)) = decimal(rest)
        && let Some(after) = after.strip_prefix(": ")
    {
        stamp.uptime = Some(in_ms(seconds, places, 1e3));
        rest = after;
    }
    (stamp, rest)
}

fn in_ms(value: f64, places: u32, unit_ms: f64) -> ClockReading {
    ClockReading { ms: value * unit_ms, precision_ms: unit_ms / 10f64.powi(places as i32) }
}

/// What has been found so far.
#[derive(Default)]
struct Decorations<'a> {
    wall: Option<ClockReading>,
    uptime: Option<ClockReading>,
    millis: [Option<ClockReading>; 2],
    nanos: [Option<ClockReading>; 2],
    level: Option<&'a str>,
    /// The last that is a word: the tags, or, where these are left out, perhaps the host's name.
    word: Option<&'a str>,
}

impl<'a> Decorations<'a> {
    /// Whether this is a decoration; text in brackets has spaces.
    fn take(&mut self, inner: &'a str) -> bool {
        if inner.contains(' ') {
            return false;
        }
        if let Some((at, "")) = date(inner) {
            self.wall.get_or_insert(at);
        } else if let Some((value, places, unit)) = decimal(inner) {
            return self.take_number(value, places, unit);
        } else if matches!(inner, "trace" | "debug" | "info" | "warning" | "error") {
            self.level = Some(inner);
        } else if !inner.is_empty() {
            self.word = Some(inner);
        }
        // Empty: the further lines of a text of several.
        true
    }

    fn take_number(&mut self, value: f64, places: u32, unit: &str) -> bool {
        match unit {
            "s" => self.uptime = Some(in_ms(value, places, 1e3)),
            "ms" => put(&mut self.millis, in_ms(value, places, 1.0)),
            "ns" => put(&mut self.nanos, in_ms(value, places, 1e-6)),
            // A process's or a thread's number, or a host whose name begins with a digit.
            _ => {}
        }
        true
    }

    fn stamp(&self) -> LogStamp {
        let (millis_wall, millis_uptime) = match self.millis {
            [Some(one), None] if one.ms < OLDEST_DATE_MS => (None, Some(one)),
            [wall, uptime] => (wall, uptime),
        };
        let coarse_uptime = millis_uptime.or(self.uptime);
        let is_uptime = |nanos: ClockReading| {
            coarse_uptime.is_some_and(|coarse| (nanos.ms - coarse.ms).abs() <= 2.0 * coarse.precision_ms)
        };
        let (monotonic, nanos_uptime) = match self.nanos {
            [Some(one), None] if is_uptime(one) => (None, Some(one)),
            [monotonic, uptime] => (monotonic, uptime),
        };
        LogStamp { wall: self.wall.or(millis_wall), uptime: nanos_uptime.or(coarse_uptime), monotonic }
    }
}

/// Into the first place that is free.
fn put(places: &mut [Option<ClockReading>; 2], one: ClockReading) {
    if let Some(free) = places.iter_mut().find(|place| place.is_none()) {
        *free = Some(one);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Wall, uptime and monotonic time of a line, in milliseconds.
    fn times(line: &str) -> [Option<f64>; 3] {
        let stamp = DecoratedLine::parse(line).stamp;
        [stamp.wall, stamp.uptime, stamp.monotonic].map(|at| at.map(|at| at.ms))
    }

    #[test]
    fn decorations_are_told_by_their_shape() {
        let line = DecoratedLine::parse("[2024-05-06T07:08:09.012+0200][gc,start     ] GC(3)   Pause");
        assert_eq!(line.text, "GC(3)   Pause");
        assert_eq!((line.level, line.tags), (None, Some("gc,start")));
        assert_eq!(line.stamp.wall, Some(ClockReading { ms: 1_714_972_089_012.0, precision_ms: 1.0 }));
        let line = DecoratedLine::parse("[0.512s][info ][safepoint   ] Safepoint \"x\"");
        assert_eq!((line.level, line.tags), (Some("info"), Some("safepoint")));
        assert_eq!(line.stamp.uptime, Some(ClockReading { ms: 512.0, precision_ms: 1.0 }));
    }

    #[test]
    fn all_decorations_at_once() {
        let all = "[2024-05-06T07:08:09.012+0200][2024-05-06T05:08:09.012+0000][0.512s][1714972089012ms]\
                   [512ms][7000512000000ns][512345678ns][broker-1.example][4711][4712][info][gc] Using G1";
        let line = DecoratedLine::parse(all);
        assert_eq!(times(all), [Some(1_714_972_089_012.0), Some(512.345_678), Some(7_000_512.0)]);
        assert_eq!((line.level, line.tags, line.text), (Some("info"), Some("gc"), "Using G1"));
    }

    #[test]
    fn one_of_two_alike_is_told_by_its_size_or_by_a_neighbour() {
        assert_eq!(times("[1714972089012ms] x"), [Some(1_714_972_089_012.0), None, None]);
        assert_eq!(times("[512ms] x"), [None, Some(512.0), None]);
        assert_eq!(times("[512000000ns] x"), [None, None, Some(512.0)]);
        assert_eq!(times("[0.512s][512345678ns] x"), [None, Some(512.345_678), None]);
        assert_eq!(times("[0.512s][900000000000ns] x"), [None, Some(512.0), Some(900_000.0)]);
    }

    #[test]
    fn jdk_8_has_a_date_an_uptime_or_both() {
        assert_eq!(
            times("2017-01-06T20:53:02.802+0900: 60.898: Total"),
            [Some(1_483_703_582_802.0), Some(60_898.0), None]
        );
        assert_eq!(times("60.898: [GC"), [None, Some(60_898.0), None]);
        assert_eq!(times("60,898: [GC"), [None, Some(60_898.0), None]);
        assert_eq!(DecoratedLine::parse("60.898: [GC (x)").text, "[GC (x)");
        assert_eq!(DecoratedLine::parse("   [Other: 1 ms]").text, "   [Other: 1 ms]");
    }

    #[test]
    fn text_in_brackets_is_text() {
        assert_eq!(DecoratedLine::parse("[GC (Full) x] y").text, "[GC (Full) x] y");
        assert_eq!(DecoratedLine::parse("[0.1s][gc][GC (Full) x] y").text, "[GC (Full) x] y");
        assert_eq!(DecoratedLine::parse("[0.1s][      ] more").text, "more");
        assert_eq!(DecoratedLine::parse("[broken").text, "[broken");
        assert_eq!(DecoratedLine::parse("").text, "");
        assert!(DecoratedLine::parse("[0.1s] x").may_have_tags("gc"));
    }

    proptest! {
        #[test]
        fn no_line_is_too_strange(line: String, shape in "(\\[[0-9a-z.:T+ -]{0,20}(ns|ms|s)?\\]){0,14}.*") {
            let _line = DecoratedLine::parse(&line);
            let _line = DecoratedLine::parse(&shape);
        }
    }
}
