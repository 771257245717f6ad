//! What AlterConfigs and IncrementalAlterConfigs share: resources are changed one by one, each
//! named once, with settings named once each; the whole request is one decision.
//!
//! Stores that a listener is to have are looked at first, by other threads: until they have said
//! what is in them, the request is put aside and planned anew ([`Stores`]).

use std::sync::Arc;

use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::{DecodeError, Message, MetadataRecord};

use super::context::{code_and_message, repeated};
use super::{Access, On};
use crate::config::BrokerConfig;
use crate::controller::{AdminError, Controller, Draft, Planned};
use crate::metadata::Resource;
use crate::operation::{Asked, Begun, PATIENCE};
use crate::security::AclOperation;
use crate::store_checks::{CheckAnswer, StoreChange, StoreChecks};

/// The stores that a request wants listeners to have, and what is known of them.
pub struct Stores<'a> {
    checks: &'a StoreChecks,
    now: Instant,
    wanted: Vec<StoreChange>,
    /// Not everything is known yet; when to come again.
    again: Option<Instant>,
    /// Something is not found out in time.
    is_too_late: bool,
}

impl<'a> Stores<'a> {
    /// None are wanted so far.
    #[must_use]
    pub const fn new(checks: &'a StoreChecks, now: Instant) -> Self {
        Self { checks, now, wanted: Vec::new(), again: None, is_too_late: false }
    }

    /// Whether a resource may be changed so, as far as that is known.
    pub(super) fn check(&mut self, changes: Vec<StoreChange>) -> Result<(), AdminError> {
        for change in changes {
            // As Apache Kafka, whose client certificates would be checked in another way at once.
            if !change.had_trust && change.tls.truststore.is_some() {
                return Err(AdminError::Request(format!(
                    "listener {}: Cannot add SSL truststore to an existing listener for which no truststore was configured.",
                    change.listener
                )));
            }
            let found = self.checks.find(&change, self.now);
            self.wanted.push(change);
            match found {
                CheckAnswer::Known(verdict) => verdict.map_err(AdminError::Request)?,
                CheckAnswer::Pending(at) => self.again = Some(self.again.map_or(at, |other| other.min(at))),
                CheckAnswer::TooLate => self.is_too_late = true,
            }
        }
        Ok(())
    }

    /// Whether something that is wanted is not known yet, or not in time.
    #[must_use]
    pub const fn is_pending(&self) -> bool {
        self.again.is_some() || self.is_too_late
    }
}

/// Answers a request that changes settings, when what it wants can be decided.
pub(super) fn decide<R: Message + 'static>(
    asked: &mut Asked<'_>,
    plan: impl FnOnce(&mut Controller, &BrokerConfig, &Access<'_>, &mut Stores<'_>) -> Planned<R>,
    refuse: impl FnOnce(ErrorCode) -> R + Send + 'static,
) -> Result<Begun, DecodeError> {
    let (view, disks, access, now) = (asked.view, asked.storage.disks(), asked.access(), asked.now.instant);
    let head = asked.head();
    let checks = Arc::clone(head.stores());
    let mut stores = Stores::new(&checks, now);
    let mut planned = head.plan(|controller, _| plan(controller, view.config(), &access, &mut stores));
    if let Some(at) = stores.again.filter(|_| !stores.is_too_late) {
        return Ok(Begun::Again(at));
    }
    stores.wanted.iter().for_each(|change| checks.forget(change));
    if stores.is_too_late {
        return asked.answer(&refuse(ErrorCode::RequestTimedOut)); // clients try again
    }
    planned.records.extend(head.cordon(view, disks));
    asked.decide(Vec::new(), planned, PATIENCE, refuse)
}

/// What became of one resource.
pub(super) struct Change {
    pub(super) resource: Resource,
    pub(super) error_code: i16,
    pub(super) error_message: Option<String>,
}

/// Changes each of `resources`, and decides unless the request is only to be validated, or not all
/// is known yet.
pub(super) fn plan_each<R>(
    resources: &[R],
    validate_only: bool,
    controller: &mut Controller,
    stores: &mut Stores<'_>,
    resource_of: impl Fn(&R) -> Resource,
    mut change: impl FnMut(&R, &Resource, &mut Draft, &mut Stores<'_>) -> Result<(), AdminError>,
) -> (Vec<Change>, Vec<MetadataRecord>) {
    let mut draft = controller.draft();
    let twice = repeated(resources, &resource_of);
    let changes = resources.iter().map(|request| {
        let resource = resource_of(request);
        let result = if twice.contains(&resource) {
            Err(AdminError::Request("Each resource must appear at most once.".to_owned()))
        } else {
            change(request, &resource, &mut draft, stores)
        };
        let (error_code, error_message) = code_and_message(&result);
        Change { resource, error_code, error_message }
    });
    let changes = changes.collect();
    let is_decided = !validate_only && !stores.is_pending();
    let records = if is_decided { controller.take(draft) } else { Vec::new() };
    (changes, records)
}

/// Whether the client may change the settings of a resource. Kinds that there are not are refused
/// elsewhere.
pub(super) fn authorize(resource: &Resource, access: &Access<'_>) -> Result<(), AdminError> {
    let on = match resource.kind {
        Resource::TOPIC => On::Topic(&resource.name),
        Resource::GROUP => On::Group(&resource.name),
        Resource::BROKER | Resource::BROKER_LOGGER | Resource::CLIENT_METRICS => On::Cluster,
        _ => return Ok(()),
    };
    access.check(AclOperation::AlterConfigs, on).map_err(AdminError::Denied)
}

/// Each setting is named once.
pub(super) fn check_named_once<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), AdminError> {
    let names: Vec<&str> = names.collect();
    if repeated(&names, |name| *name).is_empty() {
        return Ok(());
    }
    Err(AdminError::Request("Error due to duplicate config keys".to_owned()))
}

/// No setting lacks a value that needs one.
pub(super) fn check_none_is_null(nulls: &[&str]) -> Result<(), AdminError> {
    if nulls.is_empty() {
        return Ok(());
    }
    Err(AdminError::Request(format!("Null value not supported for : {}", nulls.join(", "))))
}
