//! Groups that change between the protocols (`group.consumer.migration.policy`).
//!
//! - [`mod@upgrade`]: a classic group becomes a consumer group when the first member of that
//!   protocol joins;
//! - [`mod@downgrade`]: it becomes a classic one again when the last of them goes;
//! - [`embedded`]: what classic consumers say and are told, in bytes of their own.

mod downgrade;
pub(super) mod embedded;
mod upgrade;

pub(super) use self::downgrade::{downgrade, may_change, may_go_without};
pub(super) use self::upgrade::{protocols, start_sessions, upgrade};
