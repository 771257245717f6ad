//! `aplomb lab list` and `aplomb lab run`: incidents, against one broker or several, with a record
//! and a page of each.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use aplomb_lab::brokers::{External, Override};
use aplomb_lab::incidents::{self, Incident, Listed};
use aplomb_lab::record::{Ended, Run};
use aplomb_lab::report;
use aplomb_lab::runner::{self, Choice, LabError, Options, Plan};
use clap::{Args, ValueEnum};

use super::fail;

/// What to run, against whom.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// An incident of `aplomb lab list`; `all` of disks; or `look-alikes`, which are of none.
    incident: String,
    /// Who is disturbed, one after the other.
    #[arg(long, short = 'b', value_enum, value_delimiter = ',', default_value = "kafka,aplomb")]
    broker: Vec<BrokerArg>,
    /// Versions of Apache Kafka, from Maven Central; the first use of one downloads it.
    #[arg(long, value_name = "VERSION", value_delimiter = ',', default_value = "4.4.0")]
    kafka_version: Vec<String>,
    /// An executable of Aplomb to run in place of this one.
    #[arg(long, value_name = "PATH")]
    aplomb: Option<PathBuf>,
    /// A setting that brokers started here are to have, to see what it changes; may be given
    /// several times. Those that begin with `aplomb.` are for Aplomb.
    #[arg(long = "override", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
    /// Where records and pages go.
    #[arg(long, short = 'o', value_name = "DIR", default_value = "aplomb-lab")]
    out: PathBuf,
    /// A quarter of the time and of the load: enough to see who waits where, too little to compare
    /// figures.
    #[arg(long)]
    short: bool,
    /// How often a broker's run is made, at most, until the machine itself stood still for no more
    /// than 10 ms at p99.9 in one.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    attempts: u32,
    /// How many consumer groups of each protocol hold partitions beside the load, or `none`.
    #[arg(long, value_name = "N|none", default_value = "10", value_parser = parse_groups)]
    groups: GroupCount,
    /// What chance there is follows from it; drawn from the clock if it is not given.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// With `--broker external`: where clients find the broker.
    #[arg(long, value_name = "HOST:PORT", required_if_eq("broker", "external"))]
    address: Option<String>,
    /// With `--broker external`: its log directory. Nothing outside of it is touched.
    #[arg(long, value_name = "DIR", required_if_eq("broker", "external"))]
    directory: Option<PathBuf>,
    /// With `--broker external`: the slow disk that the directory lies on, as `aplomb lab disk
    /// create` was told.
    #[arg(long, value_name = "NAME", required_if_eq("broker", "external"))]
    disk: Option<String>,
    /// With `--broker external`: its process; without it nobody's stack is looked at.
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
}

/// How many groups; `None`: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GroupCount(Option<usize>);

/// More of them, with the members that each has, would be a load to be reckoned with.
const MOST_GROUPS: usize = 200;

fn parse_groups(text: &str) -> Result<GroupCount, String> {
    match text.parse() {
        _ if text == "none" => Ok(GroupCount(None)),
        Ok(0) => Ok(GroupCount(None)),
        Ok(count) if count <= MOST_GROUPS => Ok(GroupCount(Some(count))),
        Ok(_) | Err(_) => Err(format!("a number up to {MOST_GROUPS}, or none")),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BrokerArg {
    Kafka,
    Aplomb,
    External,
}

/// An incident that there is not.
#[derive(Debug, thiserror::Error)]
#[error("there is no incident {0:?}; `aplomb lab list` has them all")]
struct Unknown(String);

/// How they are listed.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// For programs: whom each hurts, what it is known by and what the doctor is to say of it,
    /// too.
    #[arg(long)]
    json: bool,
    /// The version of Apache Kafka that the doctor speaks of.
    #[arg(long, value_name = "VERSION", default_value = "4.4.0")]
    kafka_version: String,
}

/// Says which incidents there are.
pub(super) fn list(args: &ListArgs) -> ExitCode {
    let all: Vec<Incident> = incidents::all().into_iter().chain(incidents::look_alikes()).collect();
    if args.json {
        let listed: Vec<Listed> =
            all.iter().map(|incident| Listed::of(incident, &args.kafka_version)).collect();
        return match serde_json::to_string_pretty(&listed) {
            Ok(text) => {
                println!("{text}");
                ExitCode::SUCCESS
            }
            Err(error) => fail(&error),
        };
    }
    for incident in all {
        let control = match (incident.control, incident.look_alike) {
            (true, _) => " (a control: nothing is to be seen)",
            (_, true) => " (a look-alike: no disk is disturbed)",
            _ => "",
        };
        let missing = incident.impossible().map(|why| format!(" (cannot be run here: {why})"));
        println!(
            "{:<18}{:<6}{}{control}{}",
            incident.name,
            incident.filesystem.name(),
            incident.title,
            missing.unwrap_or_default()
        );
    }
    ExitCode::SUCCESS
}

/// Runs incidents.
pub(super) fn run(args: &RunArgs) -> ExitCode {
    let chosen: Vec<Incident> = match (args.incident.as_str(), incidents::named(&args.incident)) {
        ("all", _) => incidents::all(),
        ("look-alikes", _) => incidents::look_alikes(),
        (_, Some(incident)) => vec![incident],
        (_, None) => return fail(&Unknown(args.incident.clone())),
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        if let Err(error) = signal_hook::flag::register(signal, Arc::clone(&stop)) {
            return fail(&error);
        }
    }
    let options = Options {
        brokers: args.choices(),
        overrides: args.overrides.clone(),
        plan: if args.short { Plan::SHORT } else { Plan::FULL },
        seed: args.seed.unwrap_or_else(seed_of_the_clock),
        groups: args.groups.0,
        attempts: args.attempts,
        command: std::env::args().collect(),
    };
    let mut complete = true;
    for incident in &chosen {
        match runner::run(incident, &options, &stop, &mut |line| eprintln!("aplomb lab: {line}")) {
            Ok(run) => complete &= tell(args, &run),
            Err(error @ LabError::Stopped) => {
                fail(&error);
                // As a shell has it for a program that a signal has ended.
                return ExitCode::from(130);
            }
            // Who wants all of them wants those that there can be.
            Err(error @ (LabError::Impossible { .. } | LabError::NotFor { .. })) if chosen.len() > 1 => {
                eprintln!("aplomb lab: left out: {error}");
            }
            Err(error) => return fail(&error),
        }
    }
    if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes the record and the page. Whether all went well.
fn tell(args: &RunArgs, run: &Run) -> bool {
    print!("{}", report::summary(run));
    let written = match report::write_run(&args.out, run) {
        Ok((record, page)) => {
            println!("{}\n{}", record.display(), page.display());
            true
        }
        Err(error) => {
            fail(&error);
            false
        }
    };
    written && run.brokers.iter().all(|broker| broker.ended == Ended::Completed)
}

impl RunArgs {
    fn choices(&self) -> Vec<Choice> {
        let choice = |broker: &BrokerArg| match broker {
            BrokerArg::Kafka => self.kafka_version.iter().cloned().map(Choice::Kafka).collect(),
            BrokerArg::Aplomb => vec![Choice::Aplomb(self.aplomb.clone())],
            BrokerArg::External => {
                let given = self.address.clone().zip(self.directory.clone()).zip(self.disk.clone());
                let external = given.map(|((address, directory), disk)| Choice::External {
                    broker: External { address, directory, pid: self.pid },
                    disk,
                });
                external.into_iter().collect()
            }
        };
        self.broker.iter().flat_map(choice).collect()
    }
}

fn seed_of_the_clock() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos()) ^ now.as_secs()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        run: RunArgs,
    }

    fn parse(words: &[&str]) -> Result<RunArgs, clap::Error> {
        Line::try_parse_from([&["run", "calm"], words].concat()).map(|line| line.run)
    }

    #[test]
    fn brokers_run_in_the_order_in_which_they_are_named() {
        let names = |args: RunArgs| {
            args.choices()
                .iter()
                .map(|choice| match choice {
                    Choice::Kafka(version) => version.clone(),
                    Choice::Aplomb(_) => "aplomb".to_owned(),
                    Choice::External { disk, .. } => disk.clone(),
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(names(parse(&[]).expect("defaults")), ["4.4.0", "aplomb"]);
        let both = parse(&["--broker", "aplomb,kafka", "--kafka-version", "3.6.2,4.4.0"]);
        assert_eq!(names(both.expect("well formed")), ["aplomb", "3.6.2", "4.4.0"]);
        let external = ["--broker", "external", "--address", "h:1", "--directory", "/d", "--disk", "slow"];
        assert_eq!(names(parse(&external).expect("well formed")), ["slow"]);
    }

    #[test]
    fn there_are_groups_unless_nobody_wants_any() {
        let groups = |words: &[&str]| parse(words).map(|args| args.groups.0);
        assert_eq!(groups(&[]).expect("a default"), Some(10));
        for none in ["none", "0"] {
            assert_eq!(groups(&["--groups", none]).expect("well formed"), None);
        }
        assert!(groups(&["--groups", "3"]).expect("well formed") == Some(3));
        assert!(groups(&["--groups", "201"]).is_err() && groups(&["--groups", "-1"]).is_err());
    }

    #[test]
    fn somebody_elses_broker_needs_an_address_a_directory_and_a_disk() {
        assert!(parse(&["--broker", "external"]).is_err());
        assert!(parse(&["--broker", "external", "--address", "h:1", "--directory", "/d"]).is_err());
        assert!(parse(&["--broker", "kafka", "--pid", "7"]).is_ok());
    }
}
