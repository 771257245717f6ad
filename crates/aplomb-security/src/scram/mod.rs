//! SCRAM (RFC 5802, RFC 7677) as Apache Kafka speaks it, without channel binding: arithmetic and
//! messages, for both ends.

mod hash;
mod messages;

pub use hash::{MAX_ITERATIONS, MIN_ITERATIONS, MOST_ITERATIONS, ScramHash};
pub use messages::{
    ClientFinal, ClientFirst, ServerFinal, ServerFirst, client_final, client_first_bare, server_final,
    server_first,
};
