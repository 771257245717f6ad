//! DeleteTopics: by name, and from version 6 on by id.

use std::collections::HashSet;

use aplomb_model::{ErrorCode, TopicId, Uuid};
use aplomb_protocol::messages::delete_topics_request::{DeleteTopicState, DeleteTopicsRequest};
use aplomb_protocol::messages::delete_topics_response::{DeletableTopicResult, DeleteTopicsResponse};

use super::context::{duplicate, in_words, repeated};
use super::{Access, On};
use crate::config::BrokerConfig;
use crate::controller::Planned;
use crate::controller::{AdminError, Controller, Draft};
use crate::metadata::MetadataImage;
use crate::operation::{Api, Asked, Begun, UNKNOWN_PARTITION, patience};
use crate::quotas::Permits;
use crate::security::AclOperation;
use aplomb_protocol::{ApiKey, DecodeError};

/// The first version whose clients know that deletion can be disabled.
const WITH_DISABLED: i16 = 3;

/// From this version on, clients know `THROTTLING_QUOTA_EXCEEDED`.
const STRICT_FROM: i16 = 5;

pub(super) const API: Api = Api::of_controller(ApiKey::DeleteTopics, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: DeleteTopicsRequest = asked.decode()?;
    let (view, version, access) = (asked.view, asked.to.version, asked.access());
    let planned = asked.with_permits(STRICT_FROM, |asked, permits| {
        asked
            .head()
            .plan(|controller, _| plan(&request, version, controller, view.config(), permits, &access))
    });
    let patience = patience(request.timeout_ms);
    asked.decide(Vec::new(), planned, patience, move |error| {
        let refused = |name: Option<String>, topic_id: Uuid| DeletableTopicResult {
            name,
            topic_id,
            error_code: error.to_wire(),
            ..Default::default()
        };
        let named = request.topic_names.iter().map(|name| refused(Some(name.clone()), Uuid::ZERO));
        let topics = request.topics.iter().map(|topic| refused(topic.name.clone(), topic.topic_id));
        DeleteTopicsResponse { responses: named.chain(topics).collect(), ..Default::default() }
    })
}

/// Plans.
#[must_use = "the records have to be written"]
pub fn plan(
    request: &DeleteTopicsRequest,
    version: i16,
    controller: &mut Controller,
    config: &BrokerConfig,
    permits: &mut Permits,
    access: &Access<'_>,
) -> Planned<DeleteTopicsResponse> {
    let named = |name: &String| DeleteTopicState { name: Some(name.clone()), topic_id: Uuid::ZERO };
    let wanted: Vec<DeleteTopicState> =
        request.topic_names.iter().map(named).chain(request.topics.iter().cloned()).collect();
    let key = |topic: &DeleteTopicState| (topic.name.clone(), topic.topic_id);
    let twice = repeated(&wanted, key);
    let both_ways = named_both_ways(&wanted, controller.image());
    let mut draft = controller.draft();
    let mut refused = HashSet::new();
    let may_all = access.may_quietly(AclOperation::Delete, On::Cluster);
    let mut responses = Vec::with_capacity(wanted.len());
    for topic in &wanted {
        let is_twice = twice.contains(&key(topic));
        // What is there twice is refused once.
        if is_twice && !refused.insert(key(topic)) {
            continue;
        }
        let result = if !config.metadata.delete_topics {
            Err(disabled(version))
        } else if is_twice && is_well_named(topic) {
            Err(duplicate(if topic.name.is_some() { "topic name" } else { "topic id" }))
        } else {
            let allowed = if may_all { Ok(()) } else { authorize(topic, draft.image(), access) };
            if let Err(named) = allowed {
                responses.push(*named);
                continue;
            }
            delete(topic, &both_ways, &mut draft, permits)
        };
        responses.push(answer(topic, &result));
    }
    let records = controller.take(draft);
    Planned { response: DeleteTopicsResponse { responses, ..Default::default() }, records }
}

fn disabled(version: i16) -> AdminError {
    if version < WITH_DISABLED {
        AdminError::Request("This version does not support topic deletion.".to_owned())
    } else {
        AdminError::DeletionDisabled
    }
}

/// By name or by id, not by neither and not by both.
fn is_well_named(topic: &DeleteTopicState) -> bool {
    topic.name.is_some() == (topic.topic_id == Uuid::ZERO)
}

/// Topics that one entry names by name and another by id: that is the same topic twice, too.
fn named_both_ways(wanted: &[DeleteTopicState], image: &MetadataImage) -> HashSet<TopicId> {
    let well_named = || wanted.iter().filter(|topic| is_well_named(topic));
    let by_id: HashSet<TopicId> =
        well_named().filter(|topic| topic.name.is_none()).map(|topic| topic.topic_id).collect();
    let by_name = well_named().filter_map(|topic| image.topics.by_name(topic.name.as_deref()?));
    by_name.map(|topic| topic.id).filter(|id| by_id.contains(id)).collect()
}

/// Whether the client may delete a topic. Whether there is one is for those to know who may
/// describe it, and so is the name behind an id.
fn authorize(
    wanted: &DeleteTopicState,
    image: &MetadataImage,
    access: &Access<'_>,
) -> Result<(), Box<DeletableTopicResult>> {
    let by_id = image.topics.by_id(wanted.topic_id).filter(|_| wanted.name.is_none());
    let by_id = by_id.map(|topic| topic.name.to_string());
    let Some(name) = wanted.name.as_ref().or(by_id.as_ref()).filter(|_| is_well_named(wanted)) else {
        return Ok(());
    };
    let may_describe = access.may_quietly(AclOperation::Describe, On::Topic(name));
    let is_missing = wanted.name.is_some() && image.topics.by_name(name).is_none();
    if (may_describe && is_missing) || access.may(AclOperation::Delete, On::Topic(name)) {
        return Ok(());
    }
    let error = AdminError::Denied(ErrorCode::TopicAuthorizationFailed);
    let shown = if may_describe { Some(name.clone()) } else { wanted.name.clone() };
    let state = DeleteTopicState { name: shown, topic_id: wanted.topic_id };
    Err(Box::new(answer(&state, &Err(error))))
}

/// Deletes, and says what was deleted.
fn delete(
    wanted: &DeleteTopicState,
    both_ways: &HashSet<TopicId>,
    draft: &mut Draft,
    permits: &mut Permits,
) -> Result<(String, TopicId), AdminError> {
    let topics = &draft.image().topics;
    let request = |text: &str| Err(AdminError::Request(text.to_owned()));
    let topic = match (&wanted.name, wanted.topic_id) {
        (None, Uuid::ZERO) => return request("Neither topic name nor id were specified."),
        (Some(_), id) if id != Uuid::ZERO => {
            return request("You may not specify both topic name and topic id.");
        }
        // In Apache Kafka's words, which do not name the topic here.
        (Some(name), _) => {
            topics.by_name(name).ok_or_else(|| AdminError::NotFound(UNKNOWN_PARTITION.to_owned()))?
        }
        (None, id) => topics.by_id(id).ok_or(AdminError::UnknownTopicId(id))?,
    };
    let (name, id) = (topic.name.to_string(), topic.id);
    if both_ways.contains(&id) {
        return request("The provided topic name maps to an ID that was already supplied.");
    }
    draft.delete_topic(id, permits)?;
    Ok((name, id))
}

fn answer(topic: &DeleteTopicState, result: &Result<(String, TopicId), AdminError>) -> DeletableTopicResult {
    match result {
        Ok((name, id)) => {
            DeletableTopicResult { name: Some(name.clone()), topic_id: *id, ..Default::default() }
        }
        Err(error) => DeletableTopicResult {
            name: topic.name.clone(),
            topic_id: topic.topic_id,
            error_code: ErrorCode::from(error).to_wire(),
            error_message: Some(in_words(error)),
        },
    }
}
