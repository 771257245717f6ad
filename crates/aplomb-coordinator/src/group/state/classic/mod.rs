//! A classic group.
//!
//! - [`group`]: who is in it and how far it has come; [`member`], [`protocols`], [`progress`] and
//!   [`subscription`] are parts of it;
//! - [`commits`]: what it has to say about committed offsets;
//! - [`record`]: what the log holds of it;
//! - [`after`]: what is remembered about a write.

mod after;
mod commits;
mod group;
mod member;
mod progress;
mod protocols;
mod record;
mod subscription;

pub(crate) use self::after::{Assigned, ClassicAfter, Replaced};
pub(crate) use self::commits::Expiry;
pub(crate) use self::group::{ClassicGroup, Parts};
pub(crate) use self::member::{ClassicMember, Protocols, Waiting, millis};
pub(crate) use self::progress::{FirstRebalance, State};
pub(crate) use self::record::tombstones;
pub(crate) use self::subscription::CONSUMER;
