//! Commands to a JVM, as `jcmd` sends them: by the socket that a JVM opens for who runs as its user
//! or as root. No program is started for it, and a JVM in a container is reached, too.
//!
//! What always holds: a process that would not take the signal is not sent it, since that would
//! end it or have it print all its threads; an answer is waited for no longer than [`PATIENCE`],
//! and is no longer than [`MOST_ANSWER`].

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::watch::pid_inside;

/// How long a JVM may take to open its socket, and each read of an answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two looks for the socket.
const INTERVAL: Duration = Duration::from_millis(20);
/// More than any command that is sent here answers.
const MOST_ANSWER: u64 = 1 << 20;
/// The signal's place in the masks of `/proc/PID/status`.
const QUIT_MASK: u64 = 1 << 2;
/// The version of the protocol that every JDK since 6 speaks, the request, and how many words
/// follow it.
const VERSION: &str = "1";
const REQUEST: &str = "jcmd";
const WORDS: usize = 3;
/// A flag of a JVM that lets no process attach; it would print its threads instead.
const DISABLED: &[u8] = b"-XX:+DisableAttachMechanism";

/// Why a JVM did not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// There is none of this number.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// It does not run `java`.
    #[error("it is no JVM")]
    NoJvm,
    /// It has the flag, or does not catch the signal (`-Xrs`).
    #[error("its JVM lets no process attach: -XX:+DisableAttachMechanism or -Xrs")]
    Disabled,
    /// It stands, or belongs to another user.
    #[error("its JVM did not answer within {} s", PATIENCE.as_secs())]
    Silent,
    /// It does not know the command, or could not carry it out.
    #[error("{0}")]
    Refused(String),
    /// A file or the socket.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Has the JVM of process `pid` carry a command out, as `jcmd PID …` would. Returns what it says.
///
/// # Errors
/// When it is no JVM, does not answer, or refuses.
pub fn command(pid: u32, words: &str) -> Result<String, AttachError> {
    let mut socket = connect(pid)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    socket.write_all(&request(words))?;
    let mut answer = Vec::new();
    match socket.take(MOST_ANSWER).read_to_end(&mut answer) {
        Ok(_) => said(&String::from_utf8_lossy(&answer)),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            Err(AttachError::Silent)
        }
        Err(error) => Err(error.into()),
    }
}

/// Version, request and its words, each with a zero behind it.
fn request(words: &str) -> Vec<u8> {
    let mut parts = vec![VERSION, REQUEST, words];
    parts.resize(2 + WORDS, "");
    parts.iter().flat_map(|part| part.bytes().chain([0])).collect()
}

/// An answer begins with a line that has a zero if all went well.
fn said(answer: &str) -> Result<String, AttachError> {
    match answer.split_once('\n') {
        Some(("0", text)) => Ok(text.to_owned()),
        Some((_, text)) => Err(AttachError::Refused(text.trim().replace('\n', " "))),
        None => Err(AttachError::Silent),
    }
}

/// Whether a process runs `java`.
///
/// # Errors
/// When it does not, or is another user's.
pub(super) fn is_jvm(pid: u32) -> Result<(), AttachError> {
    fs::metadata(format!("/proc/{pid}")).map_err(|_| AttachError::NoProcess(pid))?;
    let program = fs::read_link(format!("/proc/{pid}/exe"))?;
    program.file_name().filter(|name| *name == "java").map(|_| ()).ok_or(AttachError::NoJvm)
}

fn connect(pid: u32) -> Result<UnixStream, AttachError> {
    is_jvm(pid)?;
    let process = fs::metadata(format!("/proc/{pid}"))?;
    let (temporary, inside) = (PathBuf::from(format!("/proc/{pid}/root/tmp")), pid_inside(pid));
    let socket = temporary.join(format!(".java_pid{inside}"));
    if !is_socket(&socket) {
        if !takes_the_signal(pid) {
            return Err(AttachError::Disabled);
        }
        let trigger = temporary.join(format!(".attach_pid{inside}"));
        let opened = open_socket(pid, (process.uid(), process.gid()), &trigger, &socket);
        // The JVM removes it, too; it has been read by now.
        let _ = fs::remove_file(&trigger);
        opened?;
    }
    Ok(UnixStream::connect(&socket)?)
}

fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()))
}

/// Whether a JVM catches SIGQUIT and takes it for what is meant here.
fn takes_the_signal(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let flags = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    mask & QUIT_MASK != 0 && !flags.split(|byte| *byte == 0).any(|flag| flag == DISABLED)
}

/// Leaves the file that a JVM looks for when it gets the signal, and waits for its socket.
fn open_socket(pid: u32, owner: (u32, u32), trigger: &Path, socket: &Path) -> Result<(), AttachError> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(trigger);
    match file {
        Ok(_) => chown(trigger, Some(owner.0), Some(owner.1))?,
        // Another asks at the same time: its file will do.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.into()),
    }
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(AttachError::NoProcess(pid))?;
    kill_process(number, Signal::QUIT).map_err(io::Error::from)?;
    let until = Instant::now() + PATIENCE;
    while !is_socket(socket) {
        if Instant::now() >= until {
            return Err(AttachError::Silent);
        }
        thread::sleep(INTERVAL);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_word_of_three() {
        assert_eq!(request("VM.flags -all"), b"1\0jcmd\0VM.flags -all\0\0\0");
    }

    #[test]
    fn an_answer_begins_with_how_it_went() {
        assert_eq!(said("0\n4242:\nok\n").ok().as_deref(), Some("4242:\nok\n"));
        assert!(
            matches!(said("1\nUnknown\ncommand\n"), Err(AttachError::Refused(why)) if why == "Unknown command")
        );
        assert!(matches!(said(""), Err(AttachError::Silent)));
    }

    #[test]
    fn a_process_that_does_not_catch_the_signal_is_not_sent_it() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a process");
        assert!(!takes_the_signal(child.id()));
        assert!(matches!(command(child.id(), "VM.flags"), Err(AttachError::NoJvm)));
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }
}
