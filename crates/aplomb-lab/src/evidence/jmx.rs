//! Numbers of a broker in a JVM, which tells them by JMX to Java programs only: one of these is
//! started beside it, and asked.
//!
//! The broker needs no flag and no port for that: whoever runs as the same user may attach to a
//! JVM. What always holds: the program has done all that takes time when [`Jmx::open`] returns,
//! waits without doing anything between two questions, and dies with the lab.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};

use super::metrics::Metrics;
use crate::brokers::dies_with_the_lab;

/// The program, as `java` runs it: from its source.
const PROGRAM: &str = include_str!("RequestStages.java");
/// The Java that it is written in; Apache Kafka 4 runs on this one and later ones.
const RELEASE: &str = "17";
/// A small JVM that does nothing by itself.
const FLAGS: [&str; 4] = ["-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"];
/// How long the program has for its first answer, compiling included.
const START: Duration = Duration::from_secs(30);

/// The program beside a broker's JVM.
#[derive(Debug)]
pub(super) struct Jmx {
    program: Child,
    /// Who waits for the next answer, in the order of the questions.
    waiting: Sender<Sender<Metrics>>,
}

impl Jmx {
    /// Starts it beside the process `pid`, with its `java`.
    ///
    /// # Errors
    /// When it does not get to its first answer: a Java without a compiler or too old a one, a JVM
    /// that lets nobody attach or is gone.
    pub(super) fn open(java: &Path, pid: u32) -> io::Result<Self> {
        // In memory: there is no directory that would be left behind. The descriptor is needed
        // until the first answer only.
        let mut source = File::from(memfd_create("RequestStages.java", MemfdFlags::CLOEXEC)?);
        source.write_all(PROGRAM.as_bytes())?;
        let file = format!("/proc/{}/fd/{}", std::process::id(), source.as_raw_fd());
        let mut command = Command::new(java);
        command.args(FLAGS).args(["--source", RELEASE, &file, &pid.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        dies_with_the_lab(&mut command);
        let mut program = command.spawn()?;
        let answers = program.stdout.take().map(BufReader::new).ok_or(io::ErrorKind::BrokenPipe)?;
        let (waiting, questions) = channel();
        thread::Builder::new().name("lab-jmx".to_owned()).spawn(move || pass_on(answers, &questions))?;
        let opened = Self { program, waiting };
        let first = opened.next_answer();
        match first.recv_timeout(START) {
            Ok(_) => Ok(opened),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Asks; what the answer comes by is closed if there will be none.
    pub(super) fn ask(&mut self) -> Receiver<Metrics> {
        let answer = self.next_answer();
        // A program that has ended answers nothing, and its reader closes what waits for it.
        let _ = self.program.stdin.as_mut().map(|questions| questions.write_all(b"\n"));
        answer
    }

    fn next_answer(&self) -> Receiver<Metrics> {
        let (sender, answer) = channel();
        let _ = self.waiting.send(sender);
        answer
    }
}

impl Drop for Jmx {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Gives each page to who waits for it, until the program has no more to say.
fn pass_on(answers: BufReader<ChildStdout>, waiting: &Receiver<Sender<Metrics>>) {
    let mut page = String::new();
    for line in answers.lines().map_while(Result::ok) {
        if !line.is_empty() {
            page.push_str(&line);
            page.push('\n');
            continue;
        }
        let Ok(who) = waiting.recv() else { return };
        // Who has lost patience does not want it any more.
        let _ = who.send(Metrics::from(std::mem::take(&mut page)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_way_to_what_is_no_jvm() {
        assert!(Jmx::open(Path::new("/nowhere/java"), 1).is_err());
        // One that ends without an answer is not waited for.
        assert!(Jmx::open(Path::new("/bin/false"), 1).is_err());
    }
}
