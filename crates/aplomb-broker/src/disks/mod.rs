//! A shard's side of its disks: the way in ([`port`]) and the rhythm of syncs ([`flusher`]).

pub(crate) mod flusher;
pub(crate) mod port;
