//! The administrator of groups: reads what they have committed, commits for a group without
//! members, and has single offsets or whole groups forgotten.

use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::ApiKey;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use bytes::Bytes;

use super::common::{Came, Common};
use super::{Client, Context, Expect, Name, Unanswered, absent, answer, error, millis};
use crate::check::groups::Commit;
use crate::check::{Checked, PartitionId};
use crate::clients::{Place, all_places};
use crate::scenario::TopicPlan;

/// A group that never has members.
const OWN: &str = "kept";

#[derive(Debug)]
enum GroupsAdminRequest {
    Common(Common),
    /// An offset of the own group.
    DeleteOffset(Place, Commit),
    DeleteGroup(String, Vec<(PartitionId, Commit)>),
}

#[derive(Debug, Default)]
pub(crate) struct GroupsAdmin {
    is_found: bool,
    asked: Option<Unanswered<GroupsAdminRequest>>,
    next: Instant,
    /// Groups that are to be read before it says that it has read all.
    unread: Option<Vec<String>>,
    /// The group that is read now.
    reads: Option<String>,
}

impl GroupsAdmin {
    fn go_on(&mut self, ctx: &mut Context<'_>) {
        if self.asked.is_some() {
            return;
        }
        self.next = ctx.now + ctx.dice.time(millis(10)..millis(200));
        let mut places = all_places(ctx.oracle);
        places.retain(Place::stays);
        if places.is_empty() {
            // There is nothing that could be committed.
            if ctx.oracle.groups.resting.is_some() {
                ctx.oracle.groups.looked_at = Some(ctx.now);
            }
            return;
        }
        if !self.is_found {
            let (correlation, version, what) = Common::find(OWN, ctx);
            return self.asked(correlation, version, GroupsAdminRequest::Common(what), ctx);
        }
        if ctx.oracle.groups.resting.is_some() {
            return self.read_all(places, ctx);
        }
        let groups = groups(ctx);
        let place = ctx.dice.pick(&places).clone();
        match ctx.dice.within(0..20) {
            0 => self.delete_offset(place, ctx),
            1 => {
                let group = ctx.dice.pick(&groups).clone();
                self.delete_group(group, ctx);
            }
            2 => ctx.disconnect(),
            3..=9 => {
                let group = ctx.dice.pick(&groups).clone();
                self.read(&group, places, ctx);
            }
            _ => {
                let name = Name { group: OWN.to_owned(), epoch: -1, ..Name::default() };
                places.retain(|_| ctx.dice.percent(40));
                if places.is_empty() {
                    places.push(place);
                }
                let (correlation, version, what) = Common::commit(&name, &places, 2, ctx);
                self.asked(correlation, version, GroupsAdminRequest::Common(what), ctx);
            }
        }
    }

    fn asked(&mut self, correlation: i32, version: i16, what: GroupsAdminRequest, ctx: &Context<'_>) {
        self.asked = Some(Unanswered { correlation, version, what, at: ctx.now });
    }

    fn read(&mut self, group: &str, places: Vec<Place>, ctx: &mut Context<'_>) {
        let (correlation, version, what) = Common::fetch(group, places, ctx);
        self.asked(correlation, version, GroupsAdminRequest::Common(what), ctx);
    }

    /// Reads one group after the other.
    fn read_all(&mut self, places: Vec<Place>, ctx: &mut Context<'_>) {
        let mut unread = self.unread.take().unwrap_or_else(|| groups(ctx));
        match unread.pop() {
            Some(group) => {
                self.read(&group, places, ctx);
                self.reads = Some(group);
                self.unread = Some(unread);
            }
            None => ctx.oracle.groups.looked_at = Some(ctx.now),
        }
    }

    fn delete_offset(&mut self, place: Place, ctx: &mut Context<'_>) {
        let version = ctx.version(ApiKey::OffsetDelete, 0);
        let now = ctx.now;
        let commit = ctx.oracle.groups.ask_to_forget(OWN, place.id, now);
        let partitions = vec![OffsetDeleteRequestPartition { partition_index: place.id.index }];
        let topic = OffsetDeleteRequestTopic { name: place.topic.clone(), partitions };
        let body = m::OffsetDeleteRequest { group_id: OWN.to_owned(), topics: vec![topic] };
        ctx.note(|| format!("deletes the offset of {place:?}: {commit:?}"));
        let correlation = ctx.send(version, &body, Expect::Group);
        self.asked(correlation, version, GroupsAdminRequest::DeleteOffset(place, commit), ctx);
    }

    /// What is forgotten may be of partitions that the administrator of their topic was not told of
    /// yet: members own them as soon as they are there.
    fn delete_group(&mut self, group: String, ctx: &mut Context<'_>) {
        let version = ctx.version(ApiKey::DeleteGroups, 0);
        let now = ctx.now;
        let cluster = &ctx.oracle.cluster;
        let topics = cluster.living().filter(|(name, _)| !TopicPlan::is_passing(name));
        let partitions: Vec<PartitionId> = topics
            .flat_map(|(name, facts)| {
                (0..cluster.most_partitions(name)).map(|index| PartitionId { topic: facts.id, index })
            })
            .collect();
        let commits: Vec<(PartitionId, Commit)> = partitions
            .into_iter()
            .map(|partition| (partition, ctx.oracle.groups.ask_to_forget(&group, partition, now)))
            .collect();
        ctx.note(|| format!("deletes {group}: {commits:?}"));
        let body = m::DeleteGroupsRequest { groups_names: vec![group.clone()] };
        let correlation = ctx.send(version, &body, Expect::Group);
        self.asked(correlation, version, GroupsAdminRequest::DeleteGroup(group, commits), ctx);
    }
}

/// Those with members, and the own one.
fn groups(ctx: &Context<'_>) -> Vec<String> {
    let members = ctx.plan.groups.iter().flat_map(|groups| &groups.members);
    let mut groups: Vec<String> = members.map(crate::groups::MemberPlan::group_id).collect();
    groups.push(OWN.to_owned());
    groups.dedup();
    groups
}

/// Takes what a coordinator says to the wish that something be forgotten.
fn forgotten(group: &str, commits: &[(PartitionId, Commit)], code: i16, ctx: &mut Context<'_>) -> Checked {
    let now = ctx.now;
    let may_be_done = match error(code)? {
        ErrorCode::None => {
            for (partition, commit) in commits {
                ctx.oracle.groups.done(group, *partition, *commit, now);
            }
            return Ok(());
        }
        ErrorCode::NonEmptyGroup | ErrorCode::GroupIdNotFound | ErrorCode::GroupSubscribedToTopic => false,
        _ => absent(code, ctx)?,
    };
    if !may_be_done {
        for (partition, commit) in commits {
            ctx.oracle.groups.refused(group, *partition, *commit);
        }
    }
    Ok(())
}

impl Client for GroupsAdmin {
    fn on_connected(&mut self, ctx: &mut Context<'_>) {
        self.is_found = false;
        self.go_on(ctx);
    }

    fn on_disconnected(&mut self, _: &mut Context<'_>) {
        (self.asked, self.unread, self.reads) = (None, None, None);
    }

    fn on_answer(&mut self, correlation: i32, frame: Bytes, ctx: &mut Context<'_>) {
        let Some(Unanswered { version, what, at, .. }) =
            self.asked.take().filter(|asked| asked.correlation == correlation)
        else {
            return ctx.oracle.violated("an answer to no question");
        };
        let checked = match what {
            GroupsAdminRequest::Common(what) => {
                let reads = self.reads.take();
                what.on_answer((version, at), frame, ctx).map(|came| match came {
                    Came::Found(is_found) => self.is_found = is_found,
                    Came::Read(false) => self.unread.iter_mut().for_each(|all| all.extend(reads.clone())),
                    Came::Read(true) | Came::Committed => {}
                })
            }
            GroupsAdminRequest::DeleteOffset(place, commit) => {
                answer::<m::OffsetDeleteRequest>(version, frame).and_then(|response| {
                    let parts = response.topics.iter().flat_map(|topic| &topic.partitions);
                    let of_part = parts.map(|part| part.error_code).next().unwrap_or(0);
                    let code = if response.error_code == 0 { of_part } else { response.error_code };
                    forgotten(OWN, &[(place.id, commit)], code, ctx)
                })
            }
            GroupsAdminRequest::DeleteGroup(group, commits) => {
                answer::<m::DeleteGroupsRequest>(version, frame).and_then(|response| {
                    let [result] = &response.results[..] else {
                        return Err(format!("{group} is deleted, and the answer is {response:?}"));
                    };
                    forgotten(&group, &commits, result.error_code, ctx)
                })
            }
        };
        ctx.oracle.expect(checked);
    }

    fn on_wake(&mut self, ctx: &mut Context<'_>) {
        if self.asked.is_some() {
            self.next = ctx.now + millis(200);
            return;
        }
        self.go_on(ctx);
    }

    fn wake_at(&self) -> Option<Instant> {
        Some(self.next)
    }
}
