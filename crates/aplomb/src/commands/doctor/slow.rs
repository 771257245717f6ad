//! `aplomb doctor slow`: the slow requests of an Aplomb that runs, and what each has waited for, as
//! its flight recorder has them (`/slow` of `aplomb.metrics.listener`).

use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use aplomb_broker::config::{ClientLogin, HttpUrl};
use aplomb_doctor::units::time;
use clap::{Args, ValueEnum};
use serde::Deserialize;

use crate::commands::fail;
use crate::http::{HttpFault, get};
use crate::outgoing::{OutgoingArgs, OutgoingError};

/// How long a broker may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most that is read of an answer; what a broker keeps is far less.
const MOST: usize = 16 << 20;

/// Which broker, and how to say it.
#[derive(Debug, Args)]
pub(super) struct SlowArgs {
    /// The broker's aplomb.metrics.listener.
    #[arg(long, value_name = "HOST:PORT")]
    address: String,
    #[command(flatten)]
    outgoing: OutgoingArgs,
    /// For people, or for programs: what the broker says, as it says it.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
enum SlowError {
    #[error("{address}: {fault}")]
    Network { address: String, fault: HttpFault },
    #[error("{0}: it is no address of the form HOST:PORT")]
    Address(String),
    #[error("{address} does not answer as an Aplomb's aplomb.metrics.listener: {said}")]
    Answer { address: String, said: String },
    #[error(
        "{0} wants another name and password (aplomb.metrics.user); --command-config says them, as those of PLAIN"
    )]
    Password(String),
    #[error(
        "aplomb.metrics.listener takes a name and a password, in these settings those of PLAIN, and no other sasl.mechanism"
    )]
    Mechanism,
    #[error(transparent)]
    Outgoing(#[from] OutgoingError),
}

/// What the broker says.
#[derive(Debug, Deserialize)]
struct Report {
    #[serde(default)]
    limit_ms: Option<f64>,
    #[serde(default)]
    floor_ms: f64,
    #[serde(default)]
    missed: u64,
    requests: Vec<Slow>,
}

#[derive(Debug, Deserialize)]
struct Slow {
    at: i64,
    api: String,
    version: i16,
    client: String,
    peer: String,
    connection: u64,
    shard: u16,
    bytes: u64,
    cause: String,
    cause_ms: f64,
    directory: Option<String>,
    disk_age_ms: Option<f64>,
    total_ms: f64,
    stages_ms: Stages,
    idle_ms: f64,
    throttle_ms: f64,
    turn_ms: f64,
    turn_requests: u32,
    processor_ms: f64,
}

#[derive(Debug, Deserialize)]
struct Stages {
    request_queue: f64,
    local: f64,
    remote: f64,
    response_queue: f64,
    response_send: f64,
}

/// Asks, and shows what is said.
pub(super) fn run(args: &SlowArgs) -> ExitCode {
    match show(args) {
        Ok(text) => {
            // A reader that has gone has seen enough.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => fail(&error),
    }
}

fn show(args: &SlowArgs) -> Result<String, SlowError> {
    let address = args.address.as_str();
    let body = ask(address, &args.outgoing)?;
    let refused = |said: String| SlowError::Answer { address: address.to_owned(), said };
    match args.format {
        Format::Json => Ok(body + "\n"),
        Format::Text => {
            let report: Report = serde_json::from_str(&body).map_err(|error| refused(error.to_string()))?;
            Ok(report.text())
        }
    }
}

/// What stands at `/slow`.
fn ask(address: &str, outgoing: &OutgoingArgs) -> Result<String, SlowError> {
    let outgoing = outgoing.load()?;
    let login = match &outgoing.login {
        None => None,
        Some(ClientLogin::Plain { user, password }) => Some((user.as_str(), password)),
        Some(ClientLogin::Scram { .. } | ClientLogin::Token { .. } | ClientLogin::Tickets(_)) => {
            return Err(SlowError::Mechanism);
        }
    };
    let url = place(address, outgoing.tls.is_some()).ok_or_else(|| SlowError::Address(address.to_owned()))?;
    let address = || address.to_owned();
    let answer = get(&url, outgoing.tls.clone(), login, PATIENCE, MOST).map_err(|fault| match fault {
        HttpFault::Status(401) => SlowError::Password(address()),
        HttpFault::Form | HttpFault::Status(_) | HttpFault::TooLong(_) | HttpFault::CutOff => {
            SlowError::Answer { address: address(), said: fault.to_string() }
        }
        HttpFault::Host(_) | HttpFault::Network(_) | HttpFault::Late(_) | HttpFault::Tls(_) => {
            SlowError::Network { address: address(), fault }
        }
    })?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Reads `HOST:PORT`.
fn place(address: &str, is_secure: bool) -> Option<HttpUrl> {
    let (host, port) = address.rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_host = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/');
    let port = port.parse().ok().filter(|_| is_host)?;
    Some(HttpUrl { is_secure, host: host.to_owned(), port, target: "/slow".to_owned() })
}

impl Report {
    fn text(&self) -> String {
        let what = match self.limit_ms {
            Some(limit) => format!("{limit:.0} ms or more"),
            None => format!("longer than the others of their kind, and {:.0} ms or more", self.floor_ms),
        };
        let mut text = String::new();
        // Writing to a `String` cannot fail.
        let _ = match self.requests.len() {
            0 => writeln!(text, "no slow requests: none has taken {what}"),
            count => writeln!(text, "{count} slow requests, the newest first: {what}"),
        };
        if self.missed > 0 {
            let _ = writeln!(text, "{} more were overwritten before they were looked at", self.missed);
        }
        self.requests.iter().for_each(|slow| slow.put_on(&mut text));
        text
    }
}

impl Slow {
    fn put_on(&self, text: &mut String) {
        let Self { api, version, client, peer, connection, shard, bytes, cause, .. } = self;
        let what = match (&self.directory, self.disk_age_ms) {
            (Some(directory), Some(age)) => {
                format!("{cause} {directory}, whose oldest command had waited {}", time(age))
            }
            (Some(directory), None) => format!("{cause} {directory}"),
            (None, _) => cause.clone(),
        };
        let _ = writeln!(
            text,
            "\n{}  {api} v{version}  {}  waited for: {what} ({})",
            wall(self.at),
            time(self.total_ms),
            time(self.cause_ms)
        );
        let client = if client.is_empty() { "without an id" } else { client };
        let _ = writeln!(
            text,
            "    client {client} from {peer}, connection {connection} of shard {shard}, {bytes} bytes"
        );
        let Stages { request_queue, local, remote, response_queue, response_send } = &self.stages_ms;
        let stages = [
            ("request queue", *request_queue),
            ("local", *local),
            ("remote", *remote),
            ("response queue", *response_queue),
            ("response send", *response_send),
        ];
        let stages: Vec<String> = stages.iter().map(|(name, ms)| format!("{name} {}", time(*ms))).collect();
        let _ = writeln!(text, "    {}", stages.join(", "));
        let _ = write!(text, "    its turn took {} for {} requests", time(self.turn_ms), self.turn_requests);
        for (what, ms) in [
            ("its client asked it to wait", self.idle_ms),
            ("its client is muted for", self.throttle_ms),
            ("about then a thread waited for a processor for", self.processor_ms),
        ] {
            if ms > 0.0 {
                let _ = write!(text, "; {what} {}", time(ms));
            }
        }
        text.push('\n');
    }
}

/// The time of day in UTC.
fn wall(at: i64) -> String {
    let day = at.rem_euclid(86_400_000);
    let (hours, minutes) = (day / 3_600_000, day / 60_000 % 60);
    format!("{hours:02}:{minutes:02}:{:02}.{:03}Z", day / 1000 % 60, day % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        let read = |address| place(address, true).map(|url| (url.host, url.port));
        assert_eq!(read("localhost:9404"), Some(("localhost".to_owned(), 9404)));
        assert_eq!(read("[::1]:9404"), Some(("::1".to_owned(), 9404)));
        for wrong in ["localhost", ":9404", "localhost:", "a b:1", "a/b:1", "localhost:70000"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_slow_request_reads_as_a_few_lines() {
        let said = r#"{"limit_ms":50.0,"floor_ms":20.0,"limits_ms":{},"counts":{"disk":1},"missed":2,
            "requests":[{"at":1764143999120,"api":"Produce","version":12,"client":"orders-7","peer":"192.0.2.1",
            "connection":42,"shard":1,"bytes":5120,"cause":"disk","cause_ms":521.0,"directory":"/data0",
            "disk_age_ms":12000.0,"total_ms":523.4,"stages_ms":{"request_queue":0.01,"local":0.4,"remote":521.0,
            "response_queue":0.0,"response_send":2.0},"idle_ms":0.0,"throttle_ms":10.0,"turn_ms":0.5,
            "turn_requests":3,"processor_ms":0.0}]}"#;
        let report: Report = serde_json::from_str(said).expect("it is one");
        assert_eq!(
            report.text(),
            "1 slow requests, the newest first: 50 ms or more\n\
             2 more were overwritten before they were looked at\n\
             \n07:59:59.120Z  Produce v12  523 ms  waited for: disk /data0, whose oldest command had waited 12 s (521 ms)\n    \
             client orders-7 from 192.0.2.1, connection 42 of shard 1, 5120 bytes\n    \
             request queue 10 µs, local 400 µs, remote 521 ms, response queue 0 µs, response send 2.0 ms\n    \
             its turn took 500 µs for 3 requests; its client is muted for 10 ms\n"
        );
        let report: Report =
            serde_json::from_str(r#"{"requests":[]}"#).expect("a broker that starts says so");
        assert!(report.text().starts_with("no slow requests"), "{}", report.text());
    }
}
