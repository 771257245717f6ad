//! CreateTopics: what the request says, topic by topic, put to the controller; and topics that come
//! into being because a client asked for them.

use std::collections::HashSet;

use aplomb_model::{BrokerId, ErrorCode};
use aplomb_protocol::messages::create_topics_request::{CreatableTopic, CreateTopicsRequest};
use aplomb_protocol::messages::create_topics_response::{
    CreatableTopicConfigs, CreatableTopicResult, CreateTopicsResponse,
};

use super::context::{duplicate, in_words, repeated};
use super::{Access, On};
use crate::config::{BrokerConfig, Properties, Source, effective_values};
use crate::controller::Planned;
use crate::controller::{
    AdminError, Controller, CreatedTopic, Draft, METADATA_TOPIC, NewTopic, Placement, Random,
};
use crate::metadata::MetadataImage;
use crate::operation::{Api, Asked, Begun, patience};
use crate::quotas::Permits;
use crate::security::AclOperation;
use aplomb_protocol::{ApiKey, DecodeError};

/// From this version on, clients know `THROTTLING_QUOTA_EXCEEDED`.
const STRICT_FROM: i16 = 6;

pub(super) const API: Api = Api::of_controller(ApiKey::CreateTopics, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: CreateTopicsRequest = asked.decode()?;
    let (view, disks, access) = (asked.view, asked.storage.disks(), asked.access());
    let mut planned = asked.with_permits(STRICT_FROM, |asked, permits| {
        asked
            .head()
            .plan(|controller, random| plan(&request, controller, view.config(), random, permits, &access))
    });
    let head = asked.head();
    planned.records.extend(head.place_as_preferred(&planned.records, view, disks));
    let patience = patience(request.timeout_ms);
    asked.decide(Vec::new(), planned, patience, move |error| {
        let refused = |topic: &CreatableTopic| CreatableTopicResult {
            name: topic.name.clone(),
            error_code: error.to_wire(),
            error_message: None,
            ..Default::default()
        };
        let topics = request.topics.iter().map(refused).collect();
        CreateTopicsResponse { topics, ..Default::default() }
    })
}

/// Plans.
#[must_use = "the records have to be written"]
pub fn plan(
    request: &CreateTopicsRequest,
    controller: &mut Controller,
    config: &BrokerConfig,
    random: Random<'_>,
    permits: &mut Permits,
    access: &Access<'_>,
) -> Planned<CreateTopicsResponse> {
    let wanted: Vec<NewTopic> = request.topics.iter().map(new_topic).collect();
    let mut draft = controller.draft();
    let twice = repeated(&wanted, |topic| topic.name.as_str());
    let mut refused = HashSet::new();
    let may_create_all = access.may_quietly(AclOperation::Create, On::Cluster);
    let authorize = |name: &str| match may_create_all {
        true => Ok(()),
        false => access.check(AclOperation::Create, On::Topic(name)).map_err(AdminError::Denied),
    };
    let too_many = Draft::check_partition_total(wanted.iter(), config);
    let mut topics = Vec::with_capacity(wanted.len());
    for (asked, topic) in request.topics.iter().zip(&wanted) {
        let is_twice = twice.contains(topic.name.as_str());
        // A name that is there twice is refused once.
        if is_twice && !refused.insert(topic.name.as_str()) {
            continue;
        }
        let created = match &too_many {
            Err(error) => Err(error.clone()),
            Ok(()) if is_twice => Err(duplicate("topic name")),
            Ok(()) => authorize_name(&topic.name, authorize)
                .and_then(|()| create(asked, topic, &mut draft, config, random, permits)),
        };
        topics.push(match created {
            Ok(created) => success(&topic.name, created, draft.image(), config, access),
            Err(error) => failure(&topic.name, &error),
        });
    }
    let records = if request.validate_only { Vec::new() } else { controller.take(draft) };
    Planned { response: CreateTopicsResponse { topics, ..Default::default() }, records }
}

/// The metadata log is no topic to ask permission for.
fn authorize_name(
    name: &str,
    authorize: impl FnOnce(&str) -> Result<(), AdminError>,
) -> Result<(), AdminError> {
    if name == METADATA_TOPIC { Ok(()) } else { authorize(name) }
}

fn create(
    asked: &CreatableTopic,
    topic: &NewTopic,
    draft: &mut Draft,
    config: &BrokerConfig,
    random: Random<'_>,
    permits: &mut Permits,
) -> Result<CreatedTopic, AdminError> {
    if topic.name == METADATA_TOPIC {
        return Err(AdminError::Request(format!(
            "Creation of internal topic {METADATA_TOPIC} is prohibited."
        )));
    }
    if !asked.assignments.is_empty() && asked.replication_factor != -1 {
        return Err(AdminError::CountAndAssignment("replication factor"));
    }
    if !asked.assignments.is_empty() && asked.num_partitions != -1 {
        return Err(AdminError::CountAndAssignment("numPartitions"));
    }
    draft.create_topic(topic, config, random, permits)
}

fn new_topic(topic: &CreatableTopic) -> NewTopic {
    let placement = if topic.assignments.is_empty() {
        Placement::Counts { partitions: topic.num_partitions, replicas: topic.replication_factor }
    } else {
        let ids = |ids: &[i32]| ids.iter().copied().map(BrokerId).collect();
        let assignments = topic.assignments.iter();
        Placement::Assigned(
            assignments.map(|given| (given.partition_index, ids(&given.broker_ids))).collect(),
        )
    };
    let configs = topic.configs.iter().map(|config| (config.name.clone(), config.value.clone())).collect();
    NewTopic { name: topic.name.clone(), placement, configs }
}

fn success(
    name: &str,
    created: CreatedTopic,
    image: &MetadataImage,
    config: &BrokerConfig,
    access: &Access<'_>,
) -> CreatableTopicResult {
    // To create a topic is not to see its settings.
    if !access.may_quietly(AclOperation::DescribeConfigs, On::Topic(name)) {
        return CreatableTopicResult {
            name: name.to_owned(),
            topic_id: created.id,
            topic_config_error_code: ErrorCode::TopicAuthorizationFailed.to_wire(),
            error_message: None,
            ..Default::default()
        };
    }
    CreatableTopicResult {
        name: name.to_owned(),
        topic_id: created.id,
        num_partitions: created.partitions,
        replication_factor: created.replicas,
        configs: Some(effective_configs(image.topic_overrides(name), image, config)),
        error_message: None,
        ..Default::default()
    }
}

fn failure(name: &str, error: &AdminError) -> CreatableTopicResult {
    CreatableTopicResult {
        name: name.to_owned(),
        error_code: ErrorCode::from(error).to_wire(),
        error_message: Some(in_words(error)),
        ..Default::default()
    }
}

fn effective_configs(
    overrides: &Properties,
    image: &MetadataImage,
    config: &BrokerConfig,
) -> Vec<CreatableTopicConfigs> {
    let layers = image.layers(config);
    effective_values(overrides, &layers)
        .map(|(topic, value, is_own)| CreatableTopicConfigs {
            name: topic.key.name.to_owned(),
            // What the topic sets is told as it was given, as Apache Kafka does.
            value: overrides.get(topic.key.name).cloned().or_else(|| Some(value.to_string())),
            read_only: false,
            config_source: if is_own { Source::Topic } else { layers.topic_default_source(topic) } as i8,
            is_sensitive: topic.key.kind.is_sensitive(),
        })
        .collect()
}
