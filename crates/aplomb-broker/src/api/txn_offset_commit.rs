//! TxnOffsetCommit: how far a group has come, once the transaction is committed.
//!
//! Asked first is the partition that is the group's log, whether the transaction has something in
//! it already; if not, the transaction's coordinator; then the group's. What is committed is the
//! offset's value until the end of the transaction says whether it holds.

use std::time::Duration;

use aplomb_coordinator::group::{Caller, GroupAsk, GroupReply, TxnCommit};
use aplomb_coordinator::txn::TxnPartitions;
use aplomb_model::batch::ProducerStamp;
use aplomb_model::{ErrorCode, Instant, Offset, ProducerEpoch, ProducerId};
use aplomb_protocol::messages::offset_commit_request::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use aplomb_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequest, TxnOffsetCommitRequestTopic,
};
use aplomb_protocol::messages::txn_offset_commit_response::{
    TxnOffsetCommitResponse, TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::groups::{caller, coordinator_of};
use super::offset_commit::{BEYOND, authorize, is_too_large, part};
use super::transactions::{incarnation, partitions};
use super::verification::{self, Verification};
use crate::calls::{Answer, CoordinatorAsk, InTransaction, PartitionKey, Slot};
use crate::metadata::OFFSETS_TOPIC;
use crate::operation::{
    Api, Ask, Asked, Begun, Calls, Operation, PartitionCall, Place, Progress, Question, Replied,
    ReplyContext, WaitsAt,
};
use crate::ports::WaitedFor;
use crate::reply::ReplyTo;
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::TxnOffsetCommit, begin);

/// The first version that names topics by id.
const BY_ID: i16 = 6;
/// From this version on a group is in a transaction by being committed for.
const ADDS_GROUP: i16 = 5;
/// Versions below this do not try again while a coordinator loads.
const KNOWS_LOADING: i16 = 2;

/// Asks the log of a group what it says of a producer.
#[derive(Debug)]
struct ProducerStanding(InTransaction);

impl Question for ProducerStanding {
    type Answer = Option<Offset>;

    fn ask(self, place: &mut Place<'_>) -> Result<Option<Offset>, ErrorCode> {
        place.partition.check_epoch(None)?;
        place.partition.standing(&self.0)
    }
}

/// How far a commit has come.
#[derive(Debug)]
enum CommitStage {
    /// The group's log is asked.
    Asking,
    /// It does not know the transaction: the transaction's coordinator is to be asked.
    Unverified,
    /// The transaction's coordinator is asked.
    Verifying,
    /// The group's coordinator is to be asked.
    Verified,
    /// The group's coordinator is asked.
    Committing,
    Ended,
}

/// A commit under way.
#[derive(Debug)]
struct TxnOffsetCommitOp {
    to: ReplyTo,
    deadline: Instant,
    longest_wait: Duration,
    stage: CommitStage,
    /// The group's log and coordinator.
    group: PartitionKey,
    producer: InTransaction,
    /// `transaction.partition.verification.enable`
    verifies: bool,
    verification: Verification,
    /// What is asked of the group's coordinator.
    commit: Option<(Caller, TxnCommit)>,
    /// Topics that are not there; those that are come with the coordinator's answer.
    response: TxnOffsetCommitResponse,
    /// Topics that the coordinator is asked about, each with the code that it has so far.
    pending: Vec<TxnOffsetCommitResponseTopic>,
}

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: TxnOffsetCommitRequest = asked.decode()?;
    let (image, version) = (asked.view.image(), asked.to.version);
    let (mut known, mut response) = (Vec::new(), TxnOffsetCommitResponse::default());
    let access = asked.access();
    let allowed = access
        .check(AclOperation::Write, On::TransactionalId(&request.transactional_id))
        .and_then(|()| access.check(AclOperation::Read, On::Group(&request.group_id)));
    for topic in request.topics {
        let topic = plain(topic);
        let checked = allowed.and_then(|()| authorize(&topic, version >= BY_ID, image, &access));
        if let Err(error) = checked {
            response.topics.extend(answered(std::slice::from_ref(&topic), error));
            continue;
        }
        let (there, missing) = part(topic, version >= BY_ID, image);
        known.extend(there);
        response.topics.extend(missing.map(|topic| {
            TxnOffsetCommitResponseTopic {
                name: topic.name,
                topic_id: topic.topic_id,
                partitions: topic
                    .partitions
                    .into_iter()
                    .map(|partition| TxnOffsetCommitResponsePartition {
                        partition_index: partition.partition_index,
                        error_code: partition.error_code,
                    })
                    .collect(),
            }
        }));
    }
    let commit = OffsetCommitRequest {
        group_id: request.group_id,
        generation_id_or_member_epoch: request.generation_id_or_member_epoch,
        member_id: request.member_id,
        group_instance_id: request.group_instance_id,
        topics: known,
        ..Default::default()
    };
    if commit.topics.is_empty() {
        return asked.answer(&response);
    }
    let refused = |error| refuse_all(&commit, response.clone(), error);
    if commit.group_id.is_empty() {
        return asked.answer(&refused(ErrorCode::InvalidGroupId));
    }
    if is_too_large(&commit, asked.view) {
        return asked.answer(&refused(ErrorCode::InvalidCommitOffsetSize));
    }
    let Some(group) = coordinator_of(&commit.group_id, image) else {
        return asked.answer(&refused(ErrorCode::NotCoordinator));
    };
    let Some(producer) = ProducerId::from_wire(request.producer_id) else {
        return asked.answer(&refused(ErrorCode::InvalidProducerIdMapping));
    };
    let epoch = ProducerEpoch(request.producer_epoch);
    let stamp = ProducerStamp { id: producer, epoch, base_sequence: 0 };
    let of = incarnation(&request.transactional_id, request.producer_id, request.producer_epoch);
    let config = asked.view.config();
    let patience = config.groups.commit_timeout + BEYOND;
    let in_transaction = InTransaction { stamp, guard: None, has_epoch_each: version >= ADDS_GROUP };
    let mut op = TxnOffsetCommitOp {
        to: asked.to,
        deadline: asked.now.instant + patience,
        longest_wait: config.transactions.longest_wait,
        stage: CommitStage::Asking,
        group,
        producer: in_transaction,
        verifies: version >= ADDS_GROUP || config.transactions.verifies,
        verification: Verification::new(of, version >= ADDS_GROUP, image),
        pending: answered(&commit.topics, ErrorCode::CoordinatorNotAvailable),
        commit: Some((caller(asked), TxnCommit { producer, epoch, request: commit })),
        response,
    };
    if op.verifies {
        asked.calls.push((0, group, ProducerStanding(in_transaction).call()));
    } else {
        op.stage = CommitStage::Verified;
    }
    asked.wait(op, patience)
}

/// The same offsets, as OffsetCommit names them.
fn plain(topic: TxnOffsetCommitRequestTopic) -> OffsetCommitRequestTopic {
    let partitions = topic.partitions.into_iter().map(|partition| OffsetCommitRequestPartition {
        partition_index: partition.partition_index,
        committed_offset: partition.committed_offset,
        committed_leader_epoch: partition.committed_leader_epoch,
        committed_metadata: partition.committed_metadata,
    });
    OffsetCommitRequestTopic { name: topic.name, topic_id: topic.topic_id, partitions: partitions.collect() }
}

fn answered(topics: &[OffsetCommitRequestTopic], error: ErrorCode) -> Vec<TxnOffsetCommitResponseTopic> {
    let topic = |topic: &OffsetCommitRequestTopic| TxnOffsetCommitResponseTopic {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partitions: topic
            .partitions
            .iter()
            .map(|partition| TxnOffsetCommitResponsePartition {
                partition_index: partition.partition_index,
                error_code: error.to_wire(),
            })
            .collect(),
    };
    topics.iter().map(topic).collect()
}

fn refuse_all(
    commit: &OffsetCommitRequest,
    mut response: TxnOffsetCommitResponse,
    error: ErrorCode,
) -> TxnOffsetCommitResponse {
    response.topics.extend(answered(&commit.topics, error));
    response
}

impl TxnOffsetCommitOp {
    fn refuse(&mut self, error: ErrorCode) {
        let error = match error {
            ErrorCode::CoordinatorLoadInProgress if self.to.version < KNOWS_LOADING => {
                ErrorCode::CoordinatorNotAvailable
            }
            other => other,
        };
        for partition in self.pending.iter_mut().flat_map(|topic| &mut topic.partitions) {
            partition.error_code = error.to_wire();
        }
        self.stage = CommitStage::Ended;
    }

    fn on_verified(&mut self, told: Result<TxnPartitions, ErrorCode>) {
        let knows = self.to.version >= ADDS_GROUP;
        match told {
            Ok(missing) if missing.is_empty() => self.stage = CommitStage::Verified,
            Ok(_) => self.refuse(self.verification.client_error(ErrorCode::TransactionAbortable, knows)),
            Err(error) => {
                // Clients look for the group's coordinator again, or wait.
                let error = match self.verification.client_error(error, knows) {
                    ErrorCode::NotEnoughReplicas => ErrorCode::CoordinatorNotAvailable,
                    other => other,
                };
                self.refuse(error);
            }
        }
    }

    fn on_committed(&mut self, reply: Result<GroupReply, ErrorCode>) {
        match reply {
            Ok(GroupReply::Commit(committed)) => {
                for (place, topic) in self.pending.iter_mut().zip(committed.topics) {
                    for (place, partition) in place.partitions.iter_mut().zip(topic.partitions) {
                        place.error_code = partition.error_code;
                    }
                }
                self.stage = CommitStage::Ended;
            }
            Ok(other) => unreachable!("a commit is answered {other:?}"),
            Err(error) => self.refuse(error),
        }
    }
}

impl Operation for TxnOffsetCommitOp {
    fn on_answer(&mut self, slot: Slot, answer: Answer) {
        match self.stage {
            CommitStage::Asking => match ProducerStanding::take(answer) {
                Ok(None) => self.stage = CommitStage::Verified,
                Ok(guard) => {
                    self.producer.guard = guard;
                    self.stage = CommitStage::Unverified;
                }
                Err(ErrorCode::InvalidProducerEpoch) => self.refuse(ErrorCode::InvalidProducerEpoch),
                Err(_) => self.refuse(ErrorCode::NotCoordinator),
            },
            CommitStage::Verifying if slot == verification::SLOT => self.verification.on_answer(answer),
            CommitStage::Committing => self.on_committed(GroupAsk::take(answer)),
            CommitStage::Unverified | CommitStage::Verifying | CommitStage::Verified | CommitStage::Ended => {
                unreachable!("nothing was asked, and {answer:?} answered")
            }
        }
    }

    fn on_deadline(&mut self) {
        match self.stage {
            CommitStage::Verifying => self.verification.give_up(),
            _ => self.stage = CommitStage::Ended,
        }
    }

    fn progress(&mut self, now: Instant, calls: &mut Calls) -> Progress {
        if let Some(told) = self.verification.take() {
            self.on_verified(told);
        }
        match self.stage {
            CommitStage::Asking | CommitStage::Verifying | CommitStage::Committing => Progress::Wait,
            CommitStage::Unverified => {
                self.stage = CommitStage::Verifying;
                self.verification.ask(partitions([(OFFSETS_TOPIC, self.group.partition.0)]), calls);
                if self.verification.is_asked() {
                    return Progress::WaitUntil(self.deadline.min(now + self.longest_wait));
                }
                self.progress(now, calls)
            }
            CommitStage::Verified => {
                self.stage = CommitStage::Committing;
                let (caller, commit) = self.commit.take().expect("it is asked once");
                let ask = GroupAsk::TxnCommit(caller, commit);
                let ask = if self.verifies {
                    CoordinatorAsk::InTransaction(self.producer, ask)
                } else {
                    CoordinatorAsk::Group(ask)
                };
                calls.push((0, self.group, PartitionCall::coordinate(ask)));
                Progress::WaitUntil(self.deadline)
            }
            CommitStage::Ended => Progress::Reply,
        }
    }

    fn waits_at(&self, waits: &mut dyn FnMut(Slot, WaitsAt)) {
        self.verification.waits_at(waits);
        if let CommitStage::Committing = self.stage {
            waits(0, WaitsAt::Partition(self.group));
        }
    }

    fn waits_for(&self) -> WaitedFor {
        WaitedFor::Coordinator
    }

    fn reply(mut self: Box<Self>, _: &mut ReplyContext<'_>) -> Replied {
        self.response.topics.append(&mut self.pending);
        self.to.with(&self.response)
    }
}
