//! How much each connection has produced of late. Who has produced little does not wait for memory
//! that others have filled: a part of it is kept for such batches ([`Claim::Light`]).
//!
//! What always holds: what a connection has on its account runs out by time, at [`RATE`], and is
//! never more than [`MOST`], so that a client that was busy is light again within two seconds.

use std::collections::HashMap;

use aplomb_log::tail::Claim;
use aplomb_model::Instant;

use crate::ports::ConnectionId;

/// Bytes a second that a light connection may produce: of some 250 of them a sixteenth of the
/// default tail holds a second's.
const RATE: u64 = 64 << 10;

/// So many it may produce at once.
const BURST: u64 = 64 << 10;

/// No connection has more on its account.
const MOST: u64 = 2 * BURST;

/// What a batch counts at least: what the tail remembers of it, and a beginning of a chunk.
const LEAST: u64 = 256;

/// What a connection has produced, less what time has taken of it.
#[derive(Debug)]
struct Volume {
    bytes: u64,
    at: Instant,
}

/// The accounts of a shard's connections.
#[derive(Debug, Default)]
pub(crate) struct Volumes {
    of: HashMap<ConnectionId, Volume>,
}

impl Volumes {
    /// What the batches of a request may claim, which have these sizes in bytes. `is_first` says
    /// that none of the connection's requests is under way: a batch must not overtake one before it
    /// that waits for memory.
    pub(crate) fn claim(
        &mut self,
        connection: ConnectionId,
        sizes: impl Iterator<Item = usize>,
        is_first: bool,
        now: Instant,
    ) -> Claim {
        let account = self.of.entry(connection).or_insert(Volume { bytes: 0, at: now });
        let micros = u64::try_from(now.since(account.at).as_micros()).unwrap_or(u64::MAX);
        let over = micros.saturating_mul(RATE) / 1_000_000;
        // Of times too short to count nothing is lost.
        if over > 0 {
            account.bytes = account.bytes.saturating_sub(over);
            account.at = now;
        }
        let produced: u64 = sizes.map(|size| (size as u64).max(LEAST)).sum();
        account.bytes = account.bytes.saturating_add(produced).min(MOST);
        if is_first && account.bytes <= BURST { Claim::Light } else { Claim::Ordinary }
    }

    /// A connection is gone.
    pub(crate) fn forget(&mut self, connection: ConnectionId) {
        self.of.remove(&connection);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ports::ShardId;

    const BUSY: ConnectionId = ConnectionId { shard: ShardId(1), number: 1 };
    const QUIET: ConnectionId = ConnectionId { shard: ShardId(1), number: 2 };

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    fn is_light(volumes: &mut Volumes, of: ConnectionId, sizes: &[usize], millis: u64) -> bool {
        volumes.claim(of, sizes.iter().copied(), true, at(millis)) == Claim::Light
    }

    #[test]
    fn who_has_produced_much_is_not_light_until_its_account_has_run_out() {
        let mut volumes = Volumes::default();
        assert!(is_light(&mut volumes, BUSY, &[40 << 10], 0));
        assert!(!is_light(&mut volumes, BUSY, &[40 << 10], 1));
        assert!(!is_light(&mut volumes, BUSY, &[100 << 20], 2), "and a large one does not count for ever");
        assert!(!is_light(&mut volumes, BUSY, &[100], 900));
        assert!(is_light(&mut volumes, BUSY, &[100], 1_100));
    }

    #[test]
    fn a_connection_that_produces_steadily_and_little_stays_light() {
        let mut volumes = Volumes::default();
        // Fifty a second, for ten minutes.
        assert!((0..30_000).all(|n| is_light(&mut volumes, QUIET, &[1_000], 20 * n)));
    }

    #[test]
    fn each_batch_counts_however_small_and_connections_count_for_themselves() {
        let mut volumes = Volumes::default();
        assert!(!is_light(&mut volumes, BUSY, &[70; 1_000], 0));
        assert!(is_light(&mut volumes, QUIET, &[70; 100], 0));
        volumes.forget(BUSY);
        assert!(is_light(&mut volumes, BUSY, &[70], 0));
        assert_eq!(volumes.of.len(), 2);
    }

    #[test]
    fn what_comes_behind_a_request_under_way_claims_nothing_of_its_own() {
        let mut volumes = Volumes::default();
        assert_eq!(volumes.claim(QUIET, [100].into_iter(), false, at(0)), Claim::Ordinary);
    }
}
