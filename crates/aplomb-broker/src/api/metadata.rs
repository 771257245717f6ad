//! Metadata: brokers, topics, who leads what. Asking for a topic that there is not may create it.

use std::collections::HashSet;
use std::sync::Arc;

use aplomb_model::{BrokerId, ErrorCode, Uuid};
use aplomb_protocol::messages::metadata_request::MetadataRequest;
use aplomb_protocol::messages::metadata_response::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};

use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::context::Context;
use crate::controller::{check_topic_name, is_internal_topic};
use crate::head::HeadMessage;
use crate::metadata::{Broker, MetadataImage, Partition, Topic};
use crate::operation::{Api, Asked, Begun};
use crate::security::AclOperation;

/// The first version that can ask by topic id.
const BY_ID: i16 = 12;
/// The first version that tells a missing listener from a missing leader.
const WITH_LISTENER_ERROR: i16 = 6;

/// So many partitions are described in about a millisecond.
const MUCH: usize = 1000;

pub(super) const API: Api = Api::new(ApiKey::Metadata, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: MetadataRequest = asked.decode()?;
    if !asked.is_at_head() && is_about_much(&request, asked.to.version, asked.view.image()) {
        return Ok(Begun::ForHead);
    }
    let answer = handle(&request, asked.to.version, &Context::of(asked));
    if !answer.create.is_empty() {
        asked.to_head.push(HeadMessage::CreateTopics(answer.create));
    }
    asked.answer(&answer.response)
}

/// Whether the answer would list so many partitions that others would wait for it.
fn is_about_much(request: &MetadataRequest, version: i16, image: &MetadataImage) -> bool {
    let partitions = |topic: &Arc<Topic>| topic.partitions.len();
    let topics = request.topics.as_deref().unwrap_or_default();
    let named = topics.iter().filter_map(|topic| match &topic.name {
        Some(name) => image.topics.by_name(name),
        None => image.topics.by_id(topic.topic_id),
    });
    let all = request.topics.is_none() || (version == 0 && topics.is_empty());
    let mut counts: Box<dyn Iterator<Item = usize>> =
        if all { Box::new(image.topics.iter().map(partitions)) } else { Box::new(named.map(partitions)) };
    let mut sum = 0;
    counts.any(|count| {
        sum += count;
        sum > MUCH
    })
}

/// An answer, and what it sets in motion.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// The response. Topics that are to be created are in it as unknown: clients ask again.
    pub response: MetadataResponse,
    /// Topics to create, with the broker's defaults.
    pub create: Vec<String>,
}

/// Answers.
#[must_use]
pub fn handle(request: &MetadataRequest, version: i16, ctx: &Context<'_>) -> Described {
    let topics = request.topics.as_deref().unwrap_or_default();
    if version < BY_ID && topics.iter().any(|topic| topic.name.is_none() || topic.topic_id != Uuid::ZERO) {
        return Described { response: refusal(request, ErrorCode::InvalidRequest), create: Vec::new() };
    }
    let view = ClusterView { ctx, version };
    let mut create = Vec::new();
    let is_everything = request.topics.is_none() || (version == 0 && topics.is_empty());
    let ids: Vec<Uuid> = topics.iter().map(|topic| topic.topic_id).filter(|id| *id != Uuid::ZERO).collect();
    let mut answered = if is_everything {
        ctx.image
            .topics
            .iter()
            .filter(|topic| !topic.partitions.is_empty())
            .filter(|topic| ctx.access.may_quietly(AclOperation::Describe, On::Topic(&topic.name)))
            .map(|topic| view.topic(topic))
            .collect()
    } else if ids.is_empty() {
        let may_create = ctx.config.metadata.auto_create_topics && request.allow_auto_topic_creation;
        let mut seen = HashSet::new();
        let names = topics.iter().filter_map(|topic| topic.name.as_deref()).filter(|name| seen.insert(*name));
        names
            .map(|name| {
                if let Err(error) = ctx.access.check(AclOperation::Describe, On::Topic(name)) {
                    return no_topic(Some(name.to_owned()), Uuid::ZERO, error);
                }
                view.topic_by_name(name).unwrap_or_else(|error| {
                    let missing = may_create && error == ErrorCode::UnknownTopicOrPartition;
                    if missing && is_internal_topic(name) {
                        // Only its coordinator makes it, and clients may not produce to it: waiting
                        // for it would be in vain.
                        return no_topic(Some(name.to_owned()), Uuid::ZERO, ErrorCode::InvalidTopicException);
                    }
                    if missing && let Err(error) = authorize_creation(name, ctx) {
                        return no_topic(Some(name.to_owned()), Uuid::ZERO, error);
                    }
                    if missing {
                        create.push(name.to_owned());
                    }
                    no_topic(Some(name.to_owned()), Uuid::ZERO, error)
                })
            })
            .collect()
    } else {
        let mut seen = HashSet::new();
        ids.into_iter().filter(|id| seen.insert(*id)).map(|id| view.topic_by_id(id)).collect::<Vec<_>>()
    };
    if version >= 8 && request.include_topic_authorized_operations {
        for topic in &mut answered {
            let name = topic.name.as_deref().unwrap_or_default();
            topic.topic_authorized_operations = ctx.access.operations(On::Topic(name));
        }
    }
    let mut response = MetadataResponse {
        brokers: view.brokers(),
        cluster_id: Some(ctx.image.cluster_id.to_string()),
        controller_id: controller_id(ctx),
        topics: answered,
        ..Default::default()
    };
    if (8..=10).contains(&version) && request.include_cluster_authorized_operations {
        response.cluster_authorized_operations = ctx.access.cluster_operations();
    }
    Described { response, create }
}

/// Whether the client may have a topic created.
fn authorize_creation(name: &str, ctx: &Context<'_>) -> Result<(), ErrorCode> {
    if ctx.access.may_quietly(AclOperation::Create, On::Cluster) {
        return Ok(());
    }
    ctx.access.check(AclOperation::Create, On::Topic(name))
}

/// A live broker that takes requests for the controller, this one if it is live: -1 if none is.
pub(super) fn controller_id(ctx: &Context<'_>) -> i32 {
    let this = ctx.config.node_id;
    let live = || ctx.image.brokers.iter().find(|broker| !broker.fenced).map(|broker| broker.id);
    let chosen = if ctx.image.is_live(this) { Some(this) } else { live() };
    chosen.map_or(-1, |id| id.0)
}

fn no_topic(name: Option<String>, topic_id: Uuid, error: ErrorCode) -> MetadataResponseTopic {
    let is_internal = name.as_deref().is_some_and(is_internal_topic);
    MetadataResponseTopic { error_code: error.to_wire(), name, topic_id, is_internal, ..Default::default() }
}

fn refusal(request: &MetadataRequest, error: ErrorCode) -> MetadataResponse {
    let topics = request.topics.as_deref().unwrap_or_default();
    MetadataResponse {
        topics: topics
            .iter()
            .map(|topic| no_topic(Some(topic.name.clone().unwrap_or_default()), topic.topic_id, error))
            .map(|topic| MetadataResponseTopic { is_internal: false, ..topic })
            .collect(),
        error_code: error.to_wire(),
        ..Default::default()
    }
}

/// The cluster as clients of one listener and one version see it.
pub(super) struct ClusterView<'a> {
    pub(super) ctx: &'a Context<'a>,
    pub(super) version: i16,
}

impl ClusterView<'_> {
    fn brokers(&self) -> Vec<MetadataResponseBroker> {
        let live = self.ctx.image.brokers.iter().filter(|broker| !broker.fenced);
        live.filter_map(|broker| {
            let endpoint = broker.endpoint(self.ctx.listener)?;
            Some(MetadataResponseBroker {
                node_id: broker.id.0,
                host: endpoint.host.clone(),
                port: endpoint.port.into(),
                rack: broker.rack.clone(),
            })
        })
        .collect()
    }

    fn topic_by_name(&self, name: &str) -> Result<MetadataResponseTopic, ErrorCode> {
        match self.ctx.image.topics.by_name(name).filter(|topic| !topic.partitions.is_empty()) {
            Some(topic) => Ok(self.topic(topic)),
            None => Err(match check_topic_name(name) {
                Ok(()) => ErrorCode::UnknownTopicOrPartition,
                Err(error) => ErrorCode::from(&error),
            }),
        }
    }

    fn topic_by_id(&self, id: Uuid) -> MetadataResponseTopic {
        match self.ctx.image.topics.by_id(id) {
            Some(topic) => match self.ctx.access.check(AclOperation::Describe, On::Topic(&topic.name)) {
                Ok(()) => self.topic(topic),
                // It does not learn the name.
                Err(error) => no_topic(None, id, error),
            },
            None => no_topic(None, id, ErrorCode::UnknownTopicId),
        }
    }

    fn topic(&self, topic: &Topic) -> MetadataResponseTopic {
        MetadataResponseTopic {
            error_code: ErrorCode::None.to_wire(),
            name: Some(topic.name.to_string()),
            topic_id: topic.id,
            is_internal: is_internal_topic(&topic.name),
            partitions: topic
                .partitions
                .iter()
                .map(|(index, partition)| self.partition(index.0, partition))
                .collect(),
            ..Default::default()
        }
    }

    fn partition(&self, index: i32, partition: &Partition) -> MetadataResponsePartition {
        let replicas = self.shown(&partition.replicas);
        let isr = self.shown(&partition.isr);
        let leader = partition.leader.and_then(|leader| self.ctx.image.brokers.get(leader));
        let error = match leader {
            None => ErrorCode::LeaderNotAvailable,
            Some(leader) if leader.endpoint(self.ctx.listener).is_none() => {
                if self.version >= WITH_LISTENER_ERROR {
                    ErrorCode::ListenerNotFound
                } else {
                    ErrorCode::LeaderNotAvailable
                }
            }
            Some(_) if replicas.len() < partition.replicas.len() || isr.len() < partition.isr.len() => {
                ErrorCode::ReplicaNotAvailable
            }
            Some(_) => ErrorCode::None,
        };
        let has_leader = matches!(error, ErrorCode::None | ErrorCode::ReplicaNotAvailable);
        MetadataResponsePartition {
            error_code: error.to_wire(),
            partition_index: index,
            leader_id: leader.filter(|_| has_leader).map_or(-1, |leader| leader.id.0),
            leader_epoch: partition.leader_epoch.to_wire(),
            replica_nodes: replicas,
            isr_nodes: isr,
            offline_replicas: self.offline(partition),
        }
    }

    /// Version 0 leaves out brokers that cannot be reached, and says so; later ones name them as
    /// offline.
    fn shown(&self, ids: &[BrokerId]) -> Vec<i32> {
        let is_shown = |id: &&BrokerId| {
            self.version > 0
                || self.ctx.image.brokers.get(**id).is_some_and(|broker| self.is_reachable(broker))
        };
        ids.iter().filter(is_shown).map(|id| id.0).collect()
    }

    /// The leader, if clients can reach it where they came in.
    pub(super) fn leader(&self, partition: &Partition) -> Option<&Broker> {
        let leader = self.ctx.image.brokers.get(partition.leader?)?;
        leader.endpoint(self.ctx.listener).is_some().then_some(leader)
    }

    /// Replicas that are not there: their brokers, or their log directories, are not.
    pub(super) fn offline(&self, partition: &Partition) -> Vec<i32> {
        let is_online = |id: BrokerId| {
            let broker = self.ctx.image.brokers.get(id)?;
            let directory = partition.directory(id)?;
            Some(self.is_reachable(broker) && has_live_directory(broker, directory))
        };
        partition.replicas.iter().filter(|id| is_online(**id) != Some(true)).map(|id| id.0).collect()
    }

    fn is_reachable(&self, broker: &Broker) -> bool {
        !broker.fenced && broker.endpoint(self.ctx.listener).is_some()
    }
}

/// `DirectoryId#isOnline`: "not known yet" and "not assigned" are live, "lost" is not, and a broker
/// that told of no directories has all the others.
fn has_live_directory(broker: &Broker, directory: Uuid) -> bool {
    match directory {
        Uuid::ZERO | Uuid::ONE => true,
        Uuid::TWO => false,
        named => broker.directories.is_empty() || broker.directories.contains(&named),
    }
}
