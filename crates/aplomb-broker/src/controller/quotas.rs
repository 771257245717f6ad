//! Changing quotas (`ClientQuotaControlManager`).

use std::collections::BTreeMap;
use std::net::IpAddr;

use aplomb_protocol::messages as m;

use super::draft::Draft;
use super::error::AdminError;
use crate::metadata::QuotaEntity;
use crate::quotas::{CLIENT_ID, CONNECTION_RATE, IP, QuotaKind, USER};

/// The most of each kind of number that a quota can be (`QuotaConfig`).
const INT: Option<f64> = Some(i32::MAX as f64);
const LONG: Option<f64> = Some(i64::MAX as f64);
const DOUBLE: Option<f64> = None;

/// What differs from a whole number by less is one.
const WHOLE: f64 = 1e-6;

impl Draft {
    /// Drafts other quotas of an entity, by key; those with `None` are taken away.
    ///
    /// # Errors
    /// When the entity cannot have quotas, or not these; the draft is as before then.
    pub fn alter_quotas(
        &mut self,
        entity: &QuotaEntity,
        quotas: &BTreeMap<String, Option<f64>>,
    ) -> Result<(), AdminError> {
        check_entity(entity)?;
        let limits = limits(entity)?;
        let nothing = BTreeMap::new();
        let current = self.image().security.quotas.get(entity).unwrap_or(&nothing);
        let mut records = Vec::new();
        for (key, value) in quotas {
            if let Some(value) = value {
                check_value(key, *value, limits)?;
            }
            if current.get(key) != value.as_ref() {
                records.push(record(entity, key, *value).into());
            }
        }
        self.check_room(records.len())?;
        self.push(records);
        Ok(())
    }
}

fn record(entity: &QuotaEntity, key: &str, value: Option<f64>) -> m::ClientQuotaRecord {
    let part = |(kind, name): &(String, Option<String>)| m::client_quota_record::EntityData {
        entity_type: kind.clone(),
        entity_name: name.clone(),
    };
    m::ClientQuotaRecord {
        entity: entity.iter().map(part).collect(),
        key: key.to_owned(),
        value: value.unwrap_or(0.0),
        remove: value.is_none(),
    }
}

fn check_entity(entity: &QuotaEntity) -> Result<(), AdminError> {
    if entity.is_empty() {
        return refuse("Invalid empty client quota entity");
    }
    for (kind, name) in entity {
        if ![USER, CLIENT_ID, IP].contains(&kind.as_str()) {
            return refuse(format!("Unhandled client quota entity type: {kind}"));
        }
        if name.as_deref() == Some("") {
            return refuse(format!("Empty {kind} not supported"));
        }
    }
    Ok(())
}

/// The keys of the entity, and how large their values can be.
type KeyLimits = &'static [(&'static str, Option<f64>)];

const OF_CLIENTS: KeyLimits = &[
    (QuotaKind::Produce.key(), LONG),
    (QuotaKind::Fetch.key(), LONG),
    (QuotaKind::Request.key(), DOUBLE),
    (QuotaKind::Mutation.key(), DOUBLE),
];
const OF_ADDRESSES: KeyLimits = &[(CONNECTION_RATE, INT)];

fn limits(entity: &QuotaEntity) -> Result<KeyLimits, AdminError> {
    let Some((_, address)) = entity.iter().find(|(kind, _)| kind == IP) else { return Ok(OF_CLIENTS) };
    if entity.len() > 1 {
        return refuse(
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        );
    }
    // A name server is not asked for the names of hosts: it may take its time.
    match address {
        Some(address) if address.parse::<IpAddr>().is_err() => {
            refuse(format!("{address} is not a valid IP or resolvable host."))
        }
        Some(_) | None => Ok(OF_ADDRESSES),
    }
}

fn check_value(key: &str, value: f64, limits: KeyLimits) -> Result<(), AdminError> {
    let Some((_, most)) = limits.iter().find(|(name, _)| *name == key) else {
        return refuse(format!("Invalid configuration key {key}"));
    };
    if !value.is_finite() {
        return refuse(format!("Quota {key} must be a finite number"));
    }
    if value <= 0.0 {
        return refuse(format!("Quota {key} must be greater than 0"));
    }
    let Some(most) = *most else { return Ok(()) };
    if value > most {
        let article = if Some(most) == INT { "an INT" } else { "a LONG" };
        return refuse(format!("Proposed value for {key} is too large for {article}."));
    }
    if (value % 1.0).abs() > WHOLE {
        return refuse(format!("{key} cannot be a fractional value."));
    }
    Ok(())
}

fn refuse<T>(why: impl Into<String>) -> Result<T, AdminError> {
    Err(AdminError::Request(why.into()))
}
