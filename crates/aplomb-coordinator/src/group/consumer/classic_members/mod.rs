//! Classic members of consumer groups: [`join`] is their JoinGroup, [`requests`] all else that they
//! ask for.

mod join;
mod requests;

pub(crate) use self::join::join;
pub(crate) use self::requests::{heartbeat, leave, sync};
