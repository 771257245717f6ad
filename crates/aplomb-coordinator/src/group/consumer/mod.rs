//! The consumer protocol (KIP-848): the coordinator assigns, members reconcile.
//!
//! - [`heartbeat`]: members that join and stay: from what they say to their next step;
//! - [`checks`]: what is looked at before anything is written;
//! - [`leave`]: members that go;
//! - [`target`], [`reconcile`]: what members are to have, and their way there;
//! - [`expressions`]: topics by regular expressions;
//! - [`group`], [`member`], [`subscriptions`], [`owners`]: the state, which records alone change
//!   ([`replay`]); [`change`] writes them;
//! - [`convert`]: groups that change between the protocols, and classic members;
//! - [`timers`], [`commit`], [`describe`].
//!
//! What always holds: a partition has one owner; a member's epoch is not above its group's; a
//! group's state is what its records say.

mod about;
mod change;
mod checks;
mod commit;
mod convert;
mod describe;
mod expressions;
mod group;
mod heartbeat;
mod leave;
mod member;
mod owners;
mod reconcile;
mod records;
mod refusal;
mod replay;
mod subscriptions;
mod target;
#[cfg(test)]
mod tests;
mod timers;

pub(crate) use self::convert::{heartbeat as heartbeat_of_classic, join, leave as leave_by_admin, sync};
pub(crate) use self::describe::describe;
pub(crate) use self::expressions::resolve as resolve_expressions;
pub(crate) use self::group::ConsumerGroup;
pub(crate) use self::heartbeat::heartbeat;
pub(crate) use self::replay::replay;
pub(crate) use self::timers::{on_loaded, on_rejoin, on_revocation, on_session, on_taken_back};

use super::GroupRecord;

impl ConsumerGroup {
    /// The tombstones of the group with all that is in it.
    pub(crate) fn tombstones(&self, id: &str) -> Vec<GroupRecord> {
        let members = || self.members().map(|(member, _)| member);
        let mut all: Vec<GroupRecord> = members().map(|member| records::current(id, member, None)).collect();
        all.extend(self.targets().map(|member| records::target(id, member, None)));
        all.push(records::target_epoch(id, None));
        all.extend(members().map(|member| records::member(id, member, None)));
        all.extend(self.expressions().map(|(expression, _)| records::expression(id, expression, None)));
        all.push(records::topics(id, None));
        all.push(records::epoch(id, None));
        all
    }
}
