//! A broker's page of numbers, in Prometheus' text format, and what is looked for on it. Where
//! pages come from is [`super::numbers`]'s.

use crate::record::Stage;

/// The stages of a request, in their order: the metric's name behind
/// `kafka_network_requestmetrics_`, and Kafka's name of it.
const STAGES: [(&str, &str); 6] = [
    ("requestqueuetimems", "RequestQueueTimeMs"),
    ("localtimems", "LocalTimeMs"),
    ("remotetimems", "RemoteTimeMs"),
    ("responsequeuetimems", "ResponseQueueTimeMs"),
    ("responsesendtimems", "ResponseSendTimeMs"),
    ("totaltimems", "TotalTimeMs"),
];

/// A page as it was at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metrics {
    page: String,
}

impl From<String> for Metrics {
    fn from(page: String) -> Self {
        Self { page }
    }
}

impl Metrics {
    /// The value of a metric with all these labels: the first if there are several.
    #[must_use]
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        self.page.lines().find_map(|line| {
            let rest = line.strip_prefix(name)?;
            let (inside, value) = match rest.strip_prefix('{') {
                Some(rest) => rest.split_once('}')?,
                None if rest.starts_with(' ') => ("", rest),
                None => return None,
            };
            let has = |(key, value): &(&str, &str)| inside.contains(&format!("{key}=\"{value}\""));
            labels.iter().all(has).then(|| value.trim().parse().ok()).flatten()
        })
    }

    /// System calls that the guard of request threads has seen; `None` if the page has no guard.
    #[must_use]
    pub(crate) fn guard_violations(&self) -> Option<u64> {
        self.value("aplomb_guard_violations_total", &[]).map(|count| count as u64)
    }
}

/// A broker's numbers at the moments that divide a run; an empty page where it said nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readings {
    /// When measuring began.
    pub begin: Metrics,
    /// When the disturbance began.
    pub disturbed: Metrics,
    /// At the end of the run.
    pub end: Metrics,
}

impl Readings {
    /// The stages of Produce; those of which the pages say nothing are left out.
    #[must_use]
    pub(crate) fn stages(&self) -> Vec<Stage> {
        STAGES.into_iter().filter_map(|(metric, name)| self.stage(metric, name)).collect()
    }

    fn stage(&self, metric: &str, name: &str) -> Option<Stage> {
        let metric = format!("kafka_network_requestmetrics_{metric}");
        let p99 = |page: &Metrics| {
            let found = page.value(&metric, &[("request", "Produce"), ("quantile", "0.99")]);
            found.filter(|value| value.is_finite())
        };
        let together = |page: &Metrics, of| page.value(&format!("{metric}_{of}"), &[("request", "Produce")]);
        let mean = |from: &Metrics, to: &Metrics| {
            let grown = |of| Some(together(to, of)? - together(from, of)?);
            let (sum, count) = (grown("sum")?, grown("count")?);
            // Of no requests there is no mean, nor over the end of a process.
            (count > 0.0 && sum.is_finite()).then(|| sum.max(0.0) / count)
        };
        Some(Stage {
            request: "Produce".to_owned(),
            stage: name.to_owned(),
            before_p99_ms: p99(&self.disturbed)?,
            after_p99_ms: p99(&self.end)?,
            before_mean_ms: mean(&self.begin, &self.disturbed),
            after_mean_ms: mean(&self.disturbed, &self.end),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_name_and_labels() {
        let page = Metrics::from(
            "# HELP a x\na_b 1\na 2\na{b=\"c\",d=\"e\"} 3\naplomb_guard_violations_total 0\n".to_owned(),
        );
        assert_eq!(page.value("a", &[]), Some(2.0));
        assert_eq!(page.value("a", &[("d", "e")]), Some(3.0));
        assert_eq!(page.guard_violations(), Some(0));
        assert_eq!(Metrics::default().guard_violations(), None);
    }

    fn page(p99: &str, count: u32, sum: f64) -> Metrics {
        let local = "kafka_network_requestmetrics_localtimems";
        let total = "kafka_network_requestmetrics_totaltimems";
        let of_produce = "{request=\"Produce\"}";
        Metrics::from(format!(
            "{local}{{request=\"Fetch\",quantile=\"0.99\"}} 77\n{local}{{request=\"Produce\",quantile=\"0.5\"}} 0.2\n\
            {local}{{request=\"Produce\",quantile=\"0.99\"}} {p99}\n{local}_count{of_produce} {count}\n{local}_sum{of_produce} {sum}\n\
            {total}{{request=\"Produce\",quantile=\"0.99\"}} NaN\n"
        ))
    }

    #[test]
    fn means_are_of_what_came_in_between() {
        let readings = Readings {
            begin: page("9", 10, 50.0),
            disturbed: page("3", 110, 150.0),
            end: page("3.5", 115, 15_150.0),
        };
        let stages = readings.stages();
        assert_eq!(stages.len(), 1, "no number, no stage");
        assert_eq!(stages[0].stage, "LocalTimeMs");
        assert_eq!((stages[0].before_p99_ms, stages[0].after_p99_ms), (3.0, 3.5));
        assert_eq!((stages[0].before_mean_ms, stages[0].after_mean_ms), (Some(1.0), Some(3_000.0)));
    }

    #[test]
    fn a_process_that_began_anew_has_no_mean() {
        let readings =
            Readings { begin: page("1", 0, 0.0), disturbed: page("1", 0, 0.0), end: page("1", 0, 0.0) };
        assert_eq!(readings.stages()[0].after_mean_ms, None, "no requests");
        let readings = Readings { disturbed: page("1", 100, 90.0), ..readings };
        assert_eq!(readings.stages()[0].after_mean_ms, None);
    }
}
