//! AlterClientQuotas: how much clients may use, entity by entity.

use std::collections::{BTreeMap, HashSet};

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::alter_client_quotas_request::{self as request, AlterClientQuotasRequest};
use aplomb_protocol::messages::alter_client_quotas_response::{
    AlterClientQuotasResponse, EntityData, EntryData,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::context::{code_and_message, in_words};
use crate::controller::{AdminError, Controller, Planned};
use crate::metadata::QuotaEntity;
use crate::operation::{Api, Asked, Begun, PATIENCE};
use crate::security::AclOperation;

pub(super) const API: Api = Api::of_controller(ApiKey::AlterClientQuotas, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: AlterClientQuotasRequest = asked.decode()?;
    if let Err(error) = asked.access().check(AclOperation::AlterConfigs, On::Cluster) {
        return asked.answer(&refused(&request, error, Some(in_words(&AdminError::Denied(error)))));
    }
    let planned = asked.head().plan(|controller, _| plan(&request, controller));
    asked.decide(Vec::new(), planned, PATIENCE, move |error| refused(&request, error, None))
}

/// The refusal of a request as a whole.
fn refused(
    request: &AlterClientQuotasRequest,
    error: ErrorCode,
    message: Option<String>,
) -> AlterClientQuotasResponse {
    let entry = |entry: &request::EntryData| EntryData {
        error_code: error.to_wire(),
        error_message: message.clone(),
        entity: written(&entity(&entry.entity)),
    };
    let entries = request.entries.iter().map(entry).collect();
    AlterClientQuotasResponse { entries, ..Default::default() }
}

/// The changes of all entities of the request as one decision. An entity is answered once: if it is
/// there twice it is refused, but for what it says first, as in Apache Kafka.
#[must_use = "the records have to be written"]
pub(super) fn plan(
    request: &AlterClientQuotasRequest,
    controller: &mut Controller,
) -> Planned<AlterClientQuotasResponse> {
    let mut draft = controller.draft();
    let mut results: Vec<(QuotaEntity, Result<(), AdminError>)> = Vec::new();
    let mut places: BTreeMap<QuotaEntity, usize> = BTreeMap::new();
    for entry in &request.entries {
        let entity = entity(&entry.entity);
        let place = places.get(&entity).copied();
        let result = if place.is_some() || has_a_key_twice(entry) {
            Err(AdminError::Request(format!("Ignoring duplicate entity {}", in_java(&entity))))
        } else {
            let value = |op: &request::OpData| (!op.remove).then_some(op.value);
            let quotas = entry.ops.iter().map(|op| (op.key.clone(), value(op))).collect();
            draft.alter_quotas(&entity, &quotas)
        };
        match place {
            Some(place) => results[place].1 = result,
            None => {
                places.insert(entity.clone(), results.len());
                results.push((entity, result));
            }
        }
    }
    let entries = results.iter().map(|(entity, result)| {
        let (error_code, error_message) = code_and_message(result);
        EntryData { error_code, error_message, entity: written(entity) }
    });
    let response = AlterClientQuotasResponse { entries: entries.collect(), ..Default::default() };
    let records = if request.validate_only { Vec::new() } else { controller.take(draft) };
    Planned { response, records }
}

/// Types that are there twice are so with the last of their names.
fn entity(parts: &[request::EntityData]) -> QuotaEntity {
    let parts = parts.iter().map(|part| (part.entity_type.clone(), part.entity_name.clone()));
    parts.collect::<BTreeMap<_, _>>().into_iter().collect()
}

fn has_a_key_twice(entry: &request::EntryData) -> bool {
    let mut keys = HashSet::new();
    entry.ops.iter().any(|op| !keys.insert(op.key.as_str()))
}

fn written(entity: &QuotaEntity) -> Vec<EntityData> {
    let part = |(kind, name): &(String, Option<String>)| EntityData {
        entity_type: kind.clone(),
        entity_name: name.clone(),
    };
    entity.iter().map(part).collect()
}

/// An entity in the words of Apache Kafka.
fn in_java(entity: &QuotaEntity) -> String {
    let parts = entity.iter().map(|(kind, name)| format!("{kind}={}", name.as_deref().unwrap_or("null")));
    format!("ClientQuotaEntity(entries={{{}}})", parts.collect::<Vec<_>>().join(", "))
}
