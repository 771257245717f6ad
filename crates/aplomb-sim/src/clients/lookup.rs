//! A client that asks for offsets: by time, by epoch, the first, the last.

use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::ApiKey;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use aplomb_protocol::messages::offset_for_leader_epoch_request::{
    OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use bytes::Bytes;

use super::{Client, Context, Expect, Place, all_places, answer, millis, setting};
use crate::check::Checked;
use crate::check::journal::Before;

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const GREATEST: i64 = -3;

#[derive(Debug)]
enum Question {
    Offset { wanted: i64, place: Place, before: Before },
    Epoch { epoch: i32, place: Place },
    Directories,
}

#[derive(Debug)]
struct Asked {
    correlation: i32,
    version: i16,
    question: Question,
    at: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Lookup {
    asked: Option<Asked>,
    next: Instant,
}

impl Lookup {
    fn ask(&mut self, ctx: &mut Context<'_>) {
        self.next = ctx.now + ctx.dice.time(millis(10)..millis(300));
        let mut places = all_places(ctx.oracle);
        if places.is_empty() {
            return;
        }
        let place = places.swap_remove(ctx.dice.place(places.len()));
        let (correlation, version, question) = match ctx.dice.within(0..10) {
            0..=5 => self.ask_offset(place, ctx),
            6..=8 => self.ask_epoch(place, ctx),
            _ => {
                let version = ctx.version(ApiKey::DescribeLogDirs, 1);
                let body = m::DescribeLogDirsRequest { topics: None };
                (ctx.send(version, &body, Expect::Memory), version, Question::Directories)
            }
        };
        self.asked = Some(Asked { correlation, version, question, at: ctx.now });
    }

    fn ask_offset(&self, place: Place, ctx: &mut Context<'_>) -> (i32, i16, Question) {
        let wanted = match ctx.dice.within(0..8) {
            0 => LATEST,
            1 => EARLIEST,
            2 => GREATEST,
            _ => ctx.wall.0 - ctx.dice.within(0..6000) as i64,
        };
        let version = ctx.version(ApiKey::ListOffsets, if wanted == GREATEST { 7 } else { 1 });
        let partition = ListOffsetsPartition {
            partition_index: place.id.index,
            current_leader_epoch: -1,
            timestamp: wanted,
        };
        let topic = ListOffsetsTopic { name: place.topic.clone(), partitions: vec![partition] };
        let timeout = millis(2000);
        let body = m::ListOffsetsRequest {
            replica_id: -1,
            topics: vec![topic],
            timeout_ms: if version >= 10 { timeout.as_millis() as i32 } else { 0 },
            ..Default::default()
        };
        let before = ctx.oracle.journal.before(place.id);
        let expect = match wanted {
            LATEST | EARLIEST => Expect::Memory,
            _ if version >= 10 => Expect::Within(timeout),
            _ => Expect::Within(millis(30_000)),
        };
        (ctx.send(version, &body, expect), version, Question::Offset { wanted, place, before })
    }

    fn ask_epoch(&self, place: Place, ctx: &mut Context<'_>) -> (i32, i16, Question) {
        let version = ctx.version(ApiKey::OffsetForLeaderEpoch, 2);
        let epoch = ctx.dice.within(0..2 + ctx.oracle.process) as i32;
        let partition = OffsetForLeaderPartition {
            partition: place.id.index,
            current_leader_epoch: -1,
            leader_epoch: epoch,
        };
        let topic = OffsetForLeaderTopic { topic: place.topic.clone(), partitions: vec![partition] };
        let body = m::OffsetForLeaderEpochRequest {
            replica_id: if version < 3 { -2 } else { -1 },
            topics: vec![topic],
        };
        (ctx.send(version, &body, Expect::Memory), version, Question::Epoch { epoch, place })
    }

    fn on_offset(
        &self,
        response: &m::ListOffsetsResponse,
        (wanted, place, before): (i64, Place, Before),
        at: Instant,
        ctx: &mut Context<'_>,
    ) -> Checked {
        let part = response.topics.first().and_then(|topic| topic.partitions.first());
        let part = part.ok_or_else(|| format!("no offset for {place:?}: {response:?}"))?;
        if part.error_code != 0 {
            return refused(&place, part.error_code, ctx);
        }
        if ctx.oracle.cluster.may_be_gone(place.id.topic) {
            return Ok(());
        }
        let now = ctx.oracle.journal.before(place.id);
        let stamped = setting(ctx.oracle, &place.topic, "message.timestamp.type").is_some();
        match wanted {
            LATEST if part.offset < before.end => {
                Err(format!("{place:?} ends at {}, and ended at {} before", part.offset, before.end))
            }
            LATEST => Ok(()),
            EARLIEST => ctx.oracle.bounds(place.id, before, (part.offset, now.end.max(part.offset)), ctx.now),
            // The broker's clock is not known here, nor what has just gone because it is old.
            _ if stamped || ctx.oracle.may_start_behind(place.id, i64::MAX - 1) => Ok(()),
            GREATEST => ctx.oracle.journal.check_greatest(place.id, part.timestamp, (at, now.start)),
            _ => {
                let found = (part.offset >= 0).then_some((part.offset, part.timestamp));
                ctx.oracle.journal.check_time(place.id, wanted, found, (at, now.start))
            }
        }
    }

    fn on_epoch(
        &self,
        response: &m::OffsetForLeaderEpochResponse,
        (epoch, place): (i32, Place),
        at: Instant,
        ctx: &mut Context<'_>,
    ) -> Checked {
        let part = response.topics.first().and_then(|topic| topic.partitions.first());
        let part = part.ok_or_else(|| format!("no end of an epoch for {place:?}: {response:?}"))?;
        if part.error_code != 0 {
            return refused(&place, part.error_code, ctx);
        }
        if part.end_offset < 0 || ctx.oracle.may_start_behind(place.id, i64::MAX - 1) {
            return Ok(());
        }
        ctx.oracle.journal.check_epoch_end(place.id, epoch, (part.leader_epoch, part.end_offset), at)
    }
}

fn refused(place: &Place, code: i16, ctx: &Context<'_>) -> Checked {
    let error = ErrorCode::from_wire(code).ok_or_else(|| format!("{code} is no error code"))?;
    let explained = match error {
        ErrorCode::UnknownTopicOrPartition => ctx.oracle.cluster.may_be_gone(place.id.topic),
        ErrorCode::KafkaStorageError => ctx.oracle.disk_lost,
        ErrorCode::NotLeaderOrFollower => ctx.oracle.may_be_loading(ctx.now),
        ErrorCode::RequestTimedOut => {
            ctx.oracle.calm.since().is_none_or(|since| ctx.now.since(since) < millis(3000))
        }
        _ => false,
    };
    if explained { Ok(()) } else { Err(format!("a question about {place:?} is answered by {error}")) }
}

impl Client for Lookup {
    fn on_connected(&mut self, ctx: &mut Context<'_>) {
        self.ask(ctx);
    }

    fn on_disconnected(&mut self, _: &mut Context<'_>) {
        self.asked = None;
    }

    fn on_answer(&mut self, correlation: i32, frame: Bytes, ctx: &mut Context<'_>) {
        let Some(asked) = self.asked.take().filter(|asked| asked.correlation == correlation) else {
            return ctx.oracle.violated("an answer to no question");
        };
        let checked = match asked.question {
            Question::Offset { wanted, place, before } => {
                answer::<m::ListOffsetsRequest>(asked.version, frame)
                    .and_then(|response| self.on_offset(&response, (wanted, place, before), asked.at, ctx))
            }
            Question::Epoch { epoch, place } => {
                answer::<m::OffsetForLeaderEpochRequest>(asked.version, frame)
                    .and_then(|response| self.on_epoch(&response, (epoch, place), asked.at, ctx))
            }
            Question::Directories => {
                answer::<m::DescribeLogDirsRequest>(asked.version, frame).and_then(|response| {
                    let count = response.results.len();
                    if count == ctx.plan.disks {
                        Ok(())
                    } else {
                        Err(format!("{count} log directories: {response:?}"))
                    }
                })
            }
        };
        ctx.oracle.expect(checked);
    }

    fn on_wake(&mut self, ctx: &mut Context<'_>) {
        if self.asked.is_none() {
            self.ask(ctx);
        } else {
            self.next = ctx.now + millis(300);
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        Some(self.next)
    }
}
