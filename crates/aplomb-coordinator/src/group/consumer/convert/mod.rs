//! Groups whose members speak both protocols, one of them or the other: a classic group becomes a
//! consumer group when the first member of that protocol joins, and a classic one again when the
//! last of them goes (`group.consumer.migration.policy`).
//!
//! - [`upgrade`], [`downgrade`]: a group becomes one of the other type;
//! - [`join`], [`classic_members`]: classic members of consumer groups;
//! - [`embedded`]: what classic consumers say and are told, in bytes of their own.

mod classic_members;
mod downgrade;
mod embedded;
mod join;
mod upgrade;

pub(crate) use self::classic_members::{heartbeat, leave, sync};
pub(super) use self::downgrade::{downgrade, may_go_without};
pub(crate) use self::join::join;
pub(super) use self::upgrade::{start_sessions, upgrade};
