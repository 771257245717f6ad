//! What is said to a disk's daemon and by it, over a Unix socket: one line of JSON there, one line
//! back, and the connection ends.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::behaviour::AtOnce;
use super::change::{Change, Schedule};
use super::delay::Delay;
use super::operation::{Operation, PerOperation};
use super::service_times::ServiceTimes;
use super::{Backing, Cache, Filesystem};

/// The longest line: a schedule of some thousand steps.
const LONGEST_LINE: u64 = 1 << 20;

/// What the daemon is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    Change(Change),
    Schedule(Schedule),
    Status,
    Destroy,
}

/// What the daemon answers, also to the one who has started it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Done,
    Status(Box<Status>),
    /// The disk is gone.
    Destroyed {
        /// Somebody still has files open on it, and gets I/O errors from now on.
        in_use: bool,
    },
    Failed(String),
}

/// What a disk is, and what goes on in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// What the disk is called on the command line.
    pub name: String,
    /// Capacity of the block device.
    pub size_bytes: u64,
    /// The kernel's filesystem on it.
    pub filesystem: Filesystem,
    /// Where that is mounted.
    pub mount: PathBuf,
    /// The block device, `/dev/loop3`.
    pub device: PathBuf,
    /// Where the bytes are.
    pub backing: Backing,
    /// Whether the kernel sends flushes.
    pub cache: Cache,
    /// Bytes a second that the device carries, if it is told a bound.
    pub bandwidth: Option<u64>,
    /// The process with which the disk goes; without one it stays until it is destroyed.
    pub owner: Option<u32>,
    /// The process that serves it.
    pub daemon: u32,
    /// By how much requests are delayed.
    pub delays: PerOperation<Delay>,
    /// For how many milliseconds it has been frozen.
    pub frozen_ms: Option<u64>,
    /// Which requests fail.
    pub failing: Vec<Operation>,
    /// What the schedule still has, counted from now.
    pub to_come: Schedule,
    /// Requests that are in the device at the same time.
    pub at_once: PerOperation<AtOnce>,
    /// Service times since the disk was made.
    pub service_times: PerOperation<ServiceTimes>,
}

/// Writes a line.
pub(super) fn say(to: &mut impl Write, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Reads a line. What is not one, or not understood, is an error of the kind `InvalidData`; the end
/// before a line `UnexpectedEof`.
pub(super) fn hear<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut line = Vec::new();
    BufReader::new(from.take(LONGEST_LINE)).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if line.pop_if(|last| *last == b'\n').is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a line without an end"));
    }
    serde_json::from_slice(&line).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(line: &[u8]) -> io::Result<Request> {
        hear(&mut &line[..])
    }

    #[test]
    fn what_is_said_is_heard() {
        let delay = Change::Delay { operation: Operation::Read, delay: Delay::of(20) };
        let mut line = Vec::new();
        say(&mut line, &Request::Change(delay.clone())).expect("memory takes it");
        assert!(matches!(heard(&line), Ok(Request::Change(change)) if change == delay));

        let schedule = Schedule::new().at(std::time::Duration::from_secs(3), Change::Freeze);
        let mut line = Vec::new();
        say(&mut line, &Request::Schedule(schedule.clone())).expect("memory takes it");
        assert!(matches!(heard(&line), Ok(Request::Schedule(steps)) if steps == schedule));
    }

    #[test]
    fn the_words_can_be_written_by_hand() {
        assert!(matches!(heard(b"{\"change\": \"freeze\"}\n"), Ok(Request::Change(Change::Freeze))));
        assert!(matches!(heard(b"\"status\"\n"), Ok(Request::Status)));
        let fail = heard(br#"{"change": {"fail": {"operations": ["write"]}}}"#.iter().chain(b"\n").copied().collect::<Vec<_>>().as_slice());
        assert!(
            matches!(fail, Ok(Request::Change(Change::Fail { operations })) if operations == [Operation::Write])
        );
    }

    #[test]
    fn what_is_not_a_line_of_ours_is_refused() {
        for line in [
            &b"\n"[..],
            b"{}\n",
            b"\"melt\"\n",
            b"\"status\"",
            b"\xff\xff\n",
            b"{\"change\": \"freeze\"} more\n",
        ] {
            assert_eq!(
                heard(line).expect_err("not a request").kind(),
                io::ErrorKind::InvalidData,
                "{line:?}"
            );
        }
        assert_eq!(heard(b"").expect_err("nothing was said").kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_line_that_does_not_end_takes_no_more_memory_than_the_longest() {
        let kind = hear::<Request>(&mut io::repeat(b' ')).expect_err("no end").kind();
        assert_eq!(kind, io::ErrorKind::InvalidData);
    }
}
