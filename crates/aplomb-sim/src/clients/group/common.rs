//! What all clients of groups ask: who coordinates a group, and what [`offsets`] has.

use aplomb_model::Instant;
use aplomb_protocol::ApiKey;
use aplomb_protocol::messages as m;
use bytes::Bytes;

use super::offsets::{self, Committing, Fetching};
use super::{Context, Expect, Name, absent, answer};
use crate::clients::Place;

/// A question of this kind. Who asks one is given the number of the request, its version, and this.
#[derive(Debug)]
pub(super) enum Common {
    Find,
    Commit(Committing),
    Fetch(Fetching),
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// The coordinator is found, or not yet.
    Found(bool),
    Committed,
    /// What is committed was read, or could not be.
    Read(bool),
}

impl Common {
    /// Asks who coordinates a group.
    pub(super) fn find(group: &str, ctx: &mut Context<'_>) -> (i32, i16, Self) {
        let now = ctx.now;
        ctx.oracle.groups.asked_for_coordinator(now);
        let version = ctx.version(ApiKey::FindCoordinator, 0);
        let body = if version < 4 {
            m::FindCoordinatorRequest { key: group.to_owned(), ..Default::default() }
        } else {
            m::FindCoordinatorRequest { coordinator_keys: vec![group.to_owned()], ..Default::default() }
        };
        (ctx.send(version, &body, Expect::Memory), version, Self::Find)
    }

    /// See [`offsets::commit`].
    pub(super) fn commit(
        name: &Name,
        places: &[Place],
        least: i16,
        ctx: &mut Context<'_>,
    ) -> (i32, i16, Self) {
        let (correlation, version, committing) = offsets::commit(name, places, least, ctx);
        (correlation, version, Self::Commit(committing))
    }

    /// See [`offsets::fetch`].
    pub(super) fn fetch(group: &str, places: Vec<Place>, ctx: &mut Context<'_>) -> (i32, i16, Self) {
        let (correlation, version, fetching) = offsets::fetch(group, places, ctx);
        (correlation, version, Self::Fetch(fetching))
    }

    /// Takes the answer to what was asked in this version at this time.
    pub(super) fn on_answer(
        self,
        (version, at): (i16, Instant),
        frame: Bytes,
        ctx: &mut Context<'_>,
    ) -> Result<Came, String> {
        match self {
            Self::Find => is_found(version, frame, ctx).map(Came::Found),
            Self::Commit(committing) => answer::<m::OffsetCommitRequest>(version, frame)
                .and_then(|r| committing.on_answer(&r, ctx))
                .map(|()| Came::Committed),
            Self::Fetch(fetching) => answer::<m::OffsetFetchRequest>(version, frame)
                .and_then(|r| fetching.on_answer(&r, at, ctx))
                .map(Came::Read),
        }
    }
}

/// Whether there is a coordinator.
fn is_found(version: i16, frame: Bytes, ctx: &Context<'_>) -> Result<bool, String> {
    let response = answer::<m::FindCoordinatorRequest>(version, frame)?;
    let code = match &response.coordinators[..] {
        [] if version < 4 => response.error_code,
        [coordinator] => coordinator.error_code,
        others => return Err(format!("a coordinator is asked for, and the answer is {others:?}")),
    };
    if code == 0 {
        return Ok(true);
    }
    absent(code, ctx).map(|_| false)
}
