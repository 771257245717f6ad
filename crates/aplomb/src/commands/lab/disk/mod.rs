//! `aplomb lab disk`: slow disks by hand, one command a change.
//!
//! What always holds: a command that fails says why in one sentence, and leaves nothing half done.
//! [`words`] is how delays, sizes and steps are written, [`page`] how a disk is shown.

mod page;
mod words;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use aplomb_lab::slow_disk::{
    self, Backing, Cache, Change, Delay, DiskError, DiskOptions, Filesystem, Operation, Schedule, SlowDisk,
};
use clap::{Args, Subcommand, ValueEnum};

use super::fail;
use words::{parse_bandwidth, parse_bytes, parse_delay};

/// What to do with slow disks.
#[derive(Debug, Args)]
pub(crate) struct DiskArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make a disk with a filesystem on it, and mount it.
    Create(CreateArgs),
    /// Delay requests, those of each kind by so much: 20ms, 20ms~5ms (five more or less), 300ms/10
    /// (every tenth), 0.
    Delay {
        /// The disk.
        name: String,
        /// Of reads.
        #[arg(long, value_name = "DELAY", value_parser = parse_delay)]
        read: Option<Delay>,
        /// Of writes.
        #[arg(long, value_name = "DELAY", value_parser = parse_delay)]
        write: Option<Delay>,
        /// Of flushes.
        #[arg(long, value_name = "DELAY", value_parser = parse_delay)]
        flush: Option<Delay>,
    },
    /// Answer nothing any more.
    Freeze(Name),
    /// Answer what was held back, and all that comes.
    Thaw(Name),
    /// Let requests end in EIO: those named here and no others, or all.
    Fail {
        /// The disk.
        name: String,
        /// Reads.
        #[arg(long)]
        read: bool,
        /// Writes.
        #[arg(long)]
        write: bool,
        /// Flushes.
        #[arg(long)]
        flush: bool,
    },
    /// Let no request fail any more.
    Heal(Name),
    /// Fill the filesystem with a file.
    Fill {
        /// The disk.
        name: String,
        /// What stays free, about a block more or less.
        #[arg(long, value_name = "BYTES", default_value = "0", value_parser = parse_bytes)]
        leave: u64,
    },
    /// Remove the file that fills the filesystem.
    Unfill(Name),
    /// Do things later: freeze, thaw, heal, fail, fail=write,flush, read=20ms, write=0, ... A new
    /// schedule takes the place of the old.
    Schedule {
        /// The disk.
        name: String,
        /// What and when, counted from now; may be given several times.
        #[arg(long, num_args = 2, value_names = ["TIME", "WHAT"], required_unless_present_any = ["file", "none"])]
        at: Vec<String>,
        /// A file with a line for each: a time and what happens then. What follows a # is a remark.
        /// - is the standard input.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// Forget what is still to come.
        #[arg(long, conflicts_with_all = ["at", "file"])]
        none: bool,
    },
    /// Say what goes on in a disk, and how long requests really took.
    Status {
        /// The disk.
        name: String,
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Say which disks there are, and clear what killed ones have left.
    List {
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Take a disk away, with all that is on it.
    Destroy(Name),
    /// The process that serves a disk.
    #[command(hide = true)]
    Daemon(Name),
}

#[derive(Debug, Args)]
struct Name {
    /// The disk.
    name: String,
}

#[derive(Debug, Args)]
struct CreateArgs {
    /// Its name: letters, digits, - and _.
    name: String,
    /// Its size.
    #[arg(long, value_name = "BYTES", default_value = "2G", value_parser = parse_bytes)]
    size: u64,
    /// What is made on it.
    #[arg(long, value_enum, default_value = "xfs")]
    filesystem: FilesystemArg,
    /// Where it is mounted: an empty directory, or one that is made and goes with the disk
    /// [default: below /run/aplomb-lab]
    #[arg(long, value_name = "DIR")]
    mount: Option<PathBuf>,
    /// Keep the bytes in a file in this directory, and not in memory.
    #[arg(long, value_name = "DIR")]
    backing: Option<PathBuf>,
    /// Whether the kernel has to flush. While a loop device flushes it does nothing else; with
    /// write-through there are no flushes.
    #[arg(long, value_enum, default_value = "write-back")]
    cache: CacheArg,
    /// Bytes a second that the device reads and writes [default: as many as the machine has
    /// processor time for]
    #[arg(long, value_name = "BYTES", value_parser = parse_bandwidth)]
    bandwidth: Option<u64>,
    /// The process with which the disk goes; without one it stays until it is destroyed.
    #[arg(long, value_name = "PID")]
    owner: Option<u32>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FilesystemArg {
    Xfs,
    Ext4,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CacheArg {
    WriteBack,
    WriteThrough,
}

/// Why a command came to nothing.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("{file}: {why}")]
    File { file: String, why: io::Error },
    #[error("{0}")]
    NotAStep(String),
    #[error("nothing to change: --read, --write or --flush is expected")]
    NothingToChange,
    #[error("the answer cannot be written: {0}")]
    Output(#[from] io::Error),
}

/// Does what was asked.
pub(super) fn run(args: &DiskArgs) -> ExitCode {
    if let What::Daemon(Name { name }) = &args.what {
        return slow_disk::daemon::serve(name);
    }
    match act(&args.what) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => fail(&failure),
    }
}

fn act(what: &What) -> Result<(), Failure> {
    match what {
        What::Create(args) => create(args)?,
        What::Delay { name, read, write, flush } => {
            let given = [(Operation::Read, read), (Operation::Write, write), (Operation::Flush, flush)];
            if given.iter().all(|(_, delay)| delay.is_none()) {
                return Err(Failure::NothingToChange);
            }
            let disk = SlowDisk::find(name)?;
            for (operation, delay) in given {
                if let Some(delay) = delay {
                    disk.set_delay(operation, *delay)?;
                }
            }
        }
        What::Freeze(Name { name }) => SlowDisk::find(name)?.freeze()?,
        What::Thaw(Name { name }) => SlowDisk::find(name)?.thaw()?,
        What::Fail { name, read, write, flush } => {
            let given = [(Operation::Read, *read), (Operation::Write, *write), (Operation::Flush, *flush)];
            let all = given.iter().all(|(_, named)| !named);
            let operations: Vec<Operation> = given
                .into_iter()
                .filter(|(_, named)| all || *named)
                .map(|(operation, _)| operation)
                .collect();
            SlowDisk::find(name)?.fail(&operations)?;
        }
        What::Heal(Name { name }) => SlowDisk::find(name)?.heal()?,
        What::Fill { name, leave } => {
            let size = SlowDisk::find(name)?.fill(*leave)?;
            println!("the file that fills {name} has {size} bytes");
        }
        What::Unfill(Name { name }) => SlowDisk::find(name)?.unfill()?,
        What::Schedule { name, at, file, none } => {
            let schedule = if *none { Schedule::new() } else { schedule(at, file.as_deref())? };
            SlowDisk::find(name)?.schedule(schedule)?;
        }
        What::Status { name, json } => {
            let status = SlowDisk::find(name)?.status()?;
            if *json { page::write_json(&status)? } else { page::write_status(&status)? }
        }
        What::List { json } => {
            let disks = slow_disk::list()?;
            if *json { page::write_json(&disks)? } else { page::write_list(&disks)? }
        }
        What::Destroy(Name { name }) => {
            if slow_disk::destroy(name)? {
                eprintln!("aplomb: somebody still has files open on {name}, and gets I/O errors from now on");
            }
        }
        What::Daemon(_) => {}
    }
    Ok(())
}

fn create(args: &CreateArgs) -> Result<(), Failure> {
    let disk = SlowDisk::create(&DiskOptions {
        name: args.name.clone(),
        size_bytes: args.size,
        filesystem: match args.filesystem {
            FilesystemArg::Xfs => Filesystem::Xfs,
            FilesystemArg::Ext4 => Filesystem::Ext4,
        },
        mount: args.mount.clone(),
        backing: args.backing.clone().map_or(Backing::Memory, Backing::Directory),
        cache: match args.cache {
            CacheArg::WriteBack => Cache::WriteBack,
            CacheArg::WriteThrough => Cache::WriteThrough,
        },
        bandwidth: args.bandwidth,
        owner: args.owner,
    })?;
    println!("{} on {}", disk.mount_point().display(), disk.block_device().display());
    disk.leave();
    Ok(())
}

fn schedule(at: &[String], file: Option<&std::path::Path>) -> Result<Schedule, Failure> {
    let mut steps = Vec::new();
    if let Some(path) = file {
        let failed = |why| Failure::File { file: path.display().to_string(), why };
        let text = match path.to_str() {
            Some("-") => io::read_to_string(io::stdin()),
            _ => std::fs::read_to_string(path),
        };
        steps = words::parse_lines(&text.map_err(failed)?).map_err(Failure::NotAStep)?;
    }
    for pair in at.chunks_exact(2) {
        steps.push(words::parse_step(&pair[0], &pair[1]).map_err(Failure::NotAStep)?);
    }
    Ok(steps.into_iter().fold(Schedule::new(), |schedule, (at, change): (_, Change)| schedule.at(at, change)))
}
