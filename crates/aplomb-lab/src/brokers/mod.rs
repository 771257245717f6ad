//! Brokers under test: how each is started, what it is called, and where what it leaves behind
//! lies.
//!
//! What always holds: a broker keeps its records under [`Places::data`] and nothing else there; its
//! metadata log and, as long as no incident says otherwise, what it writes about itself stay in
//! [`Places::own`], off the disk that is disturbed. A broker that the lab has started dies with the
//! lab, however that ends. Adding a broker is one file: implement [`BrokerUnderTest`] and name it
//! in [`Kind`].

mod aplomb;
mod external;
mod jars;
mod jvm;
mod kafka;
mod process;
mod settings;
mod started;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use aplomb::Aplomb;
pub use external::External;
pub use jars::{ClassPath, JarsError};
pub use kafka::Kafka;
pub use process::{Process, dies_with_the_lab};
pub use settings::{Override, OverrideError, Settings};
pub use started::{Product, Started};

use crate::record;

/// How long a broker has from its start to its first answer: on a slow disk with an unclean stop
/// behind it that takes a while.
const START: Duration = Duration::from_secs(120);

/// A broker that can be put on a slow disk.
pub trait BrokerUnderTest {
    /// Which of those that `--broker` names.
    fn kind(&self) -> Kind;

    /// Who it is and how it is started, for the record.
    fn about(&self) -> record::Broker;

    /// Makes the directories ready: formats what has to be formatted. Before the first start only.
    ///
    /// # Errors
    /// When they cannot be made ready.
    fn prepare(&mut self) -> Result<(), BrokerError>;

    /// Starts the process.
    ///
    /// # Errors
    /// When there is none.
    fn launch(&mut self) -> Result<(), BrokerError>;

    /// Waits until the process that was started answers clients.
    ///
    /// # Errors
    /// When it ends, or does not answer in time.
    fn wait_until_it_answers(&mut self) -> Result<(), BrokerError>;

    /// Starts the process, and returns when it answers clients.
    ///
    /// # Errors
    /// When it ends, or does not answer in time.
    fn start(&mut self) -> Result<(), BrokerError> {
        self.launch()?;
        self.wait_until_it_answers()
    }

    /// Where clients find it, as `host:port`.
    fn address(&self) -> &str;

    /// Its process, as long as it runs and is known.
    fn pid(&self) -> Option<u32>;

    /// How it has ended, if it was started here and has ended by itself.
    fn ended(&mut self) -> Option<String> {
        None
    }

    /// The directories with its records; what is disturbed and evicted lies in these.
    fn data_directories(&self) -> &[PathBuf];

    /// Where it writes what it has to say; `None` if that is not known.
    fn log_file(&self) -> Option<&Path>;

    /// Where a JVM writes when and why it stops its threads.
    fn safepoint_log(&self) -> Option<&Path> {
        None
    }

    /// Whole names of its threads, by the kernel's numbers, where the kernel's own are cut off.
    fn thread_names(&self) -> HashMap<u32, String> {
        HashMap::new()
    }

    /// Where its own account of its requests is to be had; `None` if it has none.
    fn numbers(&self) -> Option<NumbersAt> {
        None
    }

    /// Ends it as an operator does; by force if that takes too long.
    fn stop(&mut self);

    /// Ends it with kill -9.
    fn kill(&mut self);
}

/// Where a broker's numbers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NumbersAt {
    /// On its page `/metrics`.
    Page {
        /// Of its listener, as `host:port`.
        address: String,
    },
    /// The JVM counts them: asked through its tools.
    Jvm {
        /// A `java` that can attach to it: its own.
        java: PathBuf,
        /// Its process.
        pid: u32,
    },
}

/// The kinds of brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Apache Kafka, from its released jars.
    Kafka,
    /// This program.
    Aplomb,
    /// One that somebody else has started.
    External,
}

impl Kind {
    /// As on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kafka => "kafka",
            Self::Aplomb => "aplomb",
            Self::External => "external",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a broker finds its room.
#[derive(Clone, Debug)]
pub struct Places {
    /// Its log directories.
    pub data: Vec<PathBuf>,
    /// A directory of its own on a disk that nobody disturbs.
    pub own: PathBuf,
    /// Where its log goes, and a JVM's collector log.
    pub logs: PathBuf,
    /// A directory of its own in memory.
    pub memory: PathBuf,
}

/// Why there is no broker.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// The jars are not to be had.
    #[error(transparent)]
    Jars(#[from] JarsError),
    /// The system refused something.
    #[error("{what}: {error}")]
    System {
        /// What was done.
        what: String,
        /// What it said.
        error: io::Error,
    },
    /// A directory could not be formatted.
    #[error("the storage could not be formatted: {0}")]
    Format(String),
    /// It ended while it should run.
    #[error("{name} ended ({status}); the end of its log:\n{log}")]
    Ended {
        /// The broker that ended.
        name: &'static str,
        /// Its exit code or signal, as a sentence says it.
        status: String,
        /// Its last words.
        log: String,
    },
    /// It does not answer.
    #[error("{name} did not answer within {seconds} s; the end of its log:\n{log}")]
    Silent {
        /// The broker that did not answer in time.
        name: &'static str,
        /// How long was waited.
        seconds: u64,
        /// Its last words.
        log: String,
    },
}

impl BrokerError {
    fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        |error| Self::System { what: what.into(), error }
    }
}

/// Ports that were free a moment ago, on the loopback interface.
fn free_ports<const N: usize>() -> Result<[u16; N], BrokerError> {
    let mut ports = [0; N];
    let mut held = Vec::new();
    for port in &mut ports {
        let socket = TcpListener::bind(("127.0.0.1", 0)).map_err(BrokerError::system("a free port"))?;
        *port = socket.local_addr().map_err(BrokerError::system("a free port"))?.port();
        held.push(socket);
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_differ() {
        let [one, two] = free_ports().expect("ports");
        assert_ne!(one, two);
    }
}
