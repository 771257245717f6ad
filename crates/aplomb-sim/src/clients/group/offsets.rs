//! Commits, and questions about what is committed.

use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::ApiKey;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use aplomb_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};

use super::{Context, Expect, Name, absent, error};
use crate::check::Checked;
use crate::check::groups::Commit;
use crate::clients::Place;

/// From this version on commits and questions name topics by id.
const BY_ID: i16 = 10;
/// From this version on one asks about several groups.
const SEVERAL: i16 = 8;

/// A commit that is under way.
#[derive(Debug)]
pub(super) struct Committing {
    group: String,
    commits: Vec<(Place, Commit)>,
}

/// A question about commits that is under way.
#[derive(Debug)]
pub(super) struct Fetching {
    group: String,
    places: Vec<Place>,
}

/// Partitions of topics, by topic.
fn by_topic(places: &[Place]) -> Vec<(&Place, Vec<&Place>)> {
    let mut topics: Vec<(&Place, Vec<&Place>)> = Vec::new();
    for place in places {
        match topics.iter_mut().find(|(of, _)| of.id.topic == place.id.topic) {
            Some((_, known)) => known.push(place),
            None => topics.push((place, vec![place])),
        }
    }
    topics
}

/// Commits something new for each of the partitions. `least`: the first version that will do.
pub(super) fn commit(
    name: &Name,
    places: &[Place],
    least: i16,
    ctx: &mut Context<'_>,
) -> (i32, i16, Committing) {
    let version = ctx.version(ApiKey::OffsetCommit, least);
    let now = ctx.now;
    let commits: Vec<(Place, Commit)> = places
        .iter()
        .map(|place| (place.clone(), ctx.oracle.groups.ask_to_commit(&name.group, place.id, now)))
        .collect();
    let offset = |place: &Place| {
        let commit = commits.iter().find(|(of, _)| of.id == place.id).map(|(_, commit)| *commit);
        commit.map_or(-1, Commit::offset)
    };
    let partition = |place: &&Place| OffsetCommitRequestPartition {
        partition_index: place.id.index,
        committed_offset: offset(place),
        ..Default::default()
    };
    let topics = by_topic(places).into_iter().map(|(of, places)| OffsetCommitRequestTopic {
        name: if version < BY_ID { of.topic.clone() } else { String::new() },
        topic_id: if version < BY_ID { Default::default() } else { of.id.topic },
        partitions: places.iter().map(partition).collect(),
    });
    let body = m::OffsetCommitRequest {
        group_id: name.group.clone(),
        generation_id_or_member_epoch: name.epoch,
        member_id: name.id.clone(),
        group_instance_id: name.instance.clone().filter(|_| version >= 7),
        topics: topics.collect(),
        ..Default::default()
    };
    ctx.note(|| format!("{name:?} commits {commits:?}"));
    let committing = Committing { group: name.group.clone(), commits };
    (ctx.send(version, &body, Expect::Group), version, committing)
}

impl Committing {
    pub(super) fn on_answer(self, response: &m::OffsetCommitResponse, ctx: &mut Context<'_>) -> Checked {
        let now = ctx.now;
        for (place, commit) in self.commits {
            let is_its = |topic: &&m::offset_commit_response::OffsetCommitResponseTopic| {
                topic.name == place.topic || topic.topic_id == place.id.topic
            };
            let topic = response.topics.iter().find(is_its);
            let part = topic.and_then(|topic| {
                topic.partitions.iter().find(|part| part.partition_index == place.id.index)
            });
            let part = part.ok_or_else(|| format!("a commit for {place:?} is answered by {response:?}"))?;
            match error(part.error_code)? {
                ErrorCode::None => ctx.oracle.groups.done(&self.group, place.id, commit, now),
                ErrorCode::UnknownMemberId
                | ErrorCode::IllegalGeneration
                | ErrorCode::StaleMemberEpoch
                | ErrorCode::RebalanceInProgress
                | ErrorCode::FencedInstanceId
                | ErrorCode::GroupIdNotFound => ctx.oracle.groups.refused(&self.group, place.id, commit),
                _ => {
                    if !absent(part.error_code, ctx)? {
                        ctx.oracle.groups.refused(&self.group, place.id, commit);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Asks what is committed for partitions of topics that stay.
pub(super) fn fetch(group: &str, places: Vec<Place>, ctx: &mut Context<'_>) -> (i32, i16, Fetching) {
    let version = ctx.version(ApiKey::OffsetFetch, 1);
    let indexes = |places: &[&Place]| places.iter().map(|place| place.id.index).collect();
    let topics = by_topic(&places);
    let mut body =
        m::OffsetFetchRequest { require_stable: version >= 7 && ctx.dice.percent(50), ..Default::default() };
    if version < SEVERAL {
        body.group_id = group.to_owned();
        let topic = |(of, places): &(&Place, Vec<&Place>)| OffsetFetchRequestTopic {
            name: of.topic.clone(),
            partition_indexes: indexes(places),
        };
        body.topics = Some(topics.iter().map(topic).collect());
    } else {
        let topic = |(of, places): &(&Place, Vec<&Place>)| OffsetFetchRequestTopics {
            name: if version < BY_ID { of.topic.clone() } else { String::new() },
            topic_id: if version < BY_ID { Default::default() } else { of.id.topic },
            partition_indexes: indexes(places),
        };
        // Or about all of them.
        let topics = (!ctx.dice.percent(25)).then(|| topics.iter().map(topic).collect());
        let group_id = group.to_owned();
        body.groups = vec![OffsetFetchRequestGroup { group_id, topics, ..Default::default() }];
    }
    let correlation = ctx.send(version, &body, Expect::Group);
    (correlation, version, Fetching { group: group.to_owned(), places })
}

/// What an answer says of a partition: its topic by name or id, its index, the offset, the error.
type FetchedOffset<'a> = (&'a str, aplomb_model::Uuid, i32, i64, i16);

impl Fetching {
    /// Gives whether all could be read.
    pub(super) fn on_answer(
        self,
        response: &m::OffsetFetchResponse,
        asked: Instant,
        ctx: &mut Context<'_>,
    ) -> Result<bool, String> {
        let code = match &response.groups[..] {
            [group] => group.error_code,
            _ => response.error_code,
        };
        if code != 0 {
            return absent(code, ctx).map(|_| false);
        }
        let mut are_all = true;
        let old = response.topics.iter().flat_map(|topic| {
            topic.partitions.iter().map(|part| -> FetchedOffset<'_> {
                (
                    &topic.name,
                    Default::default(),
                    part.partition_index,
                    part.committed_offset,
                    part.error_code,
                )
            })
        });
        let new = response.groups.iter().flat_map(|group| &group.topics).flat_map(|topic| {
            topic.partitions.iter().map(|part| -> FetchedOffset<'_> {
                (&topic.name, topic.topic_id, part.partition_index, part.committed_offset, part.error_code)
            })
        });
        let said: Vec<FetchedOffset<'_>> = old.chain(new).collect();
        for place in &self.places {
            let is_its = |(name, id, index, ..): &&FetchedOffset<'_>| {
                (*name == place.topic || *id == place.id.topic) && *index == place.id.index
            };
            // Who asks about all is not told of partitions for which there is nothing.
            let (offset, code) =
                said.iter().find(is_its).map_or((-1, 0), |(.., offset, code)| (*offset, *code));
            if code != 0 {
                absent(code, ctx)?;
                are_all = false;
                continue;
            }
            let offset = (offset >= 0).then_some(offset);
            ctx.note(|| format!("{} has {offset:?} for {}-{}", self.group, place.topic, place.id.index));
            ctx.oracle.groups.read(&self.group, place.id, offset, (asked, ctx.now))?;
        }
        Ok(are_all)
    }
}
