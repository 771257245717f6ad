//! A consumer group: what its records say, and what follows from them.
//!
//! - [`group`], with [`member`], [`index`], [`subscriptions`], [`owners`] and [`resolving`];
//! - [`records`], [`replay`]: what the log holds of it, and how that changes it;
//! - [`commits`]: who may commit and fetch offsets.

mod commits;
mod group;
mod index;
mod member;
mod owners;
pub(crate) mod records;
mod replay;
mod resolving;
mod subscriptions;

pub(crate) use self::group::ConsumerGroup;
pub(crate) use self::member::{AWAY, About, ConsumerMember, Current, Holdings, LEAVES, MemberState};
pub(crate) use self::owners::Owners;
pub(crate) use self::resolving::Resolving;
