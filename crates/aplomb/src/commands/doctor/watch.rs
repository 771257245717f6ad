//! `aplomb doctor watch`: a broker that runs.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use aplomb_doctor::attach::{Attached, COST};
use aplomb_doctor::watch::{self, Bpf, FindError};
use clap::{Args, ValueEnum};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::answer::AnswerArgs;
use super::let_go::Guard;
use crate::commands::parse_duration;

/// What to watch, and for how long.
#[derive(Debug, Args)]
pub(super) struct WatchArgs {
    #[command(flatten)]
    whom: Whom,
    /// How long; until Ctrl-C without it.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    length: Option<Duration>,
    /// Whether small programs in the kernel tell of short waits, and of what ended each.
    #[arg(long, value_enum, default_value_t = Tracing::Auto)]
    bpf: Tracing,
    /// Have the broker's JVM (11 or later) record, too: its safepoints, long waits, and how long
    /// requests spent in their stages. It stops its threads once for some 50 ms to begin that.
    #[arg(long)]
    attach: bool,
    #[command(flatten)]
    answer: AnswerArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tracing {
    /// Where the kernel allows it; the answer says where it does not.
    Auto,
    /// Never.
    Off,
    /// End with an error where the kernel does not allow it.
    Require,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Whom {
    /// The process of this number.
    #[arg(long)]
    pid: Option<u32>,
    /// The process that listens on this port.
    #[arg(long)]
    port: Option<u16>,
    /// The main process of a unit of systemd.
    #[arg(long)]
    unit: Option<String>,
    /// The main process of a container, by its id or the first twelve digits of that.
    #[arg(long)]
    container: Option<String>,
}

/// Watches, and says what was seen.
pub(super) fn run(args: &WatchArgs) -> Result<(), Box<dyn Error>> {
    let pid = args.whom.pid()?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let bpf = match args.bpf {
        Tracing::Auto => Bpf::Auto,
        Tracing::Off => Bpf::Off,
        Tracing::Require => Bpf::Require,
    };
    let attached = if args.attach { Some(attach(pid, args.length)?) } else { None };
    let mut recording = watch::watch(pid, args.length, bpf, &stop)?;
    if let Some((_guard, attached)) = attached {
        attached.finish(&mut recording);
    }
    args.answer.tell(&recording)
}

/// Says what it costs, and has the JVM begin.
fn attach(pid: u32, length: Option<Duration>) -> Result<(Guard, Attached), Box<dyn Error>> {
    let mut attached = Attached::prepare(pid)?;
    let guard = Guard::start(pid, attached.folder())?;
    eprintln!("{COST}");
    attached.begin(length)?;
    Ok((guard, attached))
}

impl Whom {
    fn pid(&self) -> Result<u32, FindError> {
        match (self.pid, self.port, self.unit.as_ref().or(self.container.as_ref())) {
            (Some(pid), ..) => Ok(pid),
            (_, Some(port), _) => watch::by_port(port),
            (.., group) => watch::by_cgroup(group.map_or("", String::as_str)),
        }
    }
}
