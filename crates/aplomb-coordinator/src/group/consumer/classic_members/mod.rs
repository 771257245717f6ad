//! Classic members of consumer groups.
//!
//! - [`mod@join`]: their JoinGroup;
//! - [`requests`]: their SyncGroup, Heartbeat and LeaveGroup.

mod join;
mod requests;

pub(crate) use self::join::join;
pub(crate) use self::requests::{heartbeat, leave, sync};
