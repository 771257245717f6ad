//! The text format of Prometheus, version 0.0.4
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>).
//!
//! What always holds: samples of one name stand together under one `# TYPE` line, as the format
//! demands, whatever order they were added in.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// What a number means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by upper bound.
    Histogram,
}

/// A page in the making.
#[derive(Debug, Default)]
pub struct Page {
    families: BTreeMap<&'static str, Family>,
}

/// The samples of one name.
#[derive(Debug)]
pub struct Samples<'a> {
    name: &'static str,
    text: &'a mut String,
}

/// Labels as the page has them, to be used for many samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels(String);

#[derive(Debug)]
struct Family {
    kind: Kind,
    help: &'static str,
    samples: String,
}

impl Page {
    /// Adds a number that only grows.
    pub fn counter(&mut self, name: &'static str, help: &'static str, labels: &[(&str, &str)], value: u64) {
        self.samples(name, Kind::Counter, help).put(&Labels::new(labels), value);
    }

    /// Adds a number that goes up and down.
    pub fn gauge(&mut self, name: &'static str, help: &'static str, labels: &[(&str, &str)], value: f64) {
        self.samples(name, Kind::Gauge, help).put(&Labels::new(labels), value);
    }

    /// The place of all samples of one name.
    pub fn samples(&mut self, name: &'static str, kind: Kind, help: &'static str) -> Samples<'_> {
        let family =
            self.families.entry(name).or_insert_with(|| Family { kind, help, samples: String::new() });
        assert_eq!(family.kind, kind, "{name} is one kind of number");
        Samples { name, text: &mut family.samples }
    }

    /// Adds a distribution of times: how many fell under each upper bound and above the one before.
    /// The last bucket holds all that is longer.
    pub fn times(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: &[(&str, &str)],
        buckets: impl Iterator<Item = (Duration, u64)>,
    ) {
        let text = self.samples(name, Kind::Histogram, help).text;
        let buckets: Vec<_> = buckets.collect();
        let bucket = format!("{name}_bucket");
        let labelled = |bound: &str| {
            let labels: Vec<(&str, &str)> = labels.iter().copied().chain([("le", bound)]).collect();
            Labels::new(&labels)
        };
        let mut below = 0;
        for (bound, count) in &buckets[..buckets.len().saturating_sub(1)] {
            below += count;
            sample(text, &bucket, &labelled(&bound.as_secs_f64().to_string()), below);
        }
        below += buckets.last().map_or(0, |(_, count)| *count);
        sample(text, &bucket, &labelled("+Inf"), below);
        sample(text, &format!("{name}_count"), &Labels::new(labels), below);
    }

    /// The page.
    #[must_use]
    pub fn finish(self) -> String {
        let mut text = String::new();
        for (name, family) in self.families {
            let kind = match family.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Histogram => "histogram",
            };
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} {kind}", family.help);
            text.push_str(&family.samples);
        }
        text
    }
}

impl Labels {
    /// No labels.
    pub const NONE: Self = Self(String::new());

    /// These labels.
    #[must_use]
    pub fn new(labels: &[(&str, &str)]) -> Self {
        let mut text = String::new();
        for (label, value) in labels {
            text.push(if text.is_empty() { '{' } else { ',' });
            text.push_str(label);
            text.push_str("=\"");
            for c in value.chars() {
                match c {
                    '\\' => text.push_str("\\\\"),
                    '"' => text.push_str("\\\""),
                    '\n' => text.push_str("\\n"),
                    c => text.push(c),
                }
            }
            text.push('"');
        }
        if !text.is_empty() {
            text.push('}');
        }
        Self(text)
    }
}

impl Samples<'_> {
    /// Adds one.
    pub fn put(&mut self, labels: &Labels, value: impl std::fmt::Display) {
        sample(self.text, self.name, labels, value);
    }
}

fn sample(text: &mut String, name: &str, labels: &Labels, value: impl std::fmt::Display) {
    // Writing to a `String` cannot fail.
    let _ = writeln!(text, "{name}{} {value}", labels.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_a_name_stand_together_and_buckets_are_cumulative() {
        let mut page = Page::default();
        page.counter("requests_total", "Requests.", &[("shard", "0")], 3);
        page.gauge("age_seconds", "Age.", &[], 0.25);
        page.counter("requests_total", "Requests.", &[("shard", "1\"")], 4);
        let buckets =
            [(Duration::from_millis(1), 2), (Duration::from_millis(2), 0), (Duration::from_millis(4), 1)];
        page.times("wait_seconds", "Waits.", &[("lane", "read")], buckets.into_iter());
        assert_eq!(
            page.finish(),
            "# HELP age_seconds Age.\n\
             # TYPE age_seconds gauge\n\
             age_seconds 0.25\n\
             # HELP requests_total Requests.\n\
             # TYPE requests_total counter\n\
             requests_total{shard=\"0\"} 3\n\
             requests_total{shard=\"1\\\"\"} 4\n\
             # HELP wait_seconds Waits.\n\
             # TYPE wait_seconds histogram\n\
             wait_seconds_bucket{lane=\"read\",le=\"0.001\"} 2\n\
             wait_seconds_bucket{lane=\"read\",le=\"0.002\"} 2\n\
             wait_seconds_bucket{lane=\"read\",le=\"+Inf\"} 3\n\
             wait_seconds_count{lane=\"read\"} 3\n"
        );
    }
}
