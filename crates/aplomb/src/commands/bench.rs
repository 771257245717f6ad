//! `aplomb bench`: an open-loop load on any broker, with a line a second, a table at the end and
//! JSON for programs.

use std::io::{IsTerminal as _, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use aplomb_bench::{
    ConsumerSpec, From, KeyDistribution, NewTopic, ProducerSpec, Progress, Report, Spec, Workload,
};
use aplomb_model::batch::Codec;
use clap::{Args, Subcommand, ValueEnum};

use super::bench_group::{self, GroupArgs};
use super::{fail, parse_duration};
use crate::outgoing::{OutgoingArgs, OutgoingError};

/// What load, on whom, for how long.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    other: Option<OtherLoad>,
    /// What is done.
    #[arg(value_enum, required = true)]
    workload: Option<WorkloadArg>,
    /// Brokers to begin with.
    #[arg(
        long,
        short = 'b',
        value_name = "HOST:PORT",
        default_value = "localhost:9092",
        value_delimiter = ','
    )]
    bootstrap_server: Vec<String>,
    #[command(flatten)]
    outgoing: OutgoingArgs,
    /// The topic; it is made if it is not there, except by `consume`.
    #[arg(long, short = 't', default_value = "aplomb-bench")]
    topic: String,
    /// Partitions of a topic that is made.
    #[arg(long, default_value_t = 8)]
    partitions: i32,
    /// Replicas of a topic that is made; -1 is the broker's default.
    #[arg(long, default_value_t = -1, allow_negative_numbers = true)]
    replication_factor: i16,
    /// A setting of a topic that is made; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair)]
    topic_config: Vec<(String, String)>,
    /// Records a second, all producers together. Each record's time is fixed beforehand, and its
    /// latency counts from then.
    #[arg(long, short = 'r', default_value_t = 10_000)]
    rate: u64,
    /// How long is measured.
    #[arg(long, short = 'd', value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    duration: Duration,
    /// How long the load runs before that; its records count for nothing.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    warm_up: Duration,
    /// How long answers are waited for after the last record was due.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    drain: Duration,
    /// Producers, each with connections of its own.
    #[arg(long, default_value_t = 1)]
    producers: usize,
    /// Consumers, each with connections of its own; the partitions are dealt out to them.
    #[arg(long, default_value_t = 1)]
    consumers: usize,
    /// Threads of the generator.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Bytes of a record's value, at least 16.
    #[arg(long, value_name = "BYTES", default_value_t = 1024)]
    record_size: usize,
    /// Which keys: none (one partition until its batch goes), round-robin (no key), uniform:KEYS,
    /// zipf:KEYS or zipf:KEYS:EXPONENT.
    #[arg(long, default_value = "none")]
    keys: KeyDistribution,
    /// Bytes of a key.
    #[arg(long, value_name = "BYTES", default_value_t = 16)]
    key_size: usize,
    /// Acknowledgements: all, 1 or 0.
    #[arg(long, default_value = "all", value_parser = parse_acks, allow_negative_numbers = true)]
    acks: i16,
    /// How batches are compressed: none, gzip, snappy, lz4 or zstd.
    #[arg(long, default_value = "none", value_parser = parse_codec)]
    compression: Codec,
    /// How long a batch waits for more records.
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = parse_duration)]
    linger: Duration,
    /// Bytes of a full batch.
    #[arg(long, value_name = "BYTES", default_value_t = 16 * 1024)]
    batch_size: usize,
    /// Requests without an answer, per connection.
    #[arg(long, default_value_t = 5)]
    max_in_flight: usize,
    /// Without producer ids and sequence numbers; they are only used with acks=all anyway.
    #[arg(long)]
    no_idempotence: bool,
    /// Bytes of records that a producer holds; what is due beyond that is made later, and counts
    /// from when it was due.
    #[arg(long, value_name = "BYTES", default_value_t = 64 * 1024 * 1024)]
    buffer_memory: usize,
    /// A request without an answer for this long costs its connection.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    request_timeout: Duration,
    /// A record is given up after this.
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = parse_duration)]
    delivery_timeout: Duration,
    /// Where `consume` begins.
    #[arg(long, value_enum, default_value = "beginning")]
    from: FromArg,
    /// Fetches a second, all consumers together, at times fixed beforehand; without it a fetch
    /// follows the answer to the last.
    #[arg(long, value_name = "FETCHES")]
    fetch_rate: Option<u64>,
    /// How long a fetch may wait for records.
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = parse_duration)]
    fetch_max_wait: Duration,
    /// Bytes of a response to a fetch, at most (`fetch.max.bytes`).
    #[arg(long, value_name = "BYTES", default_value_t = ConsumerSpec::default().max_bytes, value_parser = clap::value_parser!(i32).range(1..))]
    fetch_max_bytes: i32,
    /// Bytes of one partition in it (`max.partition.fetch.bytes`).
    #[arg(long, value_name = "BYTES", default_value_t = ConsumerSpec::default().max_partition_bytes, value_parser = clap::value_parser!(i32).range(1..))]
    max_partition_fetch_bytes: i32,
    /// Where to write the results as JSON; - is the standard output, instead of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// No progress on the standard error.
    #[arg(long, short = 'q')]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum OtherLoad {
    /// Consumer groups that join, hold their partitions, heartbeat and commit, and read nothing.
    Group(GroupArgs),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum WorkloadArg {
    /// Producers only: from a record's due time to its acknowledgement.
    Produce,
    /// Consumers only, of what is there.
    Consume,
    /// Producers, and consumers at the log's end: from a record's due time to its arrival.
    EndToEnd,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FromArg {
    /// At the first record, to the last that is there at the start.
    Beginning,
    /// Behind the last record.
    End,
}

impl BenchArgs {
    fn spec(&self) -> Result<Spec, OutgoingError> {
        let workload = match self.workload.expect("there is one without a subcommand") {
            WorkloadArg::Produce => Workload::Produce,
            WorkloadArg::Consume => Workload::Consume,
            WorkloadArg::EndToEnd => Workload::EndToEnd,
        };
        let new_topic = NewTopic {
            partitions: self.partitions,
            replication_factor: self.replication_factor,
            configs: self.topic_config.clone(),
        };
        Ok(Spec {
            bootstrap: self.bootstrap_server.clone(),
            security: self.outgoing.security()?,
            topic: self.topic.clone(),
            create: workload.produces().then_some(new_topic),
            workload,
            duration: self.duration,
            warm_up: self.warm_up,
            drain: self.drain,
            request_timeout: self.request_timeout,
            threads: self.threads,
            producers: ProducerSpec {
                clients: self.producers,
                rate: self.rate,
                record_size: self.record_size,
                key_size: self.key_size,
                keys: self.keys,
                acks: self.acks,
                compression: self.compression,
                linger: self.linger,
                batch_size: self.batch_size,
                max_in_flight: self.max_in_flight,
                idempotent: self.acks == -1 && !self.no_idempotence,
                buffer_memory: self.buffer_memory,
                delivery_timeout: self.delivery_timeout,
                ..ProducerSpec::default()
            },
            consumers: ConsumerSpec {
                clients: self.consumers,
                from: match self.from {
                    FromArg::Beginning => From::Beginning,
                    FromArg::End => From::End,
                },
                fetch_rate: self.fetch_rate,
                max_wait: self.fetch_max_wait,
                max_bytes: self.fetch_max_bytes,
                max_partition_bytes: self.max_partition_fetch_bytes,
                ..ConsumerSpec::default()
            },
            ..Spec::default()
        })
    }
}

/// Runs the load. Fails when it could not begin, and when a record was refused, given up or left
/// without an answer.
pub(super) fn run(args: &BenchArgs) -> ExitCode {
    if let Some(OtherLoad::Group(args)) = &args.other {
        return bench_group::run(args);
    }
    let spec = match args.spec() {
        Ok(spec) => spec,
        Err(error) => return fail(&error),
    };
    let mut line = ProgressLine::new(&spec, args.quiet);
    let report = match aplomb_bench::run(&spec, &mut |progress| {
        line.show(progress);
        ControlFlow::Continue(())
    }) {
        Ok(report) => report,
        Err(error) => return fail(&error),
    };
    line.end();
    if let Err(error) = write(args.json.as_deref(), &report) {
        return fail(&error);
    }
    if report.failed + report.unanswered > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn write(json: Option<&Path>, report: &Report) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match json {
        Some(path) if path == Path::new("-") => return writeln!(out, "{:#}", report.to_json()),
        Some(path) => std::fs::write(path, format!("{:#}\n", report.to_json()))?,
        None => {}
    }
    write!(out, "{report}")
}

/// A line a second on the standard error; on a terminal always the same one.
struct ProgressLine {
    quiet: bool,
    same_line: bool,
    produces: bool,
}

impl ProgressLine {
    fn new(spec: &Spec, quiet: bool) -> Self {
        Self { quiet, same_line: std::io::stderr().is_terminal(), produces: spec.workload.produces() }
    }

    fn show(&mut self, p: &Progress) {
        if self.quiet {
            return;
        }
        let seconds = p.elapsed.as_secs_f64();
        let mut text = format!("{seconds:6.1} s{}", if p.warm_up { " warm-up" } else { "" });
        if self.produces {
            let ms = |micros: u64| micros as f64 / 1e3;
            text += &format!(
                "  acknowledged {}  waiting {}  p50 {:.1} ms  p99 {:.1} ms  max {:.1} ms",
                p.acknowledged,
                p.waiting,
                ms(p.latency.p50),
                ms(p.latency.p99),
                ms(p.latency.max)
            );
        }
        if p.received > 0 || !self.produces {
            text += &format!("  received {}", p.received);
        }
        if p.errors > 0 {
            text += &format!("  errors {}", p.errors);
        }
        if self.same_line { eprint!("\r\x1b[K{text}") } else { eprintln!("{text}") }
    }

    fn end(&self) {
        if self.same_line && !self.quiet {
            eprintln!();
        }
    }
}

fn parse_acks(text: &str) -> Result<i16, String> {
    match text {
        "all" | "-1" => Ok(-1),
        "1" => Ok(1),
        "0" => Ok(0),
        _ => Err("all, 1 or 0 is expected".to_owned()),
    }
}

fn parse_codec(text: &str) -> Result<Codec, String> {
    Codec::from_name(text).ok_or_else(|| "none, gzip, snappy, lz4 or zstd is expected".to_owned())
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("KEY=VALUE is expected")?;
    Ok((key.to_owned(), value.to_owned()))
}
