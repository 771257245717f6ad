//! The consumer protocol (KIP-848): the coordinator assigns, members reconcile.
//!
//! - [`mod@heartbeat`]: members that join and stay: from what they say to their next step;
//! - [`checks`]: what is looked at before anything is written;
//! - [`leave`]: members that go;
//! - [`gaps`]: members of whom the log has lost records;
//! - [`target`], [`reconcile`], [`steps`]: what members are to have, and their way there;
//! - [`expressions`]: topics by regular expressions;
//! - [`change`]: writes the records that alone change a group;
//! - [`convert`]: groups that change between the protocols;
//! - [`classic_members`]: members that speak the classic protocol;
//! - [`deadlines`], [`timers`], [`mod@describe`].
//!
//! What always holds: a partition has one owner; a member's epoch is not above its group's; a
//! group's state is what its records say.

mod about;
mod change;
mod checks;
mod classic_members;
mod convert;
mod deadlines;
mod describe;
mod expressions;
mod gaps;
mod heartbeat;
mod leave;
mod reconcile;
mod refusal;
mod steps;
mod target;
#[cfg(test)]
mod tests;
mod timers;

pub(crate) use self::classic_members::{
    heartbeat as heartbeat_of_classic, join, leave as leave_by_admin, sync,
};
pub(crate) use self::describe::describe;
pub(crate) use self::expressions::resolve as resolve_expressions;
pub(crate) use self::gaps::take_out as take_out_contradicted;
pub(crate) use self::heartbeat::heartbeat;
pub(crate) use self::timers::{on_loaded, on_rejoin, on_revocation, on_session, on_taken_back};
