//! Groups that change between the protocols: a classic group becomes a consumer group when the first
//! member of that protocol joins ([`upgrade`]), and a classic one again when the last of them goes
//! ([`downgrade`]; `group.consumer.migration.policy`). What classic consumers say and are told are
//! bytes of their own ([`embedded`]).

mod downgrade;
pub(super) mod embedded;
mod upgrade;

pub(super) use self::downgrade::{downgrade, may_change, may_go_without};
pub(super) use self::upgrade::{protocols, start_sessions, upgrade};
