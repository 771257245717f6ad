//! SCRAM (RFC 5802, RFC 7677) as Apache Kafka speaks it: without channel binding.
//!
//! What always holds: the server's side needs hashes of what is stored, and never derives a key
//! from a password; a user that there is not is answered like one that there is.

mod server;

pub(super) use self::server::ScramServer;
