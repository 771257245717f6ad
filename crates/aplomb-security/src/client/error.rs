//! Why a login ends without success.

use aplomb_protocol::{DecodeError, EncodeError};

use crate::scram::{MIN_ITERATIONS, MOST_ITERATIONS};

/// Why a client is not let in, or does not want to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// By the broker.
    #[error("{0}")]
    Refused(String),
    /// The broker has others.
    #[error("it does not take {wanted} (sasl.mechanism), but {offered}")]
    Mechanism {
        /// Which was asked for.
        wanted: &'static str,
        /// Those that it names.
        offered: String,
    },
    /// The proof would make passwords too easy to guess by it, or cost us too much.
    #[error("it wants {0} iterations of SCRAM; from {MIN_ITERATIONS} to {MOST_ITERATIONS} are done")]
    Iterations(u32),
    /// What it says was not said to us.
    #[error("its nonce does not go on from ours: what it says is of another exchange")]
    Nonce,
    /// It may be another server that passes for the broker.
    #[error("it does not know the password itself: it is not the broker that the user is known to")]
    Signature,
    /// What GSSAPI shows cannot be had.
    #[error("no ticket can be shown to it: {0}")]
    Ticket(String),
    /// It may be another server that passes for the broker.
    #[error("it does not show that the ticket is for it: {0}")]
    Impostor(String),
    /// It does not speak as it should.
    #[error("{0}")]
    Form(&'static str),
    /// Nor the protocol.
    #[error("what it says in the login is not understood: {0}")]
    Malformed(#[from] DecodeError),
    /// Our own words are too long for a message.
    #[error("what is to be said in the login cannot be written: {0}")]
    Unwritable(#[from] EncodeError),
}
