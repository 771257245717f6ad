//! `aplomb bench group`: consumer groups on any broker.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use aplomb_bench::{GroupProgress, GroupProtocol, GroupReport, GroupSpec, run_groups};
use clap::{Args, ValueEnum};

use super::{fail, parse_duration};
use crate::outgoing::{OutgoingArgs, OutgoingError};

/// Which groups, on whom, for how long.
#[derive(Debug, Args)]
pub(crate) struct GroupArgs {
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
    /// The topic that all are subscribed to; it is made if it is not there.
    #[arg(long, short = 't', default_value = "aplomb-bench")]
    topic: String,
    /// Partitions of a topic that is made.
    #[arg(long, default_value_t = 8)]
    partitions: i32,
    /// How many groups join at the same time.
    #[arg(long, default_value_t = 10)]
    groups: usize,
    /// Members of each group, each with a connection of its own.
    #[arg(long, default_value_t = 4)]
    members: usize,
    /// What the groups' names begin with.
    #[arg(long, default_value = "aplomb-bench")]
    prefix: String,
    /// What the members speak.
    #[arg(long, value_enum, default_value = "classic")]
    protocol: ProtocolArg,
    /// Between two heartbeats of a member of the classic protocol; in the consumer protocol the
    /// broker says it.
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = parse_duration)]
    heartbeat_interval: Duration,
    /// The session timeout of the classic protocol.
    #[arg(long, value_name = "TIME", default_value = "45s", value_parser = parse_duration)]
    session_timeout: Duration,
    /// Between two commits of a member, each of all its partitions; 0s: it commits nothing.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    commit_interval: Duration,
    /// From when all groups are stable to when figures count.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    warm_up: Duration,
    /// How long figures count.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    duration: Duration,
    /// How long groups may take to become stable.
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = parse_duration)]
    patience: Duration,
    /// Where to write the results as JSON; - is the standard output, instead of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// No progress on the standard error.
    #[arg(long, short = 'q')]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProtocolArg {
    /// Members assign partitions.
    Classic,
    /// The broker does (KIP-848).
    Consumer,
}

impl GroupArgs {
    fn spec(&self) -> Result<GroupSpec, OutgoingError> {
        Ok(GroupSpec {
            bootstrap: self.bootstrap_server.clone(),
            security: self.outgoing.security()?,
            topic: self.topic.clone(),
            partitions: self.partitions,
            groups: self.groups,
            members: self.members,
            prefix: self.prefix.clone(),
            protocol: match self.protocol {
                ProtocolArg::Classic => GroupProtocol::Classic,
                ProtocolArg::Consumer => GroupProtocol::Consumer,
            },
            heartbeat_interval: self.heartbeat_interval,
            session_timeout: self.session_timeout,
            commit_interval: (!self.commit_interval.is_zero()).then_some(self.commit_interval),
            warm_up: self.warm_up,
            duration: self.duration,
            patience: self.patience,
            ..GroupSpec::default()
        })
    }
}

/// Runs the load. Fails when it could not begin, when groups did not become stable, and when
/// something went wrong for a member.
pub(super) fn run(args: &GroupArgs) -> ExitCode {
    let spec = match args.spec() {
        Ok(spec) => spec,
        Err(error) => return fail(&error),
    };
    let mut shown = Duration::ZERO;
    let report = run_groups(&spec, &mut |progress| {
        if !args.quiet && progress.elapsed >= shown {
            shown = progress.elapsed + Duration::from_secs(1);
            show(progress);
        }
        ControlFlow::Continue(())
    });
    let report = match report {
        Ok(report) => report,
        Err(error) => return fail(&error),
    };
    if let Err(error) = write(args.json.as_deref(), &report) {
        return fail(&error);
    }
    let is_well = report.all_stable.is_some() && report.errors.is_empty();
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn show(progress: &GroupProgress) {
    let GroupProgress {
        stable: (stable, all), without_owner, rebalances, heartbeats, commits, errors, ..
    } = progress;
    let seconds = progress.elapsed.as_secs_f64();
    eprintln!(
        "{seconds:6.1} s  stable {stable} of {all}  without owner {without_owner}  rebalances {rebalances}  \
         heartbeats {heartbeats}  commits {commits}  errors {errors}"
    );
}

fn write(json: Option<&Path>, report: &GroupReport) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match json {
        Some(path) if path == Path::new("-") => return writeln!(out, "{:#}", report.to_json()),
        Some(path) => std::fs::write(path, format!("{:#}\n", report.to_json()))?,
        None => {}
    }
    write!(out, "{report}")
}
