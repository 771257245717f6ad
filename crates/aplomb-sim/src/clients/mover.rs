//! A client that moves partitions from one log directory to another, and back, and elsewhere while
//! they are on their way.

use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::ApiKey;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::alter_replica_log_dirs_request::{
    AlterReplicaLogDir, AlterReplicaLogDirTopic,
};
use bytes::Bytes;

use super::{Client, Context, Expect, Place, all_places, answer, millis, of};
use crate::check::Checked;
use crate::check::groups::OFFSETS_TOPIC;
use crate::scenario::path_of;

#[derive(Debug, Default)]
pub(super) struct Mover {
    asked: Option<(i32, i16, Vec<Place>)>,
    next: Instant,
}

impl Mover {
    fn ask(&mut self, ctx: &mut Context<'_>) {
        self.next = ctx.now + ctx.dice.time(millis(20)..millis(800));
        let mut places = all_places(ctx.oracle);
        let offsets = ctx.oracle.groups.offsets_topic.into_iter();
        places.extend(offsets.flat_map(|(topic, count)| {
            (0..count).map(move |n| Place { topic: OFFSETS_TOPIC.to_owned(), id: of(topic, n) })
        }));
        let count = places.len().min(1 + ctx.dice.place(3));
        let mut dirs: Vec<AlterReplicaLogDir> = Vec::new();
        let mut moved = Vec::new();
        for _ in 0..count {
            let place = places.swap_remove(ctx.dice.place(places.len()));
            let path = path_of(ctx.dice.place(ctx.plan.disks));
            let topic =
                AlterReplicaLogDirTopic { name: place.topic.clone(), partitions: vec![place.id.index] };
            match dirs.iter_mut().find(|dir| dir.path == path) {
                Some(dir) => match dir.topics.iter_mut().find(|known| known.name == topic.name) {
                    Some(known) => known.partitions.extend(topic.partitions),
                    None => dir.topics.push(topic),
                },
                None => dirs.push(AlterReplicaLogDir { path, topics: vec![topic] }),
            }
            moved.push(place);
        }
        if moved.is_empty() {
            return;
        }
        let version = ctx.version(ApiKey::AlterReplicaLogDirs, 1);
        let body = m::AlterReplicaLogDirsRequest { dirs };
        self.asked = Some((ctx.send(version, &body, Expect::Memory), version, moved));
    }

    fn on_response(
        response: &m::AlterReplicaLogDirsResponse,
        moved: &[Place],
        ctx: &mut Context<'_>,
    ) -> Checked {
        for place in moved {
            let topic = response.results.iter().find(|topic| topic.topic_name == place.topic);
            let partition = topic.and_then(|topic| {
                topic.partitions.iter().find(|partition| partition.partition_index == place.id.index)
            });
            let code = partition.ok_or("a partition is missing in the answer")?.error_code;
            match ErrorCode::from_wire(code) {
                Some(ErrorCode::None) => {}
                Some(ErrorCode::ReplicaNotAvailable | ErrorCode::UnknownTopicOrPartition)
                    if ctx.oracle.cluster.may_be_gone(place.id.topic) && place.topic != OFFSETS_TOPIC
                        || ctx.oracle.cluster.is_in_doubt(&place.topic) => {}
                Some(ErrorCode::KafkaStorageError) if ctx.oracle.disk_lost => {}
                Some(ErrorCode::NotLeaderOrFollower) if ctx.oracle.may_be_loading(ctx.now) => {}
                other => return Err(format!("moving {place:?} is answered by {other:?}")),
            }
        }
        Ok(())
    }
}

impl Client for Mover {
    fn on_connected(&mut self, ctx: &mut Context<'_>) {
        self.next = ctx.now + ctx.dice.time(millis(1)..millis(300));
    }

    fn on_disconnected(&mut self, _: &mut Context<'_>) {
        self.asked = None;
    }

    fn on_answer(&mut self, correlation: i32, frame: Bytes, ctx: &mut Context<'_>) {
        let Some((asked, version, moved)) = self.asked.take() else {
            return ctx.oracle.violated("an answer to no question");
        };
        assert_eq!(asked, correlation, "a mover asks for one thing at a time");
        let checked = answer::<m::AlterReplicaLogDirsRequest>(version, frame)
            .and_then(|response| Self::on_response(&response, &moved, ctx));
        ctx.oracle.expect(checked);
    }

    fn on_wake(&mut self, ctx: &mut Context<'_>) {
        if self.asked.is_some() {
            self.next = ctx.now + millis(200);
            return;
        }
        self.ask(ctx);
    }

    fn wake_at(&self) -> Option<Instant> {
        Some(self.next)
    }
}
