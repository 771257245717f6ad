//! Why a connection ends, and what the log says of it.

use std::time::Duration;

use aplomb_broker::ports::CloseReason;

/// Why nothing more is read from a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The client closed it.
    ByClient,
    /// Without an orderly end: the network failed, or the client was killed.
    Broken,
    /// What came was not a frame.
    Malformed(String),
    /// A shard wants it closed.
    ByBroker(CloseReason),
    /// Nothing moved for too long.
    Idle,
    /// TLS has failed, or has brought a certificate without a name for its owner.
    Insecure(String),
    /// It has not shown in so much time who it is.
    Unauthenticated(Duration),
    /// It has not shown who it is, and those who have not took too much memory.
    Crowding,
    /// Memory for requests was used up, and its request, of which there were so many bytes, did not
    /// get on.
    SlowFrame(usize),
    /// Memory for replies was used up, and it did not take its own, of which there were so many
    /// bytes.
    SlowTaker(usize),
}

impl End {
    /// Whether it was closed for what it kept from others, and which kind of that it is.
    pub(crate) fn in_the_way(&self) -> Option<usize> {
        match self {
            Self::SlowFrame(_) => Some(0),
            Self::SlowTaker(_) => Some(1),
            Self::ByClient
            | Self::Broken
            | Self::Malformed(_)
            | Self::ByBroker(_)
            | Self::Idle
            | Self::Insecure(_)
            | Self::Unauthenticated(_)
            | Self::Crowding => None,
        }
    }

    /// What the client, or a request, did wrong; `None` for an everyday end.
    pub(crate) fn fault(&self) -> Option<String> {
        match self {
            Self::ByClient | Self::Broken | Self::Idle => None,
            Self::SlowFrame(held) => Some(format!(
                "memory for requests is used up, and its request came too slowly, of which there were {held} \
                 bytes (aplomb.frames.max.bytes, aplomb.frames.min.rate)"
            )),
            Self::SlowTaker(owed) => Some(format!(
                "memory for replies is used up, and it did not take its own, {owed} bytes \
                 (aplomb.replies.max.bytes)"
            )),
            Self::Insecure(why) => Some(format!("the TLS handshake failed: {why}")),
            Self::Malformed(why)
            | Self::ByBroker(CloseReason::Malformed(why) | CloseReason::Unauthenticated(why)) => {
                Some(why.clone())
            }
            Self::Unauthenticated(patience) => Some(format!(
                "it has not authenticated within {} ms (aplomb.authentication.timeout.ms)",
                patience.as_millis()
            )),
            Self::Crowding => Some(
                "it has not authenticated yet, and memory for those that have not is used up (a quarter of \
                 aplomb.frames.max.bytes)"
                    .to_owned(),
            ),
            Self::ByBroker(CloseReason::Unsupported { api_key, version }) => {
                Some(format!("version {version} of API {api_key} is not offered here"))
            }
            Self::ByBroker(CloseReason::ProduceFailed) => {
                Some("a produce request failed that wants no acknowledgement".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_closed_for_what_it_kept_from_others_is_told_of() {
        let held = [End::SlowFrame(100_000_000), End::SlowTaker(1_000_000)];
        let said = held.each_ref().map(|end| end.fault().expect("that is no everyday end"));
        for (text, [bytes, key]) in said.iter().zip([
            ["100000000 bytes", "aplomb.frames.max.bytes"],
            ["1000000 bytes", "aplomb.replies.max.bytes"],
        ]) {
            assert!(text.contains("is used up") && text.contains(bytes) && text.contains(key), "{text}");
        }
        // Each kind is told of by itself, so that many of one hide none of the other.
        assert_eq!(held.each_ref().map(End::in_the_way), [Some(0), Some(1)]);
    }

    #[test]
    fn of_everyday_ends_nothing_is_said() {
        for end in [End::ByClient, End::Broken, End::Idle] {
            assert_eq!((end.fault(), end.in_the_way()), (None, None));
        }
    }
}
