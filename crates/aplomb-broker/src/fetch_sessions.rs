//! Fetch sessions (KIP-227): the partitions that a consumer is interested in, kept here so that it
//! need not repeat them.
//!
//! A session belongs to the shard that its connection lives on; its id says which (`id % shards`),
//! so that another shard knows that it cannot have it, answers `FETCH_SESSION_ID_NOT_FOUND`, and
//! the client starts anew. Semantics after `org.apache.kafka.server.FetchSession` and
//! `FetchContext` (Apache Kafka 4.3).
//!
//! What always holds: all sessions together know no more partitions than they may. Where there is
//! no room for those of another, its client goes on without a session, and one that cannot grow
//! ends.

use std::collections::HashMap;
use std::time::Duration;

use aplomb_model::{ErrorCode, Instant, PartitionIndex, SplitMix64};
use aplomb_protocol::hot::TopicKey;
use indexmap::IndexMap;

use crate::ports::ShardId;

/// A session that nobody used for so long may be evicted for a new one.
const EVICTABLE_AFTER: Duration = Duration::from_secs(120);

/// A partition, as the request names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FetchKey {
    pub(crate) topic: TopicKey,
    pub(crate) partition: PartitionIndex,
}

/// What a client wants of a partition. Numbers are the wire's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartitionData {
    pub(crate) fetch_offset: i64,
    pub(crate) current_leader_epoch: i32,
    pub(crate) last_fetched_epoch: i32,
    pub(crate) max_bytes: i32,
}

/// What the client was last told of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastSent {
    pub(crate) high_watermark: i64,
    pub(crate) log_start: i64,
}

impl LastSent {
    const NOTHING: Self = Self { high_watermark: -1, log_start: -1 };
}

/// What decides whether a partition is part of an incremental response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartitionResult {
    pub(crate) sent: LastSent,
    pub(crate) has_records: bool,
    pub(crate) error: bool,
    pub(crate) diverging: bool,
}

impl PartitionResult {
    /// Whether it is part of a response whatever was sent before.
    pub(crate) fn is_news(&self) -> bool {
        self.has_records || self.error || self.diverging
    }
}

#[derive(Debug)]
struct SessionEntry {
    wish: PartitionData,
    sent: LastSent,
    /// Its place in the order of the answers. No two of a session are the same.
    place: u64,
}

#[derive(Debug)]
struct FetchSession {
    epoch: i32,
    by_id: bool,
    used: Instant,
    /// About in the order of their places.
    entries: IndexMap<FetchKey, SessionEntry>,
    next_place: u64,
}

/// How a request stands to sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FetchContext {
    /// All partitions are in the request, and no session is wanted.
    Sessionless,
    /// All partitions are in the request, and a session is wanted.
    Full {
        /// Whether topics are named by id.
        by_id: bool,
    },
    /// The session knows the partitions.
    Incremental {
        /// Which session.
        id: i32,
        /// Its epoch when the request was taken.
        epoch: i32,
    },
}

/// The part of a request that concerns sessions.
pub(crate) struct SessionRequest {
    pub(crate) id: i32,
    pub(crate) epoch: i32,
    pub(crate) by_id: bool,
    pub(crate) wishes: Vec<(FetchKey, PartitionData)>,
    pub(crate) forgotten: Vec<FetchKey>,
}

/// The sessions of one shard.
#[derive(Debug)]
pub(crate) struct FetchSessions {
    sessions: HashMap<i32, FetchSession>,
    slots: usize,
    /// Partitions in all sessions, and how many there may be.
    partitions: usize,
    most_partitions: usize,
    shard: ShardId,
    shards: u16,
    ids: SplitMix64,
    evicted: u64,
}

impl FetchSessions {
    /// No session yet; at most `slots` at once, and so many partitions in all of them. `seed` makes
    /// ids hard to mistake for those of an earlier process.
    pub(crate) fn new(slots: usize, most_partitions: usize, shard: ShardId, shards: u16, seed: u64) -> Self {
        Self {
            sessions: HashMap::new(),
            slots,
            partitions: 0,
            most_partitions,
            shard,
            shards: shards.max(1),
            ids: SplitMix64::new(seed),
            evicted: 0,
        }
    }

    /// The shard that a session is on; `None` for what is no session's id.
    pub(crate) fn owner_of(&self, id: i32) -> Option<ShardId> {
        let id = u32::try_from(id).ok().filter(|id| *id > 0)?;
        Some(ShardId(u16::try_from(id % u32::from(self.shards)).expect("below the number of shards")))
    }

    /// Takes a request: what to fetch, in order, and how to answer.
    pub(crate) fn begin(
        &mut self,
        request: SessionRequest,
        now: Instant,
    ) -> Result<(FetchContext, Vec<(FetchKey, PartitionData)>), ErrorCode> {
        let SessionRequest { id, epoch, by_id, wishes, forgotten } = request;
        // Any other epoch below 0 belongs to no session.
        if matches!(epoch, 0 | -1) {
            self.remove(id);
            let context = if epoch == 0 { FetchContext::Full { by_id } } else { FetchContext::Sessionless };
            return Ok((context, wishes));
        }
        let session = self.sessions.get_mut(&id).ok_or(ErrorCode::FetchSessionIdNotFound)?;
        if session.by_id != by_id {
            return Err(ErrorCode::FetchSessionTopicIdError);
        }
        if session.epoch != epoch {
            return Err(ErrorCode::InvalidFetchSessionEpoch);
        }
        session.epoch = next_epoch(epoch);
        session.used = now;
        self.partitions -= session.entries.len();
        for key in &forgotten {
            session.entries.swap_remove(key);
        }
        for (key, wish) in wishes {
            session.set(key, wish, LastSent::NOTHING);
        }
        self.partitions += session.entries.len();
        if self.partitions > self.most_partitions {
            self.remove(id);
            return Err(ErrorCode::FetchSessionIdNotFound);
        }
        Ok((FetchContext::Incremental { id, epoch: session.epoch }, session.list()))
    }

    /// Ends a request: the session id for the response, and for each partition of `outcomes`
    /// whether it is part of it.
    pub(crate) fn finish(
        &mut self,
        context: FetchContext,
        outcomes: &[(FetchKey, PartitionData, PartitionResult)],
        now: Instant,
    ) -> Result<(i32, Vec<bool>), ErrorCode> {
        match context {
            FetchContext::Sessionless => Ok((0, vec![true; outcomes.len()])),
            FetchContext::Full { by_id } => {
                let id = if outcomes.is_empty() { 0 } else { self.create(by_id, outcomes, now) };
                Ok((id, vec![true; outcomes.len()]))
            }
            FetchContext::Incremental { id, epoch } => {
                // A client that closes ends its session while a fetch of it waits, which then ends
                // without an error.
                let Some(session) = self.sessions.get_mut(&id) else {
                    let part = outcomes.iter().map(|(_, _, outcome)| outcome.is_news()).collect();
                    return Ok((id, part));
                };
                if session.epoch != epoch {
                    return Err(ErrorCode::InvalidFetchSessionEpoch);
                }
                let part = outcomes.iter().map(|(key, _, outcome)| session.tell(key, outcome)).collect();
                Ok((id, part))
            }
        }
    }

    fn create(
        &mut self,
        by_id: bool,
        outcomes: &[(FetchKey, PartitionData, PartitionResult)],
        now: Instant,
    ) -> i32 {
        if self.partitions + outcomes.len() > self.most_partitions {
            return 0;
        }
        if self.sessions.len() >= self.slots {
            let oldest = self.sessions.iter().min_by_key(|(_, session)| session.used);
            match oldest.map(|(id, session)| (*id, session.used)) {
                Some((id, used)) if now.since(used) >= EVICTABLE_AFTER => {
                    self.evicted += 1;
                    self.remove(id);
                }
                _ => return 0,
            }
        }
        let id = self.free_id();
        let mut session = FetchSession {
            epoch: 1,
            by_id,
            used: now,
            entries: IndexMap::with_capacity(outcomes.len()),
            next_place: 0,
        };
        for (key, wish, outcome) in outcomes {
            let sent = if outcome.error { LastSent::NOTHING } else { outcome.sent };
            session.set(key.clone(), *wish, sent);
        }
        self.partitions += session.entries.len();
        self.sessions.insert(id, session);
        id
    }

    fn remove(&mut self, id: i32) {
        if let Some(session) = self.sessions.remove(&id) {
            self.partitions -= session.entries.len();
        }
    }

    /// How many sessions there are.
    pub(crate) fn len(&self) -> usize {
        self.sessions.len()
    }

    /// How many partitions they know.
    pub(crate) fn partitions(&self) -> usize {
        self.partitions
    }

    /// How many were evicted for others since the start.
    pub(crate) fn evicted(&self) -> u64 {
        self.evicted
    }

    fn free_id(&mut self) -> i32 {
        let (shards, shard) = (i64::from(self.shards), i64::from(self.shard.0));
        loop {
            // Ids need not be secret, only different.
            let raw = i64::from((self.ids.bits() >> 33) as u32 & 0x3fff_ffff);
            let id = raw - raw % shards + shard;
            match i32::try_from(id) {
                Ok(id) if id > 0 && !self.sessions.contains_key(&id) => return id,
                _ => {}
            }
        }
    }
}

impl FetchSession {
    fn set(&mut self, key: FetchKey, wish: PartitionData, sent: LastSent) {
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.wish = wish;
            return;
        }
        let place = self.next_place;
        self.next_place += 1;
        self.entries.insert(key, SessionEntry { wish, sent, place });
    }

    /// All partitions, those first that have waited for longest to give records. Few have moved
    /// since the last time, and a sort of what is nearly in order costs little.
    fn list(&mut self) -> Vec<(FetchKey, PartitionData)> {
        if !self.entries.values().is_sorted_by_key(|entry| entry.place) {
            self.entries.sort_by_key(|_, entry| entry.place);
        }
        self.entries.iter().map(|(key, entry)| (key.clone(), entry.wish)).collect()
    }

    /// Whether the partition is part of the response; remembers what is told, and moves a partition
    /// that gave records to the end, so that the others come first next time.
    fn tell(&mut self, key: &FetchKey, outcome: &PartitionResult) -> bool {
        let Some(entry) = self.entries.get_mut(key) else { return false };
        let changed = entry.sent != outcome.sent;
        // After an error the partition is sent again with the next response, whatever it says then.
        entry.sent = if outcome.error { LastSent::NOTHING } else { outcome.sent };
        if outcome.has_records {
            entry.place = self.next_place;
            self.next_place += 1;
        }
        outcome.is_news() || changed
    }
}

const fn next_epoch(epoch: i32) -> i32 {
    if epoch == i32::MAX { 1 } else { epoch + 1 }
}

#[cfg(test)]
mod tests {
    use aplomb_model::TopicId;

    use super::*;

    fn sessions() -> FetchSessions {
        FetchSessions::new(2, 1000, ShardId(1), 2, 7)
    }

    fn key(partition: i32) -> FetchKey {
        FetchKey { topic: TopicKey::Id(TopicId::ONE), partition: PartitionIndex(partition) }
    }

    const WISH: PartitionData =
        PartitionData { fetch_offset: 0, current_leader_epoch: 0, last_fetched_epoch: -1, max_bytes: 1000 };
    const QUIET: PartitionResult = PartitionResult {
        sent: LastSent { high_watermark: 5, log_start: 0 },
        has_records: false,
        error: false,
        diverging: false,
    };

    fn request(id: i32, epoch: i32, wishes: &[i32], forgotten: &[i32]) -> SessionRequest {
        SessionRequest {
            id,
            epoch,
            by_id: true,
            wishes: wishes.iter().map(|p| (key(*p), WISH)).collect(),
            forgotten: forgotten.iter().map(|p| key(*p)).collect(),
        }
    }

    fn open(sessions: &mut FetchSessions, partitions: &[i32]) -> i32 {
        let (context, list) = sessions.begin(request(0, 0, partitions, &[]), Instant::START).expect("full");
        let outcomes: Vec<_> = list.into_iter().map(|(k, w)| (k, w, QUIET)).collect();
        sessions.finish(context, &outcomes, Instant::START).expect("full").0
    }

    fn names(list: &[(FetchKey, PartitionData)]) -> Vec<i32> {
        list.iter().map(|(key, _)| key.partition.0).collect()
    }

    #[test]
    fn an_incremental_fetch_covers_what_the_session_knows_and_answers_what_changed() {
        let mut sessions = sessions();
        let id = open(&mut sessions, &[0, 1, 2]);
        assert_eq!(id % 2, 1, "the id names the shard");
        let (context, list) = sessions.begin(request(id, 1, &[3], &[1]), Instant::START).expect("known");
        assert_eq!(names(&list), [0, 2, 3]);
        let records = PartitionResult { has_records: true, ..QUIET };
        let outcomes: Vec<_> = list
            .into_iter()
            .map(|(k, w)| if k == key(0) { (k, w, records) } else { (k, w, QUIET) })
            .collect();
        let (_, part) = sessions.finish(context, &outcomes, Instant::START).expect("known");
        assert_eq!(part, [true, false, true], "records; nothing new; never told before");
        let (_, list) = sessions.begin(request(id, 2, &[], &[]), Instant::START).expect("known");
        assert_eq!(names(&list), [2, 3, 0], "who gave records goes to the end");
    }

    #[test]
    fn those_that_are_left_keep_their_order() {
        let mut sessions = sessions();
        let id = open(&mut sessions, &[0, 1, 2, 3, 4]);
        let (_, list) = sessions.begin(request(id, 1, &[0], &[1, 0]), Instant::START).expect("known");
        assert_eq!(names(&list), [2, 3, 4, 0], "what is named anew comes last");
        let (_, list) = sessions.begin(request(id, 2, &[3], &[2]), Instant::START).expect("known");
        assert_eq!(names(&list), [3, 4, 0], "what was known stays where it was");
    }

    #[test]
    fn an_error_is_followed_by_a_full_word_on_the_partition() {
        let mut sessions = sessions();
        let id = open(&mut sessions, &[0]);
        for (epoch, outcome, expected) in [
            (1, QUIET, false),
            (2, PartitionResult { error: true, ..QUIET }, true),
            (3, QUIET, true),
            (4, QUIET, false),
        ] {
            let (context, _) = sessions.begin(request(id, epoch, &[], &[]), Instant::START).expect("known");
            let (_, part) =
                sessions.finish(context, &[(key(0), WISH, outcome)], Instant::START).expect("known");
            assert_eq!(part, [expected], "epoch {epoch}");
        }
    }

    #[test]
    fn wrong_ids_and_epochs_are_told_apart() {
        let mut sessions = sessions();
        let id = open(&mut sessions, &[0]);
        let error = |sessions: &mut FetchSessions, request| sessions.begin(request, Instant::START).err();
        assert_eq!(
            error(&mut sessions, request(id + 2, 1, &[], &[])),
            Some(ErrorCode::FetchSessionIdNotFound)
        );
        assert_eq!(error(&mut sessions, request(id, 2, &[], &[])), Some(ErrorCode::InvalidFetchSessionEpoch));
        let by_name = SessionRequest { by_id: false, ..request(id, 1, &[], &[]) };
        assert_eq!(error(&mut sessions, by_name), Some(ErrorCode::FetchSessionTopicIdError));
        assert_eq!(
            error(&mut sessions, request(id, -2, &[], &[])),
            Some(ErrorCode::InvalidFetchSessionEpoch)
        );
        assert!(sessions.begin(request(id, -1, &[0], &[]), Instant::START).is_ok(), "closes it");
        assert_eq!(error(&mut sessions, request(id, 1, &[], &[])), Some(ErrorCode::FetchSessionIdNotFound));
    }

    #[test]
    fn a_fetch_whose_session_is_closed_while_it_waits_ends_without_an_error() {
        let mut sessions = sessions();
        let id = open(&mut sessions, &[0, 1]);
        let (context, _) = sessions.begin(request(id, 1, &[], &[]), Instant::START).expect("known");
        sessions.begin(request(id, -1, &[], &[]), Instant::START).expect("closes it");
        let records = PartitionResult { has_records: true, ..QUIET };
        let outcomes = [(key(0), WISH, QUIET), (key(1), WISH, records)];
        let told = sessions.finish(context, &outcomes, Instant::START);
        assert_eq!(told, Ok((id, vec![false, true])), "as Apache Kafka, which still has it in hand");
    }

    #[test]
    fn sessions_know_no_more_partitions_than_they_may() {
        let mut sessions = FetchSessions::new(9, 5, ShardId(1), 2, 7);
        let id = open(&mut sessions, &[0, 1, 2]);
        assert_eq!(open(&mut sessions, &[0, 1, 2]), 0, "goes on without");
        let other = open(&mut sessions, &[0, 1]);
        assert_eq!(sessions.partitions(), 5);
        assert!(sessions.begin(request(id, 1, &[3], &[0]), Instant::START).is_ok(), "one for another");
        let grows = sessions.begin(request(id, 2, &[4], &[]), Instant::START);
        assert_eq!(grows.err(), Some(ErrorCode::FetchSessionIdNotFound));
        assert_eq!((sessions.len(), sessions.partitions()), (1, 2), "it has ended");
        assert!(sessions.begin(request(other, -1, &[0], &[]), Instant::START).is_ok());
        assert_eq!((sessions.len(), sessions.partitions()), (0, 0));
    }

    #[test]
    fn a_full_cache_gives_no_session_until_one_is_idle() {
        let mut sessions = sessions();
        assert_ne!(open(&mut sessions, &[0]), 0);
        assert_ne!(open(&mut sessions, &[0]), 0);
        assert_eq!(open(&mut sessions, &[0]), 0);
        let later = Instant::START + EVICTABLE_AFTER;
        let (context, _) = sessions.begin(request(0, 0, &[0], &[]), later).expect("full");
        assert_ne!(sessions.finish(context, &[(key(0), WISH, QUIET)], later).expect("full").0, 0);
    }
}
