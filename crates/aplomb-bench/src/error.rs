//! Why a run could not begin or could not end.

use std::io;

use aplomb_protocol::{DecodeError, EncodeError};
use aplomb_security::client::{LoginError, TlsFault};

/// Why there is no report. What goes wrong at a broker during a run is counted in the report
/// instead.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The specification contradicts itself.
    #[error("{0}")]
    Spec(String),
    /// No broker answered.
    #[error("cannot reach a broker at {address}: {error}")]
    Unreachable {
        /// The last address tried.
        address: String,
        /// What happened.
        error: io::Error,
    },
    /// A broker's TLS is not to be used.
    #[error("there is no connection to the broker at {address}: {fault}")]
    Tls {
        /// As it was given, with its port.
        address: String,
        /// Its certificate, its versions, or ours.
        fault: TlsFault,
    },
    /// A broker did not let the client in, or is none that it should let itself in at.
    #[error("the login at the broker at {address} has failed: {error}")]
    Login {
        /// As it was given, with its port.
        address: String,
        /// What it said, or what it could not show.
        error: LoginError,
    },
    /// A broker answered with an error.
    #[error("{what}: {code}{}", message.as_ref().map(|m| format!(" ({m})")).unwrap_or_default())]
    Refused {
        /// What was asked for.
        what: String,
        /// Kafka's name of the error.
        code: String,
        /// What the broker said besides.
        message: Option<String>,
    },
    /// A broker lacks what is needed.
    #[error("the broker has no version of {0} that is understood here")]
    NoVersion(&'static str),
    /// A broker's bytes are not the protocol.
    #[error("the broker's answer is not understood: {0}")]
    Malformed(#[from] DecodeError),
    /// A request that cannot be expressed.
    #[error("a request cannot be written: {0}")]
    Unwritable(#[from] EncodeError),
    /// The topic has partitions without a leader.
    #[error("topic {topic} has no leader for partition {partition} after {seconds} s")]
    NoLeader {
        /// The topic's name.
        topic: String,
        /// The first partition without one.
        partition: usize,
        /// How long was waited.
        seconds: u64,
    },
    /// Clients could not be connected before the start.
    #[error("{ready} of {clients} clients were ready after {seconds} s")]
    NotReady {
        /// How many were.
        ready: usize,
        /// How many there are.
        clients: usize,
        /// How long was waited.
        seconds: u64,
    },
    /// The operating system refused something: a thread, a poll.
    #[error("the system refused: {0}")]
    System(#[from] io::Error),
}
