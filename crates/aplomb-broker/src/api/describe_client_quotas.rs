//! DescribeClientQuotas: the quotas of entities that a filter matches (`ClientQuotasImage`).

use std::collections::{BTreeMap, BTreeSet};

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::describe_client_quotas_request::DescribeClientQuotasRequest;
use aplomb_protocol::messages::describe_client_quotas_response::{
    DescribeClientQuotasResponse, EntityData, EntryData, ValueData,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::context::{Context, in_words};
use crate::controller::AdminError;
use crate::metadata::QuotaEntity;
use crate::operation::{Api, Asked, Begun};
use crate::quotas::{CLIENT_ID, IP, USER};
use crate::security::AclOperation;

/// How a component matches (`DescribeClientQuotasRequest`).
const EXACT: i8 = 0;
const DEFAULT: i8 = 1;
const SPECIFIED: i8 = 2;

pub(super) const API: Api = Api::new(ApiKey::DescribeClientQuotas, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    // There may be very many.
    if !asked.is_at_head() {
        return Ok(Begun::ForHead);
    }
    let request: DescribeClientQuotasRequest = asked.decode()?;
    asked.answer(&handle(&request, &Context::of(asked)))
}

fn authorize(ctx: &Context<'_>) -> Result<(), (ErrorCode, String)> {
    let allowed = ctx.access.check(AclOperation::DescribeConfigs, On::Cluster);
    allowed.map_err(|error| (error, AdminError::Denied(error).to_string()))
}

/// Answers.
#[must_use]
pub(super) fn handle(
    request: &DescribeClientQuotasRequest,
    ctx: &Context<'_>,
) -> DescribeClientQuotasResponse {
    let filter = match authorize(ctx).and_then(|()| Filter::of(request)) {
        Ok(filter) => filter,
        Err((error, why)) => {
            return DescribeClientQuotasResponse {
                error_code: error.to_wire(),
                error_message: Some(in_words(&why)),
                entries: None,
                ..Default::default()
            };
        }
    };
    let quotas = ctx.image.security.quotas.iter().filter(|(entity, _)| filter.matches(entity));
    let entries = quotas.map(|(entity, quotas)| EntryData {
        entity: entity
            .iter()
            .map(|(kind, name)| EntityData { entity_type: kind.clone(), entity_name: name.clone() })
            .collect(),
        values: quotas.iter().map(|(key, value)| ValueData { key: key.clone(), value: *value }).collect(),
    });
    DescribeClientQuotasResponse {
        // So Apache Kafka says that there is none.
        error_message: Some(String::new()),
        entries: Some(entries.collect()),
        ..Default::default()
    }
}

/// What entities are asked for.
#[derive(Debug, Default)]
struct Filter<'r> {
    /// Types with this name; `None` is the default.
    exact: BTreeMap<&'r str, Option<&'r str>>,
    /// Types with any name.
    specified: BTreeSet<&'r str>,
    /// Entities have no other types.
    strict: bool,
}

impl<'r> Filter<'r> {
    fn of(request: &'r DescribeClientQuotasRequest) -> Result<Self, (ErrorCode, String)> {
        let invalid = |why: String| Err((ErrorCode::InvalidRequest, why));
        let mut filter = Self { strict: request.strict, ..Self::default() };
        for component in &request.components {
            let (kind, name) = (component.entity_type.as_str(), component.r#match.as_deref());
            if kind.is_empty() {
                return invalid("Invalid empty entity type.".to_owned());
            }
            if filter.names(kind) {
                return invalid(format!("Entity type {kind} cannot appear more than once in the filter."));
            }
            if ![IP, USER, CLIENT_ID].contains(&kind) {
                return Err((ErrorCode::UnsupportedVersion, format!("Unsupported entity type {kind}")));
            }
            let said =
                |how: &str| invalid(format!("Request specified {how}, but also specified a match string."));
            match (component.match_type, name) {
                (EXACT, None) => {
                    let why = "Request specified MATCH_TYPE_EXACT, but set match string to null.";
                    return invalid(why.to_owned());
                }
                (EXACT, Some(_)) | (DEFAULT, None) => drop(filter.exact.insert(kind, name)),
                (DEFAULT, Some(_)) => return said("MATCH_TYPE_DEFAULT"),
                (SPECIFIED, Some(_)) => return said("MATCH_TYPE_SPECIFIED"),
                (SPECIFIED, None) => drop(filter.specified.insert(kind)),
                (other, _) => return invalid(format!("Unknown match type {other}")),
            }
        }
        if filter.names(IP) && (filter.names(USER) || filter.names(CLIENT_ID)) {
            return invalid(
                "Invalid entity filter component combination. IP filter component should not be used with user \
                 or clientId filter component."
                    .to_owned(),
            );
        }
        Ok(filter)
    }

    fn names(&self, kind: &str) -> bool {
        self.exact.contains_key(kind) || self.specified.contains(kind)
    }

    fn matches(&self, entity: &QuotaEntity) -> bool {
        let name =
            |kind: &str| entity.iter().find(|(other, _)| other == kind).map(|(_, name)| name.as_deref());
        (!self.strict || entity.len() == self.exact.len() + self.specified.len())
            && self.exact.iter().all(|(kind, wanted)| name(kind) == Some(*wanted))
            && self.specified.iter().all(|kind| name(kind).is_some())
    }
}
