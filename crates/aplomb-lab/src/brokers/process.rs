//! A broker's process: started so that it dies with the lab, asked to end, ended.
//!
//! What always holds: dropping it ends the process; so does the end of the thread that started it,
//! by the kernel, which is what a lab that is killed leaves behind otherwise.
#![expect(
    unsafe_code,
    reason = "the kernel is told by the child itself, between fork and exec, that it is to die with its parent"
)]

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use aplomb_bench::Asker;
use aplomb_protocol::messages::{MetadataRequest, MetadataResponse};
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};

use super::{BrokerError, START};

/// How long a clean stop may take.
const STOP: Duration = Duration::from_secs(30);
/// How often is looked.
const PAUSE: Duration = Duration::from_millis(50);
/// Lines of a log that an error carries.
const LAST_WORDS: usize = 30;

/// A process that writes its log to a file.
#[derive(Debug)]
pub struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command`; what it says is added to `log`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(name: &'static str, command: &[String], log: &Path) -> Result<Self, BrokerError> {
        let file = File::options().create(true).append(true).open(log);
        let file = file.map_err(BrokerError::system(format!("opening {}", log.display())))?;
        let again = file.try_clone().map_err(BrokerError::system("a second descriptor of the log"))?;
        let mut child = Command::new(&command[0]);
        child.args(&command[1..]).stdin(Stdio::null()).stdout(file).stderr(again);
        dies_with_the_lab(&mut child);
        let child = child.spawn().map_err(BrokerError::system(format!("starting {}", command[0])))?;
        Ok(Self { name, child, log: log.to_owned() })
    }

    /// Its number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended; `None` as long as it runs.
    pub fn ended(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Waits until it lists itself to clients at `address`.
    ///
    /// # Errors
    /// When it ends before that, or takes too long.
    pub fn wait_until_it_answers(&mut self, address: &str) -> Result<(), BrokerError> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.ended() {
                return Err(BrokerError::Ended { name: self.name, status, log: self.last_words() });
            }
            if answers(address) {
                return Ok(());
            }
            if began.elapsed() > START {
                let (name, seconds) = (self.name, START.as_secs());
                return Err(BrokerError::Silent { name, seconds, log: self.last_words() });
            }
            sleep(PAUSE);
        }
    }

    /// The end of its log.
    fn last_words(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LAST_WORDS)..].join("\n")
    }

    /// SIGTERM, and after a while SIGKILL.
    pub fn stop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            // Gone already is what it is to be.
            let _ = kill_process(pid, Signal::TERM);
        }
        let began = Instant::now();
        while self.ended().is_none() && began.elapsed() < STOP {
            sleep(PAUSE);
        }
        self.kill();
    }

    /// SIGKILL. A thread that waits for a disk dies when the disk answers, and so does the process.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Has the kernel end what `command` starts when the thread that starts it has gone. It is in a
/// process group of its own: a Ctrl-C at the terminal is for the lab.
pub fn dies_with_the_lab(command: &mut Command) {
    command.process_group(0);
    // SAFETY: one system call, no allocation and no lock, which is all that may be done there.
    unsafe { command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?)) };
}

/// Whether a broker at `address` names itself in its metadata.
fn answers(address: &str) -> bool {
    let ask = || {
        let mut asker = Asker::connect(address, "aplomb-lab")?;
        asker.ask::<_, MetadataResponse>(&MetadataRequest { topics: Some(Vec::new()), ..Default::default() })
    };
    ask().is_ok_and(|answer: MetadataResponse| !answer.brokers.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, log: &Path) -> Process {
        let command = ["sh", "-c", script].map(str::to_owned);
        Process::start("a shell", &command, log).expect("there is a shell")
    }

    #[test]
    fn a_process_that_ends_too_early_is_an_error_with_its_last_words() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut process = shell("echo no disk today; exit 3", &folder.path().join("log"));
        let error = process.wait_until_it_answers("127.0.0.1:1").expect_err("it has ended");
        let text = error.to_string();
        assert!(text.contains("exit status: 3") && text.contains("no disk today"), "{text}");
    }

    #[test]
    fn a_process_ends_when_it_is_asked_to_and_when_it_is_dropped() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut asked =
            shell("trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done", &folder.path().join("log"));
        sleep(Duration::from_millis(200));
        asked.stop();
        assert!(asked.last_words().contains("bye"));
        let dropped = shell("sleep 1000", &folder.path().join("log"));
        let place = PathBuf::from(format!("/proc/{}", dropped.pid()));
        assert!(place.exists());
        drop(dropped);
        assert!(!place.exists());
    }
}
