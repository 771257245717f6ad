//! What the APIs of groups have in common: which coordinator is asked, and for whom.

use std::collections::HashSet;
use std::time::Duration;

use aplomb_coordinator::group::{Caller, GroupAsk};
use aplomb_protocol::{DecodeError, Message};

use super::coordinators;
use crate::calls::PartitionKey;
use crate::metadata::{MetadataImage, OFFSETS_TOPIC};
use crate::operation::{Asked, Begun, Fill};

/// A coordinator answers who waits for other members as their timeouts say, which are 32-bit
/// numbers of milliseconds. Nothing waits longer.
pub(super) const LONGEST: Duration = Duration::from_millis(2 * i32::MAX as u64);

/// More groups, or offsets of groups, than this are not asked about in one request: what it costs
/// to answer must not grow with a frame. INVALID_REQUEST says so.
pub(super) const MOST_NAMED: usize = 100_000;

/// Topics that one member may be subscribed to by their names, and members that may leave by one
/// request: each of them is looked up and written, which costs far more than naming it does.
pub(super) const MOST_CHANGED: usize = 10_000;

/// Protocols that a member of a classic group may offer.
pub(super) const MOST_PROTOCOLS: usize = 1_000;

/// Groups in the order in which they are named, each once: the answer about a large one is long,
/// and its name is short.
pub(super) fn once(groups: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    groups.into_iter().filter(|group| seen.insert(group.clone())).collect()
}

/// The partition whose leader coordinates a group.
pub(super) fn coordinator_of(group: &str, image: &MetadataImage) -> Option<PartitionKey> {
    coordinators::partition_for(OFFSETS_TOPIC, group, image)
}

/// Who asks.
pub(super) fn caller(asked: &Asked<'_>) -> Caller {
    let host = asked.request.session.host.clone();
    let caller = Caller::new(asked.to.version, asked.client_id.unwrap_or_default(), host);
    Caller { sight: asked.sight(), ..caller }
}

/// Asks the coordinator of a group. `response` is what is replied when it does not answer in time.
pub(super) fn ask_one<R: Message + Send + 'static>(
    asked: &mut Asked<'_>,
    group: &str,
    ask: GroupAsk,
    response: R,
    fill: Fill<R, GroupAsk>,
    patience: Duration,
) -> Result<Begun, DecodeError> {
    let coordinator = coordinator_of(group, asked.view.image());
    coordinators::ask_one(asked, coordinator, ask, response, fill, patience)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_is_named_twice_is_asked_about_once() {
        let named = ["b", "a", "b", "", "a"].map(str::to_owned).to_vec();
        assert_eq!(once(named), ["b", "a", ""]);
    }
}
