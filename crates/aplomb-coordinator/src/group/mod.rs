//! The group coordinator of one partition of `__consumer_offsets`: classic groups, consumer groups
//! (KIP-848), and the offsets that they have committed.
//!
//! - [`classic`]: the protocol in which clients assign partitions themselves;
//! - [`consumer`]: the one in which the coordinator does;
//! - [`classic_clients`]: requests of clients that speak the classic one, whatever their group is;
//! - [`offsets`], [`list`], [`delete`]: offsets and groups, as clients and operators ask for them;
//! - [`long`]: questions that are answered in pieces;
//! - [`state`]: what all of these remember: groups by id, and what was committed.
//!
//! What always holds: consumer groups and offsets change by records alone, each of which can be
//! taken back. A classic group changes in memory, and its record says what it is.

mod ask;
pub mod assignor;
mod classic;
mod classic_clients;
mod consumer;
mod delete;
pub mod expression;
mod filter;
pub mod hash;
mod list;
mod long;
mod offsets;
mod record;
mod settings;
mod sight;
mod state;
mod world;

use std::sync::Arc;

use aplomb_model::{ErrorCode, ProducerId};
use aplomb_protocol::{DecodeError, EncodeError};
use bytes::Bytes;

pub use self::ask::{Caller, GroupAsk, GroupReply, TxnCommit};
use self::delete::DeleteQuestion;
pub use self::filter::GroupFilter;
use self::list::ListQuestion;
use self::long::PIECE;
use self::offsets::{FetchQuestion, OffsetDeleteQuestion};
pub use self::record::GroupRecord;
pub use self::settings::{
    Bounded, ClassicSettings, ConsumerSettings, GroupSettings, MigrationPolicy, OffsetSettings, Overrides,
};
pub use self::sight::Sight;
use self::state::GroupTurn;
pub use self::state::counts::{GroupCounts, GroupEvent, GroupEvents, GroupState};
pub use self::state::news::{GroupNews, OffsetPlace};
use self::state::table::Group;
pub use self::state::{GroupAfter, Groups};
pub use self::world::{Topic, World};
use crate::runtime::{Machine, Ticket};

/// From this version on JoinGroup may answer without a protocol's name.
pub const JOIN_WITHOUT_PROTOCOL: i16 = 7;

/// The longest string that an answer may have, in bytes.
const LONGEST: usize = i16::MAX as usize;

/// What a client is told, cut short where it quotes more than an answer can hold.
fn sentence(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(LONGEST));
    text
}

/// A deadline of the group coordinator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupTimer {
    /// Offsets that have expired are looked for.
    Expiry,
    /// A member's session ends.
    Session(Arc<str>, Arc<str>),
    /// A classic group has waited long enough for its members to join.
    Join(Arc<str>),
    /// A classic group has waited long enough for its members to sync.
    Sync(Arc<str>),
    /// A member id that was given out is used no more.
    Pending(Arc<str>, Arc<str>),
    /// A member of a consumer group has not given up in time what it was to give up.
    Revocation(Arc<str>, Arc<str>),
    /// A classic member of a consumer group has not joined or synced in time.
    Rejoin(Arc<str>, Arc<str>),
    /// Regular expressions of a consumer group are to be resolved, or resolved further.
    Expressions(Arc<str>),
    /// Members of a consumer group, of whom the log has lost records, are to be taken out.
    Gaps(Arc<str>),
    /// The next piece of a question that takes long.
    Long,
}

impl Machine for Groups {
    type Ask = GroupAsk;
    type Reply = GroupReply;
    type Record = GroupRecord;
    type Timer = GroupTimer;
    type After = GroupAfter;
    type World = dyn World;
    type News = GroupNews;

    fn encode(record: &GroupRecord) -> Result<(Bytes, Option<Bytes>), EncodeError> {
        record.encode()
    }

    fn decode(key: Bytes, value: Option<Bytes>) -> Result<Option<GroupRecord>, DecodeError> {
        GroupRecord::decode(key, value)
    }

    fn replay(&mut self, record: GroupRecord, producer: Option<ProducerId>) -> GroupRecord {
        self.change(record, producer)
    }

    fn replay_marker(&mut self, producer: ProducerId, is_committed: bool) {
        self.offsets.replay_marker(producer, is_committed);
    }

    fn on_loaded(&mut self, turn: &mut GroupTurn<'_>) -> bool {
        self.begin_news();
        self.table.take_removed(); // no request waits for what was replayed
        let after = self.table.after(self.started.as_deref());
        let ids: Vec<Arc<str>> = after.take(PIECE).map(|(id, _)| id.clone()).collect();
        for id in &ids {
            match self.table.get(id) {
                Some(Group::Classic(_)) => classic::on_loaded(self, id, turn),
                Some(Group::Consumer(_)) => consumer::on_loaded(self, id, turn),
                Some(Group::Foreign(_)) | None => {}
            }
        }
        let is_all = ids.len() < PIECE;
        self.started = ids.into_iter().next_back();
        if is_all {
            turn.set_timer(GroupTimer::Expiry, turn.world.settings().offsets.check_interval);
        }
        is_all
    }

    fn on_ask(&mut self, ticket: Ticket, ask: GroupAsk, turn: &mut GroupTurn<'_>) {
        match ask {
            GroupAsk::Join(caller, request) => classic_clients::join(self, ticket, &caller, request, turn),
            GroupAsk::Sync(caller, request) => classic_clients::sync(self, ticket, &caller, request, turn),
            GroupAsk::Heartbeat(request) => classic_clients::heartbeat(self, ticket, &request, turn),
            GroupAsk::Leave(caller, request) => classic_clients::leave(self, ticket, &caller, &request, turn),
            GroupAsk::Describe(version, group) => {
                let described = classic::describe(&self.table, version, group);
                turn.answer(ticket, GroupReply::Describe(described));
            }
            GroupAsk::ConsumerHeartbeat(caller, request) => {
                consumer::heartbeat(self, ticket, &caller, request, turn);
            }
            GroupAsk::ConsumerDescribe(group) => {
                let described = consumer::describe(&self.table, group, turn.world);
                turn.answer(ticket, GroupReply::ConsumerDescribe(described));
            }
            GroupAsk::List(filter) => self.begin_long(ticket, ListQuestion::new(filter), turn),
            GroupAsk::Delete(group) => self.begin_long(ticket, DeleteQuestion::new(group), turn),
            GroupAsk::Commit(caller, request) => self.commit(ticket, &caller, request, turn),
            GroupAsk::TxnCommit(caller, commit) => self.commit_in_transaction(ticket, &caller, commit, turn),
            GroupAsk::Fetch { group, require_stable } => {
                self.begin_long(ticket, FetchQuestion::new(group, require_stable), turn);
            }
            GroupAsk::DeleteOffsets(request) => {
                self.begin_long(ticket, OffsetDeleteQuestion::new(request), turn);
            }
            GroupAsk::TopicsDeleted(topics) => {
                self.forget_topics(&topics, turn);
                turn.answer(ticket, GroupReply::Nothing);
            }
        }
    }

    fn on_timer(&mut self, timer: GroupTimer, turn: &mut GroupTurn<'_>) {
        match timer {
            GroupTimer::Expiry => self.expire(turn),
            GroupTimer::Session(group, member) if self.table.classic(&group).is_some() => {
                classic::on_session(self, &group, &member, turn);
            }
            GroupTimer::Join(group) => classic::on_join_timer(self, &group, turn),
            GroupTimer::Sync(group) => classic::on_sync_timer(self, &group, turn),
            GroupTimer::Pending(group, member) => classic::on_pending_timer(self, &group, &member, turn),
            GroupTimer::Session(group, member) => consumer::on_session(self, &group, &member, turn),
            GroupTimer::Revocation(group, member) => consumer::on_revocation(self, &group, &member, turn),
            GroupTimer::Rejoin(group, member) => consumer::on_rejoin(self, &group, &member, turn),
            GroupTimer::Expressions(group) => consumer::resolve_expressions(self, &group, turn),
            GroupTimer::Gaps(group) => consumer::take_out_contradicted(self, &group, turn),
            GroupTimer::Long => self.go_on_with_long(turn),
        }
    }

    fn on_written(&mut self, after: GroupAfter, written: Result<(), ErrorCode>, turn: &mut GroupTurn<'_>) {
        classic::on_written(self, after.0, written, turn);
    }

    fn on_cancelled(&mut self, ticket: Ticket) {
        self.long.cancel(ticket);
    }

    fn on_taken_back(&mut self, records: &[GroupRecord], turn: &mut GroupTurn<'_>) {
        // A member's deadline has the same name in both protocols: the one that has the member in
        // the end sets it last.
        consumer::on_taken_back(self, records, turn);
        classic::on_taken_back(self, records, turn);
        self.refuse_long(turn);
    }

    fn take_news(&mut self) -> GroupNews {
        self.news()
    }
}
