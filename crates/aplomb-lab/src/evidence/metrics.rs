//! The page of numbers of a broker, in Prometheus' text format, fetched and searched.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use crate::record::Stage;

/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The stages of a request, in their order: the metric's name behind `kafka_network_requestmetrics_`, and Kafka's name of it.
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
pub struct Metrics {
    page: String,
}

impl Metrics {
    /// Fetches `/metrics` from `address`, a `host:port`.
    ///
    /// # Errors
    /// When nobody answers, or something else than a page.
    pub fn fetch(address: &str) -> io::Result<Self> {
        let address = address.to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?;
        let mut socket = TcpStream::connect_timeout(&address, PATIENCE)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.write_all(b"GET /metrics HTTP/1.0\r\nHost: lab\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer)?;
        match answer.split_once("\r\n\r\n") {
            Some((head, page)) if head.split(' ').nth(1) == Some("200") => Ok(Self { page: page.to_owned() }),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// The value of a metric with all these labels: the first if there are several.
    #[must_use]
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
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
    pub fn guard_violations(&self) -> Option<u64> {
        self.value("aplomb_guard_violations_total", &[]).map(|count| count as u64)
    }
}

/// The stages of Produce, before and during; those of which a page says nothing are left out.
#[must_use]
pub fn stages(before: &Metrics, during: &Metrics) -> Vec<Stage> {
    let p99 = |page: &Metrics, stage: &str| {
        let name = format!("kafka_network_requestmetrics_{stage}");
        let found = page.value(&name, &[("request", "Produce"), ("quantile", "0.99")]);
        found.filter(|value| value.is_finite())
    };
    let stage = |(metric, name): (&str, &str)| {
        Some(Stage {
            request: "Produce".to_owned(),
            stage: name.to_owned(),
            before_p99_ms: p99(before, metric)?,
            during_p99_ms: p99(during, metric)?,
        })
    };
    STAGES.into_iter().filter_map(stage).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_name_and_labels() {
        let page = Metrics {
            page: "# HELP a x\na_b 1\na 2\nkafka_network_requestmetrics_localtimems{request=\"Produce\",quantile=\"0.5\"} 0.2\n\
                kafka_network_requestmetrics_localtimems{request=\"Produce\",quantile=\"0.99\"} 3.5\naplomb_guard_violations_total 0\n\
                kafka_network_requestmetrics_totaltimems{request=\"Produce\",quantile=\"0.99\"} NaN\n"
                .to_owned(),
        };
        assert_eq!(page.value("a", &[]), Some(2.0));
        assert_eq!(page.guard_violations(), Some(0));
        let stages = stages(&page, &page);
        assert_eq!(stages.len(), 1, "no number, no stage");
        assert_eq!((stages[0].stage.as_str(), stages[0].during_p99_ms), ("LocalTimeMs", 3.5));
        assert_eq!(Metrics::default().guard_violations(), None);
    }
}
