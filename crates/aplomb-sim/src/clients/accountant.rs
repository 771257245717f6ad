//! The accountant: reads all accounts as a reader of committed records, and leaves out what was
//! aborted as clients do (`CompletedFetch` in Apache Kafka's): by the answer's list and by markers.

use std::collections::BTreeSet;

use aplomb_model::batch::{Batches, ControlKind};
use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use aplomb_protocol::messages::fetch_response::PartitionData;
use bytes::Bytes;

use super::{Client, Context, Expect, answer, millis};
use crate::bank::ACCOUNTS;
use crate::check::Checked;
use crate::check::bank::TransferId;

/// The last version that names topics.
const BY_NAME: i16 = 12;
/// Of a reader of committed records.
const COMMITTED: i8 = 1;
/// Bytes of a batch when it is decompressed.
const LARGEST: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Accountant {
    asked: Option<(i32, i16)>,
    next: Instant,
}

impl Accountant {
    fn go_on(&mut self, ctx: &mut Context<'_>) {
        self.next = ctx.now + ctx.dice.time(millis(1)..millis(80));
        let Some((_, partitions)) = ctx.oracle.bank.topic.filter(|_| self.asked.is_none()) else { return };
        let version = 4 + ctx.dice.within(0..(BY_NAME - 4 + 1) as u64) as i16;
        let wish = |partition| FetchPartition {
            partition,
            fetch_offset: ctx.oracle.bank.position(partition),
            partition_max_bytes: 1 << 20,
            ..Default::default()
        };
        let topic = FetchTopic {
            topic: ACCOUNTS.to_owned(),
            partitions: (0..partitions).map(wish).collect(),
            ..Default::default()
        };
        let wait = *ctx.dice.pick(&[0, 50, 400]);
        let body = m::FetchRequest {
            max_wait_ms: wait,
            min_bytes: 1,
            isolation_level: COMMITTED,
            topics: vec![topic],
            ..Default::default()
        };
        let expect = Expect::Within(millis(1000));
        self.asked = Some((ctx.send(version, &body, expect), version));
    }
}

/// Takes one account's part of an answer.
fn take(data: &PartitionData, ctx: &mut Context<'_>) -> Checked {
    let account = data.partition_index;
    match ErrorCode::from_wire(data.error_code) {
        Some(ErrorCode::None) => {}
        // It is not loaded yet.
        Some(ErrorCode::NotLeaderOrFollower | ErrorCode::UnknownTopicOrPartition) => return Ok(()),
        // Its disk has failed.
        Some(ErrorCode::KafkaStorageError) if ctx.oracle.disk_lost => return Ok(()),
        other => return Err(format!("account {account} cannot be read: {other:?}")),
    }
    let mut to_come: Vec<(i64, i64)> = data
        .aborted_transactions
        .iter()
        .flatten()
        .map(|aborted| (aborted.first_offset, aborted.producer_id))
        .collect();
    to_come.sort_unstable_by(|a, b| b.cmp(a));
    let mut aborted = BTreeSet::new();
    let mut position = ctx.oracle.bank.position(account);
    ctx.note(|| format!("account {account} from {position}: aborted {to_come:?}"));
    for batch in Batches::new(data.records.as_deref().unwrap_or_default()).checked() {
        let (base, last) = (batch.header.base_offset().to_wire(), batch.header.last_offset().to_wire());
        if last < position {
            continue;
        }
        if last >= data.last_stable_offset {
            return Err(format!(
                "account {account} gives {base} to {last}, and is stable to {}",
                data.last_stable_offset
            ));
        }
        while to_come.last().is_some_and(|(first, _)| *first <= last) {
            aborted.extend(to_come.pop().map(|(_, producer)| producer));
        }
        let producer = batch.header.producer().map(|stamp| stamp.id.to_wire());
        let Some(producer) = producer.filter(|_| batch.header.is_transactional()) else {
            return Err(format!("the batch at {base} of account {account} is in no transaction"));
        };
        ctx.note(|| {
            let is_control = batch.header.is_control();
            format!("account {account}: {base} is of {:?}, control {is_control}", batch.header.producer())
        });
        let bytes = batch.uncompressed(LARGEST).map_err(|error| format!("the batch at {base}: {error}"))?;
        if batch.header.is_control() {
            let marker = batch.records(&bytes).next().and_then(Result::ok);
            let kind = marker.and_then(|record| ControlKind::from_key(record.key?));
            if kind == Some(ControlKind::Abort) {
                aborted.remove(&producer);
            }
        } else if !aborted.contains(&producer) {
            for record in batch.records(&bytes) {
                let record = record.map_err(|error| format!("a record at {base}: {error}"))?;
                let value = record.value.unwrap_or_default();
                let number = |n: usize| value.get(n * 8..)?.first_chunk().copied().map(u64::from_be_bytes);
                let [Some(teller), Some(which), Some(part), Some(amount)] = [0, 1, 2, 3].map(number) else {
                    return Err(format!("the record at {base} of account {account} is no transfer"));
                };
                let id = TransferId { teller: teller as usize, number: which };
                ctx.note(|| format!("sees part {part} of {id:?} at {base} of account {account}"));
                ctx.oracle.bank.see(account, base, (id, part), amount as i64)?;
            }
        }
        position = last + 1;
    }
    ctx.oracle.bank.look(account, position, (data.last_stable_offset, data.high_watermark))
}

impl Client for Accountant {
    fn on_connected(&mut self, ctx: &mut Context<'_>) {
        self.go_on(ctx);
    }

    fn on_disconnected(&mut self, _: &mut Context<'_>) {
        self.asked = None;
    }

    fn on_answer(&mut self, correlation: i32, frame: Bytes, ctx: &mut Context<'_>) {
        let Some((_, version)) = self.asked.take_if(|(asked, _)| *asked == correlation) else {
            return ctx.oracle.violated("an accountant is answered that has asked nothing");
        };
        let checked = answer::<m::FetchRequest>(version, frame).and_then(|response| {
            let mut parts = response.responses.iter().flat_map(|topic| &topic.partitions);
            if parts.clone().any(|data| data.records.as_ref().is_some_and(|records| !records.is_empty())) {
                self.next = ctx.now; // there may be more
            }
            parts.try_for_each(|data| take(data, ctx))
        });
        ctx.oracle.expect(checked);
    }

    fn on_wake(&mut self, ctx: &mut Context<'_>) {
        self.go_on(ctx);
    }

    fn wake_at(&self) -> Option<Instant> {
        Some(self.next)
    }
}
