//! A teller: takes from one account and gives to another, each time in one transaction; sometimes
//! aborts it. It asks for one thing at a time, but for the parts of a transfer: these are sent one
//! behind the other, without an answer in between. When its connection goes it asks again for what
//! it was at, or begins anew with another epoch of its transactional id, which ends what it was at.

use std::collections::{BTreeMap, VecDeque};

use aplomb_model::batch::{BatchBuilder, ProducerStamp};
use aplomb_model::{ErrorCode, Instant, Offset, ProducerEpoch, ProducerId, Timestamp};
use aplomb_protocol::ApiKey;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use aplomb_protocol::messages::create_topics_request::CreatableTopic;
use aplomb_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use bytes::Bytes;

use super::{Client, Context, Expect, answer, millis};
use crate::bank::{ACCOUNTS, TellerPlan};
use crate::check::bank::{TransferFate, TransferId};
use crate::random::Dice;

/// How long a batch may wait.
const TIMEOUT_MS: i32 = 3000;
/// How long a coordinator may take whose log has no room, or that has to ask for ids.
const PATIENCE: std::time::Duration = millis(30_000);
/// `FindCoordinatorRequest.KeyType` of a transactional id.
const TRANSACTION: i8 = 1;
/// A transfer has so many parts at most: a client has up to five batches of a partition under way.
const PARTS: usize = 5;

/// What a transfer still needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Its partitions are to be added.
    Adding,
    /// Its records are to be sent.
    Producing,
    /// It is to end.
    Ending { commits: bool },
}

/// A transfer that is under way.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    id: TransferId,
    parts: u64,
    /// The accounts, and what each part gives them.
    halves: [(i32, i64); 2],
    stage: Stage,
    /// The first error of a part's record, for each half.
    failed: [ErrorCode; 2],
    /// It was asked for to be committed.
    may_be_committed: bool,
    /// A record may be in its log or not: what comes next has no certain sequence number.
    is_unsure: bool,
}

/// What it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TellerAsks {
    Create,
    Find,
    Init,
    Add,
    Produce,
    End,
}

#[derive(Debug)]
pub(super) struct Teller {
    plan: TellerPlan,
    /// What is not answered, in the order in which it was asked.
    asked: VecDeque<(i32, i16, TellerAsks)>,
    found: bool,
    identity: Option<(i64, i16)>,
    /// The next sequence number of each account.
    sequences: BTreeMap<i32, i32>,
    transfer: Option<Transfer>,
    made: u64,
    next: Instant,
}

impl Teller {
    pub(super) fn new(plan: TellerPlan, _: &mut Dice) -> Self {
        Self {
            plan,
            asked: VecDeque::new(),
            found: false,
            identity: None,
            sequences: BTreeMap::new(),
            transfer: None,
            made: 0,
            next: Instant::START,
        }
    }

    fn name(&self) -> String {
        format!("bank-{}", self.plan.id)
    }

    fn go_on(&mut self, ctx: &mut Context<'_>) {
        if !self.asked.is_empty() {
            return;
        }
        self.next = ctx.now + millis(500);
        if ctx.oracle.bank.topic.is_none() {
            return self.create(ctx);
        }
        if !self.found {
            return self.find(ctx);
        }
        let Some(identity) = self.identity else { return self.init(ctx) };
        let transfer = match self.transfer {
            Some(transfer) => transfer,
            None if ctx.oracle.bank.is_open() => self.begin(ctx),
            None => return,
        };
        match transfer.stage {
            Stage::Adding => self.add(identity, transfer, ctx),
            Stage::Producing => {
                (0..transfer.parts).for_each(|part| self.produce(identity, transfer, part, ctx))
            }
            Stage::Ending { commits } => self.end(identity, commits, ctx),
        }
    }

    /// Once more, a little later.
    fn again(&mut self, ctx: &mut Context<'_>) {
        self.next = ctx.now + ctx.dice.time(millis(5)..millis(60));
    }

    fn create(&mut self, ctx: &mut Context<'_>) {
        let Some(bank) = &ctx.plan.bank else { unreachable!("a teller has a bank") };
        let topic = CreatableTopic {
            name: ACCOUNTS.to_owned(),
            num_partitions: bank.accounts,
            replication_factor: 1,
            ..Default::default()
        };
        let body = m::CreateTopicsRequest { topics: vec![topic], timeout_ms: 10_000, validate_only: false };
        self.ask(TellerAsks::Create, 7, &body, Expect::Decision, ctx);
    }

    fn find(&mut self, ctx: &mut Context<'_>) {
        let version = ctx.version(ApiKey::FindCoordinator, 4);
        let body = m::FindCoordinatorRequest {
            key_type: TRANSACTION,
            coordinator_keys: vec![self.name()],
            ..Default::default()
        };
        self.ask(TellerAsks::Find, version, &body, Expect::Memory, ctx);
    }

    fn init(&mut self, ctx: &mut Context<'_>) {
        let version = if self.plan.is_old { 4 } else { 5 };
        let body = m::InitProducerIdRequest {
            transactional_id: Some(self.name()),
            transaction_timeout_ms: self.plan.timeout.as_millis() as i32,
            producer_id: -1,
            producer_epoch: -1,
            ..Default::default()
        };
        // New ids come from the metadata log.
        self.ask(TellerAsks::Init, version, &body, Expect::Within(PATIENCE), ctx);
    }

    fn begin(&mut self, ctx: &mut Context<'_>) -> Transfer {
        let accounts = ctx.oracle.bank.topic.map_or(0, |(_, partitions)| partitions);
        let from = ctx.dice.place(accounts as usize) as i32;
        let to = (from + 1 + ctx.dice.place(accounts as usize - 1) as i32) % accounts;
        let amount = 1 + ctx.dice.within(0..1000) as i64;
        self.made += 1;
        let id = TransferId { teller: self.plan.number, number: self.made };
        let parts = 1 + if ctx.dice.percent(50) { ctx.dice.place(PARTS) as u64 } else { 0 };
        ctx.oracle.bank.begin(id, parts);
        let transfer = Transfer {
            id,
            parts,
            halves: [(from, -amount), (to, amount)],
            stage: if self.plan.is_old { Stage::Adding } else { Stage::Producing },
            failed: [ErrorCode::None; 2],
            may_be_committed: false,
            is_unsure: false,
        };
        ctx.note(|| format!("begins {transfer:?} as {:?}", self.identity));
        *self.transfer.insert(transfer)
    }

    fn add(&mut self, (id, epoch): (i64, i16), transfer: Transfer, ctx: &mut Context<'_>) {
        let partitions = transfer.halves.iter().map(|(account, _)| *account).collect();
        let body = m::AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: self.name(),
            v3_and_below_producer_id: id,
            v3_and_below_producer_epoch: epoch,
            v3_and_below_topics: vec![AddPartitionsToTxnTopic { name: ACCOUNTS.to_owned(), partitions }],
            ..Default::default()
        };
        self.ask(TellerAsks::Add, 3, &body, Expect::Within(PATIENCE), ctx);
    }

    fn produce(&mut self, (id, epoch): (i64, i16), transfer: Transfer, part: u64, ctx: &mut Context<'_>) {
        let TransferId { teller, number } = transfer.id;
        let data = transfer.halves.map(|(account, amount)| {
            let base_sequence = *self.sequences.get(&account).unwrap_or(&0) + part as i32;
            let stamp = ProducerStamp {
                id: ProducerId::from_wire(id).expect("it was given"),
                epoch: ProducerEpoch(epoch),
                base_sequence,
            };
            let mut builder = BatchBuilder::new(Offset::ZERO).producer(stamp).transactional();
            let value = [teller as u64, number, part, amount as u64].map(u64::to_be_bytes).concat();
            builder.append(Timestamp(ctx.wall.0), None, Some(&value), &[]);
            PartitionProduceData { index: account, records: Some(builder.build()) }
        });
        let topic =
            TopicProduceData { name: ACCOUNTS.to_owned(), partition_data: data.into(), ..Default::default() };
        let body = m::ProduceRequest {
            transactional_id: Some(self.name()),
            acks: -1,
            timeout_ms: TIMEOUT_MS,
            topic_data: vec![topic],
        };
        let version = if self.plan.is_old { 11 } else { 12 };
        self.ask(TellerAsks::Produce, version, &body, Expect::Within(millis(TIMEOUT_MS as u64)), ctx);
    }

    fn end(&mut self, (id, epoch): (i64, i16), commits: bool, ctx: &mut Context<'_>) {
        let body = m::EndTxnRequest {
            transactional_id: self.name(),
            producer_id: id,
            producer_epoch: epoch,
            committed: commits,
        };
        let transfer = self.transfer.as_mut().expect("it has one");
        transfer.may_be_committed |= commits;
        let version = if self.plan.is_old { 4 } else { 5 };
        self.ask(TellerAsks::End, version, &body, Expect::Within(PATIENCE), ctx);
    }

    fn ask<Q: aplomb_protocol::Request>(
        &mut self,
        asked: TellerAsks,
        version: i16,
        body: &Q,
        expect: Expect,
        ctx: &mut Context<'_>,
    ) {
        self.asked.push_back((ctx.send(version, body, expect), version, asked));
    }

    /// What it was at has ended.
    fn is_over(&mut self, fate: TransferFate, ctx: &mut Context<'_>) {
        let Some(transfer) = self.transfer.take() else { return };
        ctx.note(|| format!("{:?} is {fate:?}", transfer.id));
        let checked = ctx.oracle.bank.end(transfer.id, fate);
        ctx.oracle.expect(checked);
        if transfer.is_unsure {
            self.identity = None;
        }
        self.next = ctx.now + ctx.dice.time(millis(0)..millis(120));
    }

    /// Another has its transactional id, or its transaction took too long: what it was at is
    /// aborted, unless it was committed before.
    fn is_fenced(&mut self, ctx: &mut Context<'_>) {
        let may_be_committed = self.transfer.is_some_and(|transfer| transfer.may_be_committed);
        self.is_over(if may_be_committed { TransferFate::Unknown } else { TransferFate::Aborted }, ctx);
        self.identity = None;
        self.again(ctx);
    }

    /// A coordinator or a partition has said no.
    fn on_error(&mut self, asked: TellerAsks, error: ErrorCode, ctx: &mut Context<'_>) {
        ctx.note(|| format!("{asked:?} is answered by {error}"));
        match error {
            ErrorCode::InvalidProducerEpoch | ErrorCode::ProducerFenced => self.is_fenced(ctx),
            // Its transaction was ended for it, or had nothing in it.
            ErrorCode::InvalidTxnState | ErrorCode::InvalidProducerIdMapping if asked != TellerAsks::Init => {
                self.is_fenced(ctx);
            }
            ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable => {
                self.found = false;
                self.again(ctx);
            }
            ErrorCode::CoordinatorLoadInProgress
            | ErrorCode::ConcurrentTransactions
            | ErrorCode::RequestTimedOut
            | ErrorCode::UnknownTopicOrPartition => self.again(ctx),
            ErrorCode::KafkaStorageError if ctx.oracle.disk_lost => self.again(ctx),
            _ => ctx.oracle.violated(format!("{asked:?} of {:?} is answered by {error}", self.transfer)),
        }
    }

    /// Hears what became of a part.
    fn on_produced(&mut self, response: &m::ProduceResponse, ctx: &mut Context<'_>) {
        // It was fenced meanwhile, or another epoch has ended it.
        let Some(mut transfer) = self.transfer else { return };
        ctx.note(|| format!("{:?} is answered {:?}", transfer.id, response.responses));
        for answered in response.responses.iter().flat_map(|topic| &topic.partition_responses) {
            let half = transfer.halves.iter().position(|(account, _)| *account == answered.index);
            let Some(half) = half else {
                return ctx.oracle.violated(format!("{:?} is answered for another account", transfer.id));
            };
            let failed = &mut transfer.failed[half];
            let error = code(answered.error_code);
            match error {
                ErrorCode::None => *self.sequences.entry(answered.index).or_default() += 1,
                // It may be there all the same.
                ErrorCode::RequestTimedOut | ErrorCode::KafkaStorageError => transfer.is_unsure = true,
                // Where each transaction has an epoch, what is too late is told by that.
                ErrorCode::InvalidTxnState if !self.plan.is_old => {
                    return ctx.oracle.violated(format!("{:?} is in no transaction", transfer.id));
                }
                ErrorCode::OutOfOrderSequenceNumber if *failed == ErrorCode::None => {
                    return ctx.oracle.violated(format!("a part of {:?} is out of order", transfer.id));
                }
                _ => {}
            }
            // What comes behind one that was refused is out of order, or is taken where the
            // partition has heard nothing of this producer: the next number is certain again with
            // a new epoch.
            if *failed == ErrorCode::None {
                *failed = error;
            } else if error == ErrorCode::None {
                transfer.is_unsure = true;
            }
        }
        self.transfer = Some(transfer);
        if self.asked.is_empty() {
            self.on_all_produced(transfer, ctx);
        }
    }

    /// All parts were answered.
    fn on_all_produced(&mut self, mut transfer: Transfer, ctx: &mut Context<'_>) {
        let failed = transfer.failed.into_iter().find(|error| *error != ErrorCode::None);
        let worst = failed.unwrap_or(ErrorCode::None);
        let commits = worst == ErrorCode::None && !ctx.dice.percent(20);
        transfer.stage = Stage::Ending { commits };
        self.transfer = Some(transfer);
        self.next = ctx.now;
        match worst {
            ErrorCode::None
            | ErrorCode::RequestTimedOut
            | ErrorCode::ConcurrentTransactions
            | ErrorCode::NotEnoughReplicas
            | ErrorCode::NotLeaderOrFollower
            | ErrorCode::CoordinatorLoadInProgress
            | ErrorCode::TransactionAbortable => {}
            ErrorCode::KafkaStorageError if ctx.oracle.disk_lost => {}
            // What was refused is not in the transaction; without any of it there is none to end.
            other => self.on_error(TellerAsks::Produce, other, ctx),
        }
    }
}

impl Client for Teller {
    fn on_connected(&mut self, ctx: &mut Context<'_>) {
        self.next = ctx.now;
        self.go_on(ctx);
    }

    fn on_disconnected(&mut self, ctx: &mut Context<'_>) {
        self.found = false;
        let Some((_, _, asked)) = self.asked.pop_front() else { return };
        self.asked.clear();
        if let (TellerAsks::Produce, Some(transfer)) = (asked, &mut self.transfer) {
            transfer.is_unsure = true;
            transfer.stage = Stage::Ending { commits: false };
        }
        // Or it begins anew, and has what it was at ended.
        if asked != TellerAsks::Init && ctx.dice.percent(50) {
            self.identity = None;
        }
    }

    fn on_answer(&mut self, correlation: i32, frame: Bytes, ctx: &mut Context<'_>) {
        let Some((number, version, asked)) = self.asked.pop_front() else {
            return ctx.oracle.violated("a teller is answered that has asked nothing");
        };
        if number != correlation {
            return ctx.oracle.violated(format!("a teller is answered {correlation} before {number}"));
        }
        self.next = ctx.now;
        let checked = match asked {
            TellerAsks::Create => answer::<m::CreateTopicsRequest>(version, frame).map(|response| {
                let created = response.topics.first().filter(|topic| topic.error_code == 0);
                if let Some(topic) = created {
                    ctx.oracle.bank.topic = Some((topic.topic_id, topic.num_partitions));
                }
                self.again(ctx);
            }),
            TellerAsks::Find => answer::<m::FindCoordinatorRequest>(version, frame).map(|response| {
                self.found = response.coordinators.first().is_some_and(|found| found.error_code == 0);
                if !self.found {
                    self.again(ctx);
                }
            }),
            TellerAsks::Init => answer::<m::InitProducerIdRequest>(version, frame).map(|response| {
                match code(response.error_code) {
                    ErrorCode::None => {
                        self.identity = Some((response.producer_id, response.producer_epoch));
                        self.sequences.clear();
                        let may_be = self.transfer.is_some_and(|transfer| transfer.may_be_committed);
                        if let Some(transfer) = &mut self.transfer {
                            transfer.is_unsure = false; // it has another epoch
                        }
                        self.is_over(if may_be { TransferFate::Unknown } else { TransferFate::Aborted }, ctx);
                    }
                    error => self.on_error(asked, error, ctx),
                }
            }),
            TellerAsks::Add => answer::<m::AddPartitionsToTxnRequest>(version, frame).map(|response| {
                let parts = response.results_by_topic_v3_and_below.iter();
                let mut codes = parts.flat_map(|topic| &topic.results_by_partition);
                let failed = codes.find(|part| part.partition_error_code != 0);
                match (failed, &mut self.transfer) {
                    (Some(part), _) => self.on_error(asked, code(part.partition_error_code), ctx),
                    (None, Some(transfer)) => transfer.stage = Stage::Producing,
                    (None, None) => {}
                }
            }),
            TellerAsks::Produce => {
                answer::<m::ProduceRequest>(version, frame).map(|response| self.on_produced(&response, ctx))
            }
            TellerAsks::End => {
                answer::<m::EndTxnRequest>(version, frame).map(|response| match code(response.error_code) {
                    ErrorCode::None => self.on_ended(&response, ctx),
                    error => self.on_error(asked, error, ctx),
                })
            }
        };
        ctx.oracle.expect(checked);
        if self.next <= ctx.now {
            self.go_on(ctx);
        }
    }

    fn on_wake(&mut self, ctx: &mut Context<'_>) {
        self.next = ctx.now + millis(500);
        self.go_on(ctx);
    }

    fn wake_at(&self) -> Option<Instant> {
        Some(self.next)
    }
}

impl Teller {
    fn on_ended(&mut self, response: &m::EndTxnResponse, ctx: &mut Context<'_>) {
        let Some(transfer) = self.transfer else { return };
        if response.producer_id >= 0 {
            self.identity = Some((response.producer_id, response.producer_epoch));
            self.sequences.clear();
            if let Some(transfer) = &mut self.transfer {
                transfer.is_unsure = false;
            }
        }
        let commits = transfer.stage == Stage::Ending { commits: true };
        self.is_over(if commits { TransferFate::Committed } else { TransferFate::Aborted }, ctx);
    }
}

fn code(raw: i16) -> ErrorCode {
    ErrorCode::from_wire(raw).unwrap_or(ErrorCode::UnknownServerError)
}
