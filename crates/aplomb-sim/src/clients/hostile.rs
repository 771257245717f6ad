//! A client that asks for too much, or for nothing that makes sense. Others are not to notice:
//! that is judged by what they are answered, and when. It is to be answered itself, or its
//! connection closed.

use std::time::Duration;

use aplomb_model::batch::BatchBuilder;
use aplomb_model::{Instant, Offset};
use aplomb_protocol::ApiKey;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use aplomb_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use bytes::Bytes;

use super::{Action, Client, Context, Expect, Place, all_places, answer, millis};

/// How long a fetch of too much says that it waits.
const WAITS: Duration = millis(2000);
/// How often a fetch of too much names each partition.
const OFTEN: usize = 50;
/// Requests that are sent at once.
const BURST: usize = 40;
/// From this version on, produce and fetch name topics by id.
const BY_ID: i16 = 13;

#[derive(Debug, Default)]
pub(super) struct Hostile {
    next: Instant,
    /// A batch that must be refused: its request, and the version of that.
    refused: Option<(i32, i16)>,
    unanswered: usize,
}

impl Hostile {
    fn strike(&mut self, ctx: &mut Context<'_>) {
        self.next = ctx.now + ctx.dice.time(millis(20)..millis(400));
        let places = all_places(ctx.oracle);
        match ctx.dice.within(0..5) {
            0 => self.send_garbage(ctx),
            1 => self.fetch_too_much(&places, ctx),
            2 => self.ask_at_once(ctx),
            3 => self.produce_nonsense(&places, ctx),
            _ => ctx.disconnect(),
        }
    }

    /// A frame that says what it is, and is something else.
    fn send_garbage(&mut self, ctx: &mut Context<'_>) {
        let api = [ApiKey::Produce, ApiKey::Fetch, ApiKey::Metadata, ApiKey::CreateTopics];
        let api = *ctx.dice.pick(&api);
        let version = ctx.version(api, 0);
        let mut frame = [api.key().to_be_bytes(), version.to_be_bytes()].concat();
        for _ in 0..1 + ctx.dice.place(20) {
            frame.extend(ctx.dice.bytes());
        }
        self.send_raw(frame.into(), ctx);
    }

    fn send_raw(&mut self, frame: Bytes, ctx: &mut Context<'_>) {
        self.unanswered += 1;
        ctx.actions.push(Action::Send { frame, expect: Expect::Within(millis(31_000)) });
    }

    /// Every partition, again and again, with a session, at an offset that none will ever have.
    fn fetch_too_much(&mut self, places: &[Place], ctx: &mut Context<'_>) {
        let version = ctx.version(ApiKey::Fetch, BY_ID);
        let partition = |place: &Place| FetchPartition {
            partition: place.id.index,
            current_leader_epoch: -1,
            fetch_offset: i64::MAX,
            last_fetched_epoch: -1,
            log_start_offset: -1,
            partition_max_bytes: i32::MAX,
            ..Default::default()
        };
        let topics = places.iter().map(|place| FetchTopic {
            topic_id: place.id.topic,
            partitions: vec![partition(place); OFTEN],
            ..Default::default()
        });
        let body = m::FetchRequest {
            max_wait_ms: WAITS.as_millis() as i32,
            min_bytes: i32::MAX,
            max_bytes: i32::MAX,
            session_epoch: if ctx.dice.percent(50) { 0 } else { -1 },
            topics: topics.collect(),
            ..Default::default()
        };
        self.unanswered += 1;
        ctx.send(version, &body, Expect::Within(WAITS));
    }

    /// Many requests before the first answer.
    fn ask_at_once(&mut self, ctx: &mut Context<'_>) {
        for _ in 0..BURST {
            let version = ctx.version(ApiKey::Metadata, 1);
            let body = m::MetadataRequest { topics: None, ..Default::default() };
            self.unanswered += 1;
            ctx.send(version, &body, Expect::Memory);
        }
    }

    /// A batch for a real partition with a byte of it changed: none that could be let in.
    fn produce_nonsense(&mut self, places: &[Place], ctx: &mut Context<'_>) {
        if places.is_empty() || self.refused.is_some() {
            return;
        }
        let place = ctx.dice.pick(places).clone();
        let mut builder = BatchBuilder::new(Offset::ZERO);
        builder.append(ctx.wall, Some(b"hostile"), Some(&ctx.dice.bytes()), &[]);
        let mut batch = builder.build().to_vec();
        // Behind the checksum, which covers all that follows it.
        let at = 21 + ctx.dice.place(batch.len() - 21);
        batch[at] ^= 0x55;
        let version = ctx.version(ApiKey::Produce, BY_ID);
        let part = PartitionProduceData { index: place.id.index, records: Some(batch.into()) };
        let topic =
            TopicProduceData { topic_id: place.id.topic, partition_data: vec![part], ..Default::default() };
        let body =
            m::ProduceRequest { acks: -1, timeout_ms: 1500, topic_data: vec![topic], ..Default::default() };
        self.refused = Some((ctx.send(version, &body, Expect::Within(WAITS)), version));
    }
}

impl Client for Hostile {
    fn on_connected(&mut self, ctx: &mut Context<'_>) {
        self.strike(ctx);
    }

    fn on_disconnected(&mut self, _: &mut Context<'_>) {
        (self.refused, self.unanswered) = (None, 0);
    }

    fn on_answer(&mut self, correlation: i32, frame: Bytes, ctx: &mut Context<'_>) {
        if let Some((_, version)) = self.refused.take_if(|(asked, _)| *asked == correlation) {
            let checked = answer::<m::ProduceRequest>(version, frame).and_then(|response| {
                let parts = response.responses.iter().flat_map(|topic| &topic.partition_responses);
                match parts.map(|part| part.error_code).collect::<Vec<_>>()[..] {
                    [0] => Err("a batch with a wrong checksum was taken".to_owned()),
                    [_] => Ok(()),
                    ref other => Err(format!("one batch has the answers {other:?}")),
                }
            });
            return ctx.oracle.expect(checked);
        }
        match self.unanswered.checked_sub(1) {
            Some(left) => self.unanswered = left,
            None => ctx.oracle.violated("an answer to no question"),
        }
    }

    fn on_wake(&mut self, ctx: &mut Context<'_>) {
        self.strike(ctx);
    }

    fn wake_at(&self) -> Option<Instant> {
        Some(self.next)
    }
}
